"""Limits that follow usage: the 600 s experiment of Shi 2023 (5.4), with numbers.

A web pod with three replicas and requests of 600 m and 400 MB; load rises from 30 to 330 s, is
constant until 450 s and falls until 600 s; samples every T = 20 s, lambda 0.2. The thesis shows
only a figure: limits follow usage, response times differ little (H6). This study measures unused
reservation, response times, throttled periods and OOM kills over many seeds, for the printed rule
(``strict``) and the safe one. Limits are set after every sample; the default of ten minutes would
act once. Some minutes of base load come first, since the rule needs ten samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from kubestow.model import arrays
from kubestow.model.progress import Progress
from kubestow.simulation import outcomes, recorders
from kubestow.simulation import run as simulation_run
from kubestow.simulation.world import STEPPED, World
from kubestow.studies import verdicts
from kubestow.studies.options import StudyOptions
from kubestow.studies.shi.limits import page
from kubestow.workflows import comparing, files, scenario_files

SEEDS: Final = 20
BEFORE_S: Final = 300.0
DURATION_S: Final = 600.0
STEP_S: Final = 5.0
REQUEST_CORES: Final = 0.6
REPLICAS: Final = 3
CONTROL, STRICT, SAFE = "control", "strict", "safe"
MOST_SLOWER: Final = 1.05
MOST_THROTTLED: Final = 0.05
RULES: Final = {
    "reserved": "beaten: 95 % interval of the paired ratio below 1",
    "response": f"beaten: 95 % interval of the paired ratio below {MOST_SLOWER:g}",
    "kills": "beaten: none in any seed",
    "throttled": "beaten: 95 % interval of the paired difference below "
    f"{100 * MOST_THROTTLED:g} points",
}


@dataclass(frozen=True, slots=True)
class LimitVariant:
    """A variant: its name, and the parameters of ``limit-follow``; none for the control."""

    name: str
    parameters: Mapping[str, Any] | None = None


_EVERY: Final = {"periodS": 20}
VARIANTS: Final = (
    LimitVariant(CONTROL),
    LimitVariant(STRICT, {**_EVERY, "strict": True}),
    LimitVariant(SAFE, _EVERY),
    LimitVariant("safe, lambda 1", {**_EVERY, "elasticity": 1.0}),
    LimitVariant("safe, lambda 4", {**_EVERY, "elasticity": 4.0}),
)


@dataclass(frozen=True, slots=True)
class LimitTask:
    """One run."""

    variant: LimitVariant
    seed: int


class LimitRun(msgspec.Struct, frozen=True):
    """The result of a run.

    Attributes:
        numbers: Measures to compare.
        timeline: One value per step, by name: mean over pods, in cores and megabytes.
    """

    numbers: dict[str, float]
    timeline: dict[str, list[float]]


def scenario(variant: LimitVariant) -> dict[str, Any]:
    """Return the scenario: at the peak a pod uses 450 m of its 600 m."""
    segments = [
        {"start": 5, "seconds": BEFORE_S + 30},
        {"start": 5, "end": 45, "seconds": 300},
        {"start": 45, "seconds": 120},
        {"start": 45, "end": 5, "seconds": 150},
    ]
    sizes = {"cpu": "600m", "memory": "400M"}
    web = {
        "name": "web",
        "replicas": REPLICAS,
        "pod": {"requests": sizes, "limits": sizes, "startup": {"mean": "10s", "jitter": "2s"}},
        "demand": {"pattern": "segments", "segments": segments},
        "service": {
            "model": "requests",
            "cpuPerRequest": "30ms",
            "baseMemory": "150M",
            "memoryPerRequest": "2M",
        },
    }
    sizing: dict[str, Any] = {"recommender": "keep"}
    if variant.parameters is not None:
        sizing = {
            "recommender": "limit-follow",
            "mode": "in-place-or-recreate",
            "interval": "20s",
            "parameters": dict(variant.parameters),
        }
    pool = {"name": "node", "count": 3, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return {
        "apiVersion": "kubestow.io/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "shi-limits"},
        "spec": {
            "duration": f"{BEFORE_S + DURATION_S:g}s",
            "step": f"{STEP_S:g}s",
            "metrics": {"scrape": "10s", "window": "20s", "lag": "10s"},
            "cluster": {"nodes": [pool]},
            "workloads": [web],
            "policies": {"sizing": sizing},
        },
    }


@dataclass(slots=True, eq=False)
class LimitRecorder:
    """Records usage and limits after every step of the experiment."""

    world: World
    timeline: dict[str, list[float]] = field(default_factory=dict)
    reserved_unused: float = 0.0
    _before: tuple[float, float] = (0.0, 0.0)

    def record(self, step_s: float) -> None:
        """Record one step."""
        rows = self.world.containers.rows[: self.world.containers.top]
        live = rows[rows["used"]]
        service = self.world.services[0]
        waited, answered = float(service["all_response"]), float(self.world.histograms[0].sum())
        before, self._before = self._before, (waited, answered)
        if self.world.now_s <= BEFORE_S:
            return
        # A pod that is down still reserves; nothing is reserved beyond the request.
        limits = np.minimum(live["cpu_limit"], REQUEST_CORES)
        self.reserved_unused += float(np.maximum(limits - live["cpu"], 0.0).sum()) * step_s
        count = answered - before[1]
        for name, value in {
            "time_s": self.world.now_s - BEFORE_S,
            "used": live["cpu"].mean(),
            "limit": live["cpu_limit"].mean(),
            "memory": live["memory"].mean() / 1e6,
            "memory_limit": live["memory_limit"].mean() / 1e6,
            "response_s": (waited - before[0]) / count if count > 0.0 else 0.0,
        }.items():
            self.timeline.setdefault(name, []).append(round(float(value), 6))


def compute(task: LimitTask) -> bytes:
    """Run a task and return its result as JSON."""
    loaded = scenario_files.read(
        scenario(task.variant), f"shi-limits ({task.variant.name})", Path()
    )
    world = simulation_run.start(loaded.scenario.spec, task.seed, loaded.inputs)
    recorder = recorders.make(world)
    recorder.start()
    watch = LimitRecorder(world)
    world.on(STEPPED, watch.record)
    world.clock.run(loaded.scenario.spec.duration)
    measures = outcomes.measure(world, recorder, task.variant.name)
    numbers = {
        "reserved_unused": watch.reserved_unused,
        "response_mean": float(measures["response"]["mean"]),
        "response_p95": float(measures["response"]["p95"]),
        "oom_kills": float(measures["oom_kills"]),
        "throttled": float(measures["throttled_ratio"] or 0.0),
        "dropped": float(measures["requests"]["dropped"]),
        "written": float(world.ledger.counts["limits_written"]),
    }
    return msgspec.json.encode(LimitRun(numbers, watch.timeline))


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    seeds = range(options.seed, options.seed + options.sample(SEEDS, 3))
    tasks = [LimitTask(variant, seed) for variant in VARIANTS for seed in seeds]
    kept: list[LimitRun | None] = [None] * len(tasks)
    answers = comparing.run_local(compute, tasks, options.jobs)
    for done, (index, answer) in enumerate(answers, start=1):
        kept[index] = msgspec.json.decode(answer, type=LimitRun)
        watch(done, len(tasks), f"{tasks[index].variant.name}, seed {tasks[index].seed}")
    whole = [one for one in kept if one is not None]
    count = len(seeds)
    by_variant = {
        variant.name: whole[i * count : (i + 1) * count] for i, variant in enumerate(VARIANTS)
    }
    report = make_report(by_variant, seeds)
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


RunsByVariant = Mapping[str, Sequence[LimitRun]]


def make_report(by_variant: RunsByVariant, seeds: Sequence[int]) -> dict[str, Any]:
    """Return the content of results.json."""
    rows = [row for name in by_variant if name != CONTROL for row in make_rows(by_variant, name)]
    return {
        "study": "shi-limits",
        "seeds": list(seeds),
        "rules": RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "table": [
            {
                "way": name,
                **{key: float(_values(runs_, key).mean()) for key in runs_[0].numbers},
            }
            for name, runs_ in by_variant.items()
        ],
        "course": [
            {"way": name, **dict(zip(runs_[0].timeline, values, strict=True))}
            for name, runs_ in by_variant.items()
            for values in zip(*runs_[0].timeline.values(), strict=True)
        ],
    }


def _values(results: Sequence[LimitRun], key: str) -> arrays.Floats:
    return np.array([one.numbers[key] for one in results])


def make_rows(by_variant: RunsByVariant, name: str) -> list[dict[str, Any]]:
    """Return the parts of H6 for one variant."""
    rows = []
    for key, title, rule, limit in (
        ("reserved_unused", "CPU reserved and not used (core s)", "reserved", 1.0),
        ("response_mean", "mean response (s)", "response", MOST_SLOWER),
        ("response_p95", "p95 of response (s)", "response", MOST_SLOWER),
    ):
        ours, theirs = _values(by_variant[name], key), _values(by_variant[CONTROL], key)
        tested = comparing.compare_pairs(ours, theirs)
        high = tested.ratio_high if tested.ratio_high is not None else tested.ratio
        text = f"{ours.mean():.3g} against {theirs.mean():.3g}"
        if tested.ratio is not None:
            text += f", {100 * (tested.ratio - 1.0):+.1f} %"
        if tested.ratio_low is not None and tested.ratio_high is not None:
            low, most = (100 * (end - 1.0) for end in (tested.ratio_low, tested.ratio_high))
            text += f" ({low:+.1f} to {most:+.1f})"
        rows.append(_row(f"{title}, `{name}`", text, rule, tested.n, high=high, limit=limit))
    kills = _values(by_variant[name], "oom_kills")
    rows.append(
        _row(
            f"OOM kills, `{name}`",
            f"{kills.sum():g} in all seeds",
            "kills",
            len(kills),
            high=float(kills.sum()),
            limit=0.5,
        )
    )
    more = comparing.compare_pairs(
        _values(by_variant[name], "throttled"), _values(by_variant[CONTROL], "throttled")
    )
    high = more.high if more.high is not None else more.difference
    text = f"{100 * more.difference:+.1f} points of all periods"
    rows.append(
        _row(f"throttled, `{name}`", text, "throttled", more.n, high=high, limit=MOST_THROTTLED)
    )
    return rows


_THESIS: Final = {
    "reserved": "lower",
    "response": "differs little",
    "kills": "-",
    "throttled": "-",
}


def _row(
    statement: str, result: str, rule: str, n: int, *, high: float | None, limit: float
) -> dict[str, Any]:
    return {
        "statement": statement,
        "thesis": _THESIS[rule],
        "found": result,
        "n": n,
        "verdict": "beaten" if high is not None and high < limit else "not reproduced",
        "rule": RULES[rule],
    }
