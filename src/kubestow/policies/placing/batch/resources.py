"""Compiled resource scores: fit and balance, and their incremental update between pods.

Loops run over the nodes of one resource at a time, so that the compiler can vectorize them;
integers are kept as floating point for the same reason.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.policies.compiling import compiled, inlined
from kubestow.policies.placing.batch.tables import (
    BatchBlock,
    BatchNodes,
    BatchRules,
    Cache,
    Classes,
    Room,
)

LEAST, MOST, RATIO = 0, 1, 2
# Positions in ``BatchRules.weights``.
TAINTS, AFFINITY, FIT, SPREAD, PODS, BALANCE, IMAGES = range(7)
UNPLACED = -1


@inlined
def whole_quotient(numerator: float, denominator: float) -> float:
    """Divide integers exactly and drop the fraction.

    Correctly rounded division can only err by reaching the next integer; the remainder shows this.
    Exact while 100 x the amount stays below 2**53.
    """
    quotient: float = np.floor(numerator / denominator)
    return quotient - 1.0 if numerator - quotient * denominator < 0.0 else quotient


@inlined
def shape_value(rules: BatchRules, percent: float) -> float:
    """Evaluate the shape; the division truncates towards zero like Go's."""
    xs, ys = rules.shape_x, rules.shape_y
    if percent <= xs[0]:
        return float(ys[0])
    for i in range(1, len(xs)):
        if percent <= xs[i]:
            rise = (ys[i] - ys[i - 1]) * (percent - xs[i - 1])
            return float(ys[i - 1] + np.trunc(rise / (xs[i] - xs[i - 1])))
    return float(ys[-1])


@inlined
def add_fit_scores(
    rules: BatchRules,
    nodes: BatchNodes,
    classes: Classes,
    c: int,
    buffers: Room,
    low: int,
    high: int,
) -> None:
    """Add the weighted score of NodeResourcesFit for the nodes ``low`` to ``high``."""
    total, weights = buffers.total, buffers.number
    total[low:high] = 0.0
    weights[low:high] = 0.0
    for i in range(len(rules.fit_column)):
        amount = classes.fit_amount[c, i]
        if rules.fit_column[i] < 0 or amount < 0:
            continue
        column, source, weight = rules.fit_column[i], rules.fit_source[i], rules.fit_weight[i]
        for row in range(low, high):
            offered = nodes.offered[column, row]
            capacity = offered if offered > 0.0 else 1.0
            after = nodes.used[source, row] + amount
            after = capacity if after > capacity else after
            part = capacity - after if rules.strategy == LEAST else after
            score = whole_quotient(part * 100.0, capacity)
            if rules.strategy == RATIO:
                score = shape_value(rules, score)
            counts = offered > 0.0 and (rules.strategy != RATIO or score > 0.0)
            total[row] += weight * score if counts else 0.0
            weights[row] += weight if counts else 0.0
    factor = float(rules.weights[FIT])
    for row in range(low, high):
        sum_of_weights = weights[row] if weights[row] > 0.0 else 1.0
        if rules.strategy == RATIO:
            mean = whole_quotient(2.0 * total[row] + weights[row], 2.0 * sum_of_weights)
        else:
            mean = whole_quotient(total[row], sum_of_weights)
        buffers.score[row] += factor * mean


@inlined
def write_evenness(
    rules: BatchRules,
    nodes: BatchNodes,
    amounts: Floats,
    share: float,
    buffers: Room,
    even: Floats,
    low: int,
    high: int,
) -> None:
    """Write ``int((1 - deviation) * 100)`` with (``share`` = 1) or without (0) the pod.

    Args:
        rules: The profile.
        nodes: The nodes.
        amounts: The pod's request of each resource; a negative value omits the resource.
        share: Whether the pod counts.
        buffers: Buffers for intermediate results.
        even: Filled with the evenness of each node.
        low: First node.
        high: One after the last node.
    """
    total, number, first, last = buffers.total, buffers.number, buffers.first, buffers.last
    for row in range(low, high):
        total[row] = number[row] = first[row] = last[row] = 0.0
    considered = 0
    for i in range(len(rules.balanced_column)):
        if rules.balanced_column[i] < 0 or amounts[i] < 0.0:
            continue
        considered += 1
        amount = share * amounts[i]
        column = rules.balanced_column[i]
        for row in range(low, high):
            counts = nodes.offered[column, row] > 0.0
            full = nodes.offered[column, row] if counts else 1.0
            fraction = (nodes.used[column, row] + amount) / full
            fraction = 1.0 if fraction > 1.0 else fraction
            buffers.fractions[i, row] = fraction if counts else -1.0
            first[row] = fraction if counts and number[row] == 0.0 else first[row]
            last[row] = fraction if counts else last[row]
            total[row] += fraction if counts else 0.0
            number[row] += 1.0 if counts else 0.0
    if considered > 2:
        write_deviations(rules, amounts, buffers, low, high)
    else:
        for row in range(low, high):
            buffers.deviation[row] = 0.0
    for row in range(low, high):
        # Upstream has a special case for two resources, which can differ in the last bit.
        pair = abs((first[row] - last[row]) / 2.0)
        deviation = pair if number[row] == 2.0 else buffers.deviation[row]
        even[row] = np.floor((1.0 - deviation) * 100.0)


@inlined
def write_deviations(
    rules: BatchRules, amounts: Floats, buffers: Room, low: int, high: int
) -> None:
    """Write the standard deviation of the allocated fractions of each node; 0 for one or none."""
    mean, deviation = buffers.mean, buffers.deviation
    for row in range(low, high):
        mean[row] = buffers.total[row] / (buffers.number[row] if buffers.number[row] > 0.0 else 1.0)
        deviation[row] = 0.0
    for i in range(len(rules.balanced_column)):
        if rules.balanced_column[i] < 0 or amounts[i] < 0.0:
            continue
        for row in range(low, high):
            fraction = buffers.fractions[i, row]
            distance = fraction - mean[row]
            deviation[row] += distance * distance if fraction >= 0.0 else 0.0
    for row in range(low, high):
        number = buffers.number[row] if buffers.number[row] > 0.0 else 1.0
        deviation[row] = np.sqrt(deviation[row] / number) if number > 1.0 else 0.0


@inlined
def add_balance(
    rules: BatchRules,
    nodes: BatchNodes,
    classes: Classes,
    c: int,
    buffers: Room,
    low: int,
    high: int,
) -> None:
    """Add the weighted score of BalancedAllocation, or of its change."""
    factor = float(rules.weights[BALANCE])
    write_evenness(rules, nodes, classes.balanced_amount[c], 1.0, buffers, buffers.after, low, high)
    if not rules.balance_change:
        for row in range(low, high):
            buffers.score[row] += factor * buffers.after[row]
        return
    before = nodes.evenness[classes.balance_set[c]]
    for row in range(low, high):
        # The sum is never negative, so floor truncates like Go.
        buffers.score[row] += factor * (
            50.0 + np.floor((50.0 + buffers.after[row] - before[row]) / 2.0)
        )


@inlined
def refresh_range(
    rules: BatchRules,
    nodes: BatchNodes,
    classes: Classes,
    c: int,
    buffers: Room,
    fits: Bools,
    score: Floats,
    low: int,
    high: int,
) -> None:
    """Compute fit and resource scores of a class for the nodes ``low`` to ``high``."""
    for row in range(low, high):
        fits[row] = classes.possible[c] or not rules.filter_fit
        buffers.score[row] = 0.0
    if rules.filter_fit:
        for j in range(len(nodes.offered)):
            amount = classes.requested[c, j]
            if amount > 0.0:
                for row in range(low, high):
                    fits[row] &= amount <= nodes.offered[j, row] - nodes.used[j, row]
    if rules.weights[FIT] > 0:
        add_fit_scores(rules, nodes, classes, c, buffers, low, high)
    if rules.weights[BALANCE] > 0 and classes.balanced[c]:
        add_balance(rules, nodes, classes, c, buffers, low, high)
    for row in range(low, high):
        score[row] = buffers.score[row]


@compiled
def refresh(
    rules: BatchRules,
    nodes: BatchNodes,
    classes: Classes,
    c: int,
    log: Ints,
    done: int,
    cache: Cache,
    slot: int,
    buffers: Room,
    block: BatchBlock,
) -> None:
    """Update the cached resource scores of a class."""
    since = cache.read_until[slot]
    cache.read_until[slot] = done
    count = nodes.offered.shape[1]
    if classes.slot[c] < 0 or since < 0 or 2 * (done - since) > count:
        fits, score = cache.fits[slot], cache.score[slot]
        refresh_range(rules, nodes, classes, c, buffers, fits, score, 0, count)
        return
    # Changed nodes are gathered contiguously, so that loops over them vectorize too.
    changed = 0
    for index in range(since, done):
        row = log[index]
        if row == UNPLACED:
            continue
        block.rows[changed] = row
        for j in range(len(nodes.offered)):
            block.nodes.offered[j, changed] = nodes.offered[j, row]
        for j in range(len(nodes.used)):
            block.nodes.used[j, changed] = nodes.used[j, row]
        for j in range(len(nodes.evenness)):
            block.nodes.evenness[j, changed] = nodes.evenness[j, row]
        changed += 1
    refresh_range(rules, block.nodes, classes, c, buffers, block.fits, block.score, 0, changed)
    for k in range(changed):
        cache.fits[slot, block.rows[k]] = block.fits[k]
        cache.score[slot, block.rows[k]] = block.score[k]


@inlined
def write_before(rules: BatchRules, nodes: BatchNodes, low: int, high: int, buffers: Room) -> None:
    """Update the current balance of nodes, for each set of resources in use."""
    if rules.balance_change:
        for index in range(len(rules.balance_sets)):
            write_evenness(
                rules,
                nodes,
                rules.balance_sets[index],
                0.0,
                buffers,
                nodes.evenness[index],
                low,
                high,
            )
