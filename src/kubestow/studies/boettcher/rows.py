"""The targets of Böttcher 2023, 5.7 as rows with verdicts, for every evaluated variant.

A row is *beaten* if the variant is better than the thesis by the stated rule, *reproduced* if it is
as good, else *not reproduced*. All numbers are for a spread of 3 % from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from kubestow.studies.boettcher import measures, table_replays, tables, variants
from kubestow.workflows import comparing

Row = dict[str, Any]
MeasuresByVariant = Mapping[str, Sequence[measures.Measures]]

SPREAD: Final = 0.03
EVALUATED: Final = (
    variants.STRICT,
    variants.CONVERGING,
    variants.CLOSED,
    variants.RULE,
    variants.OURS,
)
_LEARNED: Final = (variants.STRICT, variants.STRICT_FIVE, variants.CONVERGING)
REPRODUCED, NOT, BEATEN = "reproduced", "not reproduced", "beaten"

ALL: Final = len(tables.CONTAINERS)
# Sum of ceil64(average), and of ceil64(1.10 x max), over the printed containers.
LEAST_CORES: Final = sum(tables.round_up(c.cpu_average_m) for c in tables.CONTAINERS) / 1000.0
BEST_MB: Final = sum(tables.round_up(1.1 * c.memory_max_mb) for c in tables.CONTAINERS)
THESIS_MB: Final = sum(c.memory_new_mb for c in tables.CONTAINERS)
THESIS_CORES: Final = sum(c.cpu_new_m for c in tables.CONTAINERS) / 1000.0
COVERED: Final = 0.995

RULES: Final = {
    "cpu": "reproduced: upper end of the 95 % interval <= 11 cores; beaten: "
    f"<= {LEAST_CORES:.2f} cores with {ALL} of {ALL} in band, in every seed",
    "cpu band": f"reproduced: lower end >= 16; beaten: {ALL} in every seed",
    "in sample": f"reproduced: {ALL} of {ALL} not below the run just evaluated, in every seed",
    "memory": f"reproduced: mean within 5 % of {THESIS_MB:.0f} MB; beaten: upper end <= "
    f"{BEST_MB:.0f} MB and lower end of the coverage of next runs >= 99.5 %",
    "coverage": "reproduced: lower end >= 3 of 4 (table 5.2); beaten: lower end >= 99.5 %",
    "descent": "reproduced: 576 within 11 evaluations in every seed; beaten: within 3 and no "
    "change after that, in every seed",
    "shock": "reproduced: the request after the jump covers it, in every seed; beaten: no run of "
    "the table beyond its request, in every seed",
    "calm shock": "reproduced: the request after the jump covers it, in every seed; beaten: the "
    "jump itself is covered",
    "restarts": "reproduced: no request changes while a run is under way",
    "rival": "at no more headroom than the agents, by the 95 % interval of the paired difference: "
    "beaten: the rule misses fewer next runs; reproduced: as many; not reproduced: more",
}


def make_rows(
    measured: MeasuresByVariant, replays: Mapping[str, Any], comparisons: Sequence[Row]
) -> list[Row]:
    """Return all rows.

    Args:
        measured: Measures at a spread of 3 %, by variant and seed.
        replays: Replays of tables 5.1 and 5.2.
        comparisons: Comparisons with the rule at equal headroom.
    """
    rows = []
    for variant in (name for name in EVALUATED if name in measured):
        rows += [
            *_sized(variant, measured[variant]),
            _descent(variant, replays),
            *_shocks(variant, replays),
        ]
    rows += [_rule_row(row) for row in comparisons if row["way"] in _LEARNED]
    return [*rows, _restarts(measured)]


def _row(
    rule: str,
    variant: str,
    statement: str,
    thesis: str,
    values: Sequence[float],
    result: str,
    grade: str,
) -> Row:
    # Values that are never reached are infinite and have no mean.
    known = [float(value) for value in values if np.isfinite(value)]
    summary = comparing.summarise_pairs(np.array(known)) if known else None
    half = summary.half_width if summary else None
    return {
        "measure": rule,
        "way": variant,
        "statement": f"{statement}, `{variant}`",
        "thesis": thesis,
        "found": result,
        "mean": summary.mean if summary else None,
        "interval": None if summary is None or half is None
        else [summary.mean - half, summary.mean + half],
        "n": len(values),
        "verdict": grade,
        "rule": RULES[rule],
    }  # fmt: skip


def _grade(*, beaten: bool, reproduced: bool) -> str:
    return BEATEN if beaten else REPRODUCED if reproduced else NOT


def _ends(values: Sequence[float]) -> tuple[float, float, float]:
    summary = comparing.summarise_pairs(np.array(values))
    half = summary.half_width or 0.0
    return summary.mean - half, summary.mean, summary.mean + half


def _sized(variant: str, measured: Sequence[measures.Measures]) -> list[Row]:
    """Return the rows on sums and bands after the runs of the tables, and on next runs."""
    cpu, band, sample, memory, covered = (
        [one[name] for one in measured]
        for name in ("cpu_cores", "cpu_in_band", "memory_in_sample", "memory_mb", "covered")
    )
    later, still = (
        [one[name] for one in measured] for name in ("cpu_cores_end", "cpu_in_band_end")
    )
    headroom = float(np.mean([one["headroom"] for one in measured]))
    low, mean, high = (100.0 * end for end in _ends(covered))
    return [
        _row(
            "cpu", variant, "CPU requested by 20 containers", f"{THESIS_CORES:.2f} cores", cpu,
            f"{_ends(cpu)[1]:.2f} cores (after 30 more runs {_ends(later)[1]:.2f})",
            _grade(
                beaten=max(cpu) <= LEAST_CORES + 1e-9 and min(band) == ALL,
                reproduced=_ends(cpu)[2] <= 11.0,
            ),
        ),
        _row(
            "cpu band", variant, "CPU requests between average and maximum", "16 of 20", band,
            f"{_ends(band)[1]:.1f} of {ALL}, at least {min(band):.0f} (after 30 more runs "
            f"{_ends(still)[1]:.1f})",
            _grade(beaten=min(band) == ALL, reproduced=_ends(band)[0] >= 16.0),
        ),
        _row(
            "in sample", variant, "memory requests cover the run just evaluated", "20 of 20",
            sample, f"{_ends(sample)[1]:.2f} of {ALL}",
            _grade(beaten=False, reproduced=min(sample) == ALL),
        ),
        _row(
            "memory", variant, "memory requested by 20 containers", f"{THESIS_MB:.0f} MB", memory,
            f"{_ends(memory)[1]:.0f} MB, headroom {100 * headroom:.1f} %",
            _grade(
                beaten=_ends(memory)[2] <= BEST_MB and low >= 100.0 * COVERED,
                reproduced=abs(_ends(memory)[1] / THESIS_MB - 1.0) <= 0.05,
            ),
        ),
        _row(
            "coverage", variant, "next runs within the memory request", "3 of 4 (table 5.2)",
            covered, f"{mean:.2f} % ({low:.2f} to {min(high, 100.0):.2f})",
            _grade(beaten=low >= 100.0 * COVERED, reproduced=low >= 75.0),
        ),
    ]  # fmt: skip


def _descent(variant: str, replays: Mapping[str, Any]) -> Row:
    descent = next(row for row in replays["descents"] if row["way"] == variant)
    reached = descent["reached"] or [float("inf")]
    most, changes = max(reached), descent["changes_after"]
    text = (
        f"{_ends(reached)[1]:.1f}, at most {most:.0f}" if descent["reached"] else "not in all seeds"
    )
    text += f"; {np.mean(changes):.2f} changes after that"
    grade = _grade(beaten=most <= 3 and max(changes) == 0, reproduced=most <= 11)
    statement = "evaluations from 976 to 576 MB (table 5.1)"
    return _row("descent", variant, statement, "7, then 576 and 640 in turn", reached, text, grade)


def _shocks(variant: str, replays: Mapping[str, Any]) -> list[Row]:
    rows = []
    for rule, calm, title in (
        ("shock", 0, "runs of table 5.2 beyond their request"),
        (
            "calm shock",
            table_replays.CALM_RUNS,
            f"the same after {table_replays.CALM_RUNS} calm runs",
        ),
    ):
        shock = next(
            row for row in replays["shocks"] if row["way"] == variant and row["calm_runs"] == calm
        )
        misses = shock["misses"] if not calm else [float(hit) for hit in shock["jump_missed"]]
        what = "jump missed in" if calm else "missed"
        text = f"{what} {np.mean(misses):.2f} of {1 if calm else 4}"
        text += f"; headroom {100 * shock['headroom']:.0f} %, lost {shock['lost_mb']:.0f} MB"
        grade = _grade(beaten=max(misses) == 0, reproduced=all(shock["repaired"]))
        thesis = "-" if calm else "1 of 4, repaired after it"
        rows.append(_row(rule, variant, title, thesis, misses, text, grade))
    return rows


def _rule_row(row: Row) -> Row:
    tested = row["difference"]
    low, high = tested["low"], tested["high"]
    text = (
        f"rule with f = {row['factor']:g}: {100 * row['rule_missed']:.2f} % at "
        f"{100 * row['rule_headroom']:.1f} %; learned: {100 * row['missed']:.2f} % at "
        f"{100 * row['headroom']:.1f} %"
    )
    return {
        "measure": "rival",
        "way": row["way"],
        "statement": f"one line of arithmetic over the last {row['look_back']} runs at the "
        f"headroom of `{row['way']}`, spread {100 * row['spread']:g} %",
        "thesis": "no rival was tried",
        "found": text,
        "mean": tested["difference"],
        "interval": None if low is None else [low, high],
        "n": tested["n"],
        "verdict": _grade(
            beaten=low is not None and low > 0.0, reproduced=high is None or high >= 0.0
        ),
        "rule": RULES["rival"],
    }


def _restarts(measured: MeasuresByVariant) -> Row:
    seeds = len(next(iter(measured.values())))
    text = "0: requests change between runs only"
    return _row("restarts", "all ways", "restarts for a new request", "0", [0.0] * seeds, text,
                REPRODUCED)  # fmt: skip
