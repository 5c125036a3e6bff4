"""Placing by load: the 15-pod experiment of Shi 2023 (5.3), and open questions.

The thesis places five pods of each of three types on three nodes with CLBP and with a control, and
reports smaller standard deviations over nodes (H4). Its control is not what kube-scheduler does,
nodes are empty and metrics are current. Here the same pods arrive as printed, in random order, on
nodes with background load outside of requests, on thirty nodes, with usage below requests, and in a
burst while metrics lag. Scheduling times (H5) need a real scheduler and are measured elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from kubestow.model.progress import Progress
from kubestow.policies.placing import profiles
from kubestow.studies import verdicts
from kubestow.studies.options import StudyOptions
from kubestow.studies.shi.balance import page
from kubestow.studies.shi.balance import rows as balance_rows
from kubestow.studies.shi.balance.rows import ANY_ORDER, PRINTED, STOCK, STRICT, RunsByKey
from kubestow.studies.shi.balance.runs import (
    RANDOM,
    TITLES,
    BalanceRun,
    BalanceScene,
    BalanceTask,
    BalanceVariant,
    compute,
)
from kubestow.workflows import comparing, files

# Three nodes and 15 pods vary much between seeds: 30 seeds would be too few.
SEEDS: Final = 100
SEEDS_OF_MANY: Final = 30
LAGS_S: Final = (0.0, 15.0, 60.0)
MANY: Final = 30

SCENES: Final = (
    BalanceScene(PRINTED, shuffled=False),
    BalanceScene(ANY_ORDER),
    BalanceScene("background 10 %", background=0.1),
    BalanceScene("background 20 %", background=0.2),
    BalanceScene("30 nodes", nodes=MANY, replicas=100, size=2, background=0.2),
    BalanceScene(
        "use below requests", nodes=MANY, replicas=100, size=2, background=0.2, least_use=0.3
    ),
)
BURSTS: Final = tuple(
    BalanceScene(
        balance_rows.burst(lag_s),
        nodes=MANY,
        replicas=50,
        background=0.2,
        least_use=0.3,
        gap_s=1.0,
        lag_s=lag_s,
        window_s=60.0,
    )
    for lag_s in LAGS_S
)
VARIANTS: Final = (
    BalanceVariant(STOCK),
    # Only the scores of the thesis decide: they outweigh all others.
    BalanceVariant(STRICT, "clbp", {"strict": True}, profiles.PACK_WEIGHT),
    BalanceVariant("clbp", "clbp"),
    BalanceVariant("clbp-shortlist", "clbp-shortlist"),
    BalanceVariant("load-aware", "load-aware"),
    BalanceVariant("load-aware-shortlist", "load-aware-shortlist"),
    BalanceVariant("vector-dot", "vector-dot"),
    BalanceVariant("adaptive", "adaptive"),
    BalanceVariant(RANDOM),
)
UNASSUMED: Final = tuple(
    BalanceVariant(balance_rows.without(name), name, {"assume": False})
    for name in ("clbp", "load-aware")
)


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    cases = [(scene, variant) for scene in SCENES for variant in VARIANTS]
    cases += [(scene, variant) for scene in BURSTS for variant in (*VARIANTS, *UNASSUMED)]
    tasks = [
        BalanceTask(_shrunk(scene) if options.quick else scene, variant, options.seed + k)
        for scene, variant in cases
        for k in range(_count(scene, options))
    ]
    kept: list[BalanceRun | None] = [None] * len(tasks)
    answers = comparing.run_local(compute, tasks, options.jobs)
    for done, (index, answer) in enumerate(answers, start=1):
        kept[index] = msgspec.json.decode(answer, type=BalanceRun)
        task = tasks[index]
        watch(done, len(tasks), f"{task.scene.name}, {task.variant.name}, seed {task.seed}")
    runs_by_key: dict[tuple[str, str], list[BalanceRun]] = {}
    for task, one in zip(tasks, kept, strict=True):
        if one is not None:
            runs_by_key.setdefault((task.scene.name, task.variant.name), []).append(one)
    report = make_report(runs_by_key, options.seed)
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def _count(scene: BalanceScene, options: StudyOptions) -> int:
    return options.sample(SEEDS if scene.nodes < MANY else SEEDS_OF_MANY, 6)


def _shrunk(scene: BalanceScene) -> BalanceScene:
    """Return a large scene with a fifth of its nodes and pods; others unchanged."""
    if scene.nodes < MANY:
        return scene
    return dataclasses.replace(scene, nodes=scene.nodes // 5, replicas=scene.replicas // 5)


def make_report(runs_by_key: RunsByKey, seed: int) -> dict[str, Any]:
    """Return the content of results.json; seeds count up from the given one."""
    rows = balance_rows.make_rows(runs_by_key)
    return {
        "study": "shi-balance",
        "seeds": {scene: [seed, seed + len(runs) - 1] for (scene, _), runs in runs_by_key.items()},
        "rules": balance_rows.RULES,
        "left_out": "H5, scheduling time per pod: needs a real scheduler",
        "statements": verdicts.state(rows),
        "rows": rows,
        "table": [describe(scene, variant, runs) for (scene, variant), runs in runs_by_key.items()],
        "placed": _placed(runs_by_key),
    }


def describe(scene: str, variant: str, runs: Sequence[BalanceRun]) -> dict[str, Any]:
    """Return means of one variant in one scene over its seeds, with half widths of intervals."""
    deviations = np.array([one.deviations for one in runs])
    mean = comparing.summarise_pairs(deviations.mean(axis=1))
    return {
        "scene": scene,
        "way": variant,
        "deviations": dict(zip(TITLES, deviations.mean(axis=0).tolist(), strict=True)),
        "mean": mean.mean,
        "half_width": mean.half_width,
        "waiting": float(np.mean([one.waiting for one in runs])),
        "most": float(np.mean([one.most for one in runs])),
    }


def _placed(runs_by_key: Mapping[tuple[str, str], Sequence[BalanceRun]]) -> list[dict[str, Any]]:
    """Return where pods went in the experiment as printed, first seed."""
    return [
        {
            "way": variant,
            "nodes": [
                sorted(kind for kind, row in runs[0].placed if row == node)
                for node in range(1 + max(row for _, row in runs[0].placed))
            ],
        }
        for (scene, variant), runs in runs_by_key.items()
        if scene == PRINTED
    ]
