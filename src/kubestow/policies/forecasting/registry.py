"""Forecasters by name, for command line, scalers and studies.

A model is created for a *task*: the length of a step, which determines the seasons that the
calendar suggests, and the number of steps ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubestow.policies import registries
from kubestow.policies.forecasting import (
    arima,
    baselines,
    ensemble,
    gru,
    intervals,
    protocols,
    regression,
    smoothing,
)

AUTO = "auto"
HOUR_S, DAY_S, WEEK_S = 3600.0, 86400.0, 604800.0

# Between these steps coefficients and weights change little.
_KNOTS = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300)


@dataclass(frozen=True, slots=True)
class ForecastTask:
    """The task of a model.

    Attributes:
        step_s: Length of a step in seconds.
        steps: Number of steps ahead to forecast.
        horizons: Steps ahead to optimise for; defaults to a selection up to ``steps``.
        season: Steps of a season; ``None`` to detect it in the history of each series.
    """

    step_s: float
    steps: int = 1
    horizons: tuple[int, ...] = ()
    season: int | None = None

    def knots(self) -> tuple[int, ...]:
        """Return the steps ahead that models are fitted for."""
        if self.horizons:
            return tuple(sorted(set(self.horizons)))
        return (*(k for k in _KNOTS if k < self.steps), self.steps)

    def hints(self) -> tuple[int, ...]:
        """Return the seasons that the calendar suggests, in whole steps: day, week, hour."""
        lengths = (period_s / self.step_s for period_s in (DAY_S, WEEK_S, HOUR_S))
        return tuple(round(steps) for steps in lengths if steps >= 2.0)


Make = Callable[[ForecastTask], protocols.PointForecaster]


@dataclass(frozen=True, slots=True)
class ForecasterEntry:
    """A registered forecaster.

    Attributes:
        name: Its name.
        summary: One line for listings.
        make: Creates it for a task.
        few: Whether it has only a few parameters, so that intervals may use errors on the history
            it was fitted to.
    """

    name: str
    summary: str
    make: Make
    few: bool = False

    def make_intervals(self, task: ForecastTask) -> intervals.Intervals:
        """Return the model for a task, with prediction intervals."""
        return intervals.Intervals(self.make(task), task.steps, self.few)


def _regression(
    name: str, strength: float, *, logarithmic: bool = False, anchored: bool = True
) -> Make:
    def make(task: ForecastTask) -> regression.Regression:
        return regression.Regression(
            task.knots(),
            task.season,
            task.hints(),
            strength=strength,
            logarithmic=logarithmic,
            anchored=anchored,
            name=name,
        )

    return make


_LIGHT = (
    ForecasterEntry("persistence", "the last value", lambda _: baselines.Persistence(), few=True),
    ForecasterEntry(
        "seasonal-naive",
        "the value one season ago",
        lambda task: baselines.SeasonalNaive(task.season, task.hints()),
        few=True,
    ),
    ForecasterEntry(
        "drift",
        "the line through the first and the last value",
        lambda _: baselines.Drift(),
        few=True,
    ),
    ForecasterEntry(
        "moving-average",
        "the mean of the last values",
        lambda _: baselines.MovingAverage(),
        few=True,
    ),
    ForecasterEntry(
        "line",
        "the line of best fit through the last values",
        lambda _: baselines.LineFit(),
        few=True,
    ),
    ForecasterEntry(
        "ses", "simple exponential smoothing", lambda task: smoothing.Ses(task.knots()), few=True
    ),
    ForecasterEntry(
        "holt",
        "level and damped trend",
        lambda task: smoothing.Holt(horizons=task.knots()),
        few=True,
    ),
    ForecasterEntry(
        "holt-winters",
        "level, damped trend and season",
        lambda task: smoothing.HoltWinters(task.season, task.hints(), task.knots()),
        few=True,
    ),
    ForecasterEntry(
        "theta",
        "level with half the trend, and season",
        lambda task: smoothing.Theta(task.season, task.hints(), task.knots()),
    ),
    ForecasterEntry(
        "regression",
        "least absolute errors on lags, means and seasons",
        _regression("regression", 3.0),
    ),
    ForecasterEntry(
        "regression-log",
        "the same on logarithms",
        _regression("regression-log", 3.0, logarithmic=True),
    ),
    ForecasterEntry(
        "regression-floating",
        "the same without a mean, shrunk towards the last value",
        _regression("regression-floating", 100.0, anchored=False),
    ),
    ForecasterEntry(
        "regression-log-floating",
        "the same on logarithms without a mean, shrunk towards the last value",
        _regression("regression-log-floating", 100.0, logarithmic=True, anchored=False),
    ),
)

# A line through a few points diverges at far horizons; Holt's method is its damped form.
CANDIDATES = tuple(entry.name for entry in _LIGHT if entry.name != "line")
"""Candidates of ``auto``; each takes milliseconds."""


def make_auto(task: ForecastTask, candidates: Sequence[str] = CANDIDATES) -> ensemble.Ensemble:
    """Return the ensemble of some candidates; the first one must accept any history."""
    return ensemble.Ensemble(
        tuple(FORECASTERS.get(name).make(task) for name in candidates), task.knots(), name=AUTO
    )


def _network(task: ForecastTask) -> gru.GruOptions:
    return gru.GruOptions(horizon=task.steps)


_HEAVY = (
    ForecasterEntry(
        "arima", "autoregression, differences, moving averages", lambda _: arima.Arima()
    ),
    ForecasterEntry("gru", "a gated recurrent network", lambda task: gru.Gru(_network(task))),
    ForecasterEntry(
        "arima-gru",
        "a network on the residuals of ARIMA",
        lambda task: gru.ArimaGru(gru.HybridOptions(gru=_network(task))),
    ),
)

FORECASTERS = registries.Registry(
    "model",
    ForecasterEntry,
    (
        *_LIGHT,
        *_HEAVY,
        ForecasterEntry(AUTO, "all light models, weighted by recent accuracy", make_auto),
    ),
    group="kubestow.forecasters",
)
"""All forecasters by name."""
