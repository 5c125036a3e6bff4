"""Heuristics that watch what arrives: the running demand decides how much balance counts.

`adaptive` is ours. Schubert 2023 found that nodes should be filled up when pods are large and
balanced when pods are small (section 5.1.3), and left an adaptive rule to others. Here both are one
score, ``S1_most - lambda * angle``, as in Kubernetes-Vector-Dot, where lambda is not fixed at 2 but
follows the mean demand of the pods seen so far: a power law, tuned on settings that
``studies.adaptive_packing`` keeps apart from those it is judged on.
"""

import numpy as np

from kubestow.policies.placing.packing import instances
from kubestow.policies.placing.packing.compiling import compiled

FloatArray = instances.FloatArray


@compiled
def observe(share: FloatArray, statistics: FloatArray) -> None:
    """Add an item to the running statistics.

    Args:
        share: The item as shares of every shape; the first row is the reference.
        statistics: Number of items, then the sum of shares per resource.
    """
    statistics[0] += 1.0
    for j in range(share.shape[1]):
        statistics[1 + j] += share[0, j]


@compiled
def mean_demand(statistics: FloatArray) -> float:
    """Return the mean share per resource and item."""
    total = 0.0
    for j in range(1, len(statistics)):
        total += statistics[j]
    return total / (statistics[0] * (len(statistics) - 1))


@compiled
def largest_demand(statistics: FloatArray) -> float:
    """Return the mean share per item of the resource that is asked for most."""
    largest = 0.0
    for j in range(1, len(statistics)):
        largest = max(largest, statistics[j])
    return largest / statistics[0]


@compiled
def adapt_window(statistics: FloatArray, d: int, parameters: FloatArray) -> int:
    """Return Adaptive-Pack's window: the longer, the lighter the pods seen so far.

    Args:
        statistics: As ``observe`` keeps them.
        d: Number of resources.
        parameters: The longest window, and the mean demand at which the window vanishes.
    """
    window = int(np.rint(d * (1.0 - mean_demand(statistics) / parameters[1])))
    return max(1, min(window, int(parameters[0]), d))


@compiled
def blend_weights(statistics: FloatArray, parameters: FloatArray, weights: FloatArray) -> None:
    """Set the weights of the blend from the demand seen so far.

    Args:
        statistics: As ``observe`` keeps them.
        parameters: Lambda at the pivot, the pivot's mean demand, the exponent.
        weights: Set to mean utilisation 1, angle minus lambda.
    """
    if parameters[3] > 0:
        demand = largest_demand(statistics)
    else:
        demand = mean_demand(statistics)
    weights[0] = 1.0
    weights[1] = 0.0
    weights[2] = 0.0
    weights[3] = -parameters[0] * (parameters[1] / max(demand, 1e-3)) ** parameters[2]
