"""Metrics of the time to come: ``kubestow_forecast_METRIC``, made of values as they arrive.

The forecast is the outlook that the scaler ``auto`` goes by, one step per value. A gate judges it
by its own past: as long as it has not beaten persistence at the horizon, what is served is the
value that was measured. A forecast below the measured value is not served either: an autoscaler
that goes by a forecast never has fewer pods than one that goes by the metric itself.
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
_LONGEST_GAP: Final = 20  # steps without a value after which a series begins anew
_MOST: Final = 2000  # series that are looked ahead
_SERIES: Final = ("metric", "resource", "namespace", "object", "labels")
_GATE: Final = forecasting_gate.GateParameters()


@dataclass(frozen=True, slots=True)
class MetricForecast:
    """What is served for a series.

    Attributes:
        value: The value.
        basis: ``forecast``, or ``measured`` if the gate is closed.
        closed: Why the gate is closed; empty if it is open.
    """

    value: float
    basis: str
    closed: str


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What is known of a series.

    Attributes:
        outlook: What the forecast has learnt.
        gate: How its forecasts turned out.
        last_s: When the newest value was measured.
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


def take(
    rule: ForecastRule, known: Learnt | None, value: float, time_s: float, window_s: float = 0.0
) -> Learnt:
    """Take in a value; one that is older, or closer than half a step, teaches nothing.

    Args:
        rule: How to look ahead.
        known: What is known; ``None`` before the first value.
        value: The value.
        time_s: When it was measured.
        window_s: Over how long.
    """
    steps = 1
    if known is not None:
        steps = round((time_s - known.last_s) / rule.step_s)
        if steps < 1:
            return known
    if known is None or steps > _LONGEST_GAP:
        known, steps = (
            Learnt(forecasting_outlook.begin(), forecasting_gate.Gate(), time_s, value),
            1,
        )
    horizon = startup.steps(rule.horizon_s, rule.step_s)
    state, gate, ahead = known.outlook, known.gate, known.ahead
    for _ in range(steps):  # a value that was missed is taken for this one
        found, state = forecasting_outlook.advance(
            state,
            value,
            horizon,
            rule.step_s,
            _parameters(rule),
            window_s,
            window_s / 2.0 + rule.step_s,
        )
        gate = gate.evaluate(value, _GATE).expect(found.mean, value, horizon)
        ahead = found.mean if rule.quantile is None else found.upper
    return Learnt(state, gate, time_s, ahead)


def _parameters(rule: ForecastRule) -> forecasting_outlook.OutlookParameters:
    plain = forecasting_outlook.OutlookParameters(history_s=rule.history_s)
    return plain if rule.quantile is None else replace(plain, risk=1.0 - rule.quantile)


def serve(known: Learnt, measured: float) -> MetricForecast:
    """Return what to serve beside a measured value."""
    closed = known.gate.closed(_GATE)
    if closed or not math.isfinite(known.ahead):
        return MetricForecast(measured, MEASURED_BASIS, closed or "there is no forecast")
    return MetricForecast(max(known.ahead, measured), FORECAST_BASIS, "")


class MetricForecaster:
    """Follows the book, and puts forecasts into it.

    Args:
        rules: What to look ahead.
        book: Where values come from and forecasts go to.
        metrics: Where the errors of forecasts are shown.
    """

    def __init__(
        self, rules: tuple[ForecastRule, ...], book: MetricTable, metrics: servers.Telemetry
    ) -> None:
        self._rules = {(rule.resource, rule.metric): rule for rule in rules}
        self._book, self._known = book, dict[tuple[Subject, Labels], Learnt]()
        self._newest: dict[tuple[Subject, Labels], float] = {}
        self._full = metrics.counter("forecasts_left_out", "Values of series beyond the limit.")
        self._open = metrics.gauge(
            "forecast_open", "1 while forecasts are served, 0 while measured values are.", _SERIES
        )
        self._judged = metrics.gauge("forecast_judged", "Forecasts that were judged.", _SERIES)
        self._skill = metrics.gauge("forecast_skill", "Skill against persistence.", _SERIES)
        self._errors = metrics.gauge(
            "forecast_error", "Mean absolute error at the horizon.", (*_SERIES, "of")
        )
        if rules:
            warm_up()
            book.listen(self.take)

    def take(self, subject: Subject, labels: Labels, reading: MetricValue) -> None:
        """Take in a value, if a rule is about it."""
        metric = subject.metric
        rule = self._rules.get((subject.resource, metric))
        rule = rule or self._rules.get((plural(subject.resource), metric))
        if rule is None:
            return
        key = (subject, labels)
        if key not in self._known and len(self._known) >= _MOST:
            self._full.inc()
            return
        if reading.time_s < self._newest.get(key, -math.inf):
            return
        measured = float(reading.value)
        known = take(rule, self._known.get(key), measured, reading.time_s, reading.window_s or 0.0)
        self._known[key], self._newest[key] = known, reading.time_s
        found = serve(known, measured)
        self._publish(subject, labels, reading, found)
        self._show(subject, labels, known, found)

    def forget(self, before_s: float) -> None:
        """Forget series without a value since a time."""
        for key in [each for each, time_s in self._newest.items() if time_s < before_s]:
            subject, labels = key
            shown = _shown(subject, labels)
            for gauge in (self._open, self._judged, self._skill):
                gauge.remove(*shown)
            for whose in ("forecast", "persistence"):
                self._errors.remove(*shown, whose)
            del self._known[key], self._newest[key]

    def _publish(
        self, subject: Subject, labels: Labels, reading: MetricValue, found: MetricForecast
    ) -> None:
        value = reading.value
        if found.basis == FORECAST_BASIS:
            value = quantities.Quantity(quantities.parse(f"{found.value:.9f}").nano)
        made = replace(reading, value=value, notes=((BASIS, found.basis),))
        metric = FORECAST + subject.metric
        targets = [(replace(subject, metric=metric), labels)]
        if subject.resource and subject.namespace:
            own = (("object", subject.name), ("resource", subject.resource))
            whole = tuple(sorted({**dict(labels), **dict(own)}.items()))
            targets.append((Subject("", subject.namespace, "", metric), whole))
        for target, marks in targets:
            try:
                self._book.put(target, marks, made, reading.time_s)
            except FullError:
                self._full.inc()

    def _show(self, subject: Subject, labels: Labels, known: Learnt, found: MetricForecast) -> None:
        shown = _shown(subject, labels)
        self._open.labels(*shown).set(float(found.basis == FORECAST_BASIS))
        self._judged.labels(*shown).set(known.gate.judged)
        skill = known.gate.skill
        self._skill.labels(*shown).set(math.nan if skill is None else skill)
        for whose, error in zip(("forecast", "persistence"), known.errors(), strict=True):
            self._errors.labels(*shown, whose).set(error)


def _shown(subject: Subject, labels: Labels) -> tuple[str, ...]:
    text = ",".join(f"{key}={value}" for key, value in labels)
    return subject.metric, subject.resource, subject.namespace, subject.name, text


def warm_up() -> None:
    """Let the forecast be compiled before anyone waits for it."""
    rule, known = ForecastRule("warm-up"), None
    for step in range(30):
        known = take(rule, known, float(step), step * rule.step_s)
