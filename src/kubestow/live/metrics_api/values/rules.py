"""Rules for metrics that are polled from Prometheus or forecast, from a YAML file.

```yaml
metrics:
- name: requests_per_second        # of pods, named by labels of the result
  query: sum by (namespace, pod) (rate(http_requests_total[1m]))
  resource: pods
  object: pod
  namespaceLabel: namespace
  interval: 15s
- name: queue_depth                # external: without a resource
  query: sum by (queue) (queue_depth)
  namespace: shop
forecasts:
- metric: queue_depth              # served as kubestow_forecast_queue_depth
  horizon: 90s
  step: 15s
  quantile: 0.9
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kubestow.live.metrics_api.values.writes import FORECAST
from kubestow.model import decoding, errors
from kubestow.model.decoding import Field
from kubestow.sources import manifests

_INTERVAL_S: Final = 15.0
_HORIZON_S: Final = 90.0
_HISTORY_S: Final = 6 * 3600.0
_MOST_STEPS: Final = 95  # maximum horizon of an outlook


@dataclass(frozen=True, slots=True)
class PollRule:
    """A metric that is polled from Prometheus.

    Attributes:
        name: Name of the metric.
        query: The query in PromQL.
        interval_s: Pause between two queries, seconds.
        resource: Resource of the described objects; empty for an external metric.
        object_label: Label of the result with the object's name.
        namespace_label: Label of the result with the namespace.
        namespace: The namespace, if no label has it.
        window_s: Window over which the query measures, seconds; shown to clients.
        newest: PromQL for the time of the newest sample of each series, with the same labels;
            without it the time of the query is used.
    """

    name: str
    query: str
    interval_s: float = _INTERVAL_S
    resource: str = ""
    object_label: str = ""
    namespace_label: str = ""
    namespace: str = ""
    window_s: float | None = None
    newest: str = ""


@dataclass(frozen=True, slots=True)
class ForecastRule:
    """A metric that is forecast.

    Attributes:
        metric: The metric, from any source.
        resource: Resource of the described objects, e.g. ``services``; empty for an external
            metric.
        horizon_s: Forecast horizon, seconds.
        step_s: Time between two values, seconds.
        quantile: Quantile of the demand until the horizon to serve; ``None`` for the mean.
        history_s: History for learning a season, first read from Prometheus, seconds.
    """

    metric: str
    resource: str = ""
    horizon_s: float = _HORIZON_S
    step_s: float = _INTERVAL_S
    quantile: float | None = None
    history_s: float = _HISTORY_S


@dataclass(frozen=True, slots=True)
class MetricRules:
    """All rules of a file."""

    polls: tuple[PollRule, ...] = ()
    forecasts: tuple[ForecastRule, ...] = ()

    def forecast_of(self, rule: PollRule) -> ForecastRule | None:
        """Return the forecast rule of a polled metric; ``None`` if it is not forecast."""
        key = (rule.name, plural(rule.resource))
        return next(
            (each for each in self.forecasts if (each.metric, plural(each.resource)) == key),
            None,
        )


def plural(resource: str) -> str:
    """Return a resource without its group.

    >>> plural("deployments.apps")
    'deployments'
    """
    return resource.partition(".")[0]


def read_rules(source: str) -> MetricRules:
    """Read the rules of a file.

    Raises:
        InputError: If it is malformed.
    """
    documents = manifests.read_documents(source)
    if len(documents) != 1:
        raise errors.InputError(source, f"{len(documents)} documents; expected one")
    return parse(Field(documents[0].value, documents[0].place))


def parse(field: Field) -> MetricRules:
    """Read the rules of a document.

    Raises:
        InputError: If it is malformed.
    """
    _refuse_others(field, ("metrics", "forecasts"))
    polls = tuple(_read_poll(each) for each in field["metrics"].items())
    forecasts = tuple(_read_forecast(each) for each in field["forecasts"].items())
    keys = [(each.name, each.resource) for each in polls]
    forecast_keys = [(each.metric, each.resource) for each in forecasts]
    for part, given in (("metrics", keys), ("forecasts", forecast_keys)):
        if len(set(given)) != len(given):
            raise field[part].refuse("expected each metric of a resource once")
    return MetricRules(polls, forecasts)


def _read_poll(field: Field) -> PollRule:
    known = ("name", "query", "interval", "resource", "object", "namespaceLabel", "namespace")
    _refuse_others(field, (*known, "window", "newest"))
    rule = PollRule(
        name=field["name"].text(),
        query=field["query"].text(),
        interval_s=_duration(field["interval"], _INTERVAL_S),
        resource=field["resource"].text(""),
        object_label=field["object"].text(""),
        namespace_label=field["namespaceLabel"].text(""),
        namespace=field["namespace"].text(""),
        window_s=None if field["window"].missing else _duration(field["window"], 0.0),
        newest=field["newest"].text(""),
    )
    if rule.name.startswith(FORECAST):
        raise field["name"].refuse("expected another prefix: it is reserved for forecasts")
    if bool(rule.resource) != bool(rule.object_label):
        raise field.refuse("expected both resource and object, or neither for an external metric")
    if not rule.resource and not (rule.namespace or rule.namespace_label):
        raise field.refuse("expected namespace or namespaceLabel for an external metric")
    return rule


def _read_forecast(field: Field) -> ForecastRule:
    _refuse_others(field, ("metric", "resource", "horizon", "step", "quantile", "history"))
    quantile = None if field["quantile"].missing else field["quantile"].number()
    if quantile is not None and not 0.5 <= quantile <= 0.99:
        raise field["quantile"].refuse("expected a number from 0.5 to 0.99")
    rule = ForecastRule(
        metric=field["metric"].text(),
        resource=field["resource"].text(""),
        horizon_s=_duration(field["horizon"], _HORIZON_S),
        step_s=_duration(field["step"], _INTERVAL_S),
        quantile=quantile,
        history_s=_duration(field["history"], _HISTORY_S),
    )
    if rule.horizon_s > _MOST_STEPS * rule.step_s:
        raise field["horizon"].refuse(f"expected at most {_MOST_STEPS} steps")
    return rule


def _duration(field: Field, default_s: float) -> float:
    if field.missing:
        return default_s
    seconds = decoding.parse_duration(field)
    if seconds < 1.0:
        raise field.refuse("expected at least 1s")
    return seconds


def _refuse_others(field: Field, known: tuple[str, ...]) -> None:
    for name in field.mapping():
        if name not in known:
            raise field.refuse(f"{name!r} is not known; expected {', '.join(known)}")
