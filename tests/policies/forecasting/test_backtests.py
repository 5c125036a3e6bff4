"""Rolling origins: places, refits, seconds, and the search for leaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from kubestow.model import arrays
from kubestow.policies.forecasting import backtests, baselines, intervals, protocols
from kubestow.policies.forecasting.smoothing import models
from tests.policies.forecasting import light_models

ROW = np.arange(10.0)[None, :] ** 2


def test_origins_and_horizons_are_in_their_places() -> None:
    result = backtests.run(baselines.Persistence(), ROW, 6, (1, 3))
    assert result.origins.tolist() == [6, 7, 8, 9]
    # known until 25, 36, 49, 64; one step ahead 36, 49, 64, 81; three steps 64, 81, -, -
    assert result.predicted[0, :, 0].tolist() == [25.0, 36.0, 49.0, 64.0]
    assert result.predicted[0, :, 1].tolist() == [25.0, 36.0, 49.0, 64.0]
    np.testing.assert_array_equal(result.actual[0, :, 0], [36.0, 49.0, 64.0, 81.0])
    np.testing.assert_array_equal(result.actual[0, :, 1], [64.0, 81.0, np.nan, np.nan])
    assert result.fits == 1


@pytest.mark.parametrize("stride", [2, 3, 7])
@pytest.mark.parametrize("name", ["holt-winters", "regression", "auto", "seasonal-naive"])
def test_wide_strides_are_some_of_all_origins(name: str, stride: int) -> None:
    rows, model = light_models.make_rows(160), light_models.make(name)
    every = backtests.run(model, rows, 120, (1, 5))
    some = backtests.run(model, rows, 120, (1, 5), stride=stride)
    assert some.origins.tolist() == every.origins[::stride].tolist()
    np.testing.assert_allclose(some.predicted, every.predicted[:, ::stride], rtol=1e-9)


def test_refitting_takes_all_that_is_known_at_its_origin() -> None:
    rows = light_models.make_rows(160)
    model = models.Holt(horizons=(1, 3))
    result = backtests.run(model, rows, 100, (1, 3), refit_every=20)
    assert result.fits == 3
    again = model.fit(rows[:, :120]).update(rows[:, 120:125]).means(3)
    np.testing.assert_allclose(result.predicted[:, 25], again[:, [0, 2]], rtol=1e-12)


def test_long_looks_are_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, model = light_models.make_rows(200), light_models.make("auto")
    whole = backtests.run(model, rows, 120, (1, 4))
    monkeypatch.setattr(backtests, "_MOST_NUMBERS", 50)
    pieces = backtests.run(model, rows, 120, (1, 4))
    np.testing.assert_allclose(pieces.predicted, whole.predicted, rtol=1e-9)


def test_seconds_come_from_the_clock_that_is_handed_in() -> None:
    ticks = iter(range(100))
    result = backtests.run(baselines.Persistence(), ROW, 5, (1,), clock=lambda: float(next(ticks)))
    assert (result.fit_s, result.predict_s) == (1.0, 1.0)


def test_progress_is_told() -> None:
    seen: list[int] = []
    backtests.run(baselines.Persistence(), ROW, 5, (1,), watch=seen.append)
    assert seen == [1, 5]


@dataclass(frozen=True, slots=True)
class Peeking:
    """A model that uses the whole stretch before it forecasts."""

    name: ClassVar[str] = "peeking"
    least_points: ClassVar[int] = 1

    def fit(self, values: arrays.Floats) -> Peeked:
        return Peeked(values[:, -1:])


@dataclass(frozen=True, slots=True, eq=False)
class Peeked:
    last: arrays.Floats

    def update(self, points: arrays.Floats) -> Peeked:
        return Peeked(points[:, -1:])

    def means(self, steps: int) -> arrays.Floats:
        return np.repeat(self.last, steps, axis=1)

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        top = points.max(axis=1, keepdims=True)[:, :, None]
        return np.broadcast_to(top, (*points.shape, steps))


def test_a_model_that_sees_the_future_is_caught() -> None:
    result = backtests.find_leak(
        Peeking(), light_models.make_rows(60), 40, (1, 2), np.random.default_rng(0)
    )
    assert result is not None
    assert result.startswith("peeking: from origin ")


@pytest.mark.parametrize(
    "point", [baselines.Persistence(), baselines.LineFit(5)], ids=lambda point: point.name
)
def test_a_backtest_with_quantiles_is_updating_and_predicting(
    point: protocols.PointForecaster,
) -> None:
    rows = light_models.make_rows(150)
    model = intervals.Intervals(point, steps=4, few=True, ring=30)
    result = backtests.run_with_intervals(model, rows, 100, (1, 4), (0.1, 0.9))
    for k in (0, 1, 17, 40):
        state = model.fit(rows[:, :100]).update(rows[:, 100 : 100 + k])
        ahead = state.predict(4, (0.1, 0.9))
        np.testing.assert_allclose(result.means.predicted[:, k], ahead.mean[:, [0, 3]])
        np.testing.assert_allclose(result.quantiles[:, k], ahead.quantiles[:, [0, 3]])
    assert result.means.origins[[0, -1]].tolist() == [100, 149]
