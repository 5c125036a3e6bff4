"""Requests of repeated runs: Boettcher 2023, tables 5.1 to 5.8, and other sizing variants.

No raw data of the thesis exist. Runs are synthetic, calibrated to tables 5.3 to 5.8, with a spread
of 1, 3 or 5 % from run to run. All variants see the same runs; runs above their memory limit are
killed and repeated. After 20 runs requests are compared with the tables; the next 30 runs are
evaluated. ``closed_loop`` runs the pipelines in the simulator as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from kubestow.model.progress import Progress
from kubestow.studies import verdicts
from kubestow.studies.boettcher import (
    closed_loop,
    measures,
    page,
    rule_comparison,
    runs,
    table_replays,
    tables,
    variants,
)
from kubestow.studies.boettcher import rows as boettcher_rows
from kubestow.studies.boettcher.runs import Replay, RunScene
from kubestow.studies.boettcher.variants import VARIANTS, RunVariant
from kubestow.studies.options import StudyOptions
from kubestow.workflows import files

SEEDS: Final = 40
SPREADS: Final = (0.01, 0.03, 0.05)
LABEL: Final = "synthetic, calibrated to tables 5.3-5.8"

Row = dict[str, Any]
Replays = Mapping[str, Sequence[Replay]]


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    seeds = range(options.seed, options.seed + options.sample(SEEDS, 3))
    spreads = (boettcher_rows.SPREAD,) if options.quick else SPREADS
    total = len(spreads) * len(VARIANTS) + 1
    parts = []
    for place, spread in enumerate(spreads):
        begun = functools.partial(_pass_on, watch, place * len(VARIANTS), total)
        parts.append(study_spread(spread, seeds, begun))
    replays = table_replays.replay_tables(seeds, variants.find(table_replays.SHOWN))
    watch(total, total, "tables 5.1 and 5.2")
    loops = closed_loop.run(options)
    report = make_report(parts, replays, seeds) | {"closed_loop": loops}
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def _pass_on(watch: Progress, before: int, total: int, done: int, label: str) -> None:
    watch(before + done, total, label)


def study_spread(
    spread: float, seeds: Sequence[int], watch: Callable[[int, str], None]
) -> dict[str, Any]:
    """Return replays of all variants at one spread: measures, tables, comparisons with the rule."""
    scenes = [_draw(spread, seed) for seed in seeds]
    measured, by_variant = {}, {}
    for place, variant in enumerate(VARIANTS):
        replays = [_replay(scene, variant, seed) for scene, seed in zip(scenes, seeds, strict=True)]
        by_variant[variant.name] = replays
        measured[variant.name] = [
            measures.measure(scene, replay) for scene, replay in zip(scenes, replays, strict=True)
        ]
        watch(place + 1, f"spread {100 * spread:g} %, {variant.name}")
    comparisons, curve = rule_comparison.compare(spread, measured, scenes)
    return {
        "spread": spread, "found": measured, "rivals": comparisons, "curve": curve,
        "tables": make_tables(by_variant),
    }  # fmt: skip


def _draw(spread: float, seed: int) -> RunScene:
    return runs.draw(
        tables.CONTAINERS,
        measures.RUNS,
        measures.TABLE_RUNS,
        spread,
        seed,
    )


def _replay(scene: RunScene, variant: RunVariant, seed: int) -> Replay:
    return runs.replay(scene, variant.make(scene, seed), keeps_limit=variant.keeps_limit)


def make_tables(replays: Replays) -> list[Row]:
    """Return tables 5.3 to 5.8: printed numbers, and median requests of all variants over seeds."""
    last = measures.TABLE_RUNS - 1
    cpu = {
        name: _medians([one.cpu_m[:, last] for one in outcomes])
        for name, outcomes in replays.items()
    }
    memory = {
        name: _medians([one.memory_mb[:, last] for one in outcomes])
        for name, outcomes in replays.items()
    }
    rows = []
    for place, printed in enumerate(tables.CONTAINERS):
        rows.append(
            {
                "container": printed.title,
                "memory_band_mb": list(tables.memory_band_mb(printed)),
                "memory_old_limit_mb": printed.memory_limit_mb,
                "memory_max_mb": printed.memory_max_mb,
                "memory_mb": {name: values[place] for name, values in memory.items()},
                "cpu_band_m": list(tables.cpu_band_m(printed)),
                "cpu_max_m": printed.cpu_max_m,
                "cpu_average_m": printed.cpu_average_m,
                "cpu_m": {name: values[place] for name, values in cpu.items()},
            }
        )
    return rows


def _medians(values: Sequence[Any]) -> list[float]:
    medians: list[float] = np.round(np.median(np.array(values), axis=0), 1).tolist()
    return medians


def make_report(
    parts: Sequence[dict[str, Any]], replays: dict[str, Any], seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the content of results.json."""
    main = next(part for part in parts if part["spread"] == boettcher_rows.SPREAD)
    comparisons = [row for part in parts for row in part["rivals"]]
    rows = boettcher_rows.make_rows(main["found"], replays, comparisons)
    return {
        "study": "boettcher-requests",
        "label": LABEL,
        "seeds": list(seeds),
        "runs": {
            "of the tables": measures.TABLE_RUNS,
            "judged": measures.EVALUATED_RUNS,
        },
        "rules": boettcher_rows.RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "ways": {variant.name: variant.setting for variant in VARIANTS},
        "table": [
            {"spread": part["spread"], "way": name, **measures.summarise(measured)}
            for part in parts
            for name, measured in part["found"].items()
        ],
        "rivals": comparisons,
        "rule_curve": [row for part in parts for row in part["curve"]],
        "containers": main["tables"],
        **replays,
    }
