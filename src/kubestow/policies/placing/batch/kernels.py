"""The compiled scheduling cycle: many pods, one after another, without leaving the kernel.

It makes the same choices as ``scheduler.Scheduler`` (the tests compare them), but gives no
reasons. Between two pods of a class only the nodes that changed are scored again.
"""

from __future__ import annotations

import math

import numpy as np

from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.policies.compiling import compiled, compiled_finite
from kubestow.policies.placing.batch.resources import (
    AFFINITY,
    IMAGES,
    PODS,
    SPREAD,
    TAINTS,
    UNPLACED,
    refresh,
    whole_quotient,
    write_before,
)
from kubestow.policies.placing.batch.tables import (
    BatchBlock,
    BatchNodes,
    BatchRules,
    Cache,
    Classes,
    Links,
    Room,
    Statics,
    Tallies,
)


@compiled
def apply_filters(tallies: Tallies, links: Links, c: int, feasible: Bools) -> None:
    """Filter out nodes by pod affinity, host ports and hard spread constraints."""
    for index in range(links.repelled_first[c], links.repelled_first[c + 1]):
        t = links.repelled[index]
        if tallies.sums[t] == 0:
            continue
        codes, offset = tallies.codes[tallies.key[t]], tallies.offset[t]
        for row in range(len(feasible)):
            if codes[row] >= 0 and tallies.totals[offset + codes[row]] > 0:
                feasible[row] = False
    start, stop = links.near_first[c], links.near_first[c + 1]
    anywhere = False
    for index in range(start, stop):
        anywhere = anywhere or tallies.sums[links.near[index]] > 0
    starts_anywhere = links.first_of_kind[c] and not anywhere
    for index in range(start, stop):
        t = links.near[index]
        codes, offset = tallies.codes[tallies.key[t]], tallies.offset[t]
        for row in range(len(feasible)):
            alone = codes[row] < 0 or tallies.totals[offset + codes[row]] == 0
            if alone and (codes[row] < 0 or not starts_anywhere):
                feasible[row] = False
    for index in range(links.hard_first[c], links.hard_first[c + 1]):
        apply_skew(tallies, links, index, feasible)


@compiled
def apply_skew(tallies: Tallies, links: Links, index: int, feasible: Bools) -> None:
    """Filter out nodes of domains that would exceed the maximum skew."""
    t = links.hard[index]
    codes, offset = tallies.codes[tallies.key[t]], tallies.offset[t]
    fewest = -1
    domains = 0
    for v in range(offset, offset + tallies.size[t]):
        if tallies.exists[v]:
            domains += 1
            if fewest < 0 or tallies.totals[v] < fewest:
                fewest = tallies.totals[v]
    if fewest < 0 or domains < links.hard_domains[index]:
        fewest = 0
    most = links.hard_skew[index] + fewest - links.hard_self[index]
    for row in range(len(feasible)):
        if codes[row] < 0 or tallies.totals[offset + codes[row]] > most:
            feasible[row] = False


@compiled
def add_domains(tallies: Tallies, links: Links, index: int, scored: Bools, raw: Floats) -> None:
    """Add the raw cost of each node under one soft spread constraint."""
    t = links.soft[index]
    codes, offset = tallies.codes[tallies.key[t]], tallies.offset[t]
    base = float(links.soft_skew[index] - 1)
    if links.soft_host[index]:
        factor = math.log(float(scored.sum() + 2))
        held = tallies.counts[tallies.group[t]]
        for row in range(len(scored)):
            if scored[row] and codes[row] >= 0:
                raw[row] += held[row] * factor + base
        return
    occurs = np.zeros(tallies.size[t] + 1, np.bool_)  # the last entry: nodes without the label
    for row in range(len(scored)):
        if scored[row]:
            occurs[codes[row]] = True
    factor = math.log(float(occurs.sum() + 2))
    for row in range(len(scored)):
        if scored[row] and codes[row] >= 0:
            raw[row] += tallies.totals[offset + codes[row]] * factor + base


@compiled
def add_spread(
    tallies: Tallies, links: Links, c: int, feasible: Bools, raw: Floats, score: Floats, weight: int
) -> None:
    """Add the normalised spread score of the feasible nodes."""
    start, stop = links.soft_first[c], links.soft_first[c + 1]
    if start == stop or weight == 0:
        return
    scored = feasible & tallies.masks[links.labelled[c]] if links.strict[c] else feasible
    raw[:] = 0.0
    for index in range(start, stop):
        add_domains(tallies, links, index, scored, raw)
    largest = 0.0
    smallest = math.inf
    for row in range(len(scored)):
        if scored[row]:
            whole = math.floor(raw[row])
            raw[row] = whole + (1.0 if raw[row] - whole >= 0.5 else 0.0)
            largest = max(largest, raw[row])
            smallest = min(smallest, raw[row])
    for row in range(len(scored)):
        if scored[row] and largest == 0.0:
            score[row] += weight * 100
        elif scored[row]:
            left = largest + smallest - raw[row]
            score[row] += weight * whole_quotient(100.0 * left, largest)


@compiled
def add_pulls(
    tallies: Tallies, links: Links, c: int, feasible: Bools, raw: Floats, score: Floats, weight: int
) -> None:
    """Add the normalised score of pod affinities."""
    start, stop = links.pulls_first[c], links.pulls_first[c + 1]
    if start == stop or weight == 0:
        return
    raw[:] = 0.0
    for index in range(start, stop):
        t = links.pulls[index]
        if tallies.sums[t] == 0:
            continue
        codes, offset = tallies.codes[tallies.key[t]], tallies.offset[t]
        for row in range(len(feasible)):
            if codes[row] >= 0:
                raw[row] += links.pull_weight[index] * tallies.totals[offset + codes[row]]
    least, most = math.inf, -math.inf
    for row in range(len(feasible)):
        if feasible[row]:
            least, most = min(least, raw[row]), max(most, raw[row])
    if most > least:
        for row in range(len(feasible)):
            if feasible[row]:
                score[row] += weight * int(100.0 * ((raw[row] - least) / (most - least)))


@compiled_finite
def largest_feasible(values: Floats, feasible: Bools) -> float:
    """Return the largest value of a feasible node, at least 0."""
    largest = 0.0
    for row in range(len(values)):
        value = values[row] if feasible[row] else 0.0
        largest = value if value > largest else largest
    return largest


@compiled
def add_statics(
    rules: BatchRules, statics: Statics, kind: int, feasible: Bools, score: Floats
) -> None:
    """Add the scores for taints, node affinity and images.

    They change only when the largest raw value among the feasible nodes does, so they are cached.
    """
    disliked, preferred = statics.disliked[kind], statics.preferred[kind]
    worst = largest_feasible(disliked, feasible)
    best = largest_feasible(preferred, feasible)
    kept = statics.kept[kind]
    if statics.kept_for[kind, 0] != worst or statics.kept_for[kind, 1] != best:
        statics.kept_for[kind, 0] = worst
        statics.kept_for[kind, 1] = best
        taints, affinity = float(rules.weights[TAINTS]), float(rules.weights[AFFINITY])
        for row in range(len(kept)):
            value = rules.weights[IMAGES] * statics.images[kind, row] + taints * 100.0
            if worst > 0.0:
                value -= taints * whole_quotient(100.0 * disliked[row], worst)
            if best > 0.0:
                value += affinity * whole_quotient(100.0 * preferred[row], best)
            kept[row] = value
    for row in range(len(kept)):
        score[row] += kept[row]


@compiled
def choose(nodes: BatchNodes, feasible: Bools, score: Floats, chance: float) -> int:
    """Return the best node; ties are broken by ``chance``, or by name if it is negative."""
    best = largest_feasible(score, feasible)
    ties = 0
    for row in range(len(feasible)):
        ties += int(feasible[row] & (score[row] == best))
    if ties == 0:
        return UNPLACED
    skip = int(chance * ties) if chance >= 0.0 else 0
    for row in nodes.by_name:
        if feasible[row] and score[row] == best:
            if skip == 0:
                return int(row)
            skip -= 1
    return UNPLACED


@compiled
def count_pod(tallies: Tallies, links: Links, link: int, row: int) -> None:
    """Count a pod on a node in the groups that it joins."""
    for index in range(links.joins_first[link], links.joins_first[link + 1]):
        g = links.joins[index]
        tallies.counts[g, row] += 1
        for position in range(tallies.first[g], tallies.first[g + 1]):
            t = tallies.of_group[position]
            code = tallies.codes[tallies.key[t], row]
            if code >= 0 and tallies.masks[tallies.mask[t], row]:
                tallies.totals[tallies.offset[t] + code] += 1
                tallies.sums[t] += 1


@compiled
def settle(
    rules: BatchRules,
    nodes: BatchNodes,
    classes: Classes,
    tallies: Tallies,
    links: Links,
    c: int,
    row: int,
    buffers: Room,
) -> None:
    """Place a pod of a class on a node and update all counts."""
    for j in range(len(nodes.used)):
        nodes.used[j, row] += classes.taken[c, j]
    write_before(rules, nodes, row, row + 1, buffers)
    count_pod(tallies, links, classes.link[c], row)


@compiled
def place_classes(
    class_of_pod: Ints,
    chances: Floats,
    rules: BatchRules,
    nodes: BatchNodes,
    classes: Classes,
    statics: Statics,
    tallies: Tallies,
    links: Links,
    cache: Cache,
    chosen: Ints,
) -> None:
    """Place pods in order.

    Args:
        class_of_pod: Class of every pod.
        chances: A number in [0, 1) per pod that breaks its ties; negative takes the first name.
        rules: The profile.
        nodes: State of the nodes; updated.
        classes: The classes.
        statics: Static tables.
        tallies: Pod counts; updated.
        links: Which tallies concern which class.
        cache: Cache of resource scores; the last row is scratch.
        chosen: Filled with the node of every pod, -1 where none is feasible. Serves as the log of
            changed nodes.
    """
    count = nodes.offered.shape[1]
    feasible = np.empty(count, np.bool_)
    score = np.empty(count)
    raw = np.empty(count)
    buffers = Room(
        np.empty((len(rules.balanced_column), count)),
        np.empty(count), np.empty(count), np.empty(count), np.empty(count),
        np.empty(count), np.empty(count), np.empty(count), np.empty(count),
    )  # fmt: skip
    block = BatchBlock(
        BatchNodes(
            np.empty_like(nodes.offered),
            np.empty_like(nodes.used),
            np.empty_like(nodes.evenness),
            nodes.by_name,
        ),
        np.empty(count, np.int64),
        np.empty(count, np.bool_),
        np.empty(count),
    )
    write_before(rules, nodes, 0, count, buffers)
    scratch = len(cache.read_until) - 1
    for p in range(len(class_of_pod)):
        c = class_of_pod[p]
        slot = classes.slot[c] if classes.slot[c] >= 0 else scratch
        link = classes.link[c]
        refresh(rules, nodes, classes, c, chosen, p, cache, slot, buffers, block)
        kind = classes.static[c]
        for row in range(count):
            feasible[row] = cache.fits[slot, row] & statics.admitted[kind, row]
            score[row] = cache.score[slot, row]
        apply_filters(tallies, links, link, feasible)
        add_statics(rules, statics, kind, feasible, score)
        add_spread(tallies, links, link, feasible, raw, score, rules.weights[SPREAD])
        add_pulls(tallies, links, link, feasible, raw, score, rules.weights[PODS])
        chosen[p] = choose(nodes, feasible, score, chances[p])
        if chosen[p] != UNPLACED:
            settle(rules, nodes, classes, tallies, links, c, chosen[p], buffers)
