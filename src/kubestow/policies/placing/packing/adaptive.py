"""Adaptive heuristics: the demand observed so far determines how much balance counts.

`adaptive` is ours. Schubert 2023 found that nodes should be filled when pods are large and
balanced when pods are small (section 5.1.3), and left an adaptive rule to future work. Here both
are one score, ``S1_most - lambda * angle`` as in Kubernetes-Vector-Dot, with two changes:

- lambda is not fixed at 2 but depends on the size of the pods observed so far by a power law. Size
  is the mean share times ``1 + spread * cv**2``: of two workloads with the same mean, the one with
  the longer tail has larger pods. Pods that fill a node alone do not count. A pod larger than usual
  gives more weight to the angle, a smaller one fills gaps.
- Resources are weighted by scarcity, a power of their demand relative to the most demanded one. If
  only one resource is scarce, balance is pointless and the rule becomes plain best fit.

The rule does not know items to come. Defaults and their tuning: ``parameters.AdaptiveParameters``.

`adaptive-pack` follows a suggestion of the thesis (L608, after Leinberger et al.): Permutation-Pack
with a window that shrinks as pods get larger.
"""

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled_inner, inlined
from kubestow.policies.placing.packing.states import Item

ADAPTIVE_COLUMNS = 4
"""Number of statistics that precede those per resource, see ``observe_item``."""

ALONE = 0.95
"""An item with a larger share than this of any resource is assumed to fill a node alone."""

SMALLEST = 1e-3
"""Lower bound of mean demand, as a share of a node; it also keeps powers finite."""


@inlined
def observe_item(item: Item, reference: int, statistics: arrays.Floats) -> None:
    """Add an item to the running statistics.

    Args:
        item: The item that has just arrived.
        reference: The row of shares to use.
        statistics: Number of items; then number, sum of mean shares and sum of mean squared shares
            of those that leave room for others; then the sum of shares per resource.
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


@compiled_inner
def mean_demand(statistics: arrays.Floats) -> float:
    """Return the mean share per item and resource."""
    return float(
        statistics[ADAPTIVE_COLUMNS:].sum() / (statistics[0] * (len(statistics) - ADAPTIVE_COLUMNS))
    )


@compiled_inner
def effective_demand(statistics: arrays.Floats, spread: float) -> float:
    """Return the effective size of the items that share nodes.

    That is their mean share, increased by ``spread`` times the squared coefficient of variation.
    """
    if statistics[1] == 0.0:
        return 1.0
    mean = max(SMALLEST, statistics[2] / statistics[1])
    squares = statistics[3] / statistics[1]
    return float(mean * (1.0 + spread * max(0.0, squares / (mean * mean) - 1.0)))


@inlined
def adapt_window(item: Item, statistics: arrays.Floats, parameters: arrays.Floats) -> None:
    """Set Adaptive-Pack's window: the smaller the pods observed so far, the longer the window.

    Args:
        item: The current item.
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
    """Set the weights of the blend and of the resources from the demand observed so far.

    Args:
        item: The current item; its norms are updated with the new weights.
        reference: The row of shares to use.
        statistics: As ``observe_item`` keeps them.
        parameters: Balance, pivot, exponent, steer, cap, spread, scarcity, concord and prior, as in
            ``parameters.AdaptiveParameters``.
    """
    balance, pivot, exponent, steer, cap, spread, power, concord, prior = parameters
    d = item.share.shape[1]
    # The prior assumes equal demand for all resources, with the weight of `prior` items.
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
