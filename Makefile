# Everything starts from a bare machine with python3, make and git; see CONTRIBUTING.md.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed: .core has what the program needs, .dev what tests, linters and pages need, too.
CORE := $(VENV)/.core
DEV := $(VENV)/.dev
# Locks are complete and hashed, so nothing is resolved; what runs is compiled when it first runs.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps

INTERPRETED := tests/policies/placing/packing tests/policies/placing/batch/test_scheduler.py \
	tests/policies/forecasting/arima/test_likelihood.py tests/policies/forecasting/gru/test_cells.py

.PHONY: setup demo test browser prometheus postgresql e2e bench lint docs lock clean

setup: $(DEV)

$(CORE): requirements/core.txt pyproject.toml
	@echo "setting up $(VENV) for the program ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --require-hashes -r requirements/core.txt
	@$(INSTALL) --no-build-isolation -e .
	@touch $@

# Everything in the core lock is in the developer lock with the same version: a test compares them.
$(DEV): requirements/dev.txt requirements/core.txt pyproject.toml
	@echo "setting up $(VENV) for development ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@$(INSTALL) --no-build-isolation -e .
	@touch $(CORE) $@

demo: $(CORE)
	@$(BIN)/kubestow demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A browser for the tests that open pages; without it, and without root, they are skipped.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& echo "installing chromium for the page tests ..." && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || true

# The server that the tests of its client start themselves; a policy of exit 101 keeps the package
# from starting one as a service. Without it, and without root, they are skipped.
prometheus:
	@command -v prometheus >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& echo "installing prometheus for the tests of its client ..." && apt-get update -qq \
		&& { test -e /usr/sbin/policy-rc.d || { trap 'rm -f /usr/sbin/policy-rc.d' EXIT \
		&& printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d; }; } \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		prometheus >/dev/null; } || true

# The server that the tests of the store start themselves, likewise.
postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& echo "installing postgresql for the tests of the store ..." && apt-get update -qq \
		&& { test -e /usr/sbin/policy-rc.d || { trap 'rm -f /usr/sbin/policy-rc.d' EXIT \
		&& printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d; }; } \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		postgresql >/dev/null; } || true

# The second run interprets the kernels instead of compiling them, so that coverage sees inside.
test: lint browser prometheus postgresql
	$(BIN)/python -m pytest -m 'not e2e' -n 2 --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 $(INTERPRETED) --cov --cov-append \
		--cov-report=term --cov-fail-under=90

e2e: setup
	$(BIN)/python -m testenv.building
	$(BIN)/python -m pytest -m e2e tests/e2e

bench: setup
	$(BIN)/python -m benchmarks

docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict --quiet

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --group test --group neural --group postgres --group live --group references --group engines --group schemas --group lint --group docs --group build pyproject.toml \
		-o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --extra live --extra postgres pyproject.toml -o requirements/live.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --group build -o requirements/build.txt

clean:
	rm -rf $(VENV) site out .mypy_cache .ruff_cache .pytest_cache
