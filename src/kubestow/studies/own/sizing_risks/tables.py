"""Tables of scores for ``conformal``, made from some families and tried on another.

``conformal`` brings a table of scores of public traces (``policies/sizing/conformal/priors.py``),
made here from all families. The study makes it again without the family that it reports on, so that
nothing in that table comes from the series it is judged by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import conformal
from kubestow.studies.own.sizing_risks.walks import MEMORY, Family

# Windows of history that are tried, and moments per length: short pasts are rare in long series.
_LENGTHS: Final = (1, 2, 3, 4, 6, 8, 12, 16)
_MOMENTS: Final = 8
_MOST_SERIES: Final = 800
# Of families that differ, the table keeps what all but one of ten stay below, level by level.
_KEPT: Final = 0.9
_LOWEST: Final = -9.0

Tables = Mapping[tuple[str, str], Floats]
"""Tables of single families, by family and resource."""


def make_table(batch: Usage, family: Family, resource: str) -> Floats:
    """Return the quantiles of one family's scores by class, rule and level."""
    window = round(family.window_s / batch.step_s)
    settings = conformal.ConformalParameters(window_s=family.window_s)
    some = _thin(batch)
    windows = some.points // window
    classes: list[Ints] = []
    scores: list[Floats] = []
    for length in (one for one in _LENGTHS if one < windows):
        ends = np.linspace(length + 1, windows, min(_MOMENTS, windows - length)).astype(np.int64)
        for end in np.unique(ends).tolist():
            last = some.points - (windows - end) * window
            cut = some.between(last - (length + 1) * window, last)
            rows = conformal.score_last_windows(cut, settings, memory=resource == MEMORY)
            classes.append(rows[0])
            scores.append(rows[1])
    return _quantiles(np.concatenate(classes), np.concatenate(scores, axis=1))


def _thin(batch: Usage) -> Usage:
    stride = -(-len(batch.containers) // _MOST_SERIES)
    return batch.pick(np.arange(0, len(batch.containers), stride))


def _quantiles(classes: Ints, scores: Floats) -> Floats:
    parts = []
    for place in range(len(conformal.CLASSES)):
        here = scores[:, (classes == place) & ~np.isnan(scores[0])]
        # Windows below the smallest amount are never missed: any low score will do.
        parts.append(np.quantile(np.maximum(here, _LOWEST), conformal.LEVELS, axis=1).T)
    return np.stack(parts)


def join_tables(tables: Sequence[Floats]) -> Floats:
    """Return one table for fleets like these, rounded to hundredths."""
    joined: Floats = np.round(np.quantile(np.stack(tables), _KEPT, axis=0), 2)
    return joined + 0.0  # no minus before 0


def without(tables: Tables, family: str) -> Floats:
    """Return the table that all families but one give; the built-in one if there is no other."""
    others = [table for (name, _), table in tables.items() if name != family]
    return join_tables(others) if others else conformal.SCORES
