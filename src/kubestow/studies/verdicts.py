"""Statements of a study as a table: value of the thesis, measured value, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubestow.reports import pages


def make(
    rows: Sequence[Mapping[str, Any]], replicates: str, *, thesis: bool = True
) -> pages.PageTable:
    """Return the table.

    Args:
        rows: Statements.
        replicates: Heading of the column with the number of replicates.
        thesis: Whether the table has a column with the values of the thesis.
    """
    head = ["statement", *(["thesis"] if thesis else []), "measured", replicates, "verdict"]
    shown = [
        [
            row["statement"],
            *([row["thesis"] or "-"] if thesis else []),
            row["found"],
            str(row["n"]),
            row["verdict"],
        ]
        for row in rows
    ]
    return pages.PageTable(head, shown)


def state(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return statements with measured value and verdict, as the command prints them."""
    return [
        {"statement": f"{row['statement']}: {row['found']}", "verdict": row["verdict"]}
        for row in rows
    ]
