"""Does scaling one pod start-up ahead pay? McNaughton 2016, run as planned.

The study has two parts. The *grid* has four traffic patterns, six start-up times, and static,
reactive and predictive scalers at a target of 60 %; it tests the seven claims of the draft. The
*curves* have reactive and predictive scalers at several targets with the longest start-up time;
they compare them at equal cost. Seeds are the replicates; the sum S of the thesis gets a paired
test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from kubestow.model.progress import Progress
from kubestow.studies import scaling_runs, tradeoffs, verdicts
from kubestow.studies.mcnaughton import page, scenarios
from kubestow.studies.mcnaughton import rows as mcnaughton_rows
from kubestow.studies.options import StudyOptions
from kubestow.studies.scaling_runs import ScalingVariant
from kubestow.workflows import files

SEEDS: Final = 20
STARTUPS_S: Final = (1.0, 5.0, 10.0, 60.0, 100.0, 135.0)
LONGEST_S: Final = STARTUPS_S[-1]
TARGET: Final = 0.6
TARGETS: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# The curve of the baseline is wider, so that it covers all costs of the others.
BASELINE_TARGETS: Final = (0.15, 0.2, 0.25, *TARGETS, 0.9)

_WINDOWS: Final = {"upscaleForbiddenS": 30, "downscaleForbiddenS": 30}
REACTIVE, OURS = "hpa", "auto"
LEGACY, LEGACY_LINE = "hpa of 2016, 30 s", "line-fit as printed, 30 s"
VARIANTS: Final = (
    ScalingVariant(REACTIVE, "hpa"),
    ScalingVariant("static over", "static", {"mode": "over"}),
    ScalingVariant("static average", "static", {"mode": "average"}),
    ScalingVariant("static under", "static", {"mode": "under"}),
    ScalingVariant("threshold", "threshold"),
    ScalingVariant(LEGACY, "hpa-legacy", _WINDOWS),
    ScalingVariant("hpa of 2016", "hpa-legacy"),
    ScalingVariant(LEGACY_LINE, "line-fit", {"strict": True, "capS": 600, "legacy": _WINDOWS}),
    ScalingVariant("derivative as printed", "derivative", {"strict": True}),
    ScalingVariant("derivative", "derivative"),
    ScalingVariant("line-fit", "line-fit"),
    ScalingVariant("queueing", "queueing", {"sloS": 1}),
    ScalingVariant("receding", "receding"),
    ScalingVariant(OURS, "auto"),
)
_CURVES: Final = (REACTIVE, "derivative", "line-fit", "receding", OURS)


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    seeds = range(options.seed, options.seed + (options.sample(SEEDS, 3)))
    startups_s = (5.0, LONGEST_S) if options.quick else STARTUPS_S
    tasks = _grid(startups_s, seeds) + _curve_tasks(seeds)
    records = dict(
        zip(
            map(_key, tasks),
            scaling_runs.run_all(tasks, options.out / "runs", options.jobs, watch),
            strict=True,
        )
    )
    report = make_report(records, startups_s, seeds)
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


Key = tuple[str, str, float, int]  # pattern and start-up, variant, target, seed
RunsByKey = dict[Key, scaling_runs.ScalingRun]


def _key(task: scaling_runs.ScalingTask) -> Key:
    return task.place, task.variant.name, task.target, task.seed


def place(pattern: str, startup_s: float) -> str:
    """Return the name of runs of a pattern with a start-up time."""
    return f"{pattern}-{startup_s:g}"


def _task(
    pattern: str,
    startup_s: float,
    variant: ScalingVariant,
    target: float,
    seed: int,
) -> scaling_runs.ScalingTask:
    scenario = scenarios.make(pattern, startup_s)
    return scaling_runs.ScalingTask(scenario, place(pattern, startup_s), variant, target, seed)


def _grid(startups_s: Sequence[float], seeds: Sequence[int]) -> list[scaling_runs.ScalingTask]:
    return [
        _task(pattern, startup_s, variant, TARGET, seed)
        for pattern in scenarios.PATTERNS
        for startup_s in startups_s
        for variant in VARIANTS
        for seed in seeds
    ]


def _curve_tasks(seeds: Sequence[int]) -> list[scaling_runs.ScalingTask]:
    variants = [variant for variant in VARIANTS if variant.name in _CURVES]
    return [
        _task(pattern, LONGEST_S, variant, target, seed)
        for pattern in scenarios.PATTERNS
        for variant in variants
        for target in (BASELINE_TARGETS if variant.name == REACTIVE else TARGETS)
        if target != TARGET  # already in the grid
        for seed in seeds
    ]


def make_report(
    records: RunsByKey, startups_s: Sequence[float], seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the content of results.json."""
    curves = {
        pattern: {name: make_curve(records, pattern, name, seeds) for name in _CURVES}
        for pattern in scenarios.PATTERNS
    }
    grid = mcnaughton_rows.ScalingGrid(records, startups_s, seeds, TARGET, place)
    rows = [*mcnaughton_rows.make_claims(grid), *mcnaughton_rows.make_curve_rows(curves)]
    rows += mcnaughton_rows.make_sums(grid)
    return {
        "study": "mcnaughton-scaling",
        "seeds": list(seeds),
        "startups_s": list(startups_s),
        "target": TARGET,
        "rules": mcnaughton_rows.RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "grid": grid.table(),
        "curves": mcnaughton_rows.describe_curves(curves),
        "course": mcnaughton_rows.make_timeline(records, place, seeds[0], TARGET, LONGEST_S),
    }


def make_curve(
    records: RunsByKey, pattern: str, name: str, seeds: Sequence[int]
) -> tradeoffs.TradeoffCurve:
    """Return the curve of one variant: pod-hours and 95th percentile of response times."""
    targets = BASELINE_TARGETS if name == REACTIVE else TARGETS
    here = place(pattern, LONGEST_S)
    runs = [[records[here, name, target, seed] for seed in seeds] for target in targets]
    return tradeoffs.TradeoffCurve(
        targets=targets,
        cost=np.array([[run.measures["pod_hours"] for run in row] for row in runs]),
        badness=np.array([[run.measures["response"]["p95"] for run in row] for row in runs]),
    )
