"""Heuristics that watch what arrives: the demand seen so far decides how much balance counts.

`adaptive` is ours. Schubert 2023 found that nodes should be filled up when pods are large and
balanced when pods are small (section 5.1.3), and left an adaptive rule to others. Here both are one
score, ``S1_most - lambda * angle`` as in Kubernetes-Vector-Dot, with two changes:

- lambda is not fixed at 2 but follows the size of the pods seen so far by a power law. Size is the
  mean share times ``1 + spread * cv**2``: of two workloads with the same mean, the one with the
  longer tail has the larger pods to think of. Pods that fill a node alone do not count. A pod
  larger than usual gives more weight to the angle, a smaller one fills gaps.
- Resources count by their scarcity, a power of their demand relative to the most demanded one. When
  one resource alone is scarce, balance is pointless and the rule turns into plain best fit.

Nothing is known about items to come. Defaults and their tuning: ``parameters.Adaptive``.

`adaptive-pack` is the thesis' hint (L608, after Leinberger et al.): Permutation-Pack with a window
that shrinks when pods get heavier.
"""

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import buried, inlined
from kubestow.policies.placing.packing.states import Item

ADAPTIVE_COLUMNS = 4
"""Running numbers before those per resource, see ``observe_item``."""

ALONE = 0.95
"""An item with a larger share than this of any resource is taken to fill a node alone."""

SMALLEST = 1e-3
"""Mean demands below a thousandth of a node are treated alike; it also keeps powers finite."""


@inlined
def observe_item(item: Item, reference: int, statistics: arrays.Floats) -> None:
    """Add an item to the running statistics.

    Args:
        item: The item that has just arrived.
        reference: The row of shares to look at.
        statistics: Number of items, then number, sum of mean shares and sum of mean squared
            shares of those that leave room for others, then the sum of shares per resource.
    """
    d = item.share.shape[1]
    statistics[0] += 1.0
    squares = 0.0
    largest = 0.0
    for j in range(d):
        share = item.share[reference, j]
        squares += share * share
        largest = max(largest, share)
        statistics[ADAPTIVE_COLUMNS + j] += share
    if largest <= ALONE:
        statistics[1] += 1.0
        statistics[2] += item.total[reference] / d
        statistics[3] += squares / d


@buried
def mean_demand(statistics: arrays.Floats) -> float:
    """Return the mean share per item and resource."""
    return float(
        statistics[ADAPTIVE_COLUMNS:].sum() / (statistics[0] * (len(statistics) - ADAPTIVE_COLUMNS))
    )


@buried
def effective_demand(statistics: arrays.Floats, spread: float) -> float:
    """Return the size of the items that share nodes.

    That is their mean share, raised by ``spread`` times the squared coefficient of variation.
    """
    if statistics[1] == 0.0:
        return 1.0
    mean = max(SMALLEST, statistics[2] / statistics[1])
    squares = statistics[3] / statistics[1]
    return float(mean * (1.0 + spread * max(0.0, squares / (mean * mean) - 1.0)))


@inlined
def adapt_window(item: Item, statistics: arrays.Floats, parameters: arrays.Floats) -> None:
    """Set Adaptive-Pack's window: the longer, the lighter the pods seen so far.

    Args:
        item: The item at hand.
        statistics: As ``observe_item`` keeps them.
        parameters: The longest window, and the mean demand at which the window vanishes.
    """
    d = item.share.shape[1]
    window = int(np.rint(d * (1.0 - mean_demand(statistics) / parameters[1])))
    item.window[0] = max(1, min(window, int(parameters[0])))


@inlined
def weigh_item(
    item: Item, reference: int, statistics: arrays.Floats, parameters: arrays.Floats
) -> None:
    """Set the weights of the blend and of the resources from the demand seen so far.

    Args:
        item: The item at hand; its norms are renewed with the new weights.
        reference: The row of shares to look at.
        statistics: As ``observe_item`` keeps them.
        parameters: Balance, pivot, exponent, steer, cap, spread, scarcity, concord and prior, as
            in ``parameters.Adaptive``.
    """
    balance, pivot, exponent, steer, cap, spread, power, concord, prior = parameters
    d = item.share.shape[1]
    # The prior says that all resources are demanded alike, as strongly as `prior` items would.
    offset = max(prior * mean_demand(statistics), 1e-12)
    largest = 0.0
    for j in range(d):
        largest = max(largest, statistics[ADAPTIVE_COLUMNS + j])
    others = -1.0
    for j in range(d):
        item.scarcity[j] = (
            (statistics[ADAPTIVE_COLUMNS + j] + offset) / (largest + offset)
        ) ** power
        others += item.scarcity[j]
    agreement = max(0.0, others / max(1, d - 1)) ** concord
    size = effective_demand(statistics, spread)
    own = max(SMALLEST, item.total[reference] / d)
    weight = balance * (pivot / size) ** exponent * (own / size) ** steer
    item.weights[0] = 1.0
    item.weights[3] = -agreement * min(cap, weight)
    for shape in range(item.share.shape[0]):
        squares = 0.0
        for j in range(d):
            value = item.share[shape, j] * item.scarcity[j]
            squares += value * value
        item.norm[shape] = np.sqrt(squares)
