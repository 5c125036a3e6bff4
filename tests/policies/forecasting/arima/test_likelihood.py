"""The compiled parts of ARIMA against plain matrices: small cases that also run uncompiled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.arima import (
    innovations,
    likelihood,
    polynomials,
    search,
    starting_values,
    stationarity,
)
from kubestow.policies.forecasting.arima import states as arima_states
from tests.policies.forecasting import synthetic_series

PARTIALS = st.lists(st.floats(-0.95, 0.95), min_size=0, max_size=4)
MODELS = [
    pytest.param((), (), id="noise"),
    pytest.param((0.8,), (), id="ar1"),
    pytest.param((), (0.9,), id="ma1"),
    pytest.param((0.5, 0.3), (0.7,), id="arma21"),
    pytest.param((-0.4,), (0.5, 0.2, -0.3), id="arma13"),
    pytest.param((0.6, -0.2, 0.3), (), id="ar3"),
]


def coefficients(partials: list[float]) -> Floats:
    out = np.zeros(len(partials) + 1)
    polynomials.write_coefficients(np.array([*partials, 0.0]), len(partials), out)
    return np.asarray(out[: len(partials)])


def covariances(ar: Floats, ma: Floats, lags: int, terms: int = 3000) -> Floats:
    """Return autocovariances from the first weights of the infinite moving average."""
    psi = np.zeros(terms)
    for j in range(terms):
        psi[j] = 1.0 if j == 0 else (ma[j - 1] if j <= len(ma) else 0.0)
        psi[j] += sum(ar[i] * psi[j - 1 - i] for i in range(min(j, len(ar))))
    return np.array([psi[: terms - lag] @ psi[lag:] for lag in range(lags)])


def padded(values: tuple[float, ...], width: int = 5) -> Floats:
    out = np.zeros(width)
    out[: len(values)] = values
    return out


def edges_of(ar: tuple[float, ...], ma: tuple[float, ...]) -> Floats:
    orders = np.array([[len(ar), 0, len(ma)]], dtype=np.int64)
    edges: Floats = arima_states.make_edges(orders, padded(ar)[None], padded(ma)[None])[0]
    return edges


@given(PARTIALS)
def test_partial_autocorrelations_come_back_from_coefficients(partials: list[float]) -> None:
    result = np.zeros(len(partials) + 1)
    phi = np.append(coefficients(partials), 0.0)
    assert polynomials.write_partials(phi, len(partials), result)
    assert result[: len(partials)] == pytest.approx(partials, abs=1e-8)


@given(PARTIALS)
def test_coefficients_are_always_stationary(partials: list[float]) -> None:
    phi = coefficients(partials)
    # The inverse roots of 1 - phi1 z - ... are the eigenvalues of the companion matrix.
    roots = np.roots([1.0, *-phi])
    assert np.all(np.abs(roots) < 1.0)


@pytest.mark.parametrize("phi", [(1.0,), (1.2,), (0.5, 0.5), (0.0, -1.1)])
def test_coefficients_that_are_not_stationary_are_told(phi: tuple[float, ...]) -> None:
    assert not polynomials.write_partials(np.array(phi), len(phi), np.zeros(len(phi)))


@given(st.floats(-50.0, 50.0))
def test_free_variables_come_back_from_partials(free: float) -> None:
    back = polynomials.to_free(polynomials.to_partial(free))
    assert back == pytest.approx(free, rel=1e-6, abs=1e-12)


def test_free_variables_stop_at_the_limit() -> None:
    assert polynomials.to_free(1.0) == polynomials.FREE_LIMIT
    assert polynomials.to_free(-1.0) == -polynomials.FREE_LIMIT
    assert polynomials.to_partial(1e9) < 1.0


@pytest.mark.parametrize(("ar", "ma"), MODELS)
def test_errors_and_variances_are_those_of_the_covariance_matrix(
    ar: tuple[float, ...], ma: tuple[float, ...]
) -> None:
    # Errors and variances of one-step predictions are the LDL factors of the covariance matrix.
    w = synthetic_series.arma(1, 25, ar, ma)[0]
    table = covariances(np.array(ar), np.array(ma), 25)
    matrix = table[np.abs(np.subtract.outer(np.arange(25), np.arange(25)))]
    factor = np.linalg.cholesky(matrix)
    variances = np.diag(factor) ** 2
    wanted = np.linalg.solve(factor / np.diag(factor), w)
    out = np.zeros((3, 25))
    assert innovations.write_innovations(
        w, len(ar), len(ma), padded(ar), padded(ma), edges_of(ar, ma), out
    )
    assert out[0] == pytest.approx(wanted, abs=1e-8)
    assert out[1] == pytest.approx(np.linalg.solve(factor / np.diag(factor), np.ones(25)), abs=1e-8)
    assert out[2] == pytest.approx(variances, abs=1e-8)


@pytest.mark.parametrize(("ar", "ma"), MODELS)
def test_the_best_mean_is_that_of_generalised_least_squares(
    ar: tuple[float, ...], ma: tuple[float, ...]
) -> None:
    w = synthetic_series.arma(1, 20, ar, ma)[0] + 3.0
    table = covariances(np.array(ar), np.array(ma), 20)
    matrix = table[np.abs(np.subtract.outer(np.arange(20), np.arange(20)))]
    weights = np.linalg.solve(matrix, np.ones(20))
    mean = weights @ w / weights.sum()
    out, scaled = np.zeros((3, 20)), np.zeros(20)
    innovations.write_innovations(
        w, len(ar), len(ma), padded(ar), padded(ma), edges_of(ar, ma), out
    )
    result, total, logs = innovations.concentrate(out, True, scaled)
    assert result == pytest.approx(mean, abs=1e-8)
    assert logs == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-8)
    # The density at that mean and at the best variance, written out.
    square = (w - mean) @ np.linalg.solve(matrix, w - mean)
    wanted = -0.5 * (20 * math.log(2 * math.pi * square / 20) + 20 + logs)
    assert innovations.log_likelihood(20, total) == pytest.approx(wanted, abs=1e-8)


def test_a_model_on_the_unit_circle_is_given_up_instead_of_computed_wrongly() -> None:
    edges = edges_of((0.5,), ())
    edges[0, 0] = 0.5  # no process has less variance than its innovations
    out = np.zeros((3, 10))
    assert not innovations.write_innovations(
        np.ones(10), 1, 0, padded((0.5,)), padded(()), edges, out
    )


def test_first_guesses_are_near_the_truth_and_always_inside() -> None:
    w = synthetic_series.arma(1, 400, ar=(0.6,), ma=(0.4,))[0]
    free = np.zeros(2)
    starting_values.guess(starting_values.tabulate_products(w, 2), 1, 1, free)
    phi, theta = polynomials.to_partial(free[0]), -polynomials.to_partial(free[1])
    assert (phi, theta) == pytest.approx((0.6, 0.4), abs=0.2)


def test_coefficients_outside_are_drawn_inside() -> None:
    free = np.zeros(2)
    starting_values.shrink_to_stationary(np.array([1.5, 0.4]), 2, free)
    assert np.all(np.abs(free) < polynomials.FREE_LIMIT)
    assert np.any(free != 0.0)


def test_a_matrix_that_is_not_positive_is_not_solved() -> None:
    assert not starting_values.solve_positive(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2), 2)
    right = np.array([4.0, 5.0])
    assert starting_values.solve_positive(np.array([[2.0, 1.0], [1.0, 3.0]]), right, 2)
    # 2 a + b = 4, a + 3 b = 5
    assert right == pytest.approx([1.4, 1.2])


def test_the_climb_ends_where_the_likelihood_is_flat() -> None:
    w = synthetic_series.arma(1, 80, ar=(0.7,))[0]
    work = likelihood.make_work(80, 1)
    free = np.array([0.0])
    total = likelihood.climb(w, free, 1, 0, False, 50.0, 1e-9, work)
    near = [
        likelihood.measure(w, free + move, 1, 0, False, work, work.moved) for move in (-1e-3, 1e-3)
    ]
    assert total < min(near)
    assert polynomials.to_partial(free[0]) == pytest.approx(0.7, abs=0.2)


def test_more_parameters_never_fit_worse() -> None:
    w = synthetic_series.arma(1, 60, ar=(0.5,), ma=(0.4,))[0]
    table = search.fit_one(w, np.array([2, 2], dtype=np.int64), False, False, 4.0, np.zeros(3))[2]
    assert np.all(np.diff(table, axis=0) >= 0.0)
    assert np.all(np.diff(table, axis=1) >= 0.0)


@pytest.mark.parametrize(
    ("slack", "chosen"),
    [
        # With n = 100 and one parameter besides: AIC is 10, 7, 8, 4.5 for 00, 01, 10, 11, and SC
        # adds ln(100) - 2 = 2.6 per parameter: 12.6, 12.2, 13.2, 12.3.
        pytest.param(0.0, (1, 1), id="aic-alone"),
        pytest.param(2.0, (1, 1), id="only-one-within-2"),
        pytest.param(2.6, (0, 1), id="sc-decides-within-2.6"),
        pytest.param(math.inf, (0, 1), id="sc-alone"),
    ],
)
def test_sc_decides_among_orders_within_the_slack(slack: float, chosen: tuple[int, int]) -> None:
    aic = np.array([[10.0, 7.0], [8.0, 4.5]])
    parameters = np.array([[1.0, 2.0], [2.0, 3.0]])
    result = search.choose(parameters - aic / 2.0, 100, 1, slack)
    assert result == chosen


def test_of_equals_the_fewest_coefficients_are_chosen() -> None:
    # Likelihoods that make every SC equal: each parameter gains exactly ln(n) / 2.
    size = np.add.outer(np.arange(3), np.arange(3)).astype(np.float64)
    assert search.choose(size * math.log(50) / 2.0, 50, 1, math.inf) == (0, 0)


def test_differences_are_those_of_numpy() -> None:
    row = np.array([1.0, 4.0, 9.0, 16.0, 20.0])
    for times in (0, 1, 2):
        assert search.difference(row, times).tolist() == np.diff(row, n=times).tolist()


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(0, 2), st.integers(1, 4))
def test_predictions_are_those_of_the_covariance_matrix(seed: int, d: int, seen: int) -> None:
    # The best linear prediction of the next points from the first ones: c' C^-1 w.
    ar, ma = (0.5, -0.3), (0.6,)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=seen)
    table = covariances(np.array(ar), np.array(ma), seen + 3)
    near = table[np.abs(np.subtract.outer(np.arange(seen), np.arange(seen)))]
    far = table[np.abs(np.subtract.outer(np.arange(seen, seen + 3), np.arange(seen)))]
    wanted = far @ np.linalg.solve(near, w)
    path = np.concatenate((w, wanted))
    for _ in range(d):
        path = np.concatenate(([0.0], np.cumsum(path)))
    orders = np.array([[2, d, 1]], dtype=np.int64)
    models = arima_states.Models(
        orders, padded(ar)[None], padded(ma)[None], np.zeros(1), edges_of(ar, ma)[None]
    )
    states = arima_states.make_states(1, 4)
    arima_states.advance(path[None, : seen + d], models, states)
    result = arima_states.forecast_all(3, models, states)
    assert result[0] == pytest.approx(path[seen + d :], abs=1e-8)


def test_a_level_that_explains_everything_gives_an_infinite_statistic() -> None:
    # y alternates: its change is 1 - 2 y exactly.
    row = np.arange(20.0) % 2.0
    assert stationarity.level_ratio(row, 0) == -math.inf
    # A line: the constant explains its change, the level nothing.
    assert math.isnan(stationarity.level_ratio(np.arange(20.0), 0))


def test_lags_are_those_of_the_least_aic_by_plain_regressions() -> None:
    row = np.cumsum(synthetic_series.arma(1, 40, ar=(0.6, -0.5), seed=2)[0])
    most, change = 3, np.diff(row)
    criteria = []
    for lags in range(most + 1):
        columns = [np.ones(len(change) - most), row[most:-1]]
        columns += [change[most - k : len(change) - k] for k in range(1, lags + 1)]
        table = np.stack(columns, axis=1)
        rest = change[most:] - table @ np.linalg.lstsq(table, change[most:])[0]
        n = len(rest)
        # AIC without what all have in common: n ln(RSS / n) + 2 k.
        criteria.append(n * math.log(rest @ rest / n) + 2.0 * table.shape[1])
    statistics, lags_found = stationarity.run_all(row[None], most, True)
    assert lags_found[0] == int(np.argmin(criteria))
    assert statistics[0] == stationarity.level_ratio(row, int(lags_found[0]))


def test_a_batch_fits_each_series_as_if_alone_and_leaves_still_ones() -> None:
    rows = np.concatenate([synthetic_series.arma(1, 40, ar=(0.7,)), np.zeros((1, 40))])
    orders, phi, _, results, tables = search.fit_batch(
        rows,
        np.array([1, 0], dtype=np.int64),
        np.array([1, 1], dtype=np.int64),
        True,
        np.array([False, True]),
        np.array([False, True]),
        4.0,
    )
    alone = np.zeros(3)
    single = search.fit_one(
        np.diff(rows[0]), np.array([1, 1], dtype=np.int64), True, False, 4.0, alone
    )
    assert orders.tolist() == [[1, 1], [0, 0]]
    assert phi[0, 0] == single[0][0]
    assert results[0].tolist() == alone.tolist()
    assert not results[1].any()
    assert np.array_equal(tables[0], single[2])
    assert np.all(tables[1] == -math.inf)


def test_rolling_is_advancing_and_looking_ahead() -> None:
    ar, ma = (0.5,), (0.9, 0.2)
    models = arima_states.Models(
        np.array([[1, 1, 2]], dtype=np.int64),
        padded(ar)[None],
        padded(ma)[None],
        np.array([0.3]),
        edges_of(ar, ma)[None],
    )
    points = synthetic_series.arma(1, 60)
    start = arima_states.make_states(1, 4)
    rolled = arima_states.roll_all(points, 4, models, arima_states.copy_states(start))
    assert not start.counts.any()
    for k in range(60):
        arima_states.advance(points[:, k : k + 1], models, start)
        assert np.array_equal(arima_states.forecast_all(4, models, start), rolled[:, k])
    assert start.counts.tolist() == [[60, 1]]
