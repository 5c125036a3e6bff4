"""The result of ``kubestow compare``: rows, summaries, differences, Pareto front."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kubestow.workflows.comparing import (
    cells,
    conclusions,
    grid,
    measures,
    statistics,
    sum_scores,
)

SUM_SCORE = "sum_score"
"""Name of the score that adds usage and response time."""

# Cost is the price of nodes; in a fixed cluster a variant saves pod hours instead.
_COSTS = (measures.COST, measures.NODE_HOURS, measures.POD_HOURS)
_QUALITIES = (measures.LATE, measures.PENDING)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonResult:
    """The results of one variant.

    Attributes:
        label: Its values as the user wrote them.
        changes: The values by path.
        records: Its cells, one per seed.
        summary: Mean and interval of every measure.
        against: Difference from the baseline by measure; empty for the baseline itself.
        pareto: Whether no other variant is better in both cost and quality.
    """

    label: str
    changes: Mapping[str, Any]
    records: Sequence[cells.CellRecord]
    summary: Mapping[str, statistics.PairedSummary]
    against: Mapping[str, dict[str, Any]]
    pareto: bool


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The results of all variants, in the order of the grid."""

    scenario: str
    baseline: str
    seeds: tuple[int, ...]
    axes: tuple[measures.RunMeasure, measures.RunMeasure]
    results: tuple[ComparisonResult, ...]

    @property
    def currency(self) -> str:
        """Currency of the costs; empty if the scenario states none or variants differ in it."""
        return _find_currency([record for one in self.results for record in one.records])

    def varies(self, measure: measures.RunMeasure) -> bool:
        """Return whether any two runs differ in a measure."""
        runs = (record for one in self.results for record in one.records)
        return len({measures.value_of(run.measures, measure.path) for run in runs}) > 1

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as plain values; the names are a contract."""
        return {
            "scenario": self.scenario,
            "baseline": self.baseline,
            "conclusion": conclusions.conclude(self),
            "seeds": list(self.seeds),
            "variants": [
                {
                    "label": one.label,
                    "changes": dict(one.changes),
                    "rows": [record.measures for record in one.records],
                    "summary": {k: dataclasses.asdict(v) for k, v in one.summary.items()},
                    "against_baseline": dict(one.against),
                    "pareto": one.pareto,
                }
                for one in self.results
            ],
            "pareto": [one.label for one in self.results if one.pareto],
            "pareto_axes": [axis.path for axis in self.axes],
        }

    def as_csv(self) -> str:
        """Return one line per variant, seed and measure."""
        paths = list(self.results[0].changes)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["variant", *paths, "seed", "measure", "value"])
        for one in self.results:
            for record in one.records:
                head = [one.label, *one.changes.values(), record.measures["seed"]]
                numbers = measures.flatten(record.measures)
                writer.writerows(
                    [*head, name, repr(v)] for name, v in numbers.items() if v is not None
                )
        return text.getvalue()


def make_comparison(sweep: grid.ComparisonGrid, records: Sequence[cells.CellRecord]) -> Comparison:
    """Combine finished cells, ordered by variant and seed."""
    count = len(sweep.seeds)
    pieces = [records[start : start + count] for start in range(0, len(records), count)]
    labels = [variant.label for variant in sweep.variants]
    base = pieces[labels.index(sweep.baseline)]
    against = [
        {} if label == sweep.baseline else differences(piece, base)
        for label, piece in zip(labels, pieces, strict=True)
    ]
    correct(against)
    summaries = [summarise([record.measures for record in piece]) for piece in pieces]
    cost, quality = measures.in_currency(choose_axes(summaries), _find_currency(records))
    axes = (cost, quality)
    front = pareto(summaries, axes)
    results = tuple(
        ComparisonResult(variant.label, variant.changes, piece, summary, differing, best)
        for variant, piece, summary, differing, best in zip(
            sweep.variants, pieces, summaries, against, front, strict=True
        )
    )
    return Comparison(sweep.name, sweep.baseline, sweep.seeds, axes, results)


def _find_currency(records: Sequence[cells.CellRecord]) -> str:
    stated = {record.measures.get("currency", "") for record in records}
    return str(stated.pop()) if len(stated) == 1 else ""


def summarise(rows: Sequence[Row]) -> dict[str, statistics.PairedSummary]:
    """Return mean and interval of every measure over the seeds that have it."""
    numbers = [measures.flatten(row) for row in rows]
    summaries = {}
    for name in numbers[0]:
        values = [row[name] for row in numbers if row.get(name) is not None]
        if values:
            summaries[name] = statistics.summarise_pairs(np.array(values, dtype=np.float64))
    return summaries


def differences(
    variant: Sequence[cells.CellRecord], baseline: Sequence[cells.CellRecord]
) -> dict[str, dict[str, Any]]:
    """Return the paired difference of every measure that both have for some seed."""
    differences_by_measure = {}
    for measure in measures.MEASURES:
        pairs = [
            (
                measures.value_of(a.measures, measure.path),
                measures.value_of(b.measures, measure.path),
            )
            for a, b in zip(variant, baseline, strict=True)
        ]
        whole = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
        if len(whole):
            differences_by_measure[measure.path] = _plain(
                statistics.compare_pairs(whole[:, 0], whole[:, 1])
            )
    score = sum_score(variant, baseline)
    return differences_by_measure if score is None else {**differences_by_measure, SUM_SCORE: score}


def sum_score(
    variant: Sequence[cells.CellRecord], baseline: Sequence[cells.CellRecord]
) -> dict[str, Any] | None:
    """Return the difference in the sum of usage and response time, one mean per seed.

    For one seed the interval is a bootstrap over blocks of minutes, and named so.
    """
    pairs = zip(variant, baseline, strict=True)
    scores = [sum_scores.differ_in_sum(_minutes(a), _minutes(b)) for a, b in pairs]
    scores = [one for one in scores if len(one.total)]
    if not scores:
        return None
    means = np.array([one.total.mean() for one in scores])
    plain = _plain(statistics.compare_pairs(means, np.zeros(len(means))))
    for name in ("ratio", "ratio_low", "ratio_high"):
        del plain[name]  # a score without an absolute zero has no ratio
    plain["interval"] = "seeds"
    if len(scores) == 1:
        rng = np.random.default_rng(variant[0].measures["seed"])
        plain["low"], plain["high"] = sum_scores.bootstrap_interval(scores[0].total, rng)
        plain["interval"] = "bootstrap over minutes"
    plain["eru_term"] = float(np.mean([one.eru.mean() for one in scores]))
    plain["response_term"] = float(np.mean([one.response.mean() for one in scores]))
    return plain


def _minutes(record: cells.CellRecord) -> sum_scores.Minutes:
    names = ("time_s", "eru_cpu", "response_s")
    return sum_scores.Minutes(*(cells.column(record, name) for name in names))


def _plain(paired: statistics.Paired) -> dict[str, Any]:
    plain = dataclasses.asdict(paired)
    # Next to its p-value; filled in when all p-values are known.
    return {
        **{k: plain.pop(k) for k in ("difference", "low", "high", "p")},
        "p_holm": None,
        **plain,
    }


def correct(against: Sequence[dict[str, dict[str, Any]]]) -> None:
    """Fill in p-values corrected for the number of all measures and variants."""
    entries = [entry for one in against for entry in one.values()]
    for entry, p in zip(entries, statistics.holm([e["p"] for e in entries]), strict=True):
        entry["p_holm"] = p


def choose_axes(
    summaries: Sequence[Mapping[str, statistics.PairedSummary]],
) -> tuple[measures.RunMeasure, measures.RunMeasure]:
    """Return the axes of the Pareto front: cost and quality.

    Cost is the price of nodes if variants differ in it, else node hours, else pod hours. Quality is
    the share of requests late or lost; without requests, the time pods were pending.
    """
    return _first_that_differs(_COSTS, summaries), next(
        (m for m in _QUALITIES if all(m.path in one for one in summaries)), measures.PENDING
    )


def _first_that_differs(
    candidates: Sequence[measures.RunMeasure],
    summaries: Sequence[Mapping[str, statistics.PairedSummary]],
) -> measures.RunMeasure:
    for measure in candidates:
        if len({one[measure.path].mean for one in summaries}) > 1:
            return measure
    return candidates[0]


def pareto(
    summaries: Sequence[Mapping[str, statistics.PairedSummary]],
    axes: tuple[measures.RunMeasure, measures.RunMeasure],
) -> list[bool]:
    """Return for every variant whether no other one dominates it."""
    points = np.array([[one[axis.path].mean for axis in axes] for one in summaries])
    no_worse = (points[:, None, :] <= points[None, :, :]).all(axis=2)
    better = (points[:, None, :] < points[None, :, :]).any(axis=2)
    dominated = np.any(no_worse & better, axis=0)
    return [bool(one) for one in np.logical_not(dominated)]
