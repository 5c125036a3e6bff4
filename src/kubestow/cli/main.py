"""The ``kubestow`` program: finds the command, runs it, turns errors into exit codes.

This module imports next to nothing: whoever asks for help, or presses Ctrl-C while modules load,
is not made to wait, and an interrupt at any time ends with one line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kubestow.cli import compiling_notice, interrupts

if TYPE_CHECKING:
    from typer.core import TyperCommand

    from kubestow.model import errors

# Exit codes are a contract: 0 ok, 1 finding or failed check, 2 bad input, 130 interrupted.
BAD_INPUT: Final = 2
INTERRUPTED: Final = 130

# Commands are imported when they are called.
COMMANDS = {
    "demo": ("kubestow.cli.demo", "Compare stock Kubernetes with kubestow on a bundled cluster."),
    "pack": ("kubestow.cli.pack", "Pack pods onto as few nodes as possible, with a lower bound."),
    "place": ("kubestow.cli.place", "Show where kube-scheduler would place each pod, and why."),
    "scale": ("kubestow.cli.scale", "Replay observations and show what a scaler would decide."),
    "simulate": ("kubestow.cli.simulate", "Simulate a cluster with all of its control loops."),
    "compare": ("kubestow.cli.compare", "Compare variants of a scenario, seed by seed."),
    "forecast": (
        "kubestow.cli.forecast",
        "Forecast a series, with prediction intervals and a back-test.",
    ),
    "recommend": (
        "kubestow.cli.recommend",
        "Recommend requests and limits from usage, with a stated risk.",
    ),
    "extender": ("kubestow.cli.extender", "Serve a placing term to kube-scheduler."),
    "admission": ("kubestow.cli.admission", "Serve the webhook that sets requests of new pods."),
    "metrics-api": ("kubestow.cli.metrics_api", "Serve metrics and forecasts to autoscalers."),
    "install": ("kubestow.cli.install", "Print or apply the objects that run kubestow."),
    "explain": ("kubestow.cli.explain", "Show what was decided about an object, and why."),
    "study": ("kubestow.cli.study", "Run an experiment and write its results."),
}

# Packages that come with an extra only, by the extra.
_EXTRAS: Final = {
    "dashboard": ("starlette", "uvicorn"),
    "live": ("cryptography", "httptools", "prometheus_client", "starlette", "uvicorn", "uvloop"),
    "neural": ("equinox", "jax", "jaxlib", "optax"),
    "postgres": ("psycopg",),
    "ray": ("ray",),
}

HELP = """Usage: kubestow COMMAND [ARGS]...

  Place, size, scale and move Kubernetes workloads - and prove it before you ship it.

Commands:
{commands}

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit; 'kubestow COMMAND --help' shows its options.

Example:
  kubectl get nodes,pods,ns,svc,rs,sts -A -o yaml > cluster.yaml
  kubestow place cluster.yaml
"""


def main() -> None:
    """Run the program and leave with its exit code."""
    interrupts.watch()
    compiling_notice.show()
    try:
        result = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        result = _ignore_output()
    if result == INTERRUPTED:
        interrupts.leave()
    sys.exit(result)


def run(arguments: Sequence[str]) -> int:
    """Run the program with some arguments and return its exit code."""
    try:
        result = _dispatch(arguments)
    except KeyboardInterrupt:
        result = INTERRUPTED
    except Exception:
        # An interrupt while modules load may surface as any error.
        if not interrupts.seen():
            raise
        result = INTERRUPTED
    if result == INTERRUPTED:
        sys.stderr.write(interrupts.LINE)
    return result


def _dispatch(arguments: Sequence[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help", "help"):
        listed = "\n".join(f"  {name:11} {summary}" for name, (_, summary) in COMMANDS.items())
        sys.stdout.write(HELP.format(commands=listed))
        return 0
    if first == "--version":
        import kubestow

        sys.stdout.write(f"kubestow {kubestow.__version__}\n")
        return 0
    if first not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(first, COMMANDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; expected {', '.join(COMMANDS)}"
        return _complain(f"{first!r} is not a command{hint}")
    return _run_command(first, arguments[1:])


def _run_command(name: str, arguments: Sequence[str]) -> int:
    import typer

    from kubestow.model import errors

    try:
        command = load_command(name)
    except ModuleNotFoundError as err:
        return _complain_of_missing(name, err)
    try:
        result = command.main(
            args=list(arguments), prog_name=f"kubestow {name}", standalone_mode=False
        )
    except ModuleNotFoundError as err:
        return _complain_of_missing(name, err)
    except errors.InputError as err:
        return _complain(_with_option(err, command, arguments))
    except errors.UnavailableError as err:
        return _complain(str(err))
    except typer.Exit as leave:
        result = leave.exit_code
    except typer.Abort:
        result = INTERRUPTED
    except SystemExit:  # this is how typer leaves when its output is a closed pipe
        return _ignore_output()
    except typer.exceptions.TyperException as err:
        return _complain(f"{_usage_problem(err)} (see 'kubestow {name} --help')")
    return result if isinstance(result, int) else 0


def _ignore_output() -> int:
    """Write no more to a pipe whose reader, such as head, has seen enough; that is no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _usage_problem(err: Exception) -> str:
    """Return what is wrong with the arguments, with parameters as the help text names them."""
    parameter = getattr(err, "param", None)
    if parameter is None or not str(err).startswith("Missing parameter"):
        return str(err)
    options = [option for option in parameter.opts if option.startswith("--")]
    return f"{options[0] if options else parameter.metavar or parameter.name} is missing"


def load_command(name: str) -> TyperCommand:
    """Import a command and return it; lines of its examples are not joined in its help."""
    import importlib
    import inspect

    from typer.core import TyperCommand
    from typer.main import get_command

    command = get_command(importlib.import_module(COMMANDS[name][0]).app)
    if not isinstance(command, TyperCommand):
        raise TypeError(f"{name}: expected one command, not a group")
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    # A paragraph that begins with a backspace is printed as it stands.
    command.help = "\n\n".join(
        f"\b\n{text}" if "\n  " in f"\n{text}" else text for text in paragraphs
    )
    return command


def _with_option(err: errors.InputError, command: TyperCommand, arguments: Sequence[str]) -> str:
    """Return the message with the option's spelling where the place is a parameter's name.

    Code behind the command line names parameters: ``horizon`` there is ``--horizon`` here.
    """
    name, *detail = err.place.split(" ", 1)
    if err.place in arguments:  # a file may be called like an option
        return str(err)
    for parameter in command.params:
        options = [option for option in parameter.opts if option.startswith("--")]
        if options and name in (parameter.name, options[0].removeprefix("--")):
            return f"{' '.join([options[0], *detail])}: {err.problem}"
    return str(err)


def _complain_of_missing(command: str, err: ModuleNotFoundError) -> int:
    """Say in one sentence which extra brings a package that is not installed."""
    missing = (err.name or "").split(".")[0]
    extras = [extra for extra, packages in _EXTRAS.items() if missing in packages]
    if not extras:
        raise err
    extra = command if command in extras else extras[-1]
    return _complain(
        f"{command}: {missing} is not installed; expected pip install 'kubestow[{extra}]'"
    )


def _complain(message: str) -> int:
    sys.stderr.write(f"error: {message}\n")
    return BAD_INPUT
