"""Native histograms of Kubernetes components, read from protobuf.

The classic histograms of the API server have few buckets: a webhook took less than 5 ms, less than
25 ms, or longer. Since 1.37 the same times are also counted in buckets that are 9 % wide, which
only the protobuf form of ``/metrics`` contains (KEP-5808). Field numbers are those of
``io/prometheus/client/metrics.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final

ACCEPT: Final = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # wire types

Value = int | float | bytes
Edges = dict[float, float]
"""Cumulative counts by upper bound in seconds; the last counts all."""


def read(content: bytes, name: str, labels: Mapping[str, str]) -> Edges:
    """Return the sum of all histograms of a name that have these labels.

    Args:
        content: Response of a component to a request with ``ACCEPT``.
        name: Name of the metric.
        labels: Required labels; others are ignored.

    Raises:
        KeyError: If there is no such histogram.
    """
    widths: dict[float, float] = {}
    for family in _families(content):
        fields = list(_fields(family))
        if (1, name.encode()) not in fields:
            continue
        for metric in (value for number, value in fields if number == 4):
            parts = list(_fields(_bytes(metric)))
            pairs = dict(_label(_bytes(value)) for number, value in parts if number == 1)
            if labels.items() <= pairs.items():
                for number, value in parts:
                    if number == 7:
                        _add(_bytes(value), widths)
    if not widths:
        raise KeyError(f"no histogram {name} with {dict(labels)}")
    total, edges = 0.0, {}
    for edge in sorted(widths):
        total += widths[edge]
        edges[edge] = total
    return edges


def quantile(edges: Mapping[float, float], share: float) -> float:
    """Return a quantile of a histogram, with linear interpolation between its edges.

    Args:
        edges: Cumulative counts by upper bound.
        share: Quantile between 0 and 1.
    """
    listed = sorted(edges)
    rank, below, last = share * edges[listed[-1]], 0.0, 0.0
    for edge in listed:
        if edges[edge] >= rank:
            part = (rank - below) / max(edges[edge] - below, 1e-9)
            return last if edge == float("inf") else last + part * (edge - last)
        below, last = edges[edge], edge
    return last


def _add(histogram: bytes, widths: dict[float, float]) -> None:
    """Add the counts of one histogram, which are encoded as differences between buckets."""
    fields = list(_fields(histogram))
    schema = next((_signed(_int(value)) for number, value in fields if number == 5), 0)
    base = 2.0 ** (2.0**-schema)
    zero = next((float(_int(value)) for number, value in fields if number == 7), 0.0)
    widths[0.0] = widths.get(0.0, 0.0) + zero
    steps = iter(_steps(fields))
    index, count = 0, 0
    for span in (_bytes(value) for number, value in fields if number == 12):
        parts = dict(_fields(span))
        index += _signed(_int(parts.get(1, 0)))
        for _ in range(_int(parts.get(2, 0))):
            count += next(steps)
            widths[base**index] = widths.get(base**index, 0.0) + count
            index += 1


def _steps(fields: list[tuple[int, Value]]) -> Iterator[int]:
    for number, value in fields:
        if number == 13:
            if isinstance(value, bytes):  # packed
                at = 0
                while at < len(value):
                    step, at = _varint(value, at)
                    yield _signed(step)
            else:
                yield _signed(_int(value))


def _families(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        length, at = _varint(content, at)
        yield content[at : at + length]
        at += length


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            whole, at = _varint(message, at)
            yield number, whole
        elif wire_type == _BYTES:
            length, at = _varint(message, at)
            yield number, message[at : at + length]
            at += length
        elif wire_type in (_EIGHT, _FOUR):
            length, shape = (8, "<d") if wire_type == _EIGHT else (4, "<f")
            yield number, float(struct.unpack_from(shape, message, at)[0])
            at += length
        else:
            raise ValueError(f"not protobuf: wire type {wire_type} at {at}")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _signed(value: int) -> int:
    """Decode a zigzag-encoded integer."""
    return (value >> 1) ^ -(value & 1)


def _label(pair: bytes) -> tuple[str, str]:
    parts = dict(_fields(pair))
    return _bytes(parts.get(1, b"")).decode(), _bytes(parts.get(2, b"")).decode()


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"not protobuf: {value!r} where a message was expected")
    return value


def _int(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(f"not protobuf: {value!r} where a whole number was expected")
    return value
