"""From a series to a forecast and its back-test."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from kubestow.model import arrays, errors, time_series
from kubestow.policies import compile_events, registries
from kubestow.policies.forecasting import baselines, registry
from kubestow.reports import forecast_page
from kubestow.workflows import forecasting


def make_grid(
    points: int = 600, start_s: float = 1.7e9, step_s: float = 300.0
) -> time_series.TimeGrid:
    rng = np.random.default_rng(1)
    wave = 10.0 * np.sin(2 * np.pi * np.arange(points) / 48)
    values = 50.0 + wave + rng.normal(0.0, 1.0, points)
    mended = time_series.Mended(gaps=2, filled=5, merged=1)
    return time_series.TimeGrid(("rate",), start_s, step_s, values[None, :], mended)


@pytest.fixture(name="result", scope="module")
def make_result() -> forecasting.ForecastResult:
    ticks = iter(range(10_000))
    request = forecasting.ForecastRequest(horizon_s=3600.0, backtest=True)
    return forecasting.run(make_grid(), request, clock=lambda: float(next(ticks)))


def test_the_json_has_the_keys_of_the_contract(result: forecasting.ForecastResult) -> None:
    actual = result.as_json()
    assert actual["series"] == "rate"
    assert (actual["step_seconds"], actual["horizon_seconds"]) == (300, 3600)
    assert (actual["points"], actual["gaps"]) == (600, 2)
    assert [row["model"] for row in actual["results"]] == ["persistence", "auto"]
    keys = {"mae", "mape", "rmse", "smape", "mase", "pinball", "fit_seconds", "predict_seconds"}
    for row in actual["results"]:
        assert keys <= set(row)
        assert row["coverage"]["0.9"] == pytest.approx(0.9, abs=0.06)
        assert row["fit_seconds"] == 1.0
    assert actual["chosen"].startswith("auto:")
    assert len(actual["forecast"]) == 12
    assert set(actual["forecast"][0]) == {"timestamp", "mean", "q10", "q50", "q90"}


def test_the_forecast_goes_on_where_the_series_ends(result: forecasting.ForecastResult) -> None:
    rows = result.forecast_rows()
    # 600 points of 300 s after 1,700,000,000 s, which is 2023-11-14T22:13:20Z
    assert rows[0]["timestamp"] == "2023-11-17T00:13:20Z"
    assert rows[1]["timestamp"] == "2023-11-17T00:18:20Z"
    for row in rows:
        assert row["q10"] < row["q50"] < row["q90"]
    expected = 50.0 + 10.0 * np.sin(2 * np.pi * np.arange(600, 612) / 48)
    np.testing.assert_allclose([row["mean"] for row in rows], expected, atol=2.0)


def test_auto_beats_persistence_on_a_season(result: forecasting.ForecastResult) -> None:
    errors_ = {row.model: row.measures["mae"] or 0.0 for row in result.rows}
    assert errors_["auto"] < 0.5 * errors_["persistence"]


def test_weights_are_told_and_name_the_winner(result: forecasting.ForecastResult) -> None:
    assert sum(result.weights.values()) == pytest.approx(1.0)
    assert result.chosen == f"auto:{max(result.weights, key=lambda name: result.weights[name])}"


def test_without_a_backtest_there_are_no_results() -> None:
    actual = forecasting.run(make_grid(), forecasting.ForecastRequest("holt", 900.0)).as_json()
    assert (actual["results"], actual["chosen"], actual["weights"]) == ([], "holt", {})
    assert len(actual["forecast"]) == 3


def test_the_backtest_sees_the_last_part_only() -> None:
    grid = make_grid()
    actual = forecasting.run(
        grid, forecasting.ForecastRequest("persistence", 600.0, backtest=True, tested=0.25)
    )
    assert actual.tried is not None
    # 600 points, a quarter of which is 150
    assert actual.tried.means.origins[[0, -1]].tolist() == [450, 599]
    changes = np.abs(np.diff(grid.values[0, 449:])).mean()
    two = np.abs(grid.values[0, 451:] - grid.values[0, 449:-2]).mean()
    assert actual.rows[0].measures["mae"] == pytest.approx((150 * changes + 149 * two) / 299)
    assert actual.rows[0].measures["mae_at_horizon"] == pytest.approx(two)
    scale = np.abs(np.diff(grid.values[0, :450])).mean()
    assert actual.rows[0].measures["mase_at_horizon"] == pytest.approx(two / scale)


def test_of_all_models_the_best_is_taken_and_others_are_skipped_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the networks take half a minute, and are tested where they stand
    few = [entry for entry in registry.FORECASTERS.entries() if "gru" not in entry.name]
    known = registries.Registry("model", registry.ForecasterEntry, few)
    monkeypatch.setattr(registry, "FORECASTERS", known)
    seen: list[str] = []
    actual = forecasting.run(
        make_grid(50),
        forecasting.ForecastRequest("all", 600.0),
        watch=lambda name, _: seen.append(name),
    )
    tried = {row.model for row in actual.rows}
    assert tried | set(actual.skipped) == set(known)
    assert actual.skipped["regression"].startswith("regression: 35 points are too few")
    assert set(seen) == set(known)
    best = min(actual.rows, key=lambda row: row.measures["mae"] or 0.0).model
    assert actual.chosen.split(":")[0] == best


def test_a_season_can_be_given() -> None:
    grid = make_grid()
    request = forecasting.ForecastRequest("seasonal-naive", 600.0, season_s=48 * 300.0)
    ahead = forecasting.run(grid, request).ahead
    np.testing.assert_allclose(ahead.mean[0], grid.values[0, -48:-46])


def test_seconds_since_some_start_stay_seconds() -> None:
    actual = forecasting.run(make_grid(start_s=0.0), forecasting.ForecastRequest("holt", 600.0))
    assert [row["timestamp"] for row in actual.forecast_rows()] == [180000, 180300]


@pytest.mark.parametrize(
    ("request_", "points", "problem"),
    [
        (
            forecasting.ForecastRequest("prophet"),
            600,
            "model: 'prophet': must be one of persistence",
        ),
        (
            forecasting.ForecastRequest(horizon_s=1e6),
            600,
            "is 3334 steps of 5m; expected 1 to 2000",
        ),
        (forecasting.ForecastRequest(), 5, "rate: 5 points; expected at least 8"),
        (forecasting.ForecastRequest("regression"), 20, "regression: 20 points are too few"),
        (
            forecasting.ForecastRequest(horizon_s=3e4, backtest=True),
            100,
            "30 of 100 points are left to back-test",
        ),
    ],
    ids=["model", "horizon", "points", "least", "rest"],
)
def test_what_cannot_be_done_is_refused(
    request_: forecasting.ForecastRequest, points: int, problem: str
) -> None:
    with pytest.raises(errors.InputError, match=problem):
        forecasting.run(make_grid(points), request_)


def test_a_horizon_between_steps_is_rounded_up() -> None:
    assert forecasting.count_steps(301.0, 300.0) == 2
    assert forecasting.count_steps(300.0, 300.0) == 1
    assert forecasting.count_steps(0.3, 0.1) == 3
    assert forecasting.count_steps(10.0, 300.0) == 1


def test_the_page_shows_figure_backtest_and_weights(result: forecasting.ForecastResult) -> None:
    page = forecast_page.make_page(result)
    assert "<h1>Forecast of rate</h1>" in page
    assert "2 gaps, in which 5 points repeat the last value" in page
    assert "<h2>Back-test</h2>" in page
    assert "Weights of the ensemble" in page


def test_the_chart_holds_past_backtest_and_future(result: forecasting.ForecastResult) -> None:
    chart = forecast_page.make_chart(result).to_dict()
    band, line = chart["layer"]
    data = chart.get("datasets", {})
    rows, bands = (
        data[layer["data"]["name"]] if "name" in layer["data"] else layer["data"]["values"]
        for layer in (line, band)
    )
    kinds = {kind: [r for r in rows if r["line"] == kind] for kind in ("measured", "forecast")}
    assert len(kinds["measured"]) == forecast_page.POINTS
    assert len(kinds["forecast"]) == len(bands) == 12
    # milliseconds since the epoch
    assert kinds["forecast"][0]["time"] == 1000.0 * (1.7e9 + 600 * 300)
    tried = [r for r in rows if r["line"] == "back-test"]
    assert max(r["time"] for r in tried) == kinds["measured"][-1]["time"]


def test_a_series_that_never_changed_has_no_mase() -> None:
    grid = time_series.TimeGrid(("flat",), 0.0, 60.0, np.full((1, 100), 3.0))
    actual = forecasting.run(grid, forecasting.ForecastRequest(horizon_s=120.0, backtest=True))
    row = actual.rows[0].as_json()
    assert (row["mae"], row["mase"], row["coverage"]["0.9"]) == (0.0, None, 1.0)
    assert "-" in [cell for cells in forecast_page.make_table(actual).rows for cell in cells]


class _Clock:
    now_s = 0.0


@dataclass(frozen=True)
class _Compiling:
    """The last value, by a model that compiles on its first use and for each length of a series."""

    clock: _Clock
    lengths: set[int] = field(default_factory=set)
    name: str = "compiling"
    least_points: int = 1

    def fit(self, values: arrays.Floats) -> baselines.Repeated:
        if not self.lengths:
            self.clock.now_s += 100.0
        if values.shape[1] not in self.lengths:
            self.lengths.add(values.shape[1])
            self.clock.now_s += 20.0
            compile_events.durations_s.append(20.0)
        self.clock.now_s += 1.0
        return baselines.Persistence().fit(values)


def test_compiling_is_not_part_of_the_time_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    model = _Compiling(clock)
    entry = registry.ForecasterEntry("compiling", "x", lambda _: model, few=True)
    monkeypatch.setattr(compile_events, "durations_s", [])
    monkeypatch.setattr(registry.FORECASTERS, "get", lambda _: entry)
    request = forecasting.ForecastRequest("compiling", horizon_s=600.0, backtest=True)
    result = forecasting.run(make_grid(), request, clock=lambda: clock.now_s)
    assert result.rows[-1].fit_s == pytest.approx(1.0)
    # Without a clock nothing is measured, and nothing is negative.
    model.lengths.clear()
    assert forecasting.run(make_grid(), request).rows[-1].fit_s == 0.0
