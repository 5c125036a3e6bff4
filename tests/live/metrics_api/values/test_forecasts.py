"""Forecasts: served while they beat persistence, and never below what was measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kubestow.live.metrics_api.values import forecasts
from kubestow.live.metrics_api.values.forecasts import (
    FORECAST_BASIS,
    MEASURED_BASIS,
    MetricForecaster,
)
from kubestow.live.metrics_api.values.rules import ForecastRule
from kubestow.live.metrics_api.values.table import MetricTable, MetricValue, Subject
from kubestow.live.servers import telemetry
from kubestow.model import quantities
from kubestow.model.arrays import Floats
from kubestow.model.selectors import LabelSelector

RULE = ForecastRule("load", "services", horizon_s=60.0, step_s=5.0)
WEB = Subject("services", "shop", "web", "load")


def learn(values: Floats, rule: ForecastRule = RULE) -> forecasts.SeriesState:
    known = None
    for step, value in enumerate(values):
        known = forecasts.advance(rule, known, float(value), 1000.0 + step * rule.step_s)
    assert known is not None
    return known


def rising(count: int = 60) -> Floats:
    steps = np.arange(float(count))
    return np.asarray(100.0 + 5.0 * steps + np.sin(7.0 * steps))


def test_a_rise_is_foretold() -> None:
    values = rising()
    result = forecasts.serve(learn(values), values[-1])
    assert (result.basis, result.closed) == (FORECAST_BASIS, "")
    # 12 steps of 5, damped by 0.9 each: 5 * (0.9 + ... + 0.9^12) = 5 * 6.46 = 32.3.
    assert result.value == pytest.approx(values[-1] + 32.3, abs=4.0)


@pytest.mark.parametrize("count", [1, 5, 20])
def test_without_evidence_the_measured_value_is_served(count: int) -> None:
    values = rising(count)
    result = forecasts.serve(learn(values), values[-1])
    assert (result.value, result.basis) == (values[-1], MEASURED_BASIS)
    assert "of 10 forecasts judged" in result.closed


def test_a_random_walk_is_not_foretold() -> None:
    draws = np.random.default_rng(7).normal(size=400)
    values = 500.0 + np.cumsum(draws)
    known = learn(values)
    result = forecasts.serve(known, values[-1])
    assert result.basis == MEASURED_BASIS
    assert result.value == values[-1]
    assert "skill" in result.closed


@pytest.mark.parametrize(
    "values",
    [np.full(80, 7.0), np.zeros(80), 10.0 * np.arange(80), 900.0 - 10.0 * np.arange(80)],
    ids=["constant", "nothing", "exact-line", "fall"],
)
def test_what_is_served_is_never_below_what_was_measured(values: Floats) -> None:
    known = None
    for step, value in enumerate(values):
        known = forecasts.advance(RULE, known, float(value), step * RULE.step_s)
        result = forecasts.serve(known, float(value))
        assert math.isfinite(result.value)
        assert result.value >= value


def test_a_quantile_is_above_the_expected_value() -> None:
    noise = np.random.default_rng(3).normal(scale=15.0, size=400)
    values = 300.0 + noise
    plain = learn(values)
    upper = learn(values, ForecastRule("load", "services", 60.0, 5.0, 0.9))
    # Noise around a level: smoothing beats persistence, so the gate is open.
    assert forecasts.serve(plain, 0.0).basis == FORECAST_BASIS
    assert forecasts.serve(plain, 0.0).value == pytest.approx(300.0, abs=8.0)
    # The largest of 12 draws stays below its 90 % quantile, about 300 + 2.4 * 15 = 336.
    assert forecasts.serve(upper, 0.0).value == pytest.approx(336.0, abs=12.0)


def test_values_that_come_too_soon_or_too_late_teach_nothing() -> None:
    known = forecasts.advance(RULE, None, 1.0, 100.0)
    assert forecasts.advance(RULE, known, 9.0, 102.0) is known
    assert forecasts.advance(RULE, known, 9.0, 90.0) is known
    assert forecasts.advance(RULE, known, 9.0, 105.0).last_s == 105.0


def test_a_value_after_a_gap_stands_for_those_that_were_missed() -> None:
    known = learn(rising(10))
    later = forecasts.advance(RULE, known, 1.0, known.last_s + 4 * RULE.step_s)
    assert later.outlook.tracks.shape[1] == known.outlook.tracks.shape[1] + 4
    anew = forecasts.advance(RULE, known, 1.0, known.last_s + 21 * RULE.step_s)
    assert anew.outlook.tracks.shape[1] == 1


def test_the_forecast_is_served_for_the_object_and_as_an_external_metric() -> None:
    metrics = telemetry.Telemetry("test")
    table = MetricTable(metrics)
    forecaster = MetricForecaster((RULE,), table, metrics)
    values = rising()
    for step, value in enumerate(values):
        sample = MetricValue(quantities.parse(f"{value:.3f}"), 1000.0 + step * RULE.step_s)
        table.put(WEB, (), sample, sample.time_s)
    now_s = 1000.0 + 59 * RULE.step_s
    ahead = Subject("services", "shop", "web", "kubestow_forecast_load")
    ((_, own),) = table.find(ahead, LabelSelector(), now_s)
    external = Subject("", "shop", "", "kubestow_forecast_load")
    ((labels, whole),) = table.find(external, LabelSelector(), now_s)
    assert labels == (("object", "web"), ("resource", "services"))
    assert own == whole
    assert own.time_s == now_s
    assert own.notes == (("kubestow.io/basis", "forecast"),)
    assert float(own.value) > values[-1] + 20.0
    text = metrics.write().decode()
    series = 'labels="",metric="load",namespace="shop",object="web"'
    assert f'kubestow_test_forecast_open{{{series},resource="services"}} 1.0' in text
    assert f'kubestow_test_forecasts_evaluated{{{series},resource="services"}} 48.0' in text
    assert f'kubestow_test_forecast_error{{{series},of="persistence",resource="services"}}' in text
    forecaster.forget(now_s + 1.0)
    assert "forecast_open{" not in metrics.write().decode()


def test_metrics_without_a_rule_are_left_alone() -> None:
    metrics = telemetry.Telemetry("test")
    table = MetricTable(metrics)
    MetricForecaster((RULE,), table, metrics)
    for other in (Subject("pods", "shop", "web", "load"), Subject("services", "shop", "web", "x")):
        table.put(other, (), MetricValue(quantities.units(1), 1000.0), 1000.0)
    assert len(table) == 2


def test_errors_are_means_of_evaluated_forecasts() -> None:
    # Persistence is 12 steps of 5 behind: 60.
    _, persistence = learn(np.linspace(100.0, 395.0, 60)).errors()
    assert persistence == pytest.approx(60.0)
    assert math.isnan(learn(rising(3)).errors()[0])
