"""CPU time of help texts, relative to an empty interpreter.

Shell completion and help texts wait only for imports. The figures are the CPU time (user and
system) of ``python -c pass`` / that of the program, minimum of several runs each: 0.125 is eight
times an empty interpreter, 0.025 forty times.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from kubestow.cli import main

_RUNS = 7
_PROGRAM = (sys.executable, "-c", "from kubestow.cli.main import main; main()")


def measure() -> dict[str, float]:
    """Return the figures by name: the help of the program, and of the slowest command."""
    _processor_s(*_PROGRAM, "--help", runs=1)  # writes bytecode once
    empty_s = _processor_s(sys.executable, "-c", "pass")
    commands_s = [_processor_s(*_PROGRAM, name, "--help") for name in main.COMMANDS]
    return {
        "empty_interpreter_over_help": empty_s / _processor_s(*_PROGRAM, "--help"),
        "empty_interpreter_over_slowest_command_help": empty_s / max(commands_s),
    }


def _processor_s(*command: str, runs: int = _RUNS) -> float:
    """Return the minimum CPU time of a command, in seconds."""
    return min(_processor_once_s(command) for _ in range(runs))


def _processor_once_s(command: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
