"""Which interpreters are found, and what is said about those that are not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import environments, versions


def write_program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PYENV_VERSION", raising=False)
    return tmp_path


def test_supported_versions_are_those_of_the_classifiers() -> None:
    result = versions.supported()
    assert result[0] == "3.11"
    assert result == sorted(result, key=lambda text: int(text.split(".")[1]))


def test_an_interpreter_on_the_path_is_found(path: Path) -> None:
    write_program(path, "python3.77", f'exec {sys.executable} "$@"')
    assert versions.find_interpreter("3.77") == sys.executable
    assert versions.find_interpreter("3.78") is None


def test_a_shim_is_told_the_version_that_its_manager_lists(path: Path) -> None:
    refusal = 'test "$PYENV_VERSION" = 3.77.2 || exit 127'
    write_program(path, "python3.77", f'{refusal}\nexec {sys.executable} "$@"')
    write_program(path, "pyenv", "echo 3.7.1; echo 3.77.2")
    assert versions.find_interpreter("3.77") == sys.executable


def test_a_shim_of_a_version_that_is_not_installed_is_none(path: Path) -> None:
    write_program(path, "python3.77", "exit 127")
    write_program(path, "pyenv", "echo 3.7.1")
    assert versions.find_interpreter("3.77") is None


def test_a_missing_version_is_skipped_with_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_program(path, "python3.77", f'exec {sys.executable} "$@"')
    monkeypatch.setattr(versions, "_test", lambda *_: True)
    assert versions.main(["3.77", "3.78"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "Python 3.77: passed", "Python 3.78: skipped: no working python3.78 on PATH",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "passes"), [(["3.77"], False), (["3.78"], True)], ids=["failed", "nothing-tested"]
)
def test_a_failure_or_no_version_at_all_leaves_with_1(
    wanted: list[str], passes: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(path, "python3.77", f'exec {sys.executable} "$@"')
    monkeypatch.setattr(versions, "_test", lambda *_: passes)
    assert versions.main(wanted) == 1


def test_what_is_tested_exists() -> None:
    assert all((environments.ROOT / folder).is_dir() for folder in versions.TESTS)
