"""The program itself: help, version, unknown commands, interrupts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kubestow
from kubestow.cli import main
from kubestow.live import stores
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
    def interrupted(*_: str, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(manifests, "read_cluster", interrupted)
    assert main.run(["place", "x.yaml"]) == 130
    assert "interrupted" in capsys.readouterr().err


HEAVY = (
    "altair", "cryptography", "httpx", "msgspec", "numba", "numpy", "ortools", "polars", "rich",
    "scipy", "sqlalchemy", "starlette", "uvicorn", "yaml",
)  # fmt: skip


@pytest.mark.parametrize("name", ["", *main.COMMANDS])
def test_help_loads_no_heavy_package(name: str) -> None:
    script = (
        "import sys; from kubestow.cli import main; main.run(sys.argv[1:]);"
        f"sys.exit(' '.join(m for m in {HEAVY} if m in sys.modules) or 0)"
    )
    command = [sys.executable, "-c", script, *filter(None, [name]), "--help"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stderr.strip() == ""
    assert done.returncode == 0


def run_without(packages: str, *arguments: str) -> tuple[int, str, str]:
    """Run the program in a process that cannot import some packages."""
    script = (
        "import sys; [sys.modules.__setitem__(m, None) for m in sys.argv.pop(1).split()];"
        "from kubestow.cli import main; main.main()"
    )
    command = [sys.executable, "-c", script, packages, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


LIVE = "cryptography httptools prometheus_client starlette uvicorn uvloop"
ALL_EXTRAS = f"{LIVE} equinox jax jaxlib optax psycopg ray"


@pytest.mark.parametrize(
    ("packages", "arguments", "complaint"),
    [
        (
            "uvicorn",
            ["extender", "--kubeconfig", "none"],
            "extender: uvicorn is not installed; expected pip install 'kubestow[live]'",
        ),
        (
            "jax equinox optax",
            ["forecast", "{series}", "--model", "gru"],
            "--model gru: needs the extra 'neural' (pip install 'kubestow[neural]')",
        ),
        (
            "ray",
            ["compare", "examples/shop-day.yaml", "--vary", "step=15s,30s", "--engine", "ray"],
            "--engine ray: Ray is not installed; expected: pip install 'kubestow[ray]'",
        ),
        (
            "psycopg",
            ["explain", "pod/web", "--store", "postgresql+psycopg://h/d"],
            "postgresql+psycopg://h/d: needs the package psycopg: pip install 'kubestow[postgres]'",
        ),
    ],
    ids=["live", "neural", "ray", "postgres"],
)
def test_a_missing_extra_is_named_with_what_installs_it(
    packages: str, arguments: list[str], complaint: str, tmp_path: Path
) -> None:
    series = tmp_path / "series.csv"
    rows = "".join(f"{60 * index},{index % 24}\n" for index in range(240))
    series.write_text(f"timestamp,value\n{rows}", encoding="utf-8")
    given = [each.format(series=series) for each in arguments]
    code, _, said = run_without(packages, *given)
    assert (code, said) == (2, f"error: {complaint}\n")


def test_a_command_may_have_an_extra_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name}", name="uvicorn.config")

    monkeypatch.setitem(main.COMMANDS, "dashboard", ("kubestow.dashboard", "Show results."))
    monkeypatch.setattr("importlib.import_module", missing)
    assert main.run(["dashboard"]) == 2
    problem = "dashboard: uvicorn is not installed; expected pip install 'kubestow[dashboard]'"
    assert capsys.readouterr().err == f"error: {problem}\n"


def test_a_missing_package_of_no_extra_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name}", name="kubestow.cli.packk")

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ModuleNotFoundError):
        main.run(["pack"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["place", "examples/first-steps/cluster.yaml"],
        ["pack", "examples/first-steps/cluster.yaml", "--heuristic", "first-fit"],
        ["recommend", "--csv", "{usage}", "--strategy", "percentile"],
        ["explain", "pod/web", "--store", "sqlite:///{store}"],
        ["study", "--list"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_that_need_no_extra_run_without_any(arguments: list[str], tmp_path: Path) -> None:
    usage = tmp_path / "usage"
    usage.mkdir()
    rows = "".join(f"{300 * index},shop,Deployment,web,web-0,app,0.1,1e8\n" for index in range(600))
    head = "timestamp,namespace,kind,workload,pod,container,cpu_cores,memory_bytes\n"
    (usage / "usage.csv").write_text(head + rows, encoding="utf-8")
    stores.open_store(f"sqlite:///{tmp_path / 'store.db'}").close()
    given = [each.format(usage=usage, store=tmp_path / "store.db") for each in arguments]
    code, shown, said = run_without(ALL_EXTRAS, *given)
    assert said == ""
    assert code == (1 if arguments[0] == "explain" else 0)  # no decision there yet
    assert shown


def test_an_interrupt_while_modules_load_ends_with_one_line() -> None:
    # A module that is imported late interrupts the process, as Ctrl-C would.
    script = (
        "import builtins, os, signal, sys\n"
        "genuine = builtins.__import__\n"
        "def interrupting(name, *rest, **named):\n"
        "    if name.startswith('numba'):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return genuine(name, *rest, **named)\n"
        "from kubestow.cli import main\n"
        "builtins.__import__ = interrupting\n"
        "main.main()\n"
    )
    command = [sys.executable, "-c", script, "pack", "examples/first-steps/cluster.yaml"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "interrupted; finished parts are kept\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["pack", "x.csv", "--heuristic", "best"], "--heuristic: 'best': expected one of online"),
        (["simulate", "examples/shop-day.yaml", "--set", "x"], "--set: 'x': expected path=value"),
        (
            ["compare", "examples/shop-day.yaml", "--vary", "seed=1,2"],
            "--vary seed=1,2: every variant runs with the same seeds",
        ),
        (["place", "x.yaml", "--profile", "best"], "--profile: 'best': must be one of"),
        (["recommend", "--csv", "x", "--strategy", "vpa", "--miss-probability", "0.1"],
         "--miss-probability: vpa states none"),
        (["study", "shi-limits", "--lists", "1"], "--lists: 1: must be >= 2"),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else None,
)  # fmt: skip
def test_a_parameter_is_called_by_its_option(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {complaint}")


def test_a_file_that_is_called_like_an_option_stays_a_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["place", "config"]) == 2
    assert capsys.readouterr().err.startswith("error: config: ")


def test_no_option_is_named_outside_of_the_command_line() -> None:
    package = Path(main.__file__).parents[1]
    raised = re.compile(r"InputError\(\s*f?\"(--[a-z-]+)")
    result = {
        str(path.relative_to(package)): raised.findall(path.read_text(encoding="utf-8"))
        for path in package.rglob("*.py")
        if path.parent.name != "cli"
    }
    assert result
    assert not {path: options for path, options in result.items() if options}
