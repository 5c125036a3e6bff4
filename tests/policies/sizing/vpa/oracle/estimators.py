"""From histograms to requests: percentile, margin, trust in the history, floor.

From ``pkg/recommender/logic`` (VPA 1.7). With ``t`` days of history the bounds are
``1.15 P50 (1 + 0.001/t)^-2`` and ``1.15 P95 (1 + 1/t)``, the target is ``1.15 P90``; each is cut
to a whole number after every step and never below the floor of the pod over its containers.
"""

from __future__ import annotations

from typing import Final

from kubestow.policies.sizing.vpa.recommender import amounts, floats
from kubestow.policies.sizing.vpa.recommender.banks import Estimate
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters, floors
from tests.policies.sizing.vpa.oracle import instants
from tests.policies.sizing.vpa.oracle.aggregates import Aggregate

# Multiplier and exponent of the confidence factor (1 + multiplier / confidence) ** exponent.
LOWER_CONFIDENCE: Final = (0.001, -2)
UPPER_CONFIDENCE: Final = (1.0, 1)


def confidence(aggregate: Aggregate, interval_s: float) -> float:
    """Return how far a history can be trusted: days of it, by time and by number of samples."""
    interval_ns = instants.from_seconds(interval_s)
    lifespan_ns = instants.between(aggregate.first_ns, aggregate.last_ns)
    by_count = float(aggregate.count) / instants.minutes(interval_ns)
    return min(instants.ratio(lifespan_ns, interval_ns), by_count)


def confidence_factor(trust: float, multiplier: float, exponent: int) -> float:
    """Return what a bound is multiplied by.

    >>> confidence_factor(0.5, *UPPER_CONFIDENCE), confidence_factor(1.0, *UPPER_CONFIDENCE)
    (3.0, 2.0)
    >>> confidence_factor(0.0, *UPPER_CONFIDENCE), confidence_factor(0.0, *LOWER_CONFIDENCE)
    (inf, 0.0)
    """
    share = multiplier / trust if trust else float("inf")
    return floats.power(1.0 + share, exponent)


def with_margin(amount: int, margin: float) -> int:
    """Add the safety margin, itself cut to a whole.

    >>> with_margin(101, 0.15)
    116
    """
    return amount + amounts.scale(amount, margin)


def estimate(aggregate: Aggregate, parameters: VpaParameters, containers: int) -> Estimate:
    """Estimate requests from a history.

    Args:
        aggregate: The history of all containers of one name.
        parameters: Percentiles, margin, confidence intervals, floors.
        containers: How many containers of the pod get a recommendation.
    """
    least_cpu_m, least_memory = floors(parameters, containers)
    trust_cpu = confidence(aggregate, parameters.cpu_confidence_s)
    trust_memory = confidence(aggregate, parameters.memory_confidence_s)

    def cpu(share: float) -> int:
        return with_margin(amounts.from_cores(aggregate.cpu.percentile(share)), parameters.margin)

    def memory(share: float) -> int:
        amount = amounts.from_float(aggregate.memory.percentile(share))
        return with_margin(amount, parameters.margin)

    def bound(amount: int, trust: float, rule: tuple[float, int], least: int) -> int:
        return max(amounts.scale(amount, confidence_factor(trust, *rule)), least)

    p = parameters
    return Estimate(
        max(cpu(p.target_cpu_percentile), least_cpu_m),
        max(memory(p.target_memory_percentile), least_memory),
        bound(cpu(p.lower_cpu_percentile), trust_cpu, LOWER_CONFIDENCE, least_cpu_m),
        bound(memory(p.lower_memory_percentile), trust_memory, LOWER_CONFIDENCE, least_memory),
        bound(cpu(p.upper_cpu_percentile), trust_cpu, UPPER_CONFIDENCE, least_cpu_m),
        bound(memory(p.upper_memory_percentile), trust_memory, UPPER_CONFIDENCE, least_memory),
    )
