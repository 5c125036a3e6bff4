"""Series whose making is known, for the tests of the models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import signal

from kubestow.model.arrays import Floats

WARM_UP = 200  # points thrown away, so that a series does not begin at zero


def arma(
    count: int, points: int, ar: Sequence[float] = (), ma: Sequence[float] = (), seed: int = 0
) -> Floats:
    """Return rows of an ARMA process with normal innovations of variance one."""
    shocks = np.random.default_rng(seed).normal(size=(count, points + WARM_UP))
    made = signal.lfilter([1.0, *ma], [1.0, *(-a for a in ar)], shocks, axis=1)
    return np.asarray(made, dtype=np.float64)[:, WARM_UP:]


def threshold(count: int, points: int, seed: int = 0, noise: float = 0.3) -> Floats:
    """Return rows of a threshold autoregression: it falls fast when high and climbs when low.

    x(t) = 1 - 1.6 x(t-1) if x(t-1) > 0.5, else 0.2 + 0.9 x(t-1), plus normal noise.
    """
    shocks = np.random.default_rng(seed).normal(size=(count, points + WARM_UP)) * noise
    rows = np.zeros_like(shocks)
    for t in range(1, rows.shape[1]):
        before = rows[:, t - 1]
        rows[:, t] = np.where(before > 0.5, 1.0 - 1.6 * before, 0.2 + 0.9 * before) + shocks[:, t]
    return rows[:, WARM_UP:]


def hard_rows(points: int) -> Floats:
    """Return series on which models tend to break: still, huge, tiny, periodic, explosive."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=points)
    steps = np.arange(points, dtype=np.float64)
    return np.stack(
        [
            np.zeros(points),
            np.full(points, 7.0),
            np.full(points, -1e12),
            1e12 + 1e9 * noise,
            1e-12 * noise,
            1e12 * np.cumsum(noise),
            1e-12 * np.cumsum(noise),
            steps,
            steps**2,
            np.exp(steps / points * 20.0),
            steps % 2.0,
            np.sin(steps),
            np.where(steps == points // 2, 1e6, 0.0),
            np.where(steps < points // 2, 0.0, 1.0),
            np.cumsum(np.cumsum(noise)),
            np.round(rng.random(points)),
        ]
    )
