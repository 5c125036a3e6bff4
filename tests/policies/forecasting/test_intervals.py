"""Quantiles: coverage that is measured, order, rings, scales, and the correction for few errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import arrays
from kubestow.policies.forecasting import (
    accuracy,
    backtests,
    baselines,
    error_rings,
    interval_scales,
    intervals,
    registry,
)
from kubestow.policies.forecasting.smoothing import models
from tests.policies.forecasting import light_models, synthetic_series

LEVELS = (0.05, 0.1, 0.5, 0.9, 0.95)


def cover(
    model: intervals.Intervals, rows: arrays.Floats, begin: int, h: int, width: float
) -> float:
    rolled = model.fit(rows[:, :begin]).roll(rows[:, begin:], h, LEVELS)
    origins = np.arange(begin + 1, rows.shape[1] + 1)
    actual = backtests.take_actual(rows, origins, (h,))[:, :, 0]
    result = accuracy.coverage(actual, rolled.quantiles[:, :, h - 1], LEVELS, width)
    return float(result.mean())


SERIES = {
    "noise": np.random.default_rng(1).normal(size=(20, 1500)),
    "walk": np.cumsum(np.random.default_rng(2).normal(size=(20, 1500)), axis=1),
    "autoregression": synthetic_series.arma(20, 1500, ar=(0.7,), seed=3),
    "bursts": np.random.default_rng(4).pareto(2.5, (20, 1500)),
}


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("name", ["persistence", "ses", "regression"])
@pytest.mark.parametrize("h", [1, 4])
def test_intervals_cover_what_they_promise(kind: str, name: str, h: int) -> None:
    task = registry.ForecastTask(300.0, 4, (1, 4))
    model = registry.FORECASTERS.get(name).make_intervals(task)
    for width in (0.8, 0.9):
        assert cover(model, SERIES[kind], 1000, h, width) == pytest.approx(width, abs=0.02)


def test_a_few_errors_make_intervals_wider_not_too_narrow() -> None:
    # With 19 errors the levels 5 % and 95 % are the places 1 and 19: the next error is as likely
    # in any of 20 gaps, of which 18 are inside. Plain quantiles are narrower.
    errors = np.random.default_rng(5).normal(size=(20_000, 1, 20))
    result = np.empty((20_000, 1, 2))
    error_rings.read_all(
        np.ascontiguousarray(errors[:, :, :19]),
        np.full((20_000, 1), 19),
        np.array([0.05, 0.95]),
        result,
    )
    plain = np.moveaxis(np.quantile(errors[:, :, :19], [0.05, 0.95], axis=2), 0, 2)
    shares = [
        ((errors[:, 0, 19] >= q[:, 0, 0]) & (errors[:, 0, 19] <= q[:, 0, 1])).mean()
        for q in (result, plain)
    ]
    assert shares[0] == pytest.approx(0.9, abs=0.007)
    assert shares[1] < 0.88


def test_corrected_quantiles_by_hand() -> None:
    # nine errors 1 .. 9: the level 0.25 is at place 10 * 0.25 = 2.5, between 2 and 3;
    # 0.05 is at 0.5, before the first, 0.95 at 9.5, behind the last
    rings, counts = np.arange(9.0, 0.0, -1.0).reshape(1, 1, 9), np.array([[9]])
    result = np.empty((1, 1, 4))
    error_rings.read_all(rings, counts, np.array([0.05, 0.25, 0.5, 0.95]), result)
    assert result[0, 0].tolist() == [1.0, 2.5, 5.0, 9.0]


def test_quantiles_of_none_are_zero() -> None:
    result = np.empty((1, 1, 1))
    error_rings.read_all(np.zeros((1, 1, 5)), np.array([[0]]), np.array([0.9]), result)
    assert result[0, 0, 0] == 0.0


@settings(max_examples=30)
@given(
    size=st.integers(1, 12),
    errors=st.lists(st.one_of(st.floats(-5, 5), st.just(float("nan"))), max_size=40),
)
def test_rolling_quantiles_are_those_of_the_last_errors(size: int, errors: list[float]) -> None:
    levels = np.array([0.1, 0.5, 0.9])
    given_ = np.array(errors).reshape(1, 1, -1)
    rolled = np.empty((1, len(errors), 1, 3))
    rings, counts = np.zeros((1, 1, size)), np.zeros((1, 1), dtype=np.int64)
    error_rings.roll_errors(rings, counts, given_, levels, rolled)
    known: list[float] = []
    for t, error in enumerate(errors):
        known += [error] if np.isfinite(error) else []
        last = known[-size:]
        expected = np.quantile(last, levels, method="weibull") if last else np.zeros(3)
        np.testing.assert_allclose(rolled[0, t, 0], expected, atol=1e-12)
    pushed, pushed_counts = np.zeros((1, 1, size)), np.zeros((1, 1), dtype=np.int64)
    error_rings.push(pushed, pushed_counts, given_)
    np.testing.assert_array_equal(pushed, rings)
    np.testing.assert_array_equal(pushed_counts, counts)


@settings(max_examples=20)
@given(seed=st.integers(0, 20), points=st.integers(1, 40), steps=st.integers(1, 9))
def test_rolling_equals_updating_and_predicting(seed: int, points: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    rows = light_models.make_rows(120, seed)
    for kind in interval_scales.ScaleKind:
        model = intervals.Intervals(models.Ses(), 5, few=True, ring=25, scaling=kind)
        fitted = model.fit(rows)
        new = 20.0 * rng.random((3, points))
        rolled = fitted.roll(new, steps, LEVELS)
        here = int(rng.integers(points))
        ahead = fitted.update(new[:, : here + 1]).predict(steps, LEVELS)
        np.testing.assert_allclose(rolled.mean[:, here], ahead.mean, rtol=1e-9)
        np.testing.assert_allclose(rolled.quantiles[:, here], ahead.quantiles, rtol=1e-9)
        assert (np.diff(ahead.quantiles, axis=2) >= 0.0).all()


@pytest.mark.parametrize("few", [True, False], ids=["same past", "held out"])
def test_errors_for_the_rings_come_from_the_past(few: bool) -> None:
    rows = light_models.make_rows(200)
    model = intervals.Intervals(
        baselines.Persistence(), 2, few=few, ring=1000, scaling=interval_scales.ScaleKind.NONE
    )
    fitted = model.fit(rows)
    begin = 50 if few else 140
    assert fitted.counts.tolist() == [[200 - begin, 199 - begin]] * 3
    two_steps = rows[:, begin + 1 :] - rows[:, begin - 1 : -2]
    np.testing.assert_allclose(fitted.rings[:, 1, : two_steps.shape[1]], two_steps)


def test_rings_learn_from_new_points() -> None:
    rng = np.random.default_rng(6)
    calm, wild = rng.normal(size=(1, 500)), 10.0 * rng.normal(size=(1, 300))
    model = intervals.Intervals(
        baselines.MovingAverage(50), 1, ring=200, scaling=interval_scales.ScaleKind.NONE
    )
    fitted = model.fit(calm)
    before = fitted.predict(1, (0.05, 0.95)).quantiles
    after = fitted.update(wild).predict(1, (0.05, 0.95)).quantiles
    assert np.ptp(before) == pytest.approx(2 * 1.645, rel=0.2)
    assert np.ptp(after) == pytest.approx(20 * 1.645, rel=0.2)


def test_a_scale_that_moves_widens_at_once() -> None:
    rng = np.random.default_rng(7)
    calm = rng.normal(size=(1, 800))
    wild = 10.0 * rng.normal(size=(1, 40))
    widths = {}
    for kind in (interval_scales.ScaleKind.NONE, interval_scales.ScaleKind.CHANGE):
        fitted = intervals.Intervals(baselines.MovingAverage(50), 1, scaling=kind).fit(calm)
        widths[kind] = float(np.ptp(fitted.update(wild).predict(1, (0.1, 0.9)).quantiles))
    assert widths[interval_scales.ScaleKind.CHANGE] > 2 * widths[interval_scales.ScaleKind.NONE]


def test_a_scale_by_hand() -> None:
    state = interval_scales.Scale(
        interval_scales.ScaleKind.CHANGE, np.array([2.0]), np.array([5.0]), np.array([0.1])
    )
    # a change of 22: 2 + (22 - 2) / 20 = 3
    assert state.update(np.array([[27.0]])).size().tolist() == [3.1]
    level = interval_scales.Scale(
        interval_scales.ScaleKind.LEVEL, np.array([2.0]), np.array([5.0]), np.array([0.1])
    )
    assert level.roll(np.array([[-42.0]])).tolist() == [[4.1]]
    assert interval_scales.begin(
        interval_scales.ScaleKind.NONE, np.ones((2, 3))
    ).size().tolist() == [1.0, 1.0]


def test_further_than_watched_intervals_grow_with_the_root() -> None:
    rows = SERIES["walk"][:1, :600]
    fitted = intervals.Intervals(baselines.Persistence(), 4, few=True).fit(rows)
    ahead = fitted.predict(16, (0.1, 0.9))
    widths = np.ptp(ahead.quantiles, axis=2)[0]
    assert widths[15] == pytest.approx(2.0 * widths[3])
    assert (np.diff(widths[3:]) > 0.0).all()


def test_what_was_never_negative_has_no_negative_quantiles() -> None:
    rows = np.random.default_rng(8).pareto(1.5, (4, 300))
    ahead = intervals.Intervals(baselines.Persistence(), 3).fit(rows).predict(3, LEVELS)
    assert ahead.quantiles.min() >= 0.0
    assert (
        intervals.Intervals(baselines.Persistence(), 3)
        .fit(rows - 5.0)
        .predict(3, LEVELS)
        .quantiles.min()
        < -5.0
    )


def test_levels_are_brought_in_order() -> None:
    fitted = intervals.Intervals(baselines.Persistence()).fit(SERIES["noise"])
    ahead = fitted.predict(2, (0.9, 0.1))
    assert ahead.levels == (0.1, 0.9)
    assert (ahead.quantiles[..., 0] <= ahead.quantiles[..., 1]).all()
    assert fitted.predict(2).quantiles.shape == (20, 2, 0)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_outside_is_refused(level: float) -> None:
    fitted = intervals.Intervals(baselines.Persistence()).fit(SERIES["noise"])
    with pytest.raises(ValueError, match="expected more than 0 and less than 1"):
        fitted.predict(1, (level,))


@pytest.mark.parametrize(
    "row",
    [np.full(60, 4.0), np.zeros(60), 1e-200 * np.arange(60.0), 1e200 * np.sin(np.arange(60.0))],
    ids=["constant", "zero", "tiny", "huge"],
)
@pytest.mark.parametrize("kind", list(interval_scales.ScaleKind))
def test_intervals_of_hard_series_are_finite(
    row: np.ndarray, kind: interval_scales.ScaleKind
) -> None:
    model = intervals.Intervals(models.Holt(), 3, few=True, scaling=kind)
    fitted = model.fit(row[None, :]).update(row[None, :7])
    assert np.isfinite(fitted.predict(5, LEVELS).quantiles).all()


def test_a_past_of_the_least_length_is_enough() -> None:
    fitted = intervals.Intervals(models.Holt(), 3).fit(np.array([[1.0, 2.0, 3.0]]))
    ahead = fitted.predict(2, LEVELS)
    assert np.isfinite(ahead.quantiles).all()
