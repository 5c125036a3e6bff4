"""Rules for what is asked of a Prometheus, and for what is forecast, from a YAML file.

```yaml
metrics:
- name: requests_per_second        # of pods: labels of the answer tell which
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
_MOST_STEPS: Final = 95  # an outlook looks no further


@dataclass(frozen=True, slots=True)
class PollRule:
    """A metric that is asked of a Prometheus.

    Attributes:
        name: Name of the metric.
        query: The question in PromQL.
        interval_s: Pause between two questions.
        resource: Kind of objects it is about; empty for an external metric.
        object_label: Label of the answer with the object's name.
        namespace_label: Label of the answer with the namespace.
        namespace: The namespace, where no label tells.
        window_s: Over how long the query measures, to be shown.
        newest: PromQL for when the newest sample behind each series was measured, with the same
            labels; without it the time of the question is taken.
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
    """A metric that is looked ahead.

    Attributes:
        metric: The metric, wherever its values come from.
        resource: Kind of objects it is about, e.g. ``services``; empty for an external metric.
        horizon_s: How far to look ahead.
        step_s: Time between two values.
        quantile: Which quantile of demand until then is served; ``None`` for the expected one.
        history_s: How far back a season is learnt, and Prometheus is asked at first.
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
        """Return the rule by which a polled metric is looked ahead; ``None`` if it is not."""
        wanted = (rule.name, plural(rule.resource))
        return next(
            (each for each in self.forecasts if (each.metric, plural(each.resource)) == wanted),
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
        InputError: If something is wrong with it.
    """
    found = manifests.read_documents(source)
    if len(found) != 1:
        raise errors.InputError(source, f"{len(found)} documents; expected one")
    return parse(Field(found[0].value, found[0].place))


def parse(field: Field) -> MetricRules:
    """Read the rules of a document.

    Raises:
        InputError: If something is wrong with it.
    """
    _refuse_others(field, ("metrics", "forecasts"))
    polls = tuple(_read_poll(each) for each in field["metrics"].items())
    forecasts = tuple(_read_forecast(each) for each in field["forecasts"].items())
    keys = [(each.name, each.resource) for each in polls]
    ahead = [(each.metric, each.resource) for each in forecasts]
    for part, given in (("metrics", keys), ("forecasts", ahead)):
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
        raise field["name"].refuse("forecasts are made here, not asked for")
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
    found = decoding.parse_duration(field)
    if found < 1.0:
        raise field.refuse("expected at least 1s")
    return found


def _refuse_others(field: Field, known: tuple[str, ...]) -> None:
    for name in field.mapping():
        if name not in known:
            raise field.refuse(f"{name!r} is not known; expected {', '.join(known)}")
