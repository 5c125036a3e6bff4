"""Utilisation as one number, for scalers that compare it with a threshold."""

from __future__ import annotations

import numpy as np

from kubestow.policies.scaling import observations


def mean_percent(observation: observations.ScalingObservation, metric: str) -> float | None:
    """Return the mean over pods of usage as percent of the request; ``None`` if unknown.

    Pods that failed or are being deleted do not count, nor do pods without sample or request.
    """
    reading = observation.metrics.get(metric)
    container, _, resource = metric.rpartition("/")
    requests = observation.pods.requests_milli.get((resource, container))
    if not isinstance(reading, observations.PodSamples) or requests is None:
        return None
    phases = observation.pods.phases
    counted = reading.present & (requests > 0) & ~observation.pods.deleted
    counted &= phases != observations.FAILED
    if not counted.any():
        return None
    return float(np.mean(100.0 * reading.values_milli[counted] / requests[counted]))


def utilization_level(observation: observations.ScalingObservation, metric: str) -> float | None:
    """Return the metric as one number: percent of the request, mean over pods, or the value."""
    reading = observation.metrics.get(metric)
    if isinstance(reading, observations.SingleValue):
        return sum(reading.parts_milli) / 1000.0
    percent = mean_percent(observation, metric)
    if percent is not None or not isinstance(reading, observations.PodSamples):
        return percent
    if not reading.present.any():
        return None
    return float(np.mean(reading.values_milli[reading.present])) / 1000.0
