"""Every light model, made for a common task, for tests that hold for all of them."""

from __future__ import annotations

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import protocols, registry

STEPS = 7
TASK = registry.ForecastTask(step_s=300.0, steps=STEPS, horizons=(1, 3, STEPS))
NAMES = (
    "persistence", "seasonal-naive", "drift", "moving-average", "line", "ses", "holt",
    "holt-winters", "theta", "regression", "regression-log", "regression-log-floating", "auto",
)  # fmt: skip


def make(name: str) -> protocols.PointForecaster:
    return registry.FORECASTERS.get(name).make(TASK)


def make_rows(points: int, seed: int = 1) -> arrays.Floats:
    """Return a season of 12 steps with noise, a random walk, and bursts."""
    rng = np.random.default_rng(seed)
    t = np.arange(points)
    return np.stack(
        (
            20.0 + 5.0 * np.sin(2 * np.pi * t / 12) + rng.normal(0.0, 0.5, points),
            100.0 + np.cumsum(rng.normal(0.0, 1.0, points)),
            rng.pareto(2.5, points),
        )
    )
