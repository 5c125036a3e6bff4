"""The ``kubestow`` program: finds the command, runs it, turns errors into exit codes."""

from __future__ import annotations

import difflib
import importlib
import sys

import typer
from typer.main import get_command

import kubestow
from kubestow.live import stores
from kubestow.model import errors

# What only those need who run it in a cluster (the extra "live").
_EXTRA = {"cryptography", "httptools", "prometheus_client", "starlette", "uvicorn", "uvloop"}
_LIVE = "pip install 'kubestow[live]'"
# Exit codes are a contract: 0 ok, 1 finding or failed check, 2 bad input, 130 interrupted.
BAD_INPUT = 2
INTERRUPTED = 130

# Commands are imported when they are called, so that --help does not load compilers and solvers.
COMMANDS = {
    "demo": ("kubestow.cli.demo", "Compare stock Kubernetes with kubestow on a bundled cluster."),
    "pack": ("kubestow.cli.pack", "Pack pods on as few nodes as possible, with a lower bound."),
    "place": ("kubestow.cli.place", "Tell where kube-scheduler would put each pod, and why."),
    "scale": ("kubestow.cli.scale", "Replay what an autoscaler saw, and tell what it would do."),
    "simulate": ("kubestow.cli.simulate", "Simulate a cluster with every control loop inside."),
    "compare": ("kubestow.cli.compare", "Compare variants of a scenario, seed by seed."),
    "forecast": ("kubestow.cli.forecast", "Forecast a series, with intervals and back-test."),
    "recommend": (
        "kubestow.cli.recommend",
        "Recommend requests and limits from usage, with a stated risk.",
    ),
    "extender": ("kubestow.cli.extender", "Serve a placing term to kube-scheduler."),
    "admission": ("kubestow.cli.admission", "Serve the webhook that sizes new pods."),
    "metrics-api": ("kubestow.cli.metrics_api", "Serve metrics and forecasts to autoscalers."),
    "install": ("kubestow.cli.install", "Print or apply what runs kubestow in a cluster."),
    "explain": ("kubestow.cli.explain", "Show what was decided about an object, and why."),
    "study": ("kubestow.cli.study", "Run an experiment and write its results."),
}

HELP = """Usage: kubestow COMMAND [ARGS]...

  Place, size, scale and move Kubernetes workloads - and prove it before you ship it.

Commands:
{commands}

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit; 'kubestow COMMAND --help' tells more.

Example:
  kubectl get nodes,pods,ns,svc,rs,sts -A -o yaml > cluster.yaml
  kubestow place cluster.yaml
"""


def main() -> None:
    """Run the program and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the program with some arguments and return its exit code."""
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help", "help"):
        listed = "\n".join(f"  {name:11} {summary}" for name, (_, summary) in COMMANDS.items())
        sys.stdout.write(HELP.format(commands=listed))
        return 0
    if first == "--version":
        sys.stdout.write(f"kubestow {kubestow.__version__}\n")
        return 0
    if first not in COMMANDS:
        near = difflib.get_close_matches(first, COMMANDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; expected {', '.join(COMMANDS)}"
        return _complain(f"{first!r} is not a command{hint}")
    return _run_command(first, arguments[1:])


def _run_command(name: str, arguments: list[str]) -> int:
    try:
        module = importlib.import_module(COMMANDS[name][0])
    except ModuleNotFoundError as err:
        if (err.name or "").split(".")[0] not in _EXTRA:
            raise
        return _complain(f"{name}: {err.name} is not installed; expected {_LIVE}")
    command = get_command(module.app)
    try:
        result = command.main(args=arguments, prog_name=f"kubestow {name}", standalone_mode=False)
    except (errors.InputError, stores.StoreUnavailableError) as err:
        return _complain(str(err))
    except typer.Exit as leave:
        result = leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except typer.exceptions.TyperException as err:
        return _complain(f"{err} (see 'kubestow {name} --help')")
    if result == INTERRUPTED:
        sys.stderr.write("interrupted; finished parts are kept\n")
    return result if isinstance(result, int) else 0


def _complain(message: str) -> int:
    sys.stderr.write(f"error: {message}\n")
    return BAD_INPUT
