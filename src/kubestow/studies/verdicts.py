"""Statements of a study as a table: what the thesis says, what was found, the verdict."""

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
        replicates: What the column of the number of replicates is called.
        thesis: Whether there is something to compare with.
    """
    head = ["statement", *(["thesis"] if thesis else []), "found", replicates, "verdict"]
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
    """Return statements with what was found and the verdict, as a command prints them."""
    return [
        {"statement": f"{row['statement']}: {row['found']}", "verdict": row["verdict"]}
        for row in rows
    ]
