"""The Makefile: what it lists, and what installs what."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TARGETS = (
    "core", "setup", "demo", "check", "lint", "test", "test-versions", "e2e", "bench", "docs",
    "dist", "lock", "clean",
)  # fmt: skip


def make(*arguments: str, cwd: Path = ROOT) -> str:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("arguments", [(), ("help",)], ids=["default", "help"])
def test_targets_are_listed_with_what_they_do(arguments: tuple[str, ...]) -> None:
    listed = dict(re.findall(r"^  make ([a-z0-9-]+) +(\S.*)$", make(*arguments), re.M))
    assert set(TARGETS) <= set(listed)


def plan(folder: Path, *arguments: str) -> set[str]:
    """Return the locks that a target would install in a copy of the checkout."""
    planned = make("--dry-run", *arguments, cwd=folder)
    return set(re.findall(r"-r requirements/(\w+)\.txt", planned))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "requirements").mkdir()
    for name in (
        "Makefile",
        "pyproject.toml",
        *(f"requirements/{n}.txt" for n in ("core", "dev", "build")),
    ):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_the_demo_installs_the_core_and_tests_install_the_rest(checkout: Path) -> None:
    assert plan(checkout, "demo") == {"core", "build"}
    for target in ("test", "lint", "e2e", "bench", "docs", "check", "setup"):
        assert plan(checkout, target) == {"dev"}, target


def test_what_is_installed_is_not_installed_again(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".core").touch()
    assert plan(checkout, "demo") == set()
    assert plan(checkout, "lint") == {"dev"}
    (checkout / ".venv" / ".dev").touch()
    assert plan(checkout, "demo", "lint") == set()


def test_a_development_environment_can_run_the_demo() -> None:
    # Setting up for development marks the core as installed, too.
    rule = (ROOT / "Makefile").read_text(encoding="utf-8").partition("$(DEV): ")[2]
    assert "touch $(CORE) $@" in rule.partition("\n\n")[0]


def test_hooks_use_the_locked_tools_and_download_nothing() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"repo: (\S+)", text) == ["local"]
    entries = re.findall(r"entry: (\S+)", text)
    assert entries
    assert all(entry.startswith(".venv/bin/") for entry in entries)
