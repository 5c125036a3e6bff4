"""Exact JSON of aggregates and containers, so that a restarted host loses nothing."""

from __future__ import annotations

from typing import Any

from kubestow.model import fields
from kubestow.policies.sizing.vpa import aggregates
from kubestow.policies.sizing.vpa.aggregates import Aggregate
from kubestow.policies.sizing.vpa.containers import Container
from kubestow.policies.sizing.vpa.histograms import DecayingHistogram
from kubestow.policies.sizing.vpa.parameters import Gathering

_INSTANTS = ("first_ns", "last_ns", "count", "created_ns")
_CONTAINER = ("last_cpu_ns", "last_memory_ns", "window_end_ns", "peak_bytes", "oom_peak_bytes")


def write_aggregate(aggregate: Aggregate) -> dict[str, Any]:
    """Return an aggregate as plain values."""
    return {
        "cpu": _write_histogram(aggregate.cpu),
        "memory": _write_histogram(aggregate.memory),
        **{name: getattr(aggregate, name) for name in _INSTANTS},
    }


def read_aggregate(saved: fields.Field, gathering: Gathering) -> Aggregate:
    """Read what ``write_aggregate`` returned."""
    aggregate = aggregates.make(gathering)
    _read_histogram(aggregate.cpu, saved["cpu"])
    _read_histogram(aggregate.memory, saved["memory"])
    for name in _INSTANTS:
        setattr(aggregate, name, saved[name].integer())
    return aggregate


def write_container(container: Container) -> list[int]:
    """Return a container as a list of numbers."""
    return [getattr(container, name) for name in _CONTAINER]


def read_container(saved: fields.Field) -> Container:
    """Read what ``write_container`` returned."""
    numbers = [item.integer() for item in saved.items()]
    if len(numbers) != len(_CONTAINER):
        raise saved.refuse(f"expected {len(_CONTAINER)} numbers")
    return Container(*numbers)


def _write_histogram(histogram: DecayingHistogram) -> dict[str, Any]:
    plain = histogram.plain
    return {
        "reference_ns": histogram.reference_ns,
        "total": plain.total,
        "first": plain.first,
        "last": plain.last,
        "weights": {str(n): weight for n, weight in enumerate(plain.weights) if weight},
    }


def _read_histogram(histogram: DecayingHistogram, saved: fields.Field) -> None:
    plain = histogram.plain
    most = plain.buckets.count - 1
    histogram.reference_ns = saved["reference_ns"].integer()
    plain.total = _number(saved["total"])
    plain.first = saved["first"].integer(least=0, most=most)
    plain.last = saved["last"].integer(least=0, most=most)
    for name, weight in saved["weights"].members():
        if not name.isdecimal() or int(name) > most:
            raise weight.refuse(f"expected a bucket from 0 to {most} as key")
        plain.weights[int(name)] = _number(weight)


def _number(saved: fields.Field) -> float:
    if isinstance(saved.value, bool) or not isinstance(saved.value, int | float):
        raise saved.refuse("expected a number")
    return float(saved.value)
