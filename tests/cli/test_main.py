"""The program itself: help, version, unknown commands, interrupts."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kubestow
from kubestow.cli import main
from kubestow.sources import manifests


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(arguments) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in main.COMMANDS)
    assert "Example:" in shown


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_every_command_has_help_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([name, "--help"]) == 0
    assert "Example" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"kubestow {kubestow.__version__}\n"


def test_a_misspelt_command_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["plase"]) == 2
    assert "did you mean 'place'?" in capsys.readouterr().err
    assert main.run(["xyz"]) == 2
    assert "expected demo" in capsys.readouterr().err


def test_an_interrupt_leaves_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(manifests, "read_cluster", interrupted)
    assert main.run(["place", "x.yaml"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_help_loads_neither_compiler_nor_solver() -> None:
    script = (
        "import sys; from kubestow.cli import main; main.run(['--help']);"
        "sys.exit(any(m in sys.modules for m in ('numba', 'ortools', 'altair')))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == 0


def test_a_missing_extra_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name}", name="uvicorn.config")

    monkeypatch.setattr("kubestow.cli.main.importlib.import_module", missing)
    assert main.run(["extender"]) == 2
    problem = "extender: uvicorn.config is not installed; expected pip install 'kubestow[live]'"
    assert capsys.readouterr().err == f"error: {problem}\n"
