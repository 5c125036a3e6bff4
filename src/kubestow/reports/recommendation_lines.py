"""Recommendations as a table of a terminal."""

from __future__ import annotations

from typing import Any, Final

from rich import markup
from rich.table import Column, Table

from kubestow.policies.sizing.recommendations import Recommendation
from kubestow.workflows import recommending

LISTED: Final = 40
"""Containers in the table, the most urgent first."""

# Columns of a terminal; with less, names and reasons would be squeezed.
_NARROW: Final = 100
_GIB: Final = float(2**30)


def make_table(result: recommending.RecommendResult, width: int) -> Table:
    """Return CPU and memory of each container with the reason; below each other if it is narrow."""
    columns = [Column("CONTAINER", overflow="fold")]
    narrow = width < _NARROW
    if not narrow:
        columns += [
            Column("CPU, MEMORY", no_wrap=True),
            Column("FREED", justify="right", no_wrap=True),
            Column("RISK", justify="right", no_wrap=True),
            Column("SEVERITY", no_wrap=True),
        ]
    shown = Table(*columns, box=None, pad_edge=False, show_header=not narrow)
    for place in recommending.most_urgent(result.recommendations, LISTED):
        name, why, *pairs = _cells(result.recommendations[place])
        if narrow:
            lines = ("  ".join(line) for line in zip(*pairs, strict=True))
            shown.add_row("\n".join((name, *(f"  {line}" for line in lines), why)))
        else:
            shown.add_row(f"{name}\n{why}", *("\n".join(pair) for pair in pairs))
    return shown


def _cells(one: Recommendation) -> tuple[Any, ...]:
    """Return name and reason, and pairs of CPU and memory: requests, freed, risk, severity."""
    now, then = recommending.say_requests(one)
    key = one.key
    return (
        markup.escape(f"{key.namespace}/{key.workload}/{key.container}"),
        f"[dim]{markup.escape(one.why)}[/dim]",
        tuple(f"{now[name]} -> {then[name]}" for name in (recommending.CPU, recommending.MEMORY)),
        (
            f"{one.freed(recommending.CPU) / 1000:+.2f} cores",
            f"{one.freed(recommending.MEMORY) / _GIB:+.2f} GiB",
        ),
        (
            f"over {recommending.say_share(one.backtest.cpu_over)}",
            recommending.say_misses(one.backtest),
        ),
        (recommending.severity(one).value, "suitable" if one.suitable else "unsuitable"),
    )
