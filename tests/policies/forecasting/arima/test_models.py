"""ARIMA against statsmodels, on known processes, on hard series, and along new points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from statsmodels.tsa.statespace.sarimax import SARIMAX

from kubestow.model import errors
from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import diagnostics
from kubestow.policies.forecasting.arima import models
from tests.policies.forecasting import synthetic_series

# The reference warns where its own first guesses or its own search fail.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Non-"),
    pytest.mark.filterwarnings("ignore:Maximum Likelihood optimization failed"),
]

ORDERS = [
    pytest.param((1, 0, 0), (0.7,), (), id="ar1"),
    pytest.param((0, 0, 2), (), (0.5, 0.3), id="ma2"),
    pytest.param((2, 0, 1), (0.6, -0.3), (0.4,), id="arma21"),
    pytest.param((1, 1, 1), (0.5,), (-0.4,), id="arima111"),
    pytest.param((0, 2, 1), (), (-0.5,), id="arima021"),
]


def make_row(order: tuple[int, int, int], ar: tuple[float, ...], ma: tuple[float, ...]) -> Floats:
    row = synthetic_series.arma(1, 200, ar, ma, seed=4)
    for _ in range(order[1]):
        row = np.cumsum(row, axis=1)
    return 5.0 * row + 40.0


def reference(row: Floats, order: tuple[int, int, int]) -> SARIMAX:
    """Return the model on the differenced series: the likelihood has no diffuse part then."""
    ones = np.ones((len(row), 1)) if order[1] == 0 else None
    return SARIMAX(row, exog=ones, order=order, simple_differencing=True)


def fitted_parameters(fitted: models.FittedArima, series: int = 0) -> tuple[Floats, Floats, float]:
    """Return coefficients and mean in the units of the series."""
    p, d, q = fitted.orders[series]
    mean = fitted.models.means[series] * fitted.frame.scales[series]
    mean += fitted.frame.places[series] if d == 0 else 0.0
    return fitted.models.phi[series, :p], fitted.models.theta[series, :q], float(mean)


@pytest.mark.parametrize(("order", "ar", "ma"), ORDERS)
def test_likelihood_at_given_parameters_equals_statsmodels(
    order: tuple[int, int, int], ar: tuple[float, ...], ma: tuple[float, ...]
) -> None:
    row = make_row(order, ar, ma)[0]
    mean = 37.0 if order[1] == 0 else 0.0
    result = models.log_likelihood(row, order, np.array(ar), np.array(ma), mean, 20.0)
    parameters = [*([mean] if order[1] == 0 else []), *ar, *ma, 20.0]
    assert result == pytest.approx(reference(row, order).loglike(parameters), rel=1e-6)


@pytest.mark.parametrize(("order", "ar", "ma"), ORDERS)
def test_fitted_criteria_equal_statsmodels(
    order: tuple[int, int, int], ar: tuple[float, ...], ma: tuple[float, ...]
) -> None:
    rows = make_row(order, ar, ma)
    fitted = models.Arima(models.ArimaOptions(order=order)).fit(rows)
    wanted = reference(rows[0], order).fit(disp=False, maxiter=200)
    assert fitted.aic[0] == pytest.approx(wanted.aic, rel=1e-5)
    assert fitted.sc[0] == pytest.approx(wanted.bic, rel=1e-5)
    assert fitted.quality.likelihoods[0] >= wanted.llf - 1e-3
    phi, theta, mean = fitted_parameters(fitted)
    own = models.log_likelihood(rows[0], order, phi, theta, mean, fitted.quality.variances[0])
    assert own == pytest.approx(fitted.quality.likelihoods[0], abs=1e-6)


@pytest.mark.parametrize(("order", "ar", "ma"), ORDERS)
def test_forecasts_equal_statsmodels_at_the_same_parameters(
    order: tuple[int, int, int], ar: tuple[float, ...], ma: tuple[float, ...]
) -> None:
    rows = make_row(order, ar, ma)
    fitted = models.Arima(models.ArimaOptions(order=order)).fit(rows)
    phi, theta, mean = fitted_parameters(fitted)
    d = order[1]
    parameters = [*([mean] if d == 0 else []), *phi, *theta, fitted.quality.variances[0]]
    smoothed = reference(rows[0], order).smooth(parameters)
    wanted = np.asarray(smoothed.forecast(8, exog=np.ones((8, 1)) if d == 0 else None))
    for times in range(d, 0, -1):
        wanted = np.diff(rows[0], n=times - 1)[-1] + np.cumsum(wanted)
    assert fitted.means(8)[0] == pytest.approx(wanted, rel=1e-8)


def test_parameters_of_a_long_series_are_found() -> None:
    row = synthetic_series.arma(1, 7000, ar=(0.6, -0.3), ma=(0.5,), seed=8) * 3.0 + 100.0
    fitted = models.Arima().fit(row)
    assert fitted.orders[0].tolist() == [2, 0, 1]
    phi, theta, mean = fitted_parameters(fitted)
    assert [*phi, *theta] == pytest.approx([0.6, -0.3, 0.5], abs=0.05)
    assert mean == pytest.approx(100.0, abs=0.5)
    assert fitted.quality.variances[0] == pytest.approx(9.0, rel=0.05)


@pytest.mark.parametrize(
    ("ar", "ma"),
    [
        pytest.param((0.7,), (), id="ar1"),
        pytest.param((), (0.6,), id="ma1"),
        pytest.param((0.5, -0.5), (), id="ar2"),
        pytest.param((0.7,), (0.5,), id="arma11"),
        pytest.param((), (0.5, 0.6), id="ma2"),
    ],
)
def test_known_orders_are_found_in_three_of_four_series(
    ar: tuple[float, ...], ma: tuple[float, ...]
) -> None:
    rows = synthetic_series.arma(24, 1000, ar, ma, seed=6)
    fitted = models.Arima().fit(rows)
    wanted = [len(ar), 0, len(ma)]
    assert np.mean([order == wanted for order in fitted.orders.tolist()]) >= 0.75


def test_the_chosen_order_follows_the_stated_rule() -> None:
    row = synthetic_series.arma(1, 150, ar=(0.5,), ma=(0.3,), seed=2)
    fitted = models.Arima().fit(row)
    tried = fitted.candidates()
    assert len(tried) == 36
    assert [c.aic for c in tried] == sorted(c.aic for c in tried)
    close = [c for c in tried if c.aic <= tried[0].aic + models.ArimaOptions().slack]
    best = min(close, key=lambda c: c.sc)
    assert fitted.orders[0].tolist() == [best.p, 0, best.q]
    # The order that is kept is finished with more care than those that are not.
    assert fitted.aic[0] == pytest.approx(best.aic, abs=1e-9)


def test_short_series_are_not_given_more_coefficients_than_they_bear() -> None:
    noise = np.random.default_rng(0).normal(size=(1, 14))
    fitted = models.Arima(models.ArimaOptions(most_d=0)).fit(noise)
    # (14 - 2) / 4 = 3 coefficients at most.
    assert max(c.p + c.q for c in fitted.candidates()) == 3


def test_residuals_are_errors_of_one_step_and_white() -> None:
    rows = synthetic_series.arma(3, 400, ar=(0.8,), ma=(0.4,), seed=9)
    rows[1] = np.cumsum(rows[1])
    fitted = models.Arima().fit(rows)
    errors_found = fitted.residuals(rows)
    for k in (5, 60, 399):
        before = fitted.restart(rows[:, :k]).means(1)[:, 0]
        assert errors_found[:, k] == pytest.approx(rows[:, k] - before, abs=1e-9)
    result = diagnostics.diagnose(errors_found[:, 5:])
    assert min(one.autocorrelation_p for one in result) > 0.01


def test_a_model_that_has_seen_all_points_is_the_same_whether_fitted_or_restarted() -> None:
    rows = synthetic_series.arma(4, 120, ar=(0.5,), ma=(0.9,), seed=3)
    fitted = models.Arima().fit(rows)
    assert np.array_equal(fitted.means(5), fitted.restart(rows).means(5))


def test_a_drift_goes_on_only_if_asked_for() -> None:
    rng = np.random.default_rng(3)
    row = np.cumsum(2.0 + rng.normal(size=(1, 300)), axis=1)
    held = models.Arima(models.ArimaOptions(order=(0, 1, 0))).fit(row).means(10)
    drifting = models.Arima(models.ArimaOptions(order=(0, 1, 0), drift=True)).fit(row).means(10)
    assert held[0] == pytest.approx(np.full(10, row[0, -1]))
    slope = (row[0, -1] - row[0, 0]) / 299
    assert drifting[0] == pytest.approx(row[0, -1] + slope * np.arange(1, 11))


@pytest.mark.parametrize("drift", [False, True])
def test_a_straight_line_goes_on(drift: bool) -> None:
    line = np.arange(50.0)[None] * 0.3 + 2.0
    result = models.Arima(models.ArimaOptions(drift=drift)).fit(line).means(4)
    assert result[0] == pytest.approx(2.0 + 0.3 * np.arange(50, 54))


def test_a_series_that_stands_still_is_followed_once_it_moves() -> None:
    fitted = models.Arima().fit(np.full((1, 30), 4.0))
    assert fitted.means(2).tolist() == [[4.0, 4.0]]
    assert fitted.update(np.array([[9.0]])).means(2).tolist() == [[9.0, 9.0]]


@pytest.mark.parametrize("points", [10, 11, 40, 120])
def test_hard_series_have_finite_forecasts(points: int) -> None:
    rows = synthetic_series.hard_rows(points)
    fitted = models.Arima().fit(rows)
    assert np.isfinite(fitted.means(50)).all()
    assert np.isfinite(fitted.roll(rows[:, ::-1] * 3.0, 20)).all()
    assert np.isfinite(fitted.aic).all()


NUMBERS = st.floats(-1e12, 1e12, allow_subnormal=False)


@settings(max_examples=40)
@given(arrays.arrays(np.float64, st.tuples(st.just(1), st.integers(10, 25)), elements=NUMBERS))
def test_any_series_has_finite_forecasts(rows: Floats) -> None:
    fitted = models.Arima(models.ArimaOptions(most_p=2, most_q=2)).fit(rows)
    assert np.isfinite(fitted.means(10)).all()
    assert np.isfinite(fitted.residuals(rows)).all()


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.integers(1, 7),
    st.sampled_from([(2, 0, 1), (0, 1, 1), (1, 2, 3), (3, 1, 0)]),
)
def test_rolling_equals_updating_and_looking_ahead(
    seed: int, points: int, steps: int, order: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(seed)
    past = np.cumsum(rng.normal(size=(2, 30)), axis=1)
    fitted = models.Arima(models.ArimaOptions(order=order)).fit(past)
    new = rng.normal(size=(2, points)) * 3.0
    rolled = fitted.roll(new, steps)
    for k in range(points):
        assert np.array_equal(rolled[:, k], fitted.update(new[:, : k + 1]).means(steps))


def test_forecasts_know_nothing_of_points_to_come() -> None:
    rng = np.random.default_rng(1)
    rows = np.cumsum(rng.normal(size=(3, 140)), axis=1)
    fitted = models.Arima().fit(rows[:, :100])
    changed = rows[:, 100:].copy()
    changed[:, 21:] += 1e3
    a, b = fitted.roll(rows[:, 100:], 6), fitted.roll(changed, 6)
    assert np.array_equal(a[:, :21], b[:, :21])
    assert not np.array_equal(a[:, 21], b[:, 21])


def test_updating_leaves_the_model_before_as_it_was() -> None:
    fitted = models.Arima().fit(synthetic_series.arma(2, 60, ar=(0.7,)))
    before = fitted.means(3)
    fitted.update(np.full((2, 5), 50.0))
    fitted.roll(np.full((2, 5), 50.0), 3)
    assert np.array_equal(fitted.means(3), before)


def test_series_of_a_batch_do_not_touch_each_other() -> None:
    rows = np.concatenate([synthetic_series.arma(3, 80, ar=(0.7,)), synthetic_series.hard_rows(80)])
    together = models.Arima().fit(rows).means(5)
    for s in (0, 3, 8, 14):
        assert np.array_equal(models.Arima().fit(rows[s : s + 1]).means(5)[0], together[s])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": (11, 0, 0)}, "p = 11, q = 0: expected 0 to 10"),
        ({"order": (1, 3, 0)}, "d = 3: expected 0, 1 or 2"),
        ({"most_q": -1}, "q = -1"),
        ({"level": 1.0}, "expected 0 < level < 1"),
        ({"slack": -1.0}, "slack >= 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InputError, match=message):
        models.ArimaOptions(**options)


def test_too_few_or_missing_points_are_refused() -> None:
    with pytest.raises(
        errors.InputError, match="arima: 9 points are too few; expected at least 10"
    ):
        models.Arima().fit(np.zeros((1, 9)))
    with pytest.raises(errors.InputError, match="series 0, point 3: nan"):
        models.Arima().fit(np.where(np.arange(20) == 3, np.nan, 1.0)[None])
