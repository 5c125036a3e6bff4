"""How far an interval must reach, judged by the newest errors of its model.

Rings hold hundreds of scaled errors, so their quantiles follow a change of the series only after a
delay. The newest errors, not scaled, show earlier that an interval is too narrow. Of n errors the
number beyond the quantile at level q is binomial: its mean is n (1 - q), its variance n q (1 - q).
If more are beyond it than ``DEVIATIONS`` standard deviations above the mean, the interval must
reach until no more are.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies import compiling

LATEST = 20
"""Number of errors that count; as many as the points over which scales are averaged."""

DEVIATIONS = 3.0
"""Standard deviations above the mean that may be chance: one case in 700."""


@compiling.compiled
def _read(latest: Floats, count: int, levels: Floats, reach: Floats) -> None:
    """Fill in the reach of each level for one series and step."""
    known = min(count, len(latest))
    ordered = np.sort(latest[:known])
    for i in range(len(levels)):
        upper = levels[i] > 0.5
        reach[i] = -np.inf if upper else np.inf
        tail = 1.0 - levels[i] if upper else levels[i]
        chance = DEVIATIONS * np.sqrt(known * tail * (1.0 - tail))
        allowed = int(np.floor(known * tail + chance + 1e-9))
        if allowed < known:
            reach[i] = ordered[known - 1 - allowed] if upper else ordered[allowed]


@compiling.compiled
def read_all(latest: Floats, counts: Ints, levels: Floats, reach: Floats) -> None:
    """Fill in how far quantiles must reach, by series, step and level.

    Args:
        latest: The newest errors, by series, step and position.
        counts: Number of errors ever added, by series and step.
        levels: Levels of the quantiles.
        reach: Filled: the least value of a level above the median, the largest of others;
            infinite where the errors demand nothing.
    """
    for s in range(latest.shape[0]):
        for h in range(latest.shape[1]):
            _read(latest[s, h], counts[s, h], levels, reach[s, h])


@compiling.compiled
def roll_errors(
    latest: Floats, counts: Ints, errors: Floats, levels: Floats, reach: Floats
) -> None:
    """Add errors one by one, in place, and fill in the reach after each.

    Args:
        latest: The newest errors, by series, step and position.
        counts: Number of errors ever added, by series and step.
        errors: By series, step and point; ``nan`` is skipped.
        levels: Levels of the quantiles.
        reach: Filled as by ``read_all``, by series, point, step and level.
    """
    size = latest.shape[2]
    for s in range(errors.shape[0]):
        for h in range(errors.shape[1]):
            for t in range(errors.shape[2]):
                if np.isfinite(errors[s, h, t]):
                    latest[s, h, counts[s, h] % size] = errors[s, h, t]
                    counts[s, h] += 1
                _read(latest[s, h], counts[s, h], levels, reach[s, t, h])
