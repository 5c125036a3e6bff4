"""Recommenders in the control loop: nodes needed, and the cost in OOM kills and pending pods.

Schubert 2023, row 28 and Böttcher 2023, 8.3 (8) call for it. Requests are set while the cluster
runs; memory above the limit is an OOM kill and the work starts over; nodes are added and removed
with the requests. Six recommenders (and ``conformal`` with a smaller stated risk), with spreading
and with packing, on recurring pipelines and on services of all sizes (``scenarios``). Seeds are
paired; runs are stored as cells, so an interrupted study resumes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.model.progress import Progress
from kubestow.studies import verdicts
from kubestow.studies.options import StudyOptions
from kubestow.studies.own.sizing_loop import page, scenarios
from kubestow.workflows import comparing, files, scenario_files

SEEDS: Final = 10
MANUAL, VPA, AUTO = "manual", "vpa", "auto"
SPREAD, PACK = "spreading", "packing"
PROFILES: Final = {SPREAD: "kube-scheduler", PACK: "most-allocated"}
SCENARIOS: Final = (scenarios.PIPELINES, scenarios.SERVICES)
_INTERVAL_S: Final = {
    scenarios.PIPELINES: 900.0,  # the period of the pipelines
    scenarios.SERVICES: 3600.0,
}
MISSED: Final = "sizing.memory_missed"
THROTTLED: Final = comparing.RunMeasure("throttled_ratio", "CPU throttled", "%", 100.0, digits=2)
MEASURES: Final = (
    comparing.NODE_HOURS,
    comparing.RunMeasure("nodes_end", "nodes in the last quarter"),
    comparing.OOM_KILLS,
    THROTTLED,
    comparing.PENDING,
    comparing.POD_HOURS,
    comparing.ERU_CPU,
    comparing.RunMeasure("eru.memory", "memory used of requested", "%", 100.0, better="higher"),
    comparing.RunMeasure("resizes", "resizes", better=comparing.NEITHER),
    comparing.RunMeasure(MISSED, "recommendations exceeded by memory usage", "%", 100.0),
)
RULE: Final = "better or worse: 95 % interval of the paired difference on one side of 0"


@dataclass(frozen=True, slots=True)
class LoopVariant:
    """A recommender with its settings.

    Attributes:
        name: Its name in rows and figures.
        recommender: The recommender.
        parameters: Its parameters; ``windowS``, where present, is set to the interval.
    """

    name: str
    recommender: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


_WINDOW: Final = {"windowS": None}
VARIANTS: Final = (
    LoopVariant(MANUAL, "keep"),
    LoopVariant(VPA, "vpa"),
    LoopVariant("q-learning", "q-learning", _WINDOW),
    LoopVariant("arima-margin", "arima-margin"),
    LoopVariant("conformal", "conformal", _WINDOW),
    LoopVariant("conformal 1 %", "conformal", {**_WINDOW, "memoryMissProbability": 0.01}),
    LoopVariant(AUTO, "auto", {"tournament": _WINDOW, "conformal": _WINDOW}),
)

Key = tuple[str, str, str]  # scenario, placing, variant
Question = tuple[tuple[str, str], tuple[str, str], comparing.RunMeasure]
RecordsByKey = dict[Key, list[comparing.CellRecord]]


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    seeds = range(options.seed, options.seed + options.sample(SEEDS, 2))
    keys = [
        (name, placing, variant)
        for name in SCENARIOS
        for placing in PROFILES
        for variant in VARIANTS
    ]
    tasks = [make_task(*key, seed) for key in keys for seed in seeds]
    engine = comparing.get_engine(comparing.LOCAL)
    records = comparing.run_cells(tasks, options.out / "cells", engine, options.jobs, watch)
    by_key = {
        (name, placing, variant.name): records[i * len(seeds) : (i + 1) * len(seeds)]
        for i, (name, placing, variant) in enumerate(keys)
    }
    report = make_report(by_key, seeds)
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def make_task(name: str, placing: str, variant: LoopVariant, seed: int) -> comparing.CellTask:
    """Return one run."""
    value = scenarios.make(name, seed)
    policies = value["spec"]["policies"]
    policies["placing"] = {"profile": PROFILES[placing]}
    policies["sizing"] = make_sizing(variant, _INTERVAL_S[name])
    label = f"{name}, {placing}, {variant.name}"
    loaded = scenario_files.read(value, label, Path())
    key = comparing.digest(loaded, seed)
    return comparing.CellTask(loaded.value, label, "", seed, key, f"{label}, seed {seed}")


def make_sizing(variant: LoopVariant, interval_s: float) -> dict[str, Any]:
    """Return the sizing policy; ``vpa`` runs every minute, as upstream does."""
    if variant.recommender == "keep":
        return {"recommender": "keep"}
    policy: dict[str, Any] = {"recommender": variant.recommender, "mode": "in-place-or-recreate"}
    if variant.recommender == "vpa":
        return policy
    return {
        **policy,
        "interval": interval_s,
        # Limits keep their ratio to requests, as in VPA.
        "guards": {"memoryLimit": "ratio", "cpuLimit": "ratio"},
        "parameters": _with_window(variant.parameters, interval_s),
    }


def _with_window(parameters: Mapping[str, Any], window_s: float) -> dict[str, Any]:
    return {
        key: _with_window(value, window_s)
        if isinstance(value, Mapping)
        else (window_s if value is None else value)
        for key, value in parameters.items()
    }


def value_of(record: comparing.CellRecord, path: str) -> float:
    """Return a measure of a run; ``nodes_end`` is computed from the timeline."""
    if path == "nodes_end":
        nodes = comparing.column(record, "nodes")
        return float(nodes[-max(len(nodes) // 4, 1) :].mean())
    return comparing.value_of(record.measures, path) or 0.0


def values_of(records: Sequence[comparing.CellRecord], path: str) -> Floats:
    """Return a measure of all seeds."""
    return np.array([value_of(record, path) for record in records])


def make_report(by_key: RecordsByKey, seeds: Sequence[int]) -> dict[str, Any]:
    """Return the content of results.json."""
    rows = make_rows(by_key)
    return {
        "study": "sizing-loop",
        "seeds": list(seeds),
        "rule": RULE,
        "statements": verdicts.state(rows),
        "rows": rows,
        "table": [describe(records, key) for key, records in by_key.items()],
        "points": [
            {"scenario": key[0], "placing": key[1], "way": key[2], "seed": seed}
            | {path: value_of(record, path) for path in ("node_hours", "oom_kills")}
            for key, records in by_key.items()
            for seed, record in zip(seeds, records, strict=True)
        ],
    }


def describe(records: Sequence[comparing.CellRecord], key: Key) -> dict[str, Any]:
    """Return means and half-widths of one variant over its seeds."""
    row: dict[str, Any] = {"scenario": key[0], "placing": key[1], "way": key[2]}
    for measure in MEASURES:
        summary = comparing.summarise_pairs(values_of(records, measure.path))
        row[measure.path] = {"mean": summary.mean, "half_width": summary.half_width}
    if not any(value_of(record, "sizing.judged") for record in records):
        row[MISSED] = {"mean": None, "half_width": None}  # no recommendation was checked
    return row


def make_rows(by_key: RecordsByKey) -> list[dict[str, Any]]:
    """Return the statements: sizing and manual, packing and spreading, recommenders and VPA."""
    return [
        _row(by_key, name, mine, theirs, measure)
        for name in dict.fromkeys(key[0] for key in by_key)
        for mine, theirs, measure in _questions([key[2] for key in by_key if key[0] == name])
    ]


def _questions(variants: Sequence[str]) -> list[Question]:
    """Return the pairs to compare, with the measure of each."""
    named = list(dict.fromkeys(variants))
    hours, kills = comparing.NODE_HOURS, comparing.OOM_KILLS
    sized = [((SPREAD, variant), (SPREAD, MANUAL), hours) for variant in named if variant != MANUAL]
    packed = [
        ((PACK, variant), (SPREAD, variant), hours)
        for variant in (MANUAL, VPA, AUTO)
        if variant in named
    ]
    recommenders = [
        ((PACK, variant), (PACK, VPA), measure)
        for variant in named
        if variant not in (MANUAL, VPA)
        for measure in (kills, hours)
    ]
    whole = [
        ((PACK, AUTO), (SPREAD, MANUAL), measure)
        for measure in (hours, comparing.PENDING, THROTTLED)
    ]
    return [*sized, *packed, *recommenders, *whole]


def _row(
    by_key: RecordsByKey,
    name: str,
    mine: tuple[str, str],
    theirs: tuple[str, str],
    measure: comparing.RunMeasure,
) -> dict[str, Any]:
    """Return the comparison of two variants on the same seeds; lower is better in all measures."""
    a = values_of(by_key[(name, *mine)], measure.path)
    b = values_of(by_key[(name, *theirs)], measure.path)
    tested = comparing.compare_pairs(a, b)
    text = f"{measure.text(float(a.mean()))} against {measure.text(float(b.mean()))}"
    if tested.ratio is not None:
        text += f", x {tested.ratio:.2f}"
    if tested.ratio_low is not None and tested.ratio_high is not None:
        text += f" ({tested.ratio_low:.2f} to {tested.ratio_high:.2f})"
    return {
        "statement": f"{name}: {measure.title}, {_name(mine)} against {_name(theirs)}",
        "scenario": name,
        "measure": measure.path,
        "found": text,
        "n": tested.n,
        "p": tested.p,
        "verdict": grade_difference(tested),
        "rule": RULE,
    }


def _name(variant: tuple[str, str]) -> str:
    return f"`{variant[1]}` with {variant[0]}"


def grade_difference(tested: comparing.Paired) -> str:
    """Return the verdict on a measure where lower is better."""
    if tested.high is not None and tested.high < 0.0:
        return "better"
    if tested.low is not None and tested.low > 0.0:
        return "worse"
    return "no difference"
