"""What a comparison shows, in a few plain sentences computed from its numbers.

A sentence per variant says what it costs, what is better, what is worse and what does not differ.
With several seeds, a difference counts if the table marks it: significant after correction, or the
same in every seed. With one seed nothing is tested, and the first words say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubestow.workflows.comparing import measures, statistics

if TYPE_CHECKING:
    from kubestow.workflows.comparing import comparison

_DESCRIBED: Final = 3
"""Variants with a sentence of their own."""

_QUALITIES: Final = (
    measures.RESPONSE_P95,
    measures.LATE,
    measures.PENDING,
    measures.OOM_KILLS,
)


def conclude(whole: comparison.Comparison) -> str:
    """Return the conclusion: a sentence per variant, those on the Pareto front first."""
    base = next(one for one in whole.results if one.label == whole.baseline)
    others = [one for one in whole.results if one is not base]
    if not others:
        return f"Only {base.label} was run: there is nothing to compare it with."
    cost = whole.axes[0]
    others.sort(key=lambda one: (not one.pareto, one.summary[cost.path].mean))
    sentences = [_describe(one, base, whole) for one in others[:_DESCRIBED]]
    if len(others) > _DESCRIBED:
        sentences.append(f"The table has {len(others) - _DESCRIBED} more variants.")
    if len(whole.seeds) == 1:
        sentences.insert(0, "One seed shows what happened once, not what to expect.")
    return " ".join(sentences)


@dataclass(slots=True)
class _Sorted:
    """Differences of a variant by direction, as text."""

    better: list[str] = field(default_factory=list)
    worse: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)


def _describe(
    one: comparison.ComparisonResult,
    base: comparison.ComparisonResult,
    whole: comparison.Comparison,
) -> str:
    grouped = _Sorted()
    for measure in _QUALITIES:
        if measure.path in one.summary and measure.path in base.summary:
            _sort(grouped, one, base, measure)
    text = f"{one.label} {_price(one, base, whole)}"
    for word, listed in (("better", grouped.better), ("worse", grouped.worse)):
        if listed:
            text += f", is {word} in {join(listed)}"
    if grouped.same:
        text += f"; no clear difference in {join(grouped.same, 'or')}"
    return f"{text}."


def _sort(
    grouped: _Sorted,
    one: comparison.ComparisonResult,
    base: comparison.ComparisonResult,
    measure: measures.RunMeasure,
) -> None:
    if not differs(one, base, measure):
        grouped.same.append(measure.title)
        return
    rises = one.summary[measure.path].mean > base.summary[measure.path].mean
    good = rises == (measure.better == measures.HIGHER)
    change = f"{measure.title} ({change_text(one, base, measure)})"
    (grouped.better if good else grouped.worse).append(change)


def differs(
    one: comparison.ComparisonResult,
    base: comparison.ComparisonResult,
    measure: measures.RunMeasure,
) -> bool:
    """Return whether a variant differs from the baseline as tested, and as printed."""
    entry = one.against.get(measure.path)
    mine, theirs = one.summary[measure.path].mean, base.summary[measure.path].mean
    if entry is None or measure.alike(mine, theirs):
        return False
    return entry["verdict"] in (statistics.ALIKE, statistics.ALONE) or (
        statistics.differs_from_baseline(entry)
    )


def change_text(
    one: comparison.ComparisonResult,
    base: comparison.ComparisonResult,
    measure: measures.RunMeasure,
) -> str:
    """Return a change as text, e.g. ``51.0 → 60.2 ms``."""
    before, after = (result.summary[measure.path].mean for result in (base, one))
    return f"{measure.number(before)} → {measure.text(after)}"


def _price(
    one: comparison.ComparisonResult,
    base: comparison.ComparisonResult,
    whole: comparison.Comparison,
) -> str:
    measure = whole.axes[0]
    if not differs(one, base, measure):
        return f"does not clearly differ from {base.label} in {measure.title}"
    before, after = base.summary[measure.path].mean, one.summary[measure.path].mean
    change = change_text(one, base, measure)
    share = f"{100.0 * abs(after / before - 1.0):.0f} % " if before else ""
    less = "less" if after < before else "more"
    verb = f"costs {share}{less}"
    if measure.path != measures.COST.path:
        fewer = "fewer" if after < before else "more"
        verb = f"needs {share}{fewer} {measure.title}"
    return f"{verb} than {base.label} ({change}{_agreement(one, base, measure)})"


def _agreement(
    one: comparison.ComparisonResult,
    base: comparison.ComparisonResult,
    measure: measures.RunMeasure,
) -> str:
    """Return in how many seeds the difference has the sign of its mean."""
    pairs = paired_values(one, base, measure)
    if len(pairs) < 2:
        return ""
    rises = one.summary[measure.path].mean > base.summary[measure.path].mean
    agree = sum((mine > theirs) if rises else (mine < theirs) for mine, theirs in pairs)
    return f", in all {agree} seeds" if agree == len(pairs) else f", in {agree} of {len(pairs)}"


def paired_values(
    one: comparison.ComparisonResult,
    base: comparison.ComparisonResult,
    measure: measures.RunMeasure,
) -> list[tuple[float, float]]:
    """Return the values of a variant and the baseline by seed, where both have one."""
    pairs = []
    for mine, theirs in zip(one.records, base.records, strict=True):
        a = measures.value_of(mine.measures, measure.path)
        b = measures.value_of(theirs.measures, measure.path)
        if a is not None and b is not None:
            pairs.append((a, b))
    return pairs


def join(parts: Sequence[str], word: str = "and") -> str:
    """Join parts of a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last
