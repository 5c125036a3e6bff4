"""How full may a node get, and what does packing do to a cluster?

Two parts, after Schubert 2023, 5.4 and 6.1. The simulated part (E12) depends only on the seed and
is also written to simulated.json, byte-identical on every machine. The measured part (E10, E11)
loads *this* machine and times a task on it. Finished runs and blocks are stored in the output
folder, so an interrupted study resumes where it stopped. results.json has both parts and one row
per statement of the thesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubestow.model.progress import Progress
from kubestow.studies.options import StudyOptions
from kubestow.studies.schubert.limits import (
    drain,
    drain_figures,
    drain_rows,
    machine_state,
    measurements,
    page,
    rows,
)
from kubestow.workflows import files

SEEDS: Final = 12
QUICK_SEEDS: Final = 2
QUICK_REPEATS: Final = 5
_SETTINGS: Final = (
    drain.LIGHT,
    drain.USUAL,
    drain.MAINTENANCE,
)


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json, simulated.json and report.html."""
    plan = make_plan(options)
    machine = measurements.inspect_machine()
    tasks = make_tasks(options)
    blocks = measurements.make_blocks(plan, machine)
    total = len(tasks) + len(blocks)

    simulated = make_simulated(
        drain.run_tasks(
            tasks, options.out / "runs", lambda done, _, label: watch(done, total, label)
        ),
        options.seed,
    )
    files.write_json(options.out / "simulated.json", simulated)
    measured = measure(
        plan,
        machine,
        options,
        lambda done, _, label: watch(len(tasks) + done, total, label),
    )
    report = make_report(simulated, measured)
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def make_plan(options: StudyOptions) -> measurements.MeasurementPlan:
    """Return the plan for this machine; ``lists`` sets the measurements per level."""
    if options.quick:
        return measurements.MeasurementPlan(
            cpu_levels=(0, 100),
            memory_levels=(0, 5),
            repeats=options.sample(QUICK_REPEATS, QUICK_REPEATS),
            rounds=1,
            pause_s=0.0,
            discarded=1,
            task_bytes=64 * 2**20,
            seed=options.seed,
        )
    full = measurements.MeasurementPlan().repeats
    return measurements.MeasurementPlan(repeats=options.sample(full, full), seed=options.seed)


def make_tasks(options: StudyOptions) -> list[drain.DrainTask]:
    """Return the runs to simulate; seeds start at the seed of the study."""
    count = QUICK_SEEDS if options.quick else SEEDS
    seeds = range(options.seed, options.seed + count)
    settings = _SETTINGS[1:] if options.quick else _SETTINGS
    profiles = drain.PROFILES[: 3 if options.quick else None]
    return drain.make_tasks(settings, profiles, seeds)


def make_simulated(records: Sequence[drain.DrainRun], seed: int) -> dict[str, Any]:
    """Return the simulated part, which depends only on the seed."""
    return {
        "part": "simulated",
        "seed": seed,
        "seeds": sorted({run.seed for run in records}),
        "rules": drain_rows.RULES,
        "rows": drain_rows.make_rows(records),
        "runs": drain_figures.make_runs(records),
        "histograms": drain_figures.make_histograms(records),
        "nodes": drain_figures.make_nodes(records, seed),
    }


def measure(
    plan: measurements.MeasurementPlan,
    machine: measurements.Machine,
    options: StudyOptions,
    watch: Progress,
) -> dict[str, Any]:
    """Return the measured part, which depends on this machine and its load."""
    described = machine_state.describe()
    blocks = measurements.run_blocks(plan, machine, options.out / "blocks", watch)
    levels = rows.merge_levels(blocks, plan.pause_s, machine.cores)
    return {
        "part": "measured",
        "machine": described,
        "measurements_per_level": plan.repeats,
        "rounds": plan.rounds,
        "pause_s": plan.pause_s,
        "task_gib": plan.task_bytes / measurements.GIB,
        "number": plan.number,
        "groups": describe_groups(machine),
        "rules": rows.RULES,
        "rows": rows.make_rows(levels, plan, machine),
        "series": rows.make_series(levels),
        "levels": levels,
    }


def describe_groups(machine: measurements.Machine) -> str:
    """Return the version of control groups, or why none were used."""
    if isinstance(machine.parent, str):
        return f"requests and limits not measured: {machine.parent}"
    return f"control groups, version {machine.parent.version}"


def make_report(simulated: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    """Return the content of results.json: rows of both parts first, then the parts."""
    rows = [{"part": part["part"], **row} for part in (measured, simulated) for row in part["rows"]]
    kept = [
        {key: value for key, value in part.items() if key not in ("rows", "rules", "part")}
        for part in (measured, simulated)
    ]
    return {
        "study": "schubert-limits",
        "rules": measured["rules"] | simulated["rules"],
        "statements": [
            {
                "statement": f"{row['statement']}: {row.get('found') or 'not measured'}",
                "verdict": row["verdict"],
            }
            for row in rows
        ],
        "rows": rows,
        "measured": kept[0],
        "simulated": kept[1],
    }
