"""Parses written values: path, value, and time of measurement."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kubestow.live.metrics_api import paths
from kubestow.live.metrics_api.values.table import Labels, MetricValue
from kubestow.model import decoding, quantities
from kubestow.model import selectors as model_selectors

WRITE_PREFIX: Final = "write-metrics"
FORECAST: Final = "kubestow_forecast_"
MAX_WRITE_BYTES: Final = 1024
_LONGEST: Final = 100  # characters of a value
_AHEAD_S: Final = 30.0  # clocks differ
_OLDEST_S: Final = 7 * 86400.0
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_OBJECT = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.:]{0,251}[A-Za-z0-9])?")
_METRIC = re.compile(r"[A-Za-z_]([-A-Za-z0-9_.:~/|]{0,251}[A-Za-z0-9_])?")


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """The subject of a written value, with the resource as the client named it."""

    resource: str
    namespace: str
    name: str
    metric: str


def read_target(parts: list[str]) -> WriteTarget:
    """Read the parts of a path.

    Raises:
        LookupError: If the path is not one for values.
        ValueError: If a name is invalid.
    """
    match parts:
        case ["write-metrics", "namespaces", namespace, "metrics", metric]:
            target = WriteTarget(paths.NAMESPACES, "", namespace, metric)
        case ["write-metrics", "namespaces", namespace, resource, name, metric]:
            target = WriteTarget(resource, namespace, name, metric)
        case ["write-metrics", resource, name, metric]:
            target = WriteTarget(resource, "", name, metric)
        case _:
            raise LookupError("expected /write-metrics/[namespaces/NAMESPACE/]TYPE/NAME/METRIC")
    for name in filter(None, (target.namespace, target.name)):
        if not _OBJECT.fullmatch(name):
            raise ValueError(f"{name[:60]!r}: expected the name of an object")
    if not _METRIC.fullmatch(target.metric):
        raise ValueError(f"{target.metric[:60]!r}: expected the name of a metric")
    if target.metric.startswith(FORECAST):
        raise ValueError(f"{target.metric[:60]!r}: forecasts are made here, not written")
    return target


def read_value(body: bytes) -> quantities.Quantity:
    """Read a value: a JSON number, or a JSON string with a quantity such as ``"10500u"``.

    Numbers are read as decimals, not as floating point.

    Raises:
        ValueError: If it is neither.
    """
    problem = 'expected a JSON number, or a quantity such as "500m"'
    try:
        text = body.decode().strip()
        if text.startswith('"'):
            text = json.loads(text)
        elif not _NUMBER.fullmatch(text):
            raise ValueError(problem)
    except ValueError:
        raise ValueError(f"{body[:40]!r}: {problem}") from None
    if len(text) > _LONGEST:
        raise ValueError(f"a value of {len(text)} characters; {problem}")
    return quantities.parse(text)


def read_metric_value(body: bytes, query: Mapping[str, str], now_s: float) -> MetricValue:
    """Read a value with time and window of its measurement.

    Args:
        body: The value.
        query: ``timestamp`` (RFC 3339, or seconds since the epoch) and ``window`` (a duration).
        now_s: Current time, seconds since the epoch.

    Raises:
        ValueError: If a part is invalid.
    """
    time_s = _read_time(query["timestamp"]) if "timestamp" in query else now_s
    if not now_s - _OLDEST_S <= time_s <= now_s + _AHEAD_S:
        raise ValueError(f"timestamp {query.get('timestamp')!r}: too far from now")
    window_s = decoding.duration_seconds(query["window"]) if "window" in query else None
    return MetricValue(read_value(body), time_s, window_s)


def _read_time(text: str) -> float:
    try:
        # An unencoded plus arrives as a space.
        time = dt.datetime.fromisoformat(text.replace(" ", "+"))
        if time.tzinfo is not None:
            return time.timestamp()
    except ValueError:
        pass
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise ValueError(f"timestamp {text[:60]!r}: expected RFC 3339 or seconds since the epoch")
    return seconds


def read_labels(text: str) -> Labels:
    """Read labels of a metric: ``k=v,k2=v2``.

    Raises:
        ValueError: If they are malformed.
    """
    labels: dict[str, str] = {}
    for each in decoding.parse_selector(text).requirements:
        if each.operator != model_selectors.IN or len(each.values) != 1 or each.key in labels:
            raise ValueError(f"labels {text[:60]!r}: expected NAME=VALUE,NAME=VALUE")
        labels[each.key] = each.values[0]
    return tuple(sorted(labels.items()))
