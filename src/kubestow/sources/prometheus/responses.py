"""Strict decoding of Prometheus' JSON responses.

The format is that of the HTTP API v1 (prometheus.io/docs/prometheus/latest/querying/api): values
are strings, because JSON has no NaN; times are seconds with three decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import transport as transports

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted by name: the identity of a series."""

_MOST_SHOWN = 300  # characters of a server's own message
_HISTOGRAMS = (
    "returned native histograms; expected numbers, e.g. of histogram_quantile or rate of _count"
)

Shape = TypeVar("Shape")


class InstantSample(NamedTuple):
    """One value of an instant query.

    Attributes:
        labels: Identity of the series.
        time_s: Time of the query, not of the measurement.
        value: The value; may be NaN.
    """

    labels: Labels
    time_s: float
    value: float


class Vector(NamedTuple):
    """The response to an instant query.

    Attributes:
        samples: One sample per series.
        warnings: Warnings of the server.
        took_s: Duration of the query in seconds.
    """

    samples: tuple[InstantSample, ...]
    warnings: tuple[str, ...] = ()
    took_s: float = 0.0


class SeriesRow(NamedTuple):
    """One series of a range query.

    Attributes:
        labels: Identity of the series.
        times_ms: Times in milliseconds since the epoch, ascending.
        values: The values; may be NaN.
    """

    labels: Labels
    times_ms: NDArray[np.int64]
    values: NDArray[np.float64]


class Matrix(NamedTuple):
    """The response to a range query."""

    rows: tuple[SeriesRow, ...]
    warnings: tuple[str, ...] = ()


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Body(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error: str = ""
    error_type: str = ""
    warnings: list[str] = []


class _Point(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None


class _Line(msgspec.Struct):
    """A series whose values are texts, as Prometheus sends them."""

    metric: dict[str, str]
    values: list[tuple[float, str]] | None = None
    histograms: list[Any] | None = None


class _FiniteLine(msgspec.Struct):
    """A series whose values are finite; decoded without a text for each of them."""

    metric: dict[str, str]
    values: list[tuple[float, float]]


def read_vector(place: str, reply: transports.HttpReply) -> Vector:
    """Decode the response to an instant query.

    Raises:
        ReadError: If the server refused, or the result is neither a vector nor a scalar.
    """
    body, data = _open(place, reply)
    warnings = tuple(body.warnings)
    if data.result_type == "scalar":
        time_s, text = _decode(place, data.result, tuple[float, str])
        return Vector((InstantSample((), time_s, _number(place, text)),), warnings)
    if data.result_type != "vector":
        problem = f"returned a {data.result_type}; expected a vector or a scalar"
        raise faults.ReadError(place, problem, faults.REFUSED)
    points = _decode(place, data.result, list[_Point])
    return Vector(tuple(_sample(place, point) for point in points), warnings)


def _sample(place: str, point: _Point) -> InstantSample:
    if point.value is None:
        raise faults.ReadError(place, _HISTOGRAMS, faults.REFUSED)
    time_s, text = point.value
    return InstantSample(_identity(point.metric), time_s, _number(place, text))


def read_matrix(place: str, reply: transports.HttpReply) -> Matrix:
    """Decode the response to a range query.

    Raises:
        ReadError: If the server refused, or the result is not a matrix.
    """
    body, data = _open(place, reply)
    if data.result_type != "matrix":
        problem = f"returned a {data.result_type}; expected a matrix"
        raise faults.ReadError(place, problem, faults.REFUSED)
    # One series at a time: as objects, the points of a whole page would take 30 times their size.
    lines = _decode(place, data.result, list[msgspec.Raw])
    return Matrix(tuple(_row(place, line) for line in lines), tuple(body.warnings))


def _row(place: str, raw: msgspec.Raw) -> SeriesRow:
    try:
        line = msgspec.json.decode(raw, type=_FiniteLine, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _unusual_row(place, raw)
    points = np.array(line.values, dtype=np.float64).reshape(-1, 2)
    times_ms = np.rint(points[:, 0] * 1000.0).astype(np.int64)
    return SeriesRow(_identity(line.metric), times_ms, np.ascontiguousarray(points[:, 1]))


def _unusual_row(place: str, raw: msgspec.Raw) -> SeriesRow:
    """Decode a series with infinite values, with none, or of another shape."""
    line = _decode(place, raw, _Line)
    if line.histograms is not None or line.values is None:
        raise faults.ReadError(place, _HISTOGRAMS, faults.REFUSED)
    times_s, texts = zip(*line.values, strict=True) if line.values else ((), ())
    times_ms = np.rint(np.array(times_s, dtype=np.float64) * 1000.0).astype(np.int64)
    return SeriesRow(_identity(line.metric), times_ms, _numbers(place, texts))


def _numbers(place: str, texts: Sequence[str]) -> NDArray[np.float64]:
    try:
        return np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return np.array([_number(place, text) for text in texts])  # names the invalid one


def _open(place: str, reply: transports.HttpReply) -> tuple[_Body, _Data]:
    """Return the envelope and its data."""
    try:
        body = msgspec.json.decode(reply.body, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        body = None
    if body is not None and body.status == "error":
        problem = f"{body.error_type or 'error'}: {shorten_response(body.error)}"
        raise faults.ReadError(place, f"answered {reply.status}: {problem}", faults.REFUSED)
    if reply.status != 200:
        answered = f"answered {reply.status} {shorten_response(reply.reason)}".rstrip()
        raise faults.ReadError(place, answered, faults.REFUSED)
    if body is None or body.status != "success" or body.data is None:
        problem = "response is not from Prometheus; expected JSON with status and data"
        raise faults.ReadError(place, problem, faults.UNREADABLE)
    return body, body.data


def _decode(place: str, raw: msgspec.Raw, shape: type[Shape]) -> Shape:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as err:
        problem = f"response is not from Prometheus: {err}"
        raise faults.ReadError(place, problem, faults.UNREADABLE) from None


def _number(place: str, text: str) -> float:
    try:
        return float(text)  # accepts NaN, +Inf and -Inf
    except ValueError:
        problem = f"{text[:40]!r}: expected a number"
        raise faults.ReadError(place, problem, faults.UNREADABLE) from None


def _identity(metric: dict[str, str]) -> Labels:
    return tuple(sorted(metric.items()))


def series_name(labels: Labels, unnamed: str = "{}") -> str:
    """Format labels as a series in PromQL notation.

    >>> series_name((("__name__", "up"), ("job", "a")))
    'up{job="a"}'
    """
    metric = dict(labels).get("__name__", "")
    others = ",".join(f'{key}="{value}"' for key, value in labels if key != "__name__")
    if others:
        return f"{metric}{{{others}}}"
    return metric or unnamed


def shorten_response(text: str) -> str:
    """Return a server's text as one line of limited length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 3] + "..."


def join_warnings(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return each warning once, in order of appearance."""
    return tuple(dict.fromkeys(warning for part in parts for warning in part))
