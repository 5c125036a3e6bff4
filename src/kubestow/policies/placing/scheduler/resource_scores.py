"""Resource scores: LeastAllocated, MostAllocated, RequestedToCapacityRatio, BalancedAllocation.

Integers as in ``pkg/scheduler/framework/plugins/noderesources`` (1.37), to the last digit. Three
quirks are kept on purpose, because upstream has them:

* RequestedToCapacityRatio leaves a resource that scores 0 out of the weight sum as well, so a node
  at (90 %, 85 %) under a knee at 85 % scores 100, not 50.
* Pod-level requests count in the filter and in BalancedAllocation, but not in the fit score.
* From 1.36 on BalancedAllocation scores the *change* that the pod makes, around 75.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays, quantities, requests, resources
from kubestow.policies.placing import profiles
from kubestow.policies.placing.scheduler import normalization
from kubestow.policies.placing.scheduler.cycle import Cycle

_ZERO = quantities.Quantity(0)
_SHAPE_SCALE = 10  # shape scores are 0 to 10, node scores 0 to 100


@dataclass(frozen=True, slots=True)
class Use:
    """One resource on all nodes: requested before and after placing the pod, and allocatable.

    ``counts`` is false where the node does not offer the resource.
    """

    before: arrays.Ints
    after: arrays.Ints
    offered: arrays.Ints
    counts: arrays.Bools


def uses(
    cycle: Cycle,
    weighted: tuple[profiles.ResourceWeight, ...],
    requested: dict[str, quantities.Quantity],
    *,
    nonzero: bool,
) -> list[Use]:
    """Return the use of each resource that a score considers.

    Args:
        cycle: The cycle.
        weighted: The resources.
        requested: The pod's requests, as this score counts them.
        nonzero: Whether to use the scheduler's assumed minimum for CPU and memory.
    """
    state = cycle.state
    nothing = np.zeros(len(state), dtype=np.int64)
    usages = []
    for name in (w.name for w in weighted):
        amount = resources.amount(name, requested.get(name, _ZERO))
        column = state.columns.get(name)
        skipped = (amount == 0 and resources.is_scalar(name)) or not resources.is_counted(name)
        if column is None or skipped:
            usages.append(Use(nothing, nothing, nothing, nothing > 0))
            continue
        before = state.requested[:, column]
        if nonzero and name in (resources.CPU, resources.MEMORY):
            before = state.nonzero[:, 0 if name == resources.CPU else 1]
        offered = state.allocatable[:, column]
        usages.append(Use(before, before + amount, offered, offered != 0))
    return usages


def allocation(cycle: Cycle) -> arrays.Ints:
    """Score nodes by the scoring strategy of NodeResourcesFit."""
    args = cycle.profile.fit
    rules = requests.RequestRules(pod_level=False, assumed=requests.ASSUMED)
    requested = requests.pod_requests(cycle.pod, rules)
    usages = uses(cycle, args.resources, requested, nonzero=True)
    total = np.zeros(len(cycle.state), dtype=np.int64)
    weights = np.zeros(len(cycle.state), dtype=np.int64)
    for weighted, use in zip(args.resources, usages, strict=True):
        score = np.where(use.counts, _resource_score(args, use), 0)
        counts = use.counts & (score > 0) if args.strategy == profiles.RATIO else use.counts
        total += weighted.weight * score
        weights += weighted.weight * counts
    if args.strategy == profiles.RATIO:
        # math.Round of the quotient, in integers.
        return (2 * total + weights) // np.maximum(2 * weights, 1)
    return total // np.maximum(weights, 1)


def _resource_score(args: profiles.FitArgs, use: Use) -> arrays.Ints:
    offered = np.maximum(use.offered, 1)  # the score is not used where the node offers none
    full = use.after > use.offered
    if args.strategy == profiles.LEAST:
        return np.where(full, 0, (offered - use.after) * normalization.MAX_SCORE // offered)
    if args.strategy == profiles.MOST:
        return np.minimum(use.after, offered) * normalization.MAX_SCORE // offered
    percent = np.where(full, 100, use.after * 100 // offered)
    return shape_value(args.shape, percent)


def shape_value(shape: tuple[profiles.ShapePoint, ...], percent: arrays.Ints) -> arrays.Ints:
    """Evaluate a piecewise linear function in Go's integer arithmetic, scaled to 0..100."""
    points = [(point.utilization, point.score * _SHAPE_SCALE) for point in shape]
    value = np.full_like(percent, points[-1][1])
    for (x0, y0), (x1, y1) in reversed(list(itertools.pairwise(points))):
        rise = normalization.truncating_divide((y1 - y0) * (percent - x0), x1 - x0)
        value = np.where(percent <= x1, y0 + rise, value)
    return np.where(percent <= points[0][0], points[0][1], value)


def balance(cycle: Cycle) -> arrays.Ints | None:
    """Score nodes by how evenly their resources are allocated (NodeResourcesBalancedAllocation)."""
    weighted = cycle.profile.balanced.resources
    rules = requests.RequestRules(
        use_status=cycle.features.resized_pods, pod_level=cycle.features.pod_level
    )
    requested = requests.pod_requests(cycle.pod, rules)
    if cycle.features.best_effort_unbalanced and not any(
        resources.amount(w.name, requested.get(w.name, _ZERO)) for w in weighted
    ):
        return None
    usages = uses(cycle, weighted, requested, nonzero=False)
    after = _evenness([(use.after, use) for use in usages], len(cycle.state))
    if not cycle.features.balance_change:
        return after
    before = _evenness([(use.before, use) for use in usages], len(cycle.state))
    half = normalization.MAX_SCORE // 2
    return half + normalization.truncating_divide(half + after - before, 2)


def _evenness(amounts: list[tuple[arrays.Ints, Use]], count: int) -> arrays.Ints:
    """Return ``int((1 - standard deviation) * 100)`` of the allocated fractions of each node."""
    fractions = [
        np.where(use.counts, np.minimum(amount / np.maximum(use.offered, 1), 1.0), 0.0)
        for amount, use in amounts
    ]
    number = np.zeros(count, dtype=np.int64)
    total = np.zeros(count)
    for fraction, (_, use) in zip(fractions, amounts, strict=True):
        number += use.counts
        total += fraction
    mean = total / np.maximum(number, 1)
    squares = np.zeros(count)
    pair = np.zeros(count)  # first minus second fraction, for nodes with exactly two
    counted = np.zeros(count, dtype=np.int64)
    for fraction, (_, use) in zip(fractions, amounts, strict=True):
        squares += np.where(use.counts, (fraction - mean) * (fraction - mean), 0.0)
        pair = np.where(use.counts, np.where(counted == 0, fraction, pair - fraction), pair)
        counted += use.counts
    deviation = np.where(number == 2, np.abs(pair / 2), np.sqrt(squares / np.maximum(number, 1)))
    deviation = np.where(number < 2, 0.0, deviation)
    return ((1 - deviation) * float(normalization.MAX_SCORE)).astype(np.int64)
