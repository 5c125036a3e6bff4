"""Checkpoints: aggregates as upstream keeps them in VerticalPodAutoscalerCheckpoint objects.

Weights are written as whole numbers up to 10000, relative to the heaviest bucket, and instants in
whole seconds, so that a restored history is close to the saved one but not equal
(``SaveToChekpoint`` in ``pkg/recommender/util/histogram.go``, VPA 1.7).
"""

from __future__ import annotations

import math
from typing import Any, Final

from kubestow.model import decoding, errors
from kubestow.policies.sizing.vpa.recommender.parameters import Gathering
from tests.policies.sizing.vpa.oracle import aggregates, instants
from tests.policies.sizing.vpa.oracle.aggregates import Aggregate
from tests.policies.sizing.vpa.oracle.histograms import DecayingHistogram, Histogram

VERSION: Final = "v3"
MOST_WEIGHT: Final = 10_000


def save(aggregate: Aggregate, now_ns: int) -> dict[str, Any]:
    """Return an aggregate in the shape of a checkpoint's status."""
    return {
        "lastUpdateTime": instants.to_text(now_ns),
        "version": VERSION,
        "cpuHistogram": save_histogram(aggregate.cpu),
        "memoryHistogram": save_histogram(aggregate.memory),
        "firstSampleStart": instants.to_text(aggregate.first_ns),
        "lastSampleStart": instants.to_text(aggregate.last_ns),
        "totalSamplesCount": aggregate.count,
    }


def load(status: decoding.Field, gathering: Gathering, now_ns: int) -> Aggregate:
    """Read a checkpoint's status.

    Raises:
        InputError: If it has another version or its histograms do not fit.
    """
    status["version"].choice((VERSION,))
    aggregate = aggregates.make(gathering, now_ns)
    aggregate.count = status["totalSamplesCount"].integer(0)
    aggregate.first_ns = _instant(status["firstSampleStart"])
    aggregate.last_ns = _instant(status["lastSampleStart"])
    load_histogram(aggregate.memory, status["memoryHistogram"])
    load_histogram(aggregate.cpu, status["cpuHistogram"])
    return aggregate


def save_histogram(histogram: DecayingHistogram) -> dict[str, Any]:
    """Return a histogram in the shape of a checkpoint."""
    saved = save_weights(histogram.plain)
    saved["referenceTimestamp"] = instants.to_text(histogram.reference_ns)
    return saved


def save_weights(histogram: Histogram) -> dict[str, Any]:
    """Return weights relative to the heaviest, without those that round to zero."""
    used = range(histogram.first, histogram.last + 1)
    heaviest = max((histogram.weights[bucket] for bucket in used), default=0.0)
    weights = {}
    if heaviest > 0.0:
        factor = float(MOST_WEIGHT) / heaviest
        for bucket in used:
            weight = math.floor(histogram.weights[bucket] * factor + 0.5)
            if weight > 0:
                weights[str(bucket)] = weight
    return {"bucketWeights": weights, "totalWeight": histogram.total}


def load_histogram(histogram: DecayingHistogram, saved: decoding.Field) -> None:
    """Add the weights of a checkpoint to a histogram and take over its reference instant."""
    load_weights(histogram.plain, saved)
    histogram.reference_ns = _instant(saved["referenceTimestamp"])


def load_weights(histogram: Histogram, saved: decoding.Field) -> None:
    """Add the weights of a checkpoint to a histogram."""
    if saved.missing:
        raise saved.refuse("expected a mapping")
    total = _number(saved["totalWeight"])
    weights = {
        _bucket(name, histogram, member): member.integer(least=0)
        for name, member in saved["bucketWeights"].members()
    }
    whole = sum(weights.values())
    if whole == 0:
        return
    factor = total / float(whole)
    for bucket, weight in weights.items():
        histogram.first = min(histogram.first, bucket)
        histogram.last = max(histogram.last, bucket)
        histogram.weights[bucket] += float(weight) * factor
    histogram.total += total
    # Weights next to epsilon may have fallen below it by rounding.
    histogram.tighten()


def _bucket(name: str, histogram: Histogram, member: decoding.Field) -> int:
    most = histogram.buckets.count - 1
    if not name.isdecimal() or int(name) > most:
        raise errors.InputError(
            f"{member.place}: {member.path}", f"{name!r}: expected a bucket from 0 to {most}"
        )
    return int(name)


def _number(field: decoding.Field) -> float:
    if field.missing:
        return 0.0
    if isinstance(field.value, bool) or not isinstance(field.value, int | float):
        raise field.refuse("expected a number")
    if field.value < 0:
        raise field.refuse("must be >= 0")
    return float(field.value)


def _instant(field: decoding.Field) -> int:
    if field.missing:
        return instants.UNSET_NS
    try:
        return instants.from_text(field.text())
    except ValueError as err:
        raise field.refuse("expected an instant such as 2023-11-14T22:13:20Z") from err


_INSTANTS = ("first_ns", "last_ns", "count", "created_ns")
_CONTAINER = ("last_cpu_ns", "last_memory_ns", "window_end_ns", "peak_bytes", "oom_peak_bytes")
