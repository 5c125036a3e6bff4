"""Elastic scaling ahead of load: the 600 s experiment of Shi 2023 (5.2), with numbers.

Load rises from 90 to 330 s, is steady, and falls from 450 to 570 s; 2 to 8 replicas, pods ready
within 30 s, both cool-downs 30 s, forecasts 30 s ahead. The thesis states only that its module
scales up before the autoscaler does, and down without harm (H3). This study measures the lead at
every number of replicas, response times over the rise and replica-seconds over the fall, with many
seeds. Five minutes of base load come first, since forecasts need a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from kubestow.model.progress import Progress
from kubestow.studies import scaling_runs, verdicts
from kubestow.studies.options import StudyOptions
from kubestow.studies.scaling_runs import ScalingVariant
from kubestow.studies.shi.scaling import page
from kubestow.workflows import comparing, files

SEEDS: Final = 20
BEFORE_S: Final = 300.0
RISE_S: Final = (90.0, 330.0)
FALL_S: Final = (450.0, 600.0)
LEVELS: Final = (4, 6, 8)
TARGET: Final = 0.6
LEAD_S: Final = 30.0
REACTIVE, OURS = "hpa", "auto"
_COOL: Final = {"strict": True, "cooldownUpS": 30, "cooldownDownS": 30, "leastPoints": 16}
VARIANTS: Final = (
    ScalingVariant(REACTIVE, "hpa"),
    ScalingVariant("arima as printed", "arima", _COOL),
    ScalingVariant("gru as printed", "gru", _COOL),
    ScalingVariant("arima-gru as printed", "arima-gru", _COOL),
    ScalingVariant("arima-gru", "arima-gru"),
    ScalingVariant("holt-winters", "holt-winters"),
    ScalingVariant("line-fit", "line-fit"),
    ScalingVariant(OURS, "auto"),
)
RULES: Final = {
    "lead": f"beaten: mean lead of at least {LEAD_S:g} s at each of {LEVELS} replicas, "
    "lower end of the 95 % interval above 0",
    "rise": "beaten: 95 % interval of the paired ratio below 1",
    "fall": "beaten: replica-seconds not higher, 95 % interval of the paired ratio below 1.02",
}


def scenario() -> dict[str, Any]:
    """Return the scenario: the peak load is 4.8 busy pods, which needs all 8 at 60 %."""
    segments = [
        {"start": 5, "seconds": BEFORE_S + RISE_S[0]},
        {"start": 5, "end": 30, "seconds": RISE_S[1] - RISE_S[0]},
        {"start": 30, "seconds": FALL_S[0] - RISE_S[1]},
        {"start": 30, "end": 5, "seconds": 120},
        {"start": 5, "seconds": 30},
    ]
    return {
        "apiVersion": "kubestow.io/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "shi-scaling"},
        "spec": {
            "seed": 1,
            "duration": f"{BEFORE_S + FALL_S[1]:g}s",
            "step": "5s",
            "cluster": {
                "nodes": [
                    {
                        "name": "node",
                        "count": 3,
                        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                    }
                ]
            },
            "workloads": [
                {
                    "name": "web",
                    "replicas": 2,
                    "pod": {
                        "requests": {"cpu": "500m", "memory": "256Mi"},
                        "limits": {"cpu": "500m", "memory": "512Mi"},
                        "startup": {"mean": "25s", "jitter": "3s"},
                    },
                    "demand": {"pattern": "segments", "segments": segments},
                    "service": {
                        "model": "requests",
                        "cpuPerRequest": "80ms",
                        "baseMemory": "100Mi",
                        "sloMillis": 500,
                        "timeout": "30s",
                    },
                }
            ],
            "metrics": {"scrape": "15s", "window": "60s", "lag": "15s"},
            "recording": {"workloads": "5s", "nodes": "1h"},
            "policies": {
                "scaling": {
                    "scaler": "hpa",
                    "target": {"cpu": TARGET},
                    "min": 2,
                    "max": 8,
                    "sync": "15s",
                    "behavior": {"scaleDown": {"stabilizationWindowSeconds": 30}},
                }
            },
        },
    }


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    seeds = range(options.seed, options.seed + options.sample(SEEDS, 3))
    base = scenario()
    variants = [variant for variant in VARIANTS if not (options.quick and "gru" in variant.scaler)]
    tasks = [
        scaling_runs.ScalingTask(base, "shi", variant, TARGET, seed)
        for variant in variants
        for seed in seeds
    ]
    runs = scaling_runs.run_all(tasks, options.out / "runs", options.jobs, watch)
    by_variant = {
        variant.name: runs[i * len(seeds) : (i + 1) * len(seeds)]
        for i, variant in enumerate(variants)
    }
    report = make_report(by_variant, seeds)
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


RunsByVariant = dict[str, list[scaling_runs.ScalingRun]]


def reached_s(run: scaling_runs.ScalingRun, replicas: int) -> float:
    """Return when a number of replicas was first desired, in seconds of the experiment."""
    times_s, ordered = run.column("time_s") - BEFORE_S, run.column("replicas")
    there = np.nonzero((ordered >= replicas) & (times_s > 0.0))[0]
    return float(times_s[there[0]]) if len(there) else float("nan")


def over(run: scaling_runs.ScalingRun, span_s: tuple[float, float]) -> dict[str, float]:
    """Return replica-seconds and response times of a span of the experiment."""
    times_s = run.column("time_s") - BEFORE_S
    inside = (times_s > span_s[0]) & (times_s <= span_s[1])
    demand, response_s = run.column("demand")[inside], run.column("response_s")[inside]
    known = np.isfinite(response_s)
    return {
        "replica_seconds": 5.0 * float(run.column("existing")[inside].sum()),
        "mean_s": float(np.average(response_s[known], weights=demand[known])),
        "p95_s": weighted_quantile(response_s[known], demand[known], 0.95),
    }


def weighted_quantile(values: Any, weights: Any, level: float) -> float:
    """Return a weighted quantile: here of 5 s means, weighted by their requests."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][np.searchsorted(share, level)])


def make_report(by_variant: RunsByVariant, seeds: Sequence[int]) -> dict[str, Any]:
    """Return the content of results.json."""
    rows = [row for name in by_variant if name != REACTIVE for row in make_rows(by_variant, name)]
    return {
        "study": "shi-scaling",
        "seeds": list(seeds),
        "rules": RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "table": [describe(by_variant[name], name) for name in by_variant],
        "course": make_timeline(by_variant),
    }


def describe(runs: Sequence[scaling_runs.ScalingRun], name: str) -> dict[str, Any]:
    """Return means of one variant over its seeds."""
    rise, fall = [over(run, RISE_S) for run in runs], [over(run, FALL_S) for run in runs]
    return {
        "way": name,
        "rise_mean_s": float(np.mean([r["mean_s"] for r in rise])),
        "rise_p95_s": float(np.mean([r["p95_s"] for r in rise])),
        "rise_replica_seconds": float(np.mean([r["replica_seconds"] for r in rise])),
        "fall_mean_s": float(np.mean([r["mean_s"] for r in fall])),
        "fall_replica_seconds": float(np.mean([r["replica_seconds"] for r in fall])),
        "reached_s": {
            str(level): float(np.mean([reached_s(run, level) for run in runs])) for level in LEVELS
        },
    }


def make_rows(by_variant: RunsByVariant, name: str) -> list[dict[str, Any]]:
    """Return the statements of H3 for one variant."""
    ours, theirs = by_variant[name], by_variant[REACTIVE]
    rows = [_lead(ours, theirs, name)]
    for key, title in (("mean_s", "mean response"), ("p95_s", "p95 of response")):
        rows.append(_ratio(ours, theirs, name, (RISE_S, key, title), "rise", 1.0))
    fall = (FALL_S, "replica_seconds", "replica-seconds")
    rows.append(_ratio(ours, theirs, name, fall, "fall", 1.02))
    return rows


def _lead(
    ours: Sequence[scaling_runs.ScalingRun], theirs: Sequence[scaling_runs.ScalingRun], name: str
) -> dict[str, Any]:
    texts, good = [], True
    for level in LEVELS:
        leads = np.array(
            [reached_s(b, level) - reached_s(a, level) for a, b in zip(ours, theirs, strict=True)]
        )
        tested = comparing.compare_pairs(leads, np.zeros(len(leads)))
        good &= bool(tested.difference >= LEAD_S and (tested.low is None or tested.low > 0.0))
        known = np.isfinite(tested.difference)
        texts.append(f"{tested.difference:.0f} s at {level}" if known else f"never {level}")
    return {
        "statement": f"`{name}` orders replicas ahead of `{REACTIVE}`",
        "thesis": "ahead at 90, 180, 270 s",
        "found": ", ".join(texts),
        "n": len(ours),
        "verdict": "beaten" if good else "not reproduced",
        "rule": RULES["lead"],
    }


def _ratio(
    ours: Sequence[scaling_runs.ScalingRun],
    theirs: Sequence[scaling_runs.ScalingRun],
    name: str,
    what: tuple[tuple[float, float], str, str],
    rule: str,
    limit: float,
) -> dict[str, Any]:
    span_s, key, title = what
    values = [np.array([over(run, span_s)[key] for run in runs]) for runs in (ours, theirs)]
    tested = comparing.compare_pairs(values[0], values[1])
    result = f"{values[0].mean():.3g} against {values[1].mean():.3g}"
    if tested.ratio is not None:
        result += f", x {tested.ratio:.2f}"
    if tested.ratio_low is not None and tested.ratio_high is not None:
        result += f" ({tested.ratio_low:.2f} to {tested.ratio_high:.2f})"
    high = tested.ratio_high if tested.ratio_high is not None else tested.ratio
    return {
        "statement": f"{title} over the {rule}, `{name}`",
        "thesis": "lower" if rule == "rise" else "not higher",
        "found": result,
        "n": len(ours),
        "p": tested.p,
        "verdict": "beaten" if high is not None and high < limit else "not reproduced",
        "rule": RULES[rule],
    }


def make_timeline(by_variant: RunsByVariant) -> list[dict[str, Any]]:
    """Return replicas and response times of the first seed, for figures."""
    rows = []
    for name in (REACTIVE, "arima-gru as printed", OURS):
        if name not in by_variant:
            continue
        run = by_variant[name][0]
        for k, time_s in enumerate(run.column("time_s") - BEFORE_S):
            if time_s > 0.0:
                kept = {n: run.columns[n][k] for n in ("replicas", "ready", "demand", "response_s")}
                rows.append({"way": name, "time_s": round(float(time_s), 1), **kept})
    return rows
