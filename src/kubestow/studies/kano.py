"""The Kano survey of Schubert 2023, evaluated from its raw answers.

Eleven people rated eight abilities of a scheduler, each asked twice: if it were there, and if it
were not. The pair of answers gives a category, the most frequent one wins, ties go to
M > O > A > I. For "plans memory usage" that rule gives M; the thesis' own table says A.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

# Rows: answer if there, columns: answer if not there; both from 5 impressive to 1 unacceptable.
# Table 4.1 of the thesis.
_CATEGORIES = {
    5: "QAAAO",
    4: "RIIIM",
    3: "RIIIM",
    2: "RIIIM",
    1: "RRRRQ",
}
_ORDER = "MOAIRQ"  # ties: the more demanding category wins
NAMES = {
    "M": "must-be",
    "O": "one-dimensional",
    "A": "attractive",
    "I": "indifferent",
    "R": "reverse",
    "Q": "contradictory",
}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One requirement: its category, the counts behind it, and whether there was a tie."""

    requirement: str
    category: str
    counts: dict[str, int]
    tie: bool


def category(functional: int, dysfunctional: int) -> str:
    """Return the category of a pair of answers, each 1 (unacceptable) to 5 (impressive).

    >>> category(5, 1), category(4, 1), category(5, 3)
    ('O', 'M', 'A')
    """
    return _CATEGORIES[functional][5 - dysfunctional]


def evaluate(
    requirement: str, functional: Sequence[int], dysfunctional: Sequence[int]
) -> Evaluation:
    """Evaluate the answers to one requirement."""
    counts = Counter(category(f, d) for f, d in zip(functional, dysfunctional, strict=True))
    most = max(counts.values())
    leaders = [c for c in _ORDER if counts[c] == most]
    ordered = {c: counts[c] for c in _ORDER if counts[c]}
    return Evaluation(requirement, leaders[0], ordered, tie=len(leaders) > 1)


def survey() -> list[Evaluation]:
    """Evaluate the answers of the thesis (its appendix A.3)."""
    path = resources.files("kubestow.studies") / "data" / "kano.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    answers = [(row[0], [int(value) for value in row[1:]]) for row in rows]
    return [
        evaluate(there[0], there[1], absent[1])
        for there, absent in zip(answers[::2], answers[1::2], strict=True)
    ]
