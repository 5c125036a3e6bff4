"""Scaling on real request traces: overloaded requests, late or dropped ones, and cost.

Each trace is replayed in the simulator. One replica serves 1/28 of the 99th percentile of the
trace, a pod takes 60 s to start, metrics are one-minute means with a lag of 15 s. A request is
overloaded if it arrives in a second in which arrivals exceed the capacity of ready pods; it is late
or dropped if the simulator's queue answers it after the objective, or never. The simulator gets
arrivals as means of its step of 15 s, so bursts within a step overload but hardly delay. Every
scaler is a curve over target utilisations; ``perfect`` knows the future demand as one-minute means,
the best any short-term forecast could know. The first day is warm-up; curves cover the rest. Their
intervals come from resampling blocks of time (four hours; ten minutes for the trace of one hour).
The trace of one hour is run from several starts a few seconds apart, since on it the timing of a
single decision matters as much as the scaler. The data is not part of this repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from kubestow.model.arrays import Floats
from kubestow.model.progress import Progress
from kubestow.sources import traces
from kubestow.studies import public_data, scaling_runs, tradeoffs, verdicts
from kubestow.studies.options import StudyOptions
from kubestow.studies.own.trace_scaling import page, pooled_tradeoffs
from kubestow.studies.scaling_runs import ScalingVariant
from kubestow.workflows import files

DAY_S: Final = 86400
BLOCK_S: Final = 14400
STEP_S: Final = 15
# Starts of the trace of one hour, in seconds; not multiples of a step, so that decisions shift.
STARTS_S: Final = tuple(range(0, 170, 17))
REACTIVE, PERFECT, OURS = "hpa", "perfect", "auto"
TARGETS: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_WIDE: Final = (0.2, 0.3, *TARGETS)
_BEYOND: Final = (*_WIDE, 1.1)
VARIANTS: Final = (
    (ScalingVariant(REACTIVE, "hpa"), _WIDE),
    (ScalingVariant(PERFECT, "perfect"), _BEYOND),
    (ScalingVariant(OURS, "auto"), TARGETS),
    (ScalingVariant("line-fit", "line-fit"), (0.6, 0.8)),
    (ScalingVariant("receding", "receding"), (0.6, 0.8)),
)
FILES: Final = (
    "req_twitter/requests_per_sec.txt.gz",
    "req_nasa/requests_per_sec.txt.gz",
    "req_azure_llm2023/AzureLLMInferenceTrace_conv.csv.gz",
    "req_worldcup98/requests_per_min.txt.gz",
    "req_ms_cloud_monitoring/mongodb-application-rps__mongo-01.csv.gz",
    "req_ms_cloud_monitoring/mongodb-application-rps__mongo-03.csv.gz",
)
# Lower bound of badness: 0.01 % of requests is negligible.
FLOOR: Final = 1e-4
NO_GAP: Final = 0.98
RULES: Final = {
    "gap": "beaten: the geometric mean over targets of overloaded requests, at equal cost, is at "
    "least half the way from the curve of `hpa` to that of `perfect`; where even `perfect` is not "
    "2 % better, or its interval reaches 1, no gap is shown, and `auto` must not be 2 % worse. "
    "Defaults of `auto` were chosen on earlier days of the same traces; of azure-llm, one hour, on "
    "that hour",
    "never": "beaten: at no target is the ratio to the curve of `hpa` above 1.02, where more than "
    f"{100 * FLOOR:g} % of requests are overloaded",
    "late": "beaten: the geometric mean over targets of late or dropped requests, at equal cost, "
    "is below that of `hpa`, and so is its whole interval; no difference: 1 lies in the interval",
}


@dataclass(frozen=True, slots=True, eq=False)
class DemandTrace:
    """A request trace, second by second.

    Attributes:
        name: Its name.
        rates: Requests per second.
        warm_s: Warm-up in seconds, not counted.
        block_s: Length of a replicate in seconds.
        fine: Whether it was measured by the second, not by the minute.
        start_s: Offset of the start, if the trace is run several times.
    """

    name: str
    rates: Floats
    warm_s: int
    block_s: int
    fine: bool
    start_s: int = 0

    @property
    def place(self) -> str:
        """Name of its runs."""
        return f"{self.name}-from-{self.start_s}" if self.start_s else self.name

    @property
    def capacity(self) -> float:
        """Requests per second that one replica serves: 1/28 of the 99th percentile."""
        return float(np.percentile(self.rates[self.warm_s :], 99)) / 28.0


def read_traces(data: Path, days: int) -> list[DemandTrace]:
    """Return the available traces: one day of warm-up and ``days`` days that count.

    Defaults of ``auto`` were chosen on earlier days of the same traces, or, for the trace of one
    hour, on that hour.
    """
    span = (days + 1) * DAY_S
    available = []
    for name, folder, first_day in (("twitter", "req_twitter", 6), ("nasa", "req_nasa", 17)):
        path = data / folder / "requests_per_sec.txt.gz"
        if path.is_file():
            rates = traces.read_counts(path).values[0]
            cut = rates[first_day * DAY_S : first_day * DAY_S + span]
            available.append(DemandTrace(name, cut, DAY_S, BLOCK_S, fine=True))
    path = data / "req_azure_llm2023" / "AzureLLMInferenceTrace_conv.csv.gz"
    if path.is_file():
        rates = traces.read_arrivals(path, "TIMESTAMP", 1.0).values[0]
        for start_s in STARTS_S:
            cut = rates[start_s:]
            cut = cut[: len(cut) // 60 * 60]
            available.append(DemandTrace("azure-llm", cut, 300, 600, fine=True, start_s=start_s))
    path = data / "req_worldcup98" / "requests_per_min.txt.gz"
    if path.is_file():
        rates = traces.read_counts(path).values[0][41 * 1440 :] / 60.0
        available.append(
            DemandTrace("worldcup98", np.repeat(rates, 60)[:span], DAY_S, BLOCK_S, fine=False)
        )
    for name in ("mongo-01", "mongo-03"):
        path = data / "req_ms_cloud_monitoring" / f"mongodb-application-rps__{name}.csv.gz"
        if path.is_file():
            rates = traces.read_table(path, "TimeStamp", ["Value"]).values[0]
            cut = np.repeat(rates[7 * 1440 :], 60)[:span]
            available.append(DemandTrace(name, cut, DAY_S, BLOCK_S, fine=False))
    return available


def write_series(trace: DemandTrace, folder: Path) -> Path:
    """Write a trace as means per simulator step; return the file."""
    steps = len(trace.rates) // STEP_S
    means = trace.rates[: steps * STEP_S].reshape(steps, STEP_S).mean(axis=1)
    path = folder / f"{trace.name}-{hashlib.sha256(means.tobytes()).hexdigest()[:12]}.csv"
    if not path.is_file():
        table = pl.DataFrame({"timestamp": np.arange(steps) * STEP_S, "value": means.round(6)})
        files.write_text(path, table.write_csv())
    return path


def scenario(trace: DemandTrace, path: Path) -> dict[str, Any]:
    """Return the scenario that replays a trace."""
    work_s = 1.0 / trace.capacity
    first = float(trace.rates[:60].mean())
    return {
        "apiVersion": "kubestow.io/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": trace.name},
        "spec": {
            "seed": 1,
            "duration": f"{len(trace.rates) // STEP_S * STEP_S}s",
            "step": f"{STEP_S}s",
            "cluster": {
                "nodes": [
                    {
                        "name": "n",
                        "count": 12,
                        "allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"},
                    }
                ]
            },
            "workloads": [
                {
                    "name": "web",
                    "replicas": max(round(first * work_s / 0.6), 1),
                    "pod": {
                        "requests": {"cpu": "1", "memory": "64Mi"},
                        "limits": {"cpu": "1", "memory": "128Mi"},
                        "startup": {"mean": "60s", "jitter": "0s"},
                    },
                    "demand": {"pattern": "trace", "trace": str(path.resolve())},
                    "service": {
                        "cpuPerRequest": f"{1000.0 * work_s:.6f}ms",
                        "baseMemory": "20Mi",
                        "sloMillis": max(4000.0 * work_s, 100.0),
                        "timeout": f"{max(10.0 * work_s, 10.0):g}s",
                    },
                }
            ],
            "metrics": {"scrape": "15s", "window": "60s", "lag": "15s"},
            "recording": {"workloads": f"{STEP_S}s", "nodes": "1h"},
            "policies": {
                "scaling": {"scaler": "hpa", "target": {"cpu": 0.6}, "min": 1, "max": 300}
            },
        },
    }


AllCurves = Mapping[str, Mapping[str, tradeoffs.TradeoffCurve]]
Measuring = Callable[[DemandTrace, scaling_runs.ScalingRun], tuple[Floats, Floats]]


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    days = options.sample(2, 1)
    traces = read_traces(public_data.find(FILES), days)
    variants = VARIANTS[:3] if options.quick else VARIANTS
    tasks = [
        scaling_runs.ScalingTask(
            scenario(trace, write_series(trace, options.out / "series")),
            trace.place, variant, target, 1,
        )
        for trace in traces
        for variant, targets in variants
        for target in (targets[::3] if options.quick else targets)
    ]  # fmt: skip
    runs = scaling_runs.run_all(tasks, options.out / "runs", options.jobs, watch)
    by_place: dict[str, list[tuple[scaling_runs.ScalingTask, scaling_runs.ScalingRun]]] = {}
    for task, run in zip(tasks, runs, strict=True):
        by_place.setdefault(task.place, []).append((task, run))
    report = make_report(
        [trace for trace in traces if not trace.start_s],
        make_all_curves(traces, by_place, measure),
        make_all_curves(traces, by_place, measure_late),
    )
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def make_all_curves(
    traces: Sequence[DemandTrace],
    by_place: Mapping[str, Sequence[tuple[scaling_runs.ScalingTask, scaling_runs.ScalingRun]]],
    measured: Measuring,
) -> dict[str, dict[str, tradeoffs.TradeoffCurve]]:
    """Return the curves of every trace; those from several starts are averaged block by block."""
    by_trace: dict[str, list[dict[str, tradeoffs.TradeoffCurve]]] = {}
    for trace in traces:
        by_trace.setdefault(trace.name, []).append(
            make_curves(trace, by_place[trace.place], measured)
        )
    return {
        name: {variant: _average([curves[variant] for curves in parts]) for variant in parts[0]}
        for name, parts in by_trace.items()
    }


def _average(curves: Sequence[tradeoffs.TradeoffCurve]) -> tradeoffs.TradeoffCurve:
    blocks = min(curve.cost.shape[1] for curve in curves)
    return tradeoffs.TradeoffCurve(
        curves[0].targets,
        np.mean([curve.cost[:, :blocks] for curve in curves], axis=0),
        np.mean([curve.badness[:, :blocks] for curve in curves], axis=0),
    )


def make_curves(
    trace: DemandTrace,
    mine: Sequence[tuple[scaling_runs.ScalingTask, scaling_runs.ScalingRun]],
    measured: Measuring,
) -> dict[str, tradeoffs.TradeoffCurve]:
    """Return the curve of every scaler, block by block."""
    names = dict.fromkeys(task.variant.name for task, _ in mine)
    curves = {}
    for name in names:
        here = [
            (task.target, measured(trace, run)) for task, run in mine if task.variant.name == name
        ]
        curves[name] = tradeoffs.TradeoffCurve(
            targets=[target for target, _ in here],
            cost=np.array([cost for _, (cost, _) in here]),
            badness=np.array([over for _, (_, over) in here]),
        )
    return curves


def measure(trace: DemandTrace, run: scaling_runs.ScalingRun) -> tuple[Floats, Floats]:
    """Return mean pods and overloaded requests by block.

    Overloaded requests are relative to the requests of the mean block, so that their mean is the
    overall share.
    """
    ready = run.column("ready")
    # Pods ready at the end of the previous step serve this step.
    before = np.concatenate([ready[:1], ready[:-1]])
    capacity = np.repeat(before, STEP_S) * trace.capacity
    demand = trace.rates[: len(capacity)]
    over = np.maximum(demand - capacity, 0.0)
    return _by_block(trace, run, over.reshape(-1, STEP_S).mean(axis=1))


def measure_late(trace: DemandTrace, run: scaling_runs.ScalingRun) -> tuple[Floats, Floats]:
    """Return mean pods and requests answered late or never, by block, as :func:`measure` does."""
    return _by_block(trace, run, run.column("late") + run.column("dropped"))


def _by_block(
    trace: DemandTrace, run: scaling_runs.ScalingRun, missed: Floats
) -> tuple[Floats, Floats]:
    """Return mean pods and missed requests of every block; the latter by those of the mean block.

    Args:
        trace: The trace.
        run: Its run.
        missed: Missed requests per second, by step.
    """
    steps, block = len(missed), trace.block_s // STEP_S
    demand = trace.rates[: steps * STEP_S].reshape(-1, STEP_S).mean(axis=1)
    first = trace.warm_s // STEP_S
    last = first + (steps - first) // block * block
    costs, totals, misses = (
        column[first:last].reshape(-1, block).mean(axis=1)
        for column in (run.column("existing"), demand, missed)
    )
    return costs, misses / totals.mean()


def make_report(
    traces: Sequence[DemandTrace], curves: AllCurves, late_curves: AllCurves
) -> dict[str, Any]:
    """Return the content of results.json.

    Args:
        traces: The traces.
        curves: Curves of overloaded requests, by trace and scaler.
        late_curves: Those of late or dropped requests.
    """
    rows: list[dict[str, Any]] = []
    for trace in traces:
        rows += make_rows(trace, curves[trace.name])
        rows.append(make_late_row(trace, late_curves[trace.name]))
    return {
        "study": "trace-scaling",
        "rules": RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "points": make_points(curves),
        "late_points": make_points(late_curves),
    }


def make_points(curves: AllCurves) -> list[dict[str, Any]]:
    """Return every target of every scaler with its ratio to the reactive curve."""
    return [
        {"trace": name, "way": variant, **page.describe(point)}
        for name, by_variant in curves.items()
        for variant, curve in by_variant.items()
        for point in pooled_tradeoffs.compare(curve, by_variant[REACTIVE], FLOOR)
    ]


def make_rows(
    trace: DemandTrace, curves: Mapping[str, tradeoffs.TradeoffCurve]
) -> list[dict[str, Any]]:
    """Return the two statements about ``auto`` on one trace."""
    ratio, low, high = pooled_tradeoffs.overall(curves[OURS], curves[REACTIVE], FLOOR)
    best, _, best_high = pooled_tradeoffs.ratio_at(
        curves[PERFECT], curves[REACTIVE], curves[OURS].cost, FLOOR
    )
    closed = None
    if ratio is not None and best is not None and best < NO_GAP and (best_high or 0.0) < 1.0:
        closed = (1.0 - ratio) / (1.0 - best)
    points = pooled_tradeoffs.compare(curves[OURS], curves[REACTIVE], FLOOR)
    known = [p for p in points if p.ratio is not None and p.badness > FLOOR]
    worst = max((p.ratio or 0.0 for p in known), default=0.0)
    text = "no common cost" if ratio is None else f"x {ratio:.2f}"
    if low is not None and high is not None:
        text += f" ({low:.2f} to {high:.2f})"
    ideal = "-" if best is None else f"{best:.2f}"
    if best_high is not None:
        ideal += f" (up to {best_high:.2f})"
    gap = f"{text} of `{REACTIVE}`'s at equal cost, `{PERFECT}` x {ideal}"
    if ratio is not None:
        gap += ": no gap shown" if closed is None else f": {100 * closed:.0f} % of the gap closed"
    good = closed >= 0.5 if closed is not None else ratio is not None and ratio <= 1.02
    blocks = curves[OURS].cost.shape[1]
    shared = {"trace": trace.name, "fine": trace.fine, "n": blocks}
    return [
        {
            **shared,
            "statement": f"overloaded requests on {trace.name}",
            "found": gap,
            "ratio": ratio,
            "low": low,
            "high": high,
            "perfect": best,
            "closed": closed,
            "verdict": "beaten" if good else "not reproduced",
            "rule": RULES["gap"],
        },
        {
            **shared,
            "statement": f"never above `{REACTIVE}` on {trace.name}",
            "found": f"largest ratio {worst:.2f}" if known else "nothing overloaded",
            "ratio": worst,
            "verdict": "beaten" if worst <= 1.02 else "not reproduced",
            "rule": RULES["never"],
        },
    ]


def make_late_row(
    trace: DemandTrace, curves: Mapping[str, tradeoffs.TradeoffCurve]
) -> dict[str, Any]:
    """Return the statement about late or dropped requests on one trace."""
    ratio, low, high = pooled_tradeoffs.overall(curves[OURS], curves[REACTIVE], FLOOR)
    text, verdict = "no common cost", "not reproduced"
    if ratio is not None:
        text = f"x {ratio:.2f} of `{REACTIVE}`'s at equal cost"
    if low is not None and high is not None:
        text += f" ({low:.2f} to {high:.2f})"
        verdict = "beaten" if high < 1.0 else "no difference" if low <= 1.0 else "not reproduced"
    return {
        "trace": trace.name,
        "fine": trace.fine,
        "n": curves[OURS].cost.shape[1],
        "statement": f"late or dropped requests on {trace.name}",
        "found": text,
        "ratio": ratio,
        "low": low,
        "high": high,
        "verdict": verdict,
        "rule": RULES["late"],
    }
