# Everything starts from a bare machine with python3, make and git; see CONTRIBUTING.md.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed: .core has what the program needs, .dev what tests, linters and pages need, too.
CORE := $(VENV)/.core
DEV := $(VENV)/.dev
# Locks are complete and hashed, so nothing is resolved; what runs is compiled when it first runs, and
# kept: without bytecode every start of the program takes seconds longer.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps

INTERPRETED := tests/policies/placing/packing tests/policies/placing/batch/test_scheduler.py \
	tests/policies/forecasting/arima/test_likelihood.py tests/policies/forecasting/gru/test_cells.py

.DEFAULT_GOAL := help
.PHONY: help core setup demo check lint browser prometheus postgresql test test-versions e2e bench docs \
	dist lock clean

help: ## list the targets
	@awk -F ': .*## ' '/^[a-z0-9-]+:.* ## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(CORE): requirements/core.txt requirements/build.txt pyproject.toml
	@echo "setting up $(VENV) for the program ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --require-hashes -r requirements/core.txt -r requirements/build.txt
	@$(INSTALL) --no-build-isolation -e .
	@touch $@

# The developer lock has all that the core and build locks have, in the same versions: a test
# compares them.
$(DEV): requirements/dev.txt requirements/core.txt requirements/build.txt pyproject.toml
	@echo "setting up $(VENV) for development ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@$(INSTALL) --no-build-isolation -e .
	@touch $(CORE) $@

core: $(CORE) ## install only what the program needs into .venv

setup: $(DEV) ## install everything for development into .venv

demo: $(CORE) ## run the demo; installs only what the program needs
	@$(BIN)/kubestow demo

check: $(DEV) ## check what you changed: format, lint, types, its tests (seconds)
	@$(BIN)/python -m tools.check

lint: $(DEV) ## run ruff, mypy and the import contracts
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
test: lint browser prometheus postgresql ## run lint and all tests that need no Go toolchain
	$(BIN)/python -m pytest -m 'not e2e' -n 2 --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 $(INTERPRETED) --cov --cov-append \
		--cov-report=term --cov-fail-under=90

# Each version has an environment of its own under .versions; missing interpreters are skipped.
test-versions: ## run the fast tests on every supported Python that is installed
	$(PYTHON) -m tools.versions

e2e: $(DEV) ## build the real control plane and test against it (needs Go)
	$(BIN)/python -m testenv.building
	$(BIN)/python -m pytest -m e2e tests/e2e

bench: $(DEV) ## run benchmarks against their floors
	$(BIN)/python -m benchmarks

docs: $(DEV) ## write the reference pages and build the site
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict --quiet

# The time of the last commit goes into the archives, so that a second build gives the same bytes.
dist: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
dist: ## build wheel, sdist, bill of materials and checksums into dist/, and try the wheel
	$(PYTHON) -m tools.release

COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header
GROUPS := test neural postgres live references engines schemas lint docs build

lock: ## rebuild requirements/*.txt, keeping versions that still fit (needs uv)
	$(COMPILE) $(GROUPS:%=--group %) pyproject.toml -o requirements/dev.txt
	$(COMPILE) -c requirements/dev.txt pyproject.toml -o requirements/core.txt
	$(COMPILE) -c requirements/dev.txt --extra live --extra postgres pyproject.toml \
		-o requirements/live.txt
	$(COMPILE) -c requirements/dev.txt --group build -o requirements/build.txt
	$(COMPILE) -c requirements/dev.txt --group test -o requirements/test.txt
	$(COMPILE) -c requirements/dev.txt --group release -o requirements/release.txt

clean: ## remove what is built here
	rm -rf $(VENV) .versions dist site out .mypy_cache .ruff_cache .pytest_cache
