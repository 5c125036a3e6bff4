"""Trace five requests through the code: modules visited, calls, and changes of module per call.

    python -m tools.journeys

The figures are in ``docs/background/decisions.md``. A call counts when it enters a function of
kubestow; it changes the module when the nearest caller inside kubestow is in another module. Every
journey runs once untraced, so that imports and compilation are not traced.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

_PACKAGE: Final = str(Path("src") / "kubestow") + "/"
_FILTER: Final = "test_filter_and_prioritize_answer_as_kube_scheduler_reads_it"
_ADMISSION: Final = "test_a_labelled_pod_gets_what_was_learned"


@dataclass(slots=True)
class Trace:
    """Modules and calls of one journey."""

    modules: set[str] = field(default_factory=set)
    calls: int = 0
    changes: int = 0

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Profile function for ``sys.setprofile``."""
        module = _module(frame)
        if event != "call" or not module:
            return
        self.modules.add(module)
        self.calls += 1
        caller = frame.f_back
        while caller is not None and not _module(caller):
            caller = caller.f_back
        self.changes += caller is not None and _module(caller) != module


def _module(frame: FrameType) -> str:
    """Return the path inside the package, or an empty text for other code."""
    return frame.f_code.co_filename.rpartition(_PACKAGE)[2].removesuffix(".py") * (
        _PACKAGE in frame.f_code.co_filename
    )


@contextlib.contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Trace this thread and threads that it starts."""
    threading.setprofile(trace.profile)
    sys.setprofile(trace.profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


class _Traced:
    """A pytest plugin that traces the body of a test, not its fixtures."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        """Trace the call."""
        with tracing(self._trace):
            return (yield)


def trace_command(*arguments: str) -> Trace:
    """Trace a command of the program."""
    from kubestow.cli import main  # noqa: PLC0415 - the tree to trace is chosen by the caller

    trace = Trace()
    for traced in (contextlib.nullcontext(), tracing(trace)):
        with contextlib.redirect_stdout(io.StringIO()), traced:
            code = main.run(list(arguments))
        if code:
            raise SystemExit(f"kubestow {' '.join(arguments)}: exit code {code}")
    return trace


def trace_test(name: str, folder: str) -> Trace:
    """Trace a test."""
    trace = Trace()
    options = ["-q", "-p", "no:cacheprovider", "--no-header", f"tests/live/{folder}", "-k", name]
    with contextlib.redirect_stdout(io.StringIO()):
        code = pytest.main(options, [_Traced(Trace())]) or pytest.main(options, [_Traced(trace)])
    if code:
        raise SystemExit(f"{name}: pytest ended with {code}")
    return trace


def write_inputs(folder: Path) -> None:
    """Write usage of three containers and a scenario of ten minutes with one service."""
    header = "timestamp,namespace,kind,workload,pod,container,cpu_cores,memory_bytes\n"
    rows = "".join(
        f"{1_790_000_000 + 300 * index},shop,Deployment,app-{n},app-{n}-0,main,0.{n + 1},{10**8}\n"
        for n in range(3)
        for index in range(8 * 288)
    )
    (folder / "usage.csv").write_text(header + rows, encoding="utf-8")
    allocatable = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    service = {"cpuPerRequest": "20ms", "baseMemory": "180Mi", "sloMillis": 200}
    workload = {
        "name": "web",
        "replicas": 2,
        "pod": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        "demand": {"pattern": "constant", "mean": 20},
        "service": service,
    }
    spec = {
        "seed": 1,
        "duration": "10m",
        "cluster": {"nodes": [{"name": "n", "count": 3, "allocatable": allocatable}]},
        "workloads": [workload],
        "policies": {"scaling": {"scaler": "hpa", "target": {"cpu": 0.6}, "min": 1, "max": 10}},
    }
    document = {"apiVersion": "kubestow.io/v1alpha1", "kind": "Scenario", "spec": spec}
    text = json.dumps({**document, "metadata": {"name": "journey"}})
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")


def journeys(folder: Path) -> Iterator[tuple[str, Callable[[], Trace]]]:
    """Return the five journeys."""
    csv, scenario = str(folder), str(folder / "scenario.yaml")
    varied = ("--vary", "policies.scaling.target.cpu=0.5,0.7", "--seeds", "1", "--jobs", "1")
    yield "recommend", lambda: trace_command("recommend", "--csv", csv, "--strategy", "percentile")
    yield "simulate", lambda: trace_command("simulate", scenario)
    yield "compare", lambda: trace_command("compare", scenario, *varied)
    yield "/filter and /prioritize", lambda: trace_test(_FILTER, "extender")
    yield "admission", lambda: trace_test(_ADMISSION, "admission")


def main() -> int:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for journey, run in journeys(folder):
            trace = run()
            share = trace.changes / trace.calls
            sys.stdout.write(
                f"{journey}: {len(trace.modules)} modules, "
                f"{trace.changes} of {trace.calls} calls change the module ({share:.3f})\n"
            )
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
