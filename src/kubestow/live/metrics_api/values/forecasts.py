"""Forecast metrics, ``kubestow_forecast_METRIC``, computed from values as they arrive.

The forecast is the outlook that the scaler ``auto`` uses, one step per value. A gate back-tests it:
as long as it has not beaten persistence at the horizon, the measured value is served. A forecast
below the measured value is not served either: an autoscaler that uses a forecast never has fewer
pods than one that uses the metric itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from kubestow.live import servers
from kubestow.live.metrics_api.values.rules import ForecastRule, plural
from kubestow.live.metrics_api.values.table import (
    FullError,
    Labels,
    MetricTable,
    MetricValue,
    Subject,
)
from kubestow.live.metrics_api.values.writes import FORECAST
from kubestow.model import quantities
from kubestow.policies.forecasting import gate as forecasting_gate
from kubestow.policies.forecasting import outlook as forecasting_outlook
from kubestow.policies.scaling import startup

BASIS: Final = "kubestow.io/basis"
FORECAST_BASIS, MEASURED_BASIS = "forecast", "measured"
_LONGEST_GAP: Final = 20  # steps without a value after which a series is reset
_MOST: Final = 2000  # forecast series
_SERIES: Final = ("metric", "resource", "namespace", "object", "labels")
_GATE: Final = forecasting_gate.GateParameters()


@dataclass(frozen=True, slots=True)
class MetricForecast:
    """The served value of a series.

    Attributes:
        value: The value.
        basis: ``forecast``, or ``measured`` if the gate is closed.
        closed: Why the gate is closed; empty if it is open.
    """

    value: float
    basis: str
    closed: str


@dataclass(frozen=True, slots=True, eq=False)
class SeriesState:
    """The forecast state of a series.

    Attributes:
        outlook: State of the forecast.
        gate: Errors of past forecasts.
        last_s: Time of the newest value.
        ahead: The newest forecast.
    """

    outlook: forecasting_outlook.OutlookState
    gate: forecasting_gate.Gate
    last_s: float
    ahead: float

    def errors(self) -> tuple[float, float]:
        """Return the mean absolute errors of the forecast and of persistence; NaN if unknown."""
        if not self.gate.judged:
            return math.nan, math.nan
        memory = _GATE.memory
        weight = (1.0 - memory**self.gate.judged) / (1.0 - memory)
        return self.gate.model_loss / weight, self.gate.last_loss / weight


def advance(
    rule: ForecastRule,
    known: SeriesState | None,
    value: float,
    time_s: float,
    window_s: float = 0.0,
) -> SeriesState:
    """Update the state with a value; ignores one that is older, or closer than half a step.

    Args:
        rule: The forecast rule.
        known: The state; ``None`` before the first value.
        value: The value.
        time_s: Time of its measurement, seconds since the epoch.
        window_s: Averaging window, seconds.
    """
    steps = 1
    if known is not None:
        steps = round((time_s - known.last_s) / rule.step_s)
        if steps < 1:
            return known
    if known is None or steps > _LONGEST_GAP:
        known, steps = (
            SeriesState(forecasting_outlook.begin(), forecasting_gate.Gate(), time_s, value),
            1,
        )
    horizon = startup.steps(rule.horizon_s, rule.step_s)
    state, gate, ahead = known.outlook, known.gate, known.ahead
    for _ in range(steps):  # missed values are replaced by this one
        outlook, state = forecasting_outlook.advance(
            state,
            value,
            horizon,
            rule.step_s,
            _parameters(rule),
            window_s,
            window_s / 2.0 + rule.step_s,
        )
        gate = gate.evaluate(value, _GATE).expect(outlook.mean, value, horizon)
        ahead = outlook.mean if rule.quantile is None else outlook.upper
    return SeriesState(state, gate, time_s, ahead)


def _parameters(rule: ForecastRule) -> forecasting_outlook.OutlookParameters:
    parameters = forecasting_outlook.OutlookParameters(history_s=rule.history_s)
    return parameters if rule.quantile is None else replace(parameters, risk=1.0 - rule.quantile)


def serve(known: SeriesState, measured: float) -> MetricForecast:
    """Return the value to serve: the forecast, or the measured value."""
    closed = known.gate.closed(_GATE)
    if closed or not math.isfinite(known.ahead):
        return MetricForecast(measured, MEASURED_BASIS, closed or "there is no forecast")
    return MetricForecast(max(known.ahead, measured), FORECAST_BASIS, "")


class MetricForecaster:
    """Listens to the table, and adds forecasts to it.

    Args:
        rules: The forecast rules.
        table: Source of values, and destination of forecasts.
        metrics: Metrics to update.
    """

    def __init__(
        self, rules: tuple[ForecastRule, ...], table: MetricTable, metrics: servers.Telemetry
    ) -> None:
        self._rules = {(rule.resource, rule.metric): rule for rule in rules}
        self._table, self._known = table, dict[tuple[Subject, Labels], SeriesState]()
        self._newest: dict[tuple[Subject, Labels], float] = {}
        self._full = metrics.counter(
            "forecast_series_dropped", "Values of series beyond the limit."
        )
        self._open = metrics.gauge(
            "forecast_open", "1 while forecasts are served, 0 while measured values are.", _SERIES
        )
        self._evaluated = metrics.gauge(
            "forecasts_evaluated", "Number of evaluated forecasts.", _SERIES
        )
        self._skill = metrics.gauge("forecast_skill", "Skill against persistence.", _SERIES)
        self._errors = metrics.gauge(
            "forecast_error", "Mean absolute error at the horizon.", (*_SERIES, "of")
        )
        if rules:
            warm_up()
            table.listen(self.take)

    def take(self, subject: Subject, labels: Labels, sample: MetricValue) -> None:
        """Update the forecast of a value's series, if there is a rule for it."""
        metric = subject.metric
        rule = self._rules.get((subject.resource, metric))
        rule = rule or self._rules.get((plural(subject.resource), metric))
        if rule is None:
            return
        key = (subject, labels)
        if key not in self._known and len(self._known) >= _MOST:
            self._full.inc()
            return
        if sample.time_s < self._newest.get(key, -math.inf):
            return
        measured = float(sample.value)
        known = advance(rule, self._known.get(key), measured, sample.time_s, sample.window_s or 0.0)
        self._known[key], self._newest[key] = known, sample.time_s
        forecast = serve(known, measured)
        self._publish(subject, labels, sample, forecast)
        self._show(subject, labels, known, forecast)

    def forget(self, before_s: float) -> None:
        """Drop series without a value since a time."""
        for key in [each for each, time_s in self._newest.items() if time_s < before_s]:
            subject, labels = key
            series_labels = _series_labels(subject, labels)
            for gauge in (self._open, self._evaluated, self._skill):
                gauge.remove(*series_labels)
            for method in ("forecast", "persistence"):
                self._errors.remove(*series_labels, method)
            del self._known[key], self._newest[key]

    def _publish(
        self, subject: Subject, labels: Labels, sample: MetricValue, forecast: MetricForecast
    ) -> None:
        value = sample.value
        if forecast.basis == FORECAST_BASIS:
            value = quantities.Quantity(quantities.parse(f"{forecast.value:.9f}").nano)
        made = replace(sample, value=value, notes=((BASIS, forecast.basis),))
        metric = FORECAST + subject.metric
        targets = [(replace(subject, metric=metric), labels)]
        if subject.resource and subject.namespace:
            object_labels = (("object", subject.name), ("resource", subject.resource))
            whole = tuple(sorted({**dict(labels), **dict(object_labels)}.items()))
            targets.append((Subject("", subject.namespace, "", metric), whole))
        for target, marks in targets:
            try:
                self._table.put(target, marks, made, sample.time_s)
            except FullError:
                self._full.inc()

    def _show(
        self, subject: Subject, labels: Labels, known: SeriesState, forecast: MetricForecast
    ) -> None:
        series_labels = _series_labels(subject, labels)
        self._open.labels(*series_labels).set(float(forecast.basis == FORECAST_BASIS))
        self._evaluated.labels(*series_labels).set(known.gate.judged)
        skill = known.gate.skill
        self._skill.labels(*series_labels).set(math.nan if skill is None else skill)
        for method, error in zip(("forecast", "persistence"), known.errors(), strict=True):
            self._errors.labels(*series_labels, method).set(error)


def _series_labels(subject: Subject, labels: Labels) -> tuple[str, ...]:
    text = ",".join(f"{key}={value}" for key, value in labels)
    return subject.metric, subject.resource, subject.namespace, subject.name, text


def warm_up() -> None:
    """Compile the forecast before a request needs it."""
    rule, known = ForecastRule("warm-up"), None
    for step in range(30):
        known = advance(rule, known, float(step), step * rule.step_s)
