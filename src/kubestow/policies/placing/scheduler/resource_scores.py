"""Scores on resources: LeastAllocated, MostAllocated, RequestedToCapacityRatio, BalancedAllocation.

Integers as in ``pkg/scheduler/framework/plugins/noderesources`` (1.37), to the last digit. Three
traps are kept on purpose, because the baseline has them:

* RequestedToCapacityRatio leaves a resource that scores 0 out of the weight sum, too, so a node at
  (90 %, 85 %) under a knee at 85 % scores 100, not 50.
* Pod-level requests count in the filter and in the balance, but not in the score of the fit.
* From 1.36 on the balance score is about the *change* the pod makes, around 75.
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
    """One resource over the nodes: before and after placing the pod, against what is there.

    ``counts`` is false where the resource plays no part: the node has none of it.
    """

    before: arrays.Ints
    after: arrays.Ints
    offered: arrays.Ints
    counts: arrays.Bools


def uses(
    cycle: Cycle,
    weighted: tuple[profiles.ResourceWeight, ...],
    wanted: dict[str, quantities.Quantity],
    *,
    nonzero: bool,
) -> list[Use]:
    """Return the use of each resource a score looks at.

    Args:
        cycle: The cycle.
        weighted: The resources.
        wanted: What the pod requests, as this score sees it.
        nonzero: Whether CPU and memory are taken with the scheduler's assumptions.
    """
    state = cycle.state
    nothing = np.zeros(len(state), dtype=np.int64)
    found = []
    for name in (w.name for w in weighted):
        amount = resources.amount(name, wanted.get(name, _ZERO))
        column = state.columns.get(name)
        skipped = (amount == 0 and resources.is_scalar(name)) or not resources.is_counted(name)
        if column is None or skipped:
            found.append(Use(nothing, nothing, nothing, nothing > 0))
            continue
        before = state.requested[:, column]
        if nonzero and name in (resources.CPU, resources.MEMORY):
            before = state.nonzero[:, 0 if name == resources.CPU else 1]
        offered = state.allocatable[:, column]
        found.append(Use(before, before + amount, offered, offered != 0))
    return found


def allocation(cycle: Cycle) -> arrays.Ints:
    """Score nodes by the strategy of NodeResourcesFit."""
    args = cycle.profile.fit
    rules = requests.RequestRules(pod_level=False, assumed=requests.ASSUMED)
    wanted = requests.pod_requests(cycle.pod, rules)
    found = uses(cycle, args.resources, wanted, nonzero=True)
    total = np.zeros(len(cycle.state), dtype=np.int64)
    weights = np.zeros(len(cycle.state), dtype=np.int64)
    for weighted, use in zip(args.resources, found, strict=True):
        score = np.where(use.counts, _resource_score(args, use), 0)
        counts = use.counts & (score > 0) if args.strategy == profiles.RATIO else use.counts
        total += weighted.weight * score
        weights += weighted.weight * counts
    if args.strategy == profiles.RATIO:
        # math.Round of the quotient, in integers.
        return (2 * total + weights) // np.maximum(2 * weights, 1)
    return total // np.maximum(weights, 1)


def _resource_score(args: profiles.FitArgs, use: Use) -> arrays.Ints:
    offered = np.maximum(use.offered, 1)  # where nothing is offered the score is not used
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
    """Score nodes by how evenly their resources are used (NodeResourcesBalancedAllocation)."""
    weighted = cycle.profile.balanced.resources
    rules = requests.RequestRules(
        use_status=cycle.features.resized_pods, pod_level=cycle.features.pod_level
    )
    wanted = requests.pod_requests(cycle.pod, rules)
    if cycle.features.best_effort_unbalanced and not any(
        resources.amount(w.name, wanted.get(w.name, _ZERO)) for w in weighted
    ):
        return None
    found = uses(cycle, weighted, wanted, nonzero=False)
    after = _evenness([(use.after, use) for use in found], len(cycle.state))
    if not cycle.features.balance_change:
        return after
    before = _evenness([(use.before, use) for use in found], len(cycle.state))
    half = normalization.MAX_SCORE // 2
    return half + normalization.truncating_divide(half + after - before, 2)


def _evenness(amounts: list[tuple[arrays.Ints, Use]], count: int) -> arrays.Ints:
    """Return ``int((1 - standard deviation) * 100)`` of the used fractions of each node."""
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
    pair = np.zeros(count)  # first minus second fraction, for nodes that have just two
    seen = np.zeros(count, dtype=np.int64)
    for fraction, (_, use) in zip(fractions, amounts, strict=True):
        squares += np.where(use.counts, (fraction - mean) * (fraction - mean), 0.0)
        pair = np.where(use.counts, np.where(seen == 0, fraction, pair - fraction), pair)
        seen += use.counts
    deviation = np.where(number == 2, np.abs(pair / 2), np.sqrt(squares / np.maximum(number, 1)))
    deviation = np.where(number < 2, 0.0, deviation)
    return ((1 - deviation) * float(normalization.MAX_SCORE)).astype(np.int64)
