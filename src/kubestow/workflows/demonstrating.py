"""The demo: stock Kubernetes and kubestow on one day of a bundled web shop, with several seeds.

The shop requests far more than it uses, as most clusters do; a flash crowd arrives, and all nodes
are drained for maintenance; nodes are rented on demand. All figures come from the runs. Gains and
losses are shown together, and a difference counts only if every seed agrees on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from kubestow.model.progress import Progress
from kubestow.workflows import comparing, scenario_files

STOCK = "stock Kubernetes"
SEEDS = 3
GOOD, BAD, SAME = "good", "bad", ""


@dataclass(frozen=True, slots=True)
class DemoVariant:
    """One variant of the cluster.

    Attributes:
        name: Its name in the table.
        how: What you have to configure for it.
        changes: Differences from the bundled scenario, as for ``simulate --set``.
    """

    name: str
    how: str
    changes: tuple[str, ...] = ()


_PACK = "policies.placing.profile=most-allocated"
# Hourly, and limits stay: a pod that needs more than its request is not OOM-killed.
_SIZE = (
    "policies.sizing={recommender: auto, mode: in-place-or-recreate, interval: 1h, "
    "guards: {memoryLimit: keep, cpuLimit: keep}, "
    "parameters: {tournament: {windowS: 3600}, conformal: {windowS: 1h}}}"
)
SIZED = "+ sized"
# The services that take more than a minute to start.
_AHEAD = tuple(f"workloads[{number}].scaling.scaler=auto" for number in (2, 3))
AHEAD = "+ scaled ahead"
VARIANTS = (
    DemoVariant(STOCK, "default scheduler, HPA, Cluster Autoscaler, requests as guessed"),
    DemoVariant("+ packed", "scheduler configured to fill nodes (most-allocated)", (_PACK,)),
    DemoVariant(SIZED, "requests sized from usage (auto, hourly, in place)", (_PACK, _SIZE)),
    DemoVariant(
        AHEAD,
        "api and checkout, slow to start, scaled one start-up ahead (auto)",
        (_PACK, _SIZE, *_AHEAD),
    ),
)

_COST = comparing.RunMeasure("cost", "cost of the day", digits=0)
_NODES = comparing.RunMeasure("nodes_mean", "nodes, mean")
_P95 = comparing.RunMeasure("response.p95", "response time, p95", "ms", 1000.0)
_LATE = comparing.RunMeasure("slo_violation_ratio", "requests late or lost", "%", 100.0, digits=3)
_WAIT = comparing.RunMeasure("pod_wait", "wait for a node", "s", digits=0)
_KILLS = comparing.RunMeasure("oom_kills", "OOM kills")
ROWS = (
    _COST,
    _NODES,
    comparing.RunMeasure("eru.cpu", "CPU used of requested", "%", 100.0, better="higher"),
    _P95,
    _LATE,
    _WAIT,
    _KILLS,
)
"""The rows of the table, in words for people who pay for clusters; at most seven."""


def plan(seeds: int = SEEDS, changes: tuple[str, ...] = ()) -> comparing.ComparisonGrid:
    """Plan the runs.

    Args:
        seeds: Number of seeds per variant.
        changes: Differences from the bundled scenario in all variants, for tests.
    """
    source = str(resources.files("kubestow.workflows") / "data" / "demo_scenario.yaml")
    variants = []
    for variant in VARIANTS:
        loaded = scenario_files.load(source, (*changes, *variant.changes))
        paths: dict[str, Any] = dict(scenario_files.split_change(c) for c in variant.changes)
        variants.append(comparing.Variant(variant.name, paths, loaded))
    first = variants[0].loaded.scenario
    return comparing.ComparisonGrid(
        name=first.metadata.name,
        folder=Path(source).parent,
        axes=(),
        variants=tuple(variants),
        seeds=tuple(range(first.spec.seed, first.spec.seed + seeds)),
        baseline=STOCK,
    )


def run(
    sweep: comparing.ComparisonGrid, folder: Path | None, jobs: int, watch: Progress
) -> comparing.Comparison:
    """Run the demo; finished runs are kept in the folder."""
    tasks = comparing.make_tasks(sweep)
    engine = comparing.get_engine(comparing.LOCAL)
    records = comparing.run_cells(tasks, folder, engine, jobs, watch)
    return comparing.make_comparison(sweep, [_with_means(record) for record in records])


def _with_means(record: comparing.CellRecord) -> comparing.CellRecord:
    """Add the mean number of nodes, and how long a pod waits for one in the mean."""
    measures = record.measures
    added = {
        "nodes_mean": measures["node_hours"] / (measures["simulated_seconds"] / 3600.0),
        "pod_wait": measures["pending_pod_seconds"] / max(measures["pods_created"], 1),
    }
    return comparing.CellRecord(record.key, {**measures, **added}, record.series)


@dataclass(frozen=True, slots=True)
class DemoCell:
    """One value of the table.

    Attributes:
        text: The mean.
        interval: The mean with its 95 % interval.
        verdict: ``good`` or ``bad`` where it is clearly better or worse than stock, else empty.
    """

    text: str
    interval: str
    verdict: str = SAME


def table(comparison: comparing.Comparison) -> list[tuple[str, list[DemoCell]]]:
    """Return the rows of the table: title and one cell per variant."""
    stock = _stock(comparison)
    rows = []
    for measure in _rows(comparison):
        cells = [_cell(one, stock, measure) for one in comparison.results]
        title = f"{measure.title} ({measure.unit})" if measure.unit else measure.title
        rows.append((title, cells))
    return rows


def _rows(comparison: comparing.Comparison) -> list[comparing.RunMeasure]:
    return [_priced(comparison) if measure is _COST else measure for measure in ROWS]


def _priced(comparison: comparing.Comparison) -> comparing.RunMeasure:
    return comparing.RunMeasure(_COST.path, _COST.title, comparison.currency, digits=_COST.digits)


def _stock(comparison: comparing.Comparison) -> comparing.ComparisonResult:
    return next(one for one in comparison.results if one.label == comparison.baseline)


def _cell(
    one: comparing.ComparisonResult,
    stock: comparing.ComparisonResult,
    measure: comparing.RunMeasure,
) -> DemoCell:
    summary = one.summary.get(measure.path)
    if summary is None:
        return DemoCell("-", "-")
    return DemoCell(
        measure.number(summary.mean),
        measure.interval(summary.mean, summary.half_width),
        judge(one, stock, measure),
    )


def judge(
    one: comparing.ComparisonResult,
    other: comparing.ComparisonResult,
    measure: comparing.RunMeasure,
) -> str:
    """Return whether a variant is clearly better (``good``) or worse (``bad``) than another.

    Clearly: by the same sign in every seed, with a 95 % interval of the difference without 0, and
    not equal as printed.
    """
    pairs = np.array(comparing.paired_values(one, other, measure))
    if not len(pairs) or measure.alike(*pairs.mean(axis=0)):
        return SAME
    signs = set(np.sign(pairs[:, 0] - pairs[:, 1]))
    paired = comparing.compare_pairs(pairs[:, 0], pairs[:, 1])
    unclear = paired.low is not None and paired.high is not None and paired.low <= 0 <= paired.high
    if len(signs) > 1 or unclear:
        return SAME
    return GOOD if (paired.difference > 0.0) == (measure.better == comparing.HIGHER) else BAD


def _shown(one: comparing.ComparisonResult, measure: comparing.RunMeasure) -> str:
    summary = one.summary.get(measure.path)
    return "-" if summary is None else measure.text(summary.mean)


def verdict(comparison: comparing.Comparison) -> str:
    """Return in one sentence what all of kubestow changes: money, nodes, response, waiting."""
    last, stock = comparison.results[-1], _stock(comparison)
    cost, before = last.summary["cost"].mean, stock.summary["cost"].mean
    money = f"{_money(cost, comparison)} instead of {_money(before, comparison)}"
    if judge(last, stock, _priced(comparison)) == SAME:
        money = f"{money} (no clear difference)"
    else:
        money = f"{money} ({100.0 * abs(1.0 - cost / before):.0f} % {_less(cost, before)})"
    return f"kubestow runs this day for {money}: {_qualities(last, stock)}."


_SAID = {
    _P95: "the 95th percentile of response times",
    _LATE: "the share of requests late or lost",
    _WAIT: "how long pods wait for a node",
    _KILLS: "OOM kills",
}
"""What the verdict speaks of beside money and nodes, and its words for it."""
_WORDS = {GOOD: "better in", BAD: "worse in", SAME: "no clear difference in"}


def _qualities(one: comparing.ComparisonResult, stock: comparing.ComparisonResult) -> str:
    """Return the rest of the verdict: nodes, what is better, what is worse, what is neither."""
    parts = [f"{_pair(one, stock, _NODES)} nodes on average{_doubt(one, stock)}"]
    grouped: dict[str, list[str]] = {GOOD: [], BAD: [], SAME: []}
    for measure, words in _SAID.items():
        if measure is _KILLS and _shown(one, _KILLS) == _shown(stock, _KILLS) == "0":
            parts.append("no OOM kills")
        else:
            grouped[judge(one, stock, measure)].append(f"{words} ({_pair(one, stock, measure)})")
    groups = [f"{_WORDS[key]} {comparing.join(said)}" for key, said in grouped.items() if said]
    return "; ".join([", ".join(parts), *groups])


def _doubt(one: comparing.ComparisonResult, stock: comparing.ComparisonResult) -> str:
    return {GOOD: "", BAD: " (worse)", SAME: " (no clear difference)"}[judge(one, stock, _NODES)]


def _pair(
    one: comparing.ComparisonResult,
    stock: comparing.ComparisonResult,
    measure: comparing.RunMeasure,
) -> str:
    mine, theirs = _shown(one, measure), _shown(stock, measure)
    return f"{mine} as before" if mine == theirs else f"{mine} instead of {theirs}"


def _less(after: float, before: float) -> str:
    return "less" if after < before else "more: worse"


_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}


def _money(amount: float, comparison: comparing.Comparison) -> str:
    currency = comparison.currency
    symbol = _SYMBOLS.get(currency)
    return f"{symbol}{amount:,.0f}" if symbol else f"{amount:,.0f} {currency}".strip()


def describe_used(comparison: comparing.Comparison) -> str:
    """Return how much of what the pods request they use without kubestow."""
    stock = _stock(comparison).summary
    cpu, memory = (100.0 * stock[f"eru.{name}"].mean for name in ("cpu", "memory"))
    return (
        f"In stock Kubernetes, pods use {cpu:.0f} % of the CPU and {memory:.0f} % of the memory "
        "they request."
    )


def steps(comparison: comparing.Comparison) -> list[str]:
    """Return what each step adds, and what it changes against the step before."""
    lines = []
    for before, one in zip(comparison.results, comparison.results[1:], strict=False):
        how = next(variant.how for variant in VARIANTS if variant.name == one.label)
        lines.append(f"{one.label}: {how}. {_effect(one, before, _rows(comparison))}")
    return lines


def _effect(
    one: comparing.ComparisonResult,
    before: comparing.ComparisonResult,
    measures: Sequence[comparing.RunMeasure],
) -> str:
    changes: dict[str, list[str]] = {GOOD: [], BAD: []}
    for measure in measures:
        word = judge(one, before, measure)
        if word:
            change = comparing.change_text(one, before, measure)
            changes[word].append(f"{measure.title} {change}")
    if not any(changes.values()):
        return "No clear effect in any row."
    names = {GOOD: "Better", BAD: "Worse"}
    return " ".join(f"{names[word]}: {', '.join(done)}." for word, done in changes.items() if done)


def as_json(comparison: comparing.Comparison) -> dict[str, Any]:
    """Return the comparison as plain values, with the verdict as its conclusion."""
    return {
        **comparison.as_json(),
        "conclusion": verdict(comparison),
        "steps": steps(comparison),
    }
