"""Recommendations in words, as the table of the command and its page print them."""

from __future__ import annotations

from collections.abc import Sequence

from kubestow.policies.sizing.recommendations import (
    Recommendation,
    SizingBacktest,
    format_amounts,
)
from kubestow.workflows.recommending.totals import CPU, MEMORY, ORDER, severity


def most_urgent(recommendations: Sequence[Recommendation], count: int) -> list[int]:
    """Return the indexes of the most urgent recommendations."""
    ranks = {word: rank for rank, word in enumerate(ORDER)}
    order = sorted(
        range(len(recommendations)),
        key=lambda place: (
            ranks[severity(recommendations[place])],
            -abs(recommendations[place].freed(MEMORY)),
        ),
    )
    return order[:count]


def say_requests(one: Recommendation) -> tuple[dict[str, str], dict[str, str]]:
    """Return current and recommended requests as text."""
    now = {name: amount for name in (CPU, MEMORY) if (amount := one.current_amount(name))}
    before, after = format_amounts(now), format_amounts(one.requests)
    return (
        {name: before.get(name, "-") for name in (CPU, MEMORY)},
        {name: after.get(name, "-") for name in (CPU, MEMORY)},
    )


def say_misses(backtest: SizingBacktest) -> str:
    """Return misses, windows, and what their rate is at most."""
    if backtest.misses is None:
        return "missed -"
    bound = say_share(backtest.miss_rate_upper)
    return f"missed {backtest.misses} of {backtest.windows}, <= {bound}"


def say_share(share: float | None) -> str:
    """Return a share in percent."""
    return "-" if share is None else f"{100 * share:.0f} %"
