"""The scheduling cycle compiled: many pods, one after another, without leaving the kernel.

Equal to ``schedulers.Scheduler`` in every choice (the tests compare them); it only leaves out the
reasons. Between two pods of a class only the nodes that changed meanwhile are scored anew.
"""

from __future__ import annotations

import math

import numpy as np

from kubestow.policies.placing.batch_tables import (
    Block,
    Cache,
    Classes,
    Flags,
    Floats,
    Ints,
    Links,
    Nodes,
    Room,
    Rules,
    Statics,
    Tallies,
)
from kubestow.policies.placing.packing.compiling import compiled, compiled_finite, inlined

LEAST, MOST, RATIO = 0, 1, 2
TAINTS, AFFINITY, FIT, SPREAD, PODS, BALANCE, IMAGES = range(7)
UNPLACED = -1


@inlined
def whole_quotient(numerator: float, denominator: float) -> float:
    """Divide whole numbers and drop the fraction, exactly.

    Correctly rounded division can only miss by landing on the next whole number; the remainder
    tells. Exact while 100 x the amount stays below 2**53.
    """
    quotient: float = np.floor(numerator / denominator)
    return quotient - 1.0 if numerator - quotient * denominator < 0.0 else quotient


@inlined
def shape_value(rules: Rules, percent: float) -> float:
    """Evaluate the shape; the division truncates towards zero as in Go."""
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
    rules: Rules, nodes: Nodes, classes: Classes, c: int, room: Room, low: int, high: int
) -> None:
    """Add the weighted score of NodeResourcesFit for the nodes ``low`` to ``high``."""
    total, weights = room.total, room.number
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
        room.score[row] += factor * mean


@inlined
def write_evenness(
    rules: Rules,
    nodes: Nodes,
    amounts: Floats,
    share: float,
    room: Room,
    even: Floats,
    low: int,
    high: int,
) -> None:
    """Write ``int((1 - deviation) * 100)`` with (``share`` = 1) or without (0) the pod.

    Args:
        rules: The profile.
        nodes: The nodes.
        amounts: What the pod requests of each resource; negative leaves it out.
        share: Whether the pod counts.
        room: Scratch.
        even: Filled in.
        low: First node.
        high: One after the last node.
    """
    total, number, first, last = room.total, room.number, room.first, room.last
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
            room.fractions[i, row] = fraction if counts else -1.0
            first[row] = fraction if counts and number[row] == 0.0 else first[row]
            last[row] = fraction if counts else last[row]
            total[row] += fraction if counts else 0.0
            number[row] += 1.0 if counts else 0.0
    if considered > 2:
        write_deviations(rules, amounts, room, low, high)
    else:
        for row in range(low, high):
            room.deviation[row] = 0.0
    for row in range(low, high):
        # Upstream has a shortcut for two resources; it can differ in the last bit.
        pair = abs((first[row] - last[row]) / 2.0)
        deviation = pair if number[row] == 2.0 else room.deviation[row]
        even[row] = np.floor((1.0 - deviation) * 100.0)


@inlined
def write_deviations(rules: Rules, amounts: Floats, room: Room, low: int, high: int) -> None:
    """Write the standard deviation of the used fractions of each node; 0 for one or none."""
    mean, deviation = room.mean, room.deviation
    for row in range(low, high):
        mean[row] = room.total[row] / (room.number[row] if room.number[row] > 0.0 else 1.0)
        deviation[row] = 0.0
    for i in range(len(rules.balanced_column)):
        if rules.balanced_column[i] < 0 or amounts[i] < 0.0:
            continue
        for row in range(low, high):
            fraction = room.fractions[i, row]
            distance = fraction - mean[row]
            deviation[row] += distance * distance if fraction >= 0.0 else 0.0
    for row in range(low, high):
        number = room.number[row] if room.number[row] > 0.0 else 1.0
        deviation[row] = np.sqrt(deviation[row] / number) if number > 1.0 else 0.0


@inlined
def add_balance(
    rules: Rules, nodes: Nodes, classes: Classes, c: int, room: Room, low: int, high: int
) -> None:
    """Add the weighted score of the balance, or of the change of balance."""
    factor = float(rules.weights[BALANCE])
    write_evenness(rules, nodes, classes.balanced_amount[c], 1.0, room, room.after, low, high)
    if not rules.balance_change:
        for row in range(low, high):
            room.score[row] += factor * room.after[row]
        return
    before = nodes.evenness[classes.balance_set[c]]
    for row in range(low, high):
        # The sum is never negative, so dropping the fraction is truncating, as in Go.
        room.score[row] += factor * (50.0 + np.floor((50.0 + room.after[row] - before[row]) / 2.0))


@inlined
def refresh_range(
    rules: Rules,
    nodes: Nodes,
    classes: Classes,
    c: int,
    room: Room,
    fits: Flags,
    score: Floats,
    low: int,
    high: int,
) -> None:
    """Work out where the class fits and the resource scores, for the nodes ``low`` to ``high``."""
    for row in range(low, high):
        fits[row] = classes.possible[c] or not rules.filter_fit
        room.score[row] = 0.0
    if rules.filter_fit:
        for j in range(len(nodes.offered)):
            want = classes.wanted[c, j]
            if want > 0.0:
                for row in range(low, high):
                    fits[row] &= want <= nodes.offered[j, row] - nodes.used[j, row]
    if rules.weights[FIT] > 0:
        add_fit_scores(rules, nodes, classes, c, room, low, high)
    if rules.weights[BALANCE] > 0 and classes.balanced[c]:
        add_balance(rules, nodes, classes, c, room, low, high)
    for row in range(low, high):
        score[row] = room.score[row]


@compiled
def refresh(
    rules: Rules,
    nodes: Nodes,
    classes: Classes,
    c: int,
    log: Ints,
    done: int,
    cache: Cache,
    slot: int,
    room: Room,
    block: Block,
) -> None:
    """Bring the cached resource scores of a class up to date."""
    since = cache.seen[slot]
    cache.seen[slot] = done
    count = nodes.offered.shape[1]
    if classes.slot[c] < 0 or since < 0 or 2 * (done - since) > count:
        fits, score = cache.fits[slot], cache.score[slot]
        refresh_range(rules, nodes, classes, c, room, fits, score, 0, count)
        return
    # Changed nodes are gathered side by side, so that the loops over them are straight, too.
    found = 0
    for index in range(since, done):
        row = log[index]
        if row == UNPLACED:
            continue
        block.rows[found] = row
        for j in range(len(nodes.offered)):
            block.nodes.offered[j, found] = nodes.offered[j, row]
        for j in range(len(nodes.used)):
            block.nodes.used[j, found] = nodes.used[j, row]
        for j in range(len(nodes.evenness)):
            block.nodes.evenness[j, found] = nodes.evenness[j, row]
        found += 1
    refresh_range(rules, block.nodes, classes, c, room, block.fits, block.score, 0, found)
    for k in range(found):
        cache.fits[slot, block.rows[k]] = block.fits[k]
        cache.score[slot, block.rows[k]] = block.score[k]


@compiled
def apply_filters(tallies: Tallies, links: Links, c: int, feasible: Flags) -> None:
    """Strike out nodes by pod affinity, host ports and hard spreading."""
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
def apply_skew(tallies: Tallies, links: Links, index: int, feasible: Flags) -> None:
    """Strike out nodes of domains that would get too far ahead."""
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
def add_domains(tallies: Tallies, links: Links, index: int, scored: Flags, raw: Floats) -> None:
    """Add what one soft spread constraint counts against each node."""
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
    occurs = np.zeros(tallies.size[t] + 1, np.bool_)  # the last one: nodes without the label
    for row in range(len(scored)):
        if scored[row]:
            occurs[codes[row]] = True
    factor = math.log(float(occurs.sum() + 2))
    for row in range(len(scored)):
        if scored[row] and codes[row] >= 0:
            raw[row] += tallies.totals[offset + codes[row]] * factor + base


@compiled
def add_spread(
    tallies: Tallies, links: Links, c: int, feasible: Flags, raw: Floats, score: Floats, weight: int
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
    tallies: Tallies, links: Links, c: int, feasible: Flags, raw: Floats, score: Floats, weight: int
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
def largest_feasible(values: Floats, feasible: Flags) -> float:
    """Return the largest value of a feasible node, at least 0."""
    largest = 0.0
    for row in range(len(values)):
        value = values[row] if feasible[row] else 0.0
        largest = value if value > largest else largest
    return largest


@compiled
def add_statics(rules: Rules, statics: Statics, kind: int, feasible: Flags, score: Floats) -> None:
    """Add the scores for taints, node affinity and images.

    They change only when the largest raw value among the feasible nodes does, so they are kept.
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
def choose(nodes: Nodes, feasible: Flags, score: Floats, chance: float) -> int:
    """Return the best node; among equals by chance, or the first name if ``chance`` < 0."""
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


@inlined
def write_before(rules: Rules, nodes: Nodes, low: int, high: int, room: Room) -> None:
    """Bring the balance of nodes as they are up to date, for every set of resources in use."""
    if rules.balance_change:
        for index in range(len(rules.balance_sets)):
            write_evenness(
                rules, nodes, rules.balance_sets[index], 0.0, room, nodes.evenness[index], low, high
            )


@compiled
def settle(
    rules: Rules,
    nodes: Nodes,
    classes: Classes,
    tallies: Tallies,
    links: Links,
    c: int,
    row: int,
    room: Room,
) -> None:
    """Put a pod of a class on a node."""
    for j in range(len(nodes.used)):
        nodes.used[j, row] += classes.taken[c, j]
    write_before(rules, nodes, row, row + 1, room)
    link = classes.link[c]
    for index in range(links.joins_first[link], links.joins_first[link + 1]):
        g = links.joins[index]
        tallies.counts[g, row] += 1
        for place in range(tallies.first[g], tallies.first[g + 1]):
            t = tallies.of_group[place]
            code = tallies.codes[tallies.key[t], row]
            if code >= 0 and tallies.masks[tallies.mask[t], row]:
                tallies.totals[tallies.offset[t] + code] += 1
                tallies.sums[t] += 1


@compiled
def place_classes(
    class_of_pod: Ints,
    chances: Floats,
    rules: Rules,
    nodes: Nodes,
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
        nodes: State of the nodes, changed.
        classes: The classes.
        statics: Static tables.
        tallies: Counted pods, changed.
        links: Which tallies concern which class.
        cache: Room for resource scores; the last row is scratch.
        chosen: Filled with the node of every pod, -1 where none is feasible. Serves as the log.
    """
    count = nodes.offered.shape[1]
    feasible = np.empty(count, np.bool_)
    score = np.empty(count)
    raw = np.empty(count)
    room = Room(
        np.empty((len(rules.balanced_column), count)),
        np.empty(count), np.empty(count), np.empty(count), np.empty(count),
        np.empty(count), np.empty(count), np.empty(count), np.empty(count),
    )  # fmt: skip
    block = Block(
        Nodes(
            np.empty_like(nodes.offered),
            np.empty_like(nodes.used),
            np.empty_like(nodes.evenness),
            nodes.by_name,
        ),
        np.empty(count, np.int64),
        np.empty(count, np.bool_),
        np.empty(count),
    )
    write_before(rules, nodes, 0, count, room)
    scratch = len(cache.seen) - 1
    for p in range(len(class_of_pod)):
        c = class_of_pod[p]
        slot = classes.slot[c] if classes.slot[c] >= 0 else scratch
        link = classes.link[c]
        refresh(rules, nodes, classes, c, chosen, p, cache, slot, room, block)
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
            settle(rules, nodes, classes, tallies, links, c, chosen[p], room)
