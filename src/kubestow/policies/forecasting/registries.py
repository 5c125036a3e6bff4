"""Forecasters by name, for command line, scalers and studies alike.

A model is made for a *task*: the length of a step, which tells the seasons the calendar suggests,
and how many steps ahead matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubestow.model import errors
from kubestow.policies.forecasting import (
    arima_grus,
    arimas,
    ensembles,
    gru_options,
    grus,
    intervals,
    naives,
    protocols,
    regressions,
    smoothings,
    thetas,
    trends,
)

AUTO = "auto"
HOUR_S, DAY_S, WEEK_S = 3600.0, 86400.0, 604800.0

# Between these steps coefficients and weights change little.
_KNOTS = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300)


@dataclass(frozen=True, slots=True)
class Task:
    """What a model is made for.

    Attributes:
        step_s: Length of a step.
        steps: How many steps ahead it will be asked for.
        horizons: Steps ahead that matter; some of all those up to ``steps`` if left out.
        season: Steps of a season; ``None`` to find it in the past of each series.
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
        """Return the seasons the calendar suggests, in whole steps: day, week, hour."""
        found = (period_s / self.step_s for period_s in (DAY_S, WEEK_S, HOUR_S))
        return tuple(round(steps) for steps in found if steps >= 2.0)


Make = Callable[[Task], protocols.PointForecaster]


@dataclass(frozen=True, slots=True)
class Entry:
    """A forecaster that can be chosen by name.

    Attributes:
        name: Its name.
        summary: One line for lists.
        make: Makes it for a task.
        few: Whether it has only a few parameters, so that intervals may learn from the past it was
            fitted to.
    """

    name: str
    summary: str
    make: Make
    few: bool = False

    def make_intervals(self, task: Task) -> intervals.Intervals:
        """Return the model for a task, with quantiles around it."""
        return intervals.Intervals(self.make(task), task.steps, self.few)


def _regression(
    name: str, strength: float, *, logarithmic: bool = False, anchored: bool = True
) -> Make:
    def make(task: Task) -> regressions.Regression:
        return regressions.Regression(
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
    Entry("persistence", "the last value", lambda _: naives.Persistence(), few=True),
    Entry(
        "seasonal-naive",
        "the value one season ago",
        lambda task: naives.SeasonalNaive(task.season, task.hints()),
        few=True,
    ),
    Entry(
        "drift", "the line through the first and the last value", lambda _: trends.Drift(), few=True
    ),
    Entry(
        "moving-average", "the mean of the last values", lambda _: trends.MovingAverage(), few=True
    ),
    Entry(
        "line", "the line of best fit through the last values", lambda _: trends.Line(), few=True
    ),
    Entry(
        "ses", "simple exponential smoothing", lambda task: smoothings.Ses(task.knots()), few=True
    ),
    Entry(
        "holt",
        "level and damped trend",
        lambda task: smoothings.Holt(horizons=task.knots()),
        few=True,
    ),
    Entry(
        "holt-winters",
        "level, damped trend and season",
        lambda task: smoothings.HoltWinters(task.season, task.hints(), task.knots()),
        few=True,
    ),
    Entry(
        "theta",
        "level with half the trend, and season",
        lambda task: thetas.Theta(task.season, task.hints(), task.knots()),
    ),
    Entry(
        "regression",
        "least absolute errors on lags, means and seasons",
        _regression("regression", 3.0),
    ),
    Entry(
        "regression-log",
        "the same on logarithms",
        _regression("regression-log", 3.0, logarithmic=True),
    ),
    Entry(
        "regression-floating",
        "the same without a mean, drawn to the last value",
        _regression("regression-floating", 100.0, anchored=False),
    ),
    Entry(
        "regression-log-floating",
        "the same on logarithms without a mean, drawn to the last value",
        _regression("regression-log-floating", 100.0, logarithmic=True, anchored=False),
    ),
)

# A line through a few points runs away at far horizons, and Holt's method says the same damped.
CANDIDATES = tuple(entry.name for entry in _LIGHT if entry.name != "line")
"""What ``auto`` weighs; each takes milliseconds."""


def make_auto(task: Task, candidates: Sequence[str] = CANDIDATES) -> ensembles.Ensemble:
    """Return the ensemble of some candidates; the first one has to take any past."""
    return ensembles.Ensemble(
        tuple(find(name).make(task) for name in candidates), task.knots(), name=AUTO
    )


def _network(task: Task) -> gru_options.Options:
    return gru_options.Options(horizon=task.steps)


_HEAVY = (
    Entry("arima", "autoregression, differences, moving averages", lambda _: arimas.Arima()),
    Entry("gru", "a gated recurrent network", lambda task: grus.Gru(_network(task))),
    Entry(
        "arima-gru",
        "a network on what ARIMA leaves",
        lambda task: arima_grus.ArimaGru(arima_grus.Options(gru=_network(task))),
    ),
)

registry: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        *_LIGHT,
        *_HEAVY,
        Entry(AUTO, "all light models, weighted by how well they did lately", make_auto),
    )
}


def find(name: str) -> Entry:
    """Return a forecaster by its name.

    Raises:
        InputError: If there is none of that name.
    """
    if name not in registry:
        raise errors.InputError("model", f"{name!r}: expected one of {', '.join(registry)}")
    return registry[name]
