"""Requests that follow runs: Boettcher 2023, tables 5.1 to 5.8, beside other ways.

No raw data of the thesis exist. Runs are synthetic, calibrated to tables 5.3 to 5.8, with a spread
of 1, 3 or 5 % from run to run; every way sees the same runs, limits kill, and killed runs are
repeated. After 20 runs requests are put beside the tables; the 30 runs after that are judged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from kubestow.model.progress import Progress
from kubestow.studies import verdicts
from kubestow.studies.boettcher import contenders, courses, measures, page, runs, tables
from kubestow.studies.boettcher import rivals as boettcher_rivals
from kubestow.studies.boettcher import rows as boettcher_rows
from kubestow.studies.boettcher.contenders import VARIANTS, Contender
from kubestow.studies.boettcher.runs import Course, RunScene
from kubestow.studies.options import StudyOptions
from kubestow.workflows import files

SEEDS: Final = 40
SPREADS: Final = (0.01, 0.03, 0.05)
LABEL: Final = "synthetic, calibrated to tables 5.3-5.8"

Row = dict[str, Any]
Courses = Mapping[str, Sequence[Course]]


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    seeds = range(options.seed, options.seed + options.sample(SEEDS, 3))
    spreads = (boettcher_rows.SPREAD,) if options.quick else SPREADS
    total = len(spreads) * len(VARIANTS) + 1
    parts = []
    for place, spread in enumerate(spreads):
        begun = functools.partial(_pass_on, watch, place * len(VARIANTS), total)
        parts.append(study_spread(spread, seeds, begun))
    told = courses.tell(seeds, contenders.find(courses.SHOWN))
    watch(total, total, "tables 5.1 and 5.2")
    report = make_report(parts, told, seeds)
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def _pass_on(watch: Progress, before: int, total: int, done: int, label: str) -> None:
    watch(before + done, total, label)


def study_spread(
    spread: float, seeds: Sequence[int], watch: Callable[[int, str], None]
) -> dict[str, Any]:
    """Return replays of all ways at one spread: measures, tables, and rivals of the rule."""
    scenes = [_draw(spread, seed) for seed in seeds]
    found, courses = {}, {}
    for place, way in enumerate(VARIANTS):
        replays = [_replay(scene, way, seed) for scene, seed in zip(scenes, seeds, strict=True)]
        courses[way.name] = replays
        found[way.name] = [
            measures.measure(scene, course) for scene, course in zip(scenes, replays, strict=True)
        ]
        watch(place + 1, f"spread {100 * spread:g} %, {way.name}")
    rivals, curve = boettcher_rivals.compare(spread, found, scenes)
    return {
        "spread": spread, "found": found, "rivals": rivals, "curve": curve,
        "tables": make_tables(courses),
    }  # fmt: skip


def _draw(spread: float, seed: int) -> RunScene:
    return runs.draw(
        tables.CONTAINERS,
        measures.RUNS,
        measures.TABLE_RUNS,
        spread,
        seed,
    )


def _replay(scene: RunScene, way: Contender, seed: int) -> Course:
    return runs.replay(scene, way.make(scene, seed), keeps_limit=way.keeps_limit)


def make_tables(courses: Courses) -> list[Row]:
    """Return tables 5.3 to 5.8: printed numbers, and the median request of every way over seeds."""
    last = measures.TABLE_RUNS - 1
    cpu = {name: _medians([one.cpu_m[:, last] for one in found]) for name, found in courses.items()}
    memory = {
        name: _medians([one.memory_mb[:, last] for one in found]) for name, found in courses.items()
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
    found: list[float] = np.round(np.median(np.array(values), axis=0), 1).tolist()
    return found


def make_report(
    parts: Sequence[dict[str, Any]], told: dict[str, Any], seeds: Sequence[int]
) -> dict[str, Any]:
    """Return what goes into results.json."""
    main = next(part for part in parts if part["spread"] == boettcher_rows.SPREAD)
    rivals = [row for part in parts for row in part["rivals"]]
    rows = boettcher_rows.make_rows(main["found"], told, rivals)
    return {
        "study": "boettcher-requests",
        "label": LABEL,
        "seeds": list(seeds),
        "runs": {
            "of the tables": measures.TABLE_RUNS,
            "judged": measures.JUDGED_RUNS,
        },
        "rules": boettcher_rows.RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "ways": {way.name: way.setting for way in VARIANTS},
        "table": [
            {"spread": part["spread"], "way": name, **measures.summarise(found)}
            for part in parts
            for name, found in part["found"].items()
        ],
        "rivals": rivals,
        "rule_curve": [row for part in parts for row in part["curve"]],
        "containers": main["tables"],
        **told,
    }
