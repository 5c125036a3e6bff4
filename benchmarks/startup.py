"""CPU time of help texts, and of compiling on the first use.

Shell completion and help texts wait only for imports. The figures are the CPU time (user and
system) of ``python -c pass`` / that of the program, minimum of several runs each: 0.125 is eight
times an empty interpreter, 0.025 forty times. The first simulation on a machine compiles; its
figure is 15 s / CPU time of compiling with an empty cache, since users wait in seconds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from kubestow.cli import main

_RUNS = 7
_PROGRAM = (sys.executable, "-c", "from kubestow.cli.main import main; main()")
_DAY = Path(__file__).parents[1] / "examples" / "shop-day.yaml"
# Functions are compiled inside each other: only the outermost counts.
_FIRST = """
import sys, time
from kubestow.policies import compile_events
from kubestow.cli import main
depth, begun, total = 0, 0.0, 0.0
def listen(starts):
    global depth, begun, total
    if starts and not depth:
        begun = time.thread_time()
    depth += 1 if starts else -1
    if not depth:
        total += time.thread_time() - begun
compile_events.listener = listen
main.run(sys.argv[1:])
print(total, file=sys.stderr)
"""


def measure() -> dict[str, float]:
    """Return the figures by name: the help of the program, and of the slowest command."""
    _processor_s(*_PROGRAM, "--help", runs=1)  # writes bytecode once
    empty_s = _processor_s(sys.executable, "-c", "pass")
    commands_s = [_processor_s(*_PROGRAM, name, "--help") for name in main.COMMANDS]
    return {
        "empty_interpreter_over_help": empty_s / _processor_s(*_PROGRAM, "--help"),
        "empty_interpreter_over_slowest_command_help": empty_s / max(commands_s),
        "1_s_over_recommend_help": 1.0 / _processor_s(*_PROGRAM, "recommend", "--help"),
        "15_s_over_first_simulate_compiling": 15.0 / _compiling_s(),
    }


def _compiling_s() -> float:
    """Return the CPU time of compiling in the first simulation on a machine."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", _FIRST, "simulate", str(_DAY), "--out", f"{folder}/out"],
            env={**os.environ, "NUMBA_CACHE_DIR": f"{folder}/cache"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return float(done.stderr.split()[-1])


def _processor_s(*command: str, runs: int = _RUNS) -> float:
    """Return the minimum CPU time of a command, in seconds."""
    return min(_processor_once_s(command) for _ in range(runs))


def _processor_once_s(command: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
