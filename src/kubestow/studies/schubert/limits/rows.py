"""Statements of Schubert 2023 about full machines (5.4, E10, E11), checked on this machine.

Takes the blocks of ``measurements``, merges the rounds of a level, applies the rule of ``rules``
and gives every statement of the thesis a row with a verdict. The thesis publishes no times, only
observations from its box plots, so only statements can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from kubestow.studies.schubert.limits import rules
from kubestow.studies.schubert.limits.measurements import (
    CPU,
    GIB,
    LIMITS,
    MEMORY,
    PLAIN,
    REQUESTS,
    LimitRecord,
    LoadBlock,
    Machine,
    MeasurementPlan,
    unsafe_levels,
)
from kubestow.workflows import comparing

Row = dict[str, Any]

THESIS_USE: Final = (27 / 32, 28 / 32)
"""Maximum tolerable memory usage: 26 to 27 GiB of the load and 1 GiB of the task, of 32 GiB."""

IMPROVES_FROM: Final = 98.0
HIGH_FROM: Final = 90.0

QUIET: Final = 0.10

RULES: Final = {
    "change": rules.RULE,
    "quiet": "nothing measured is reproduced if work that does not belong to the study took 10 % "
    "of all cores or more at any level of the same kind",
    "memory-limit": "reproduced if the interval of tolerable use overlaps the thesis' 27 to 28 of "
    "32 GiB, the task's own memory included",
    "no-limit": "reproduced if the rule `change` finds no limit either",
    "some-rise": "reproduced if any level has risen by the rule `change`",
    "shorter-at-98": "times at 98 % and above against those at 90 to 95 %: reproduced if shorter "
    "(one-sided Mann-Whitney, p < 0.05)",
    "longer-with-limits": "limits against requests at the same level: reproduced if longer at more "
    "than half of the levels and shorter at none (one-sided Mann-Whitney, Holm over levels and "
    "both directions, p < 0.05)",
    "not-measured": "what was not measured is not reproduced",
}


def merge_levels(
    blocks: Sequence[tuple[LoadBlock, LimitRecord]], pause_s: float = 0.0, cores: int = 1
) -> list[Row]:
    """Return one entry per series and level, with the values of all rounds.

    Args:
        blocks: The measured blocks.
        pause_s: Pause between two measurements in seconds.
        cores: Cores of the machine.
    """
    by_level: dict[tuple[str, str, float], list[LimitRecord]] = {}
    for block, record in blocks:
        by_level.setdefault((block.kind, block.variant, block.level), []).append(record)
    return [
        {
            **_level(*key, by_level[key]),
            "others": _mean([others_share(record, pause_s, cores) for record in by_level[key]]),
        }
        for key in sorted(by_level)
        if sum(len(record.values) for record in by_level[key])
    ]


def others_share(record: LimitRecord, pause_s: float, cores: int) -> float:
    """Return the minimum share of all cores used by neither the loads nor the task.

    The task uses at most one core while it is timed, and none in a pause.
    """
    timed_s = sum(record.values)
    elapsed_s = timed_s + pause_s * len(record.values)
    task = timed_s / elapsed_s / cores if elapsed_s > 0.0 else 0.0
    return max(record.busy - record.load_reached - task, 0.0)


def _level(kind: str, variant: str, level: float, records: Sequence[LimitRecord]) -> Row:
    values = np.array([value for record in records for value in record.values])
    low, middle, high = rules.quartiles(values)
    return {
        "kind": kind,
        "variant": variant,
        "level_percent": level,
        "n": len(values),
        "median_s": comparing.rounded(middle),
        "quartiles_s": [comparing.rounded(low), comparing.rounded(high)],
        "load_reached": _mean([record.load_reached for record in records]),
        "busy": _mean([record.busy for record in records]),
        "held_gib": _mean([record.held_bytes / GIB for record in records]),
        "available_gib": _mean([record.available_bytes / GIB for record in records]),
        "started": [record.started for record in records],
        "values_s": [comparing.rounded(value) for value in values.tolist()],
    }


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def series_of(levels: Sequence[Row], kind: str, variant: str) -> list[rules.Level]:
    """Return the levels of a series for the rule; for memory, the GiB actually held."""
    chosen = [row for row in levels if (row["kind"], row["variant"]) == (kind, variant)]
    return [
        rules.Level(
            row["held_gib"] if kind == MEMORY else row["level_percent"], np.array(row["values_s"])
        )
        for row in chosen
    ]


def make_series(levels: Sequence[Row]) -> list[Row]:
    """Return the result of the rule for every series."""
    results = []
    for kind, variant in dict.fromkeys((row["kind"], row["variant"]) for row in levels):
        series = series_of(levels, kind, variant)
        if len(series) < 2:
            continue
        limit = rules.find_limit(series)
        results.append(
            {
                "kind": kind,
                "variant": variant,
                "unit": "GiB held" if kind == MEMORY else "% of all cores",
                "last_good": limit.last_good,
                "first_bad": limit.first_bad,
                "changes": [change.as_json() for change in limit.changes],
            }
        )
    return results


def make_rows(levels: Sequence[Row], plan: MeasurementPlan, machine: Machine) -> list[Row]:
    """Return the statements of the thesis with verdicts."""
    why = machine.parent if isinstance(machine.parent, str) else ""
    cpu_rows = [
        *_cpu_rows(levels, REQUESTS, why),
        *_limit_rows(levels, why),
        *([plain_row(levels)] if why else []),
    ]
    return [
        demand_quiet(memory_row(levels, plan, machine), levels, MEMORY),
        *(demand_quiet(row, levels, CPU) for row in cpu_rows),
    ]


def demand_quiet(row: Row, levels: Sequence[Row], kind: str) -> Row:
    """Withdraw a positive verdict if other work on the machine may have caused it."""
    others = max((level["others"] for level in levels if level["kind"] == kind), default=0.0)
    if others < QUIET or row["rule"] == "not-measured":
        return row
    return {
        **row,
        "verdict": "not reproduced",
        "verdict_if_quiet": row["verdict"],
        "found": f"{row['found']}; not quiet: other work took up to {others:.0%} of all cores",
    }


def _row(
    experiment: str,
    statement: str,
    thesis: Any,
    rule: str,
    measured: Mapping[str, Any] | None = None,
) -> Row:
    return {
        "experiment": experiment,
        "statement": statement,
        "thesis": thesis,
        "mean": None,
        "interval": None,
        "n": 0,
        "verdict": "not reproduced",
        "rule": rule,
        **(measured or {}),
    }


def _verdict(*, holds: bool) -> str:
    return "reproduced" if holds else "not reproduced"


def memory_row(levels: Sequence[Row], plan: MeasurementPlan, machine: Machine) -> Row:
    """Return the memory limit: the largest usage, task included, that does not slow the task."""
    statement = "memory: times rise when 84 to 88 % of the memory is in use, so limit it to 85 %"
    series = series_of(levels, MEMORY, PLAIN)
    if len(series) < 2:
        return _row("E10", statement, list(THESIS_USE), "not-measured")
    limit = rules.find_limit(series)
    whole, task = machine.total_bytes / GIB, plan.task_bytes / GIB
    highest = (max(level.load for level in series) + task) / whole
    skipped = [round(level, 3) for level in unsafe_levels(plan, machine)]
    free = limit.free_shares(whole, task)
    measured: Row = {
        "n": sum(len(level.values) for level in series),
        "highest_use_measured": comparing.rounded(highest),
        "levels_not_measured_percent": skipped,
    }
    if free is None:
        measured["found"] = f"no limit found up to {highest:.1%} in use"
        return _row("E10", statement, list(THESIS_USE), "memory-limit", measured)
    low, high = 1.0 - free[1], 1.0 - free[0]
    measured["interval"] = [comparing.rounded(low), comparing.rounded(high)]
    measured["found"] = f"limit between {low:.1%} and {high:.1%} in use"
    measured["verdict"] = _verdict(holds=low <= THESIS_USE[1] and high >= THESIS_USE[0])
    return _row("E10", statement, list(THESIS_USE), "memory-limit", measured)


def _limit_text(series: Sequence[rules.Level]) -> tuple[rules.Limit, str]:
    limit = rules.find_limit(series)
    if limit.first_bad is None:
        risen = [f"{change.load:g}" for change in limit.changes if change.risen]
        also = f"; risen at {', '.join(risen)} %, not at all levels above" if risen else ""
        return limit, f"no limit found{also}"
    return limit, f"limit between {limit.last_good:g} and {limit.first_bad:g} % of all cores"


def _limit_measures(series: Sequence[rules.Level]) -> Row:
    limit, text = _limit_text(series)
    return {
        "n": sum(len(level.values) for level in series),
        "interval": None if limit.first_bad is None else [limit.last_good, limit.first_bad],
        "found": text,
    }


def _cpu_rows(levels: Sequence[Row], variant: str, why: str) -> list[Row]:
    first = "CPU, requests only: no clear worsening up to 100 % load, so no limit"
    second = "CPU, requests only: times get shorter from 98 % load on"
    series = series_of(levels, CPU, variant)
    if len(series) < 2:
        return [_row("E10", text, None, "not-measured", {"found": why}) for text in (first, second)]
    limit, _ = _limit_text(series)
    holds = limit.first_bad is None
    return [
        _row(
            "E10",
            first,
            None,
            "no-limit",
            {**_limit_measures(series), "verdict": _verdict(holds=holds)},
        ),
        _shorter_row(second, series),
    ]


def _shorter_row(statement: str, series: Sequence[rules.Level]) -> Row:
    top = [level.values for level in series if level.load >= IMPROVES_FROM]
    below = [level.values for level in series if HIGH_FROM <= level.load < IMPROVES_FROM]
    if not top or not below:
        return _row("E10", statement, None, "not-measured", {"found": "levels were left out"})
    high, low = np.concatenate(top), np.concatenate(below)
    p = rules.longer(low, high)
    ratio = float(np.median(high) / np.median(low))
    return _row(
        "E10",
        statement,
        None,
        "shorter-at-98",
        {
            "mean": comparing.rounded(ratio),
            "n": len(high) + len(low),
            "p": comparing.rounded(p),
            "found": f"median {ratio:.3f} times that at 90 to 95 %",
            "verdict": _verdict(holds=p < comparing.SIGNIFICANT),
        },
    )


def _limit_rows(levels: Sequence[Row], why: str) -> list[Row]:
    first = "CPU, limits = requests: times do rise with load, against expectation"
    second = "CPU: times are longer with limits than with requests only (Fig. 5.13)"
    limited, free = series_of(levels, CPU, LIMITS), series_of(levels, CPU, REQUESTS)
    if len(limited) < 2 or len(free) < 2:
        return [
            _row("E10", first, None, "not-measured", {"found": why}),
            _row("E11", second, None, "not-measured", {"found": why}),
        ]
    limit, _ = _limit_text(limited)
    holds = any(change.risen for change in limit.changes)
    return [
        _row(
            "E10",
            first,
            None,
            "some-rise",
            {**_limit_measures(limited), "verdict": _verdict(holds=holds)},
        ),
        _longer_row(second, limited, free),
    ]


def _longer_row(statement: str, limited: Sequence[rules.Level], free: Sequence[rules.Level]) -> Row:
    others = {level.load: level.values for level in free}
    pairs = [(level.values, others[level.load]) for level in limited if level.load in others]
    ps = [rules.longer(a, b) for a, b in pairs] + [rules.longer(b, a) for a, b in pairs]
    sure = [p is not None and p < comparing.SIGNIFICANT for p in comparing.holm(ps)]
    longer, shorter = sum(sure[: len(pairs)]), sum(sure[len(pairs) :])
    ratios = comparing.summarise_pairs(np.array([np.median(a) / np.median(b) for a, b in pairs]))
    half = ratios.half_width or 0.0
    return _row(
        "E11",
        statement,
        None,
        "longer-with-limits",
        {
            "mean": comparing.rounded(ratios.mean),
            "interval": [
                comparing.rounded(ratios.mean - half),
                comparing.rounded(ratios.mean + half),
            ],
            "n": len(pairs),
            "found": f"longer at {longer} of {len(pairs)} levels, shorter at {shorter}; medians "
            f"{ratios.mean:.2f} times as long on average",
            "verdict": _verdict(holds=longer > len(pairs) / 2 and shorter == 0),
        },
    )


def plain_row(levels: Sequence[Row]) -> Row:
    """Return the CPU series without control groups, for machines where none can be created."""
    statement = "CPU, without control groups: no clear worsening up to 100 % load"
    series = series_of(levels, CPU, PLAIN)
    if len(series) < 2:
        return _row("E10", statement, None, "not-measured")
    limit, _ = _limit_text(series)
    verdict = _verdict(holds=limit.first_bad is None)
    return _row("E10", statement, None, "no-limit", {**_limit_measures(series), "verdict": verdict})
