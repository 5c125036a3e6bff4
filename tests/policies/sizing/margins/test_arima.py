"""``arima-margin``: known coefficients, a reference library, worked margins, stated rules."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.tsa.arima.model import ARIMA

from kubestow.model.arrays import Floats
from kubestow.policies.sizing.margins import arima, arima_kernels
from tests.policies.sizing import scenes

MIB = 2.0**20


def simulate(
    phi: tuple[float, ...], theta: tuple[float, ...], shape: tuple[int, int], seed: int = 1
) -> Floats:
    """Return differences of an ARMA process, one row per series."""
    rng = np.random.default_rng(seed)
    rows, points = shape
    noise = rng.normal(size=(rows, points + 200))
    result = np.zeros_like(noise)
    for t in range(noise.shape[1]):
        result[:, t] = noise[:, t]
        for lag, weight in enumerate(phi, 1):
            if t >= lag:
                result[:, t] += weight * result[:, t - lag]
        for lag, weight in enumerate(theta, 1):
            if t >= lag:
                result[:, t] += weight * noise[:, t - lag]
    return result[:, 200:]


def fit_fixed(values: Floats, order: int, rounds: int = 8) -> arima.Fits:
    """Fit one order, p = q, to all points."""
    return arima.fit(
        values,
        arima.ArimaMarginParameters(
            points=values.shape[1], least_order=order, most_order=order, rounds=rounds
        ),
    )


def test_known_coefficients_are_recovered() -> None:
    phi, theta = (0.5, -0.4), (0.4, 0.3)
    w = simulate(phi, theta, (1, 6000))[0]
    products = arima_kernels.tabulate(w, w, 2, 2)
    u = arima_kernels.start_residuals(w, 48)
    result = np.zeros(4)
    for _ in range(8):
        arima_kernels.regress(w, products, 2, 2, 2, u, result)
    # Standard errors at 6000 points are about 0.02 to 0.03.
    assert result == pytest.approx([*phi, *theta], abs=0.08)
    # The noise had a variance of 1.
    assert float((u * u).mean()) == pytest.approx(1.0, abs=0.06)


def test_a_regression_is_that_of_a_general_solver() -> None:
    rng = np.random.default_rng(3)
    w, u = rng.normal(size=119), rng.normal(size=119)
    p, q, first = 3, 4, 9
    columns = [w[first - k : 119 - k] for k in range(1, p + 1)]
    columns += [u[first - k : 119 - k] for k in range(1, q + 1)]
    table = np.stack(columns, axis=1)
    wanted = np.linalg.lstsq(table, w[first:], rcond=None)[0]
    left = w[first:] - table @ wanted
    products = arima_kernels.tabulate(w, w, first, first)
    coefficients = np.zeros(2 * first)
    arima_kernels.regress(w, products, p, q, first, u, coefficients)
    assert coefficients[: p + q] == pytest.approx(wanted, abs=1e-10)
    assert u[first:] == pytest.approx(left, abs=1e-10)
    assert not u[:first].any()


def test_dependent_columns_get_nought() -> None:
    # Unknowns 1 and 2 stand for the same column: 4 x = 8 and nothing for the copy.
    matrix = np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
    right = np.array([8.0, 8.0, 6.0])
    arima_kernels.solve(matrix, right, 3)
    assert right.tolist() == pytest.approx([2.0, 0.0, 3.0])


def test_forecasts_agree_with_a_reference_library_on_well_behaved_series() -> None:
    changes = simulate((0.6, -0.3), (0.3, 0.2), (4, 900), seed=5)
    values = 1000.0 + np.cumsum(changes, axis=1)
    ours = fit_fixed(values, 2)
    for row, line in enumerate(values):
        model = ARIMA(line, order=(2, 1, 2)).fit()
        theirs = model.get_forecast(5)
        # One-step deviation is 1; estimates of coefficients differ by a few hundredths.
        assert ours.levels[row] == pytest.approx(theirs.predicted_mean, abs=0.25)
        assert ours.exact[row] == pytest.approx(theirs.se_mean, rel=0.06)


def test_the_search_is_close_to_the_best_forecast_of_a_known_process() -> None:
    changes = simulate((0.8,), (), (300, 125), seed=9)
    values = np.cumsum(changes, axis=1)
    result = arima.fit(values[:, :120], arima.ArimaMarginParameters())
    known = values[:, 119] + 0.8 * changes[:, 119]
    errors = np.abs(values[:, 120] - result.levels[:, 0]).mean()
    best = np.abs(values[:, 120] - known).mean()
    naive = np.abs(values[:, 120] - values[:, 119]).mean()
    assert best < errors < 0.5 * (best + naive)


def test_weights_of_one_lag_and_one_residual_have_a_closed_form() -> None:
    # ARMA(1, 1): psi_j = (phi + theta) phi^(j - 1).
    phi, theta, sigma = 0.5, 0.25, 2.0
    psi = [1.0] + [(phi + theta) * phi ** (j - 1) for j in range(1, 5)]
    spreads = np.empty((5, 2))
    arima_kernels.write_spreads(np.array([phi]), np.array([theta]), sigma, spreads)
    for step in range(1, 6):
        changes = [sum(w * w for w in psi[:i]) for i in range(1, step + 1)]
        levels = [sum(psi[: j + 1]) ** 2 for j in range(step)]
        assert spreads[step - 1, 0] == pytest.approx(sigma * np.sqrt(sum(changes)))
        assert spreads[step - 1, 1] == pytest.approx(sigma * np.sqrt(sum(levels)))


def test_without_a_model_both_deviations_differ_only_by_nothing() -> None:
    # Independent changes: V(i) = 1 for all i, so both sums are the number of steps.
    spreads = np.empty((5, 2))
    arima_kernels.write_spreads(np.zeros(9), np.zeros(9), 1.0, spreads)
    for kind in range(2):
        assert spreads[:, kind] == pytest.approx(np.sqrt(np.arange(1, 6)))


def test_the_exact_deviation_is_that_of_simulated_levels() -> None:
    phi, theta = (-0.3, -0.2), (-0.4,)
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(200_000, 5))
    change = np.zeros((200_000, 5))
    for t in range(5):
        change[:, t] = noise[:, t]
        for lag, weight in enumerate(phi, 1):
            if t >= lag:
                change[:, t] += weight * change[:, t - lag]
        if t:
            change[:, t] += theta[0] * noise[:, t - 1]
    spreads = np.empty((5, 2))
    arima_kernels.write_spreads(np.array(phi), np.array(theta), 1.0, spreads)
    assert spreads[:, 1] == pytest.approx(np.cumsum(change, axis=1).std(axis=0), rel=0.01)
    # The printed one is larger here: later changes take part of earlier ones back.
    assert (spreads[1:, 0] > 1.4 * spreads[1:, 1]).all()


def make_fits(levels: list[float], printed: list[float], exact: list[float]) -> arima.Fits:
    """Return one row of forecasts."""
    none = np.zeros(1, dtype=np.int64)
    return arima.Fits(
        np.array([levels]), np.array([printed]), np.array([exact]), none, none, none, none,
        np.zeros(1), np.zeros((1, 1)),
    )  # fmt: skip


def test_margins_of_memory_by_hand() -> None:
    fits = make_fits([100 * MIB, 90 * MIB], [1 * MIB, 8 * MIB], [1 * MIB, 2 * MIB])
    # n = 2: 100 + 2 x 1 + 2 x 2 = 106 MiB and 90 + 2 x 8 + 4 = 110 MiB: the larger.
    margin = arima.memory_margin(2.0)
    assert fits.amounts(*margin, "printed").tolist() == [110 * MIB]
    # Exact: 90 + 2 x 2 + 4 = 98 MiB, so the first step counts.
    assert fits.amounts(*margin, "exact").tolist() == [106 * MIB]


@pytest.mark.parametrize(
    ("safety", "cores"),
    [(0.0, 1.0 + 0.35 * 0.1 + 0.0015), (7.0, 1.0 + 1.4 * 0.1 + 0.005)],
    ids=["n = 0", "n = 7"],
)
def test_margins_of_cpu_by_hand(safety: float, cores: float) -> None:
    fits = make_fits([1.0], [0.1], [0.1])
    assert fits.amounts(*arima.cpu_margin(safety), "printed")[0] == pytest.approx(cores)


def test_constant_series_get_their_value_and_the_additive_term() -> None:
    result = arima.ArimaMargin().estimate(scenes.usage([[0.25] * 120], [[64.0 * MIB] * 120]))
    # n = 2: 2 x 2 MiB; n = 7: 0.0005 x 7 + 0.0015 = 0.005 cores.
    assert result.memory_bytes.tolist() == [68.0 * MIB]
    assert result.cpu_cores[0] == pytest.approx(0.255)
    assert result.reasons == ("CPU: 255m, memory: 68 MiB: CPU constant, memory constant",)


def test_short_rows_go_by_their_last_value_and_are_counted() -> None:
    rng = np.random.default_rng(2)
    values = 5.0 + rng.normal(size=(1, 96))
    result = arima.fit(values, arima.ArimaMarginParameters())
    assert result.outcomes.tolist() == [arima_kernels.SHORT]
    assert (result.levels == values[0, -1]).all()
    # Changes are taken for independent with the variance they had.
    sigma = np.sqrt((np.diff(values[0]) ** 2).mean())
    assert result.exact[0] == pytest.approx(sigma * np.sqrt(np.arange(1, 6)))
    estimated = arima.ArimaMargin().estimate(scenes.usage(values.tolist()))
    assert estimated.numbers["cpu_fallbacks"].tolist() == [1.0]
    longer = np.concatenate([values, values[:, -1:] + 0.5], axis=1)
    result = arima.fit(longer, arima.ArimaMarginParameters())
    assert result.outcomes.tolist() == [arima_kernels.FITTED]


def test_growth_without_end_is_refused() -> None:
    # Differences grow by 20 % a point: the only fit that explains them is not stationary.
    values = np.cumsum(1.2 ** np.arange(120.0))[np.newaxis]
    result = arima.fit(values, arima.ArimaMarginParameters())
    assert result.outcomes.tolist() == [arima_kernels.EXPLODED]
    assert result.refused[0] == 64
    assert np.isfinite(result.exact).all()
    assert (result.levels == values[0, -1]).all()


def test_a_straight_line_is_continued() -> None:
    values = 10.0 + 2.0 * np.arange(120.0)[np.newaxis] + 0.01 * np.sin(np.arange(120.0))
    result = arima.fit(values, arima.ArimaMarginParameters())
    assert result.levels[0] == pytest.approx(10.0 + 2.0 * np.arange(120.0, 125.0), abs=0.1)


def test_rows_do_not_depend_on_each_other_or_on_what_lies_before_the_window() -> None:
    rng = np.random.default_rng(8)
    values = np.cumsum(rng.normal(size=(3, 120)), axis=1)
    parameters = arima.ArimaMarginParameters()
    together = arima.fit(values, parameters)
    longer = np.concatenate([rng.normal(size=(1, 50)), values[1:2]], axis=1)
    alone = arima.fit(longer, parameters)
    assert alone.levels[0].tolist() == together.levels[1].tolist()


def test_forecasts_scale_with_the_unit() -> None:
    rng = np.random.default_rng(12)
    values = np.cumsum(rng.normal(size=(2, 120)), axis=1)
    parameters = arima.ArimaMarginParameters()
    small, large = (arima.fit(values * by, parameters) for by in (1.0, 2.0**30))
    assert large.levels == pytest.approx(small.levels * 2.0**30, rel=1e-9)
    assert large.printed == pytest.approx(small.printed * 2.0**30, rel=1e-9)


def test_gaps_carry_the_last_value_and_nothing_measured_gives_nothing() -> None:
    rng = np.random.default_rng(6)
    values = np.cumsum(rng.normal(size=(2, 120)), axis=1)
    gaps, held = values[:1].copy(), values[:1].copy()
    gaps[0, 60] = np.nan
    held[0, 60] = held[0, 59]
    parameters = arima.ArimaMarginParameters()
    # What was not measured at the end is not part of the window.
    late = np.concatenate([gaps, np.full((1, 3), np.nan)], axis=1)
    assert (
        arima.fit(late, parameters).levels[0].tolist()
        == arima.fit(held, parameters).levels[0].tolist()
    )
    none = arima.fit(np.full((1, 120), np.nan), parameters)
    assert np.isnan(none.levels).all()
    assert none.outcomes.tolist() == [-1]


def test_the_largest_pod_counts_and_amounts_are_not_negative() -> None:
    low, high = [0.0] * 120, [0.5] * 120
    result = arima.ArimaMargin().estimate(scenes.usage([low, high], owners=[0, 0]))
    assert result.cpu_cores[0] == pytest.approx(0.505)
    assert result.lower_cpu_cores[0] == pytest.approx(0.5)
    falling = -np.arange(120.0)[np.newaxis] - 100.0
    fits = arima.fit(falling, arima.ArimaMarginParameters())
    assert fits.amounts(0.0, 0.0, "printed").tolist() == [0.0]
