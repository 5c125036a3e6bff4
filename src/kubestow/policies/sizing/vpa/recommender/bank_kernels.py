"""Compiled loops of the recommender: the same operations in the same order as upstream.

Instants are nanoseconds since the Unix epoch in 64 bits; ``UNSET`` means never. The tests compare
them with a scalar form (``tests/policies/sizing/vpa/oracle``).
"""

import math
from typing import NamedTuple

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled, compiled_inner
from kubestow.policies.sizing.vpa.recommender.buckets import EPSILON, LEAST_WEIGHT, MOST_EXPONENT
from kubestow.policies.sizing.vpa.recommender.floats import inlined_exp2, inlined_log, inlined_power

UNSET = -(2**63)
_MOST = 10**14  # amounts.MOST


class Bank(NamedTuple):
    """Decaying histograms of one resource, one per row."""

    weights: Floats
    total: Floats
    first: Ints
    last: Ints
    reference: Ints
    starts: Floats
    width: float
    ratio: float
    log_ratio: float
    half_life: int
    offset: int


class Slots(NamedTuple):
    """Containers: the row each belongs to, and its memory interval."""

    row: Ints
    last_cpu: Ints
    last_memory: Ints
    window_end: Ints
    peak: Ints
    oom_peak: Ints


class Rows(NamedTuple):
    """Times of the first and last CPU sample of each row, and their number."""

    first: Ints
    last: Ints
    number: Ints


class BankRules(NamedTuple):
    """Rules of aggregating samples (``parameters.Gathering``)."""

    interval: int
    oom_ratio: float
    oom_min: int
    constant_weights: bool
    oom_age_by_sample: bool


@compiled_inner
def find_bucket(value: float, width: float, ratio: float, log_ratio: float, count: int) -> int:
    """Return the bucket of a value."""
    if value < width:
        return 0
    return min(int(inlined_log(value * (ratio - 1.0) / width + 1.0) / log_ratio), count - 1)


@compiled_inner
def bucket_in(bank: Bank, value: float) -> int:
    """Return the bucket of a value in the histograms of a bank."""
    return find_bucket(value, bank.width, bank.ratio, bank.log_ratio, bank.starts.size)


@compiled_inner
def tighten(bank: Bank, row: int) -> None:
    """Move the first and the last bucket past empty ones."""
    weights = bank.weights[row]
    while weights[bank.first[row]] < EPSILON and bank.first[row] < weights.size - 1:
        bank.first[row] += 1
    while weights[bank.last[row]] < EPSILON and bank.last[row] > 0:
        bank.last[row] -= 1


@compiled_inner
def shift(bank: Bank, row: int, time: int) -> None:
    """Move the reference instant to the nearest multiple of the half-life."""
    rest = (time % bank.half_life + bank.offset) % bank.half_life
    reference = time - rest if rest + rest < bank.half_life else time + bank.half_life - rest
    if bank.reference[row] != UNSET:  # without a reference there is nothing to scale
        passed = float(bank.reference[row] - reference) / float(bank.half_life)
        factor = math.ldexp(1.0, math.floor(passed + 0.5))
        for bucket in range(bank.first[row], bank.last[row] + 1):
            bank.weights[row, bucket] *= factor
        bank.total[row] *= factor
        tighten(bank, row)
    bank.reference[row] = reference


@compiled_inner
def decay_factor(bank: Bank, row: int, time: int) -> float:
    """Return the decay factor of an instant; may move the reference instant."""
    reference = bank.reference[row]
    if reference == UNSET or time > reference + bank.half_life * MOST_EXPONENT:
        shift(bank, row, time)
    return inlined_exp2(float(time - bank.reference[row]) / float(bank.half_life))


@compiled_inner
def add_weight(bank: Bank, row: int, value: float, weight: float, time: int) -> None:
    """Add a sample to a histogram."""
    scaled = weight * decay_factor(bank, row, time)
    bucket = bucket_in(bank, value)
    bank.weights[row, bucket] += scaled
    bank.total[row] += scaled
    if bank.weights[row, bucket] >= EPSILON:
        bank.first[row] = min(bank.first[row], bucket)
        bank.last[row] = max(bank.last[row], bucket)


@compiled_inner
def subtract_weight(bank: Bank, row: int, value: float, weight: float, time: int) -> None:
    """Remove a sample from a histogram."""
    scaled = weight * decay_factor(bank, row, time)
    bucket = bucket_in(bank, value)
    total = bank.total[row] - scaled
    bank.total[row] = 0.0 if total < EPSILON else total
    left = bank.weights[row, bucket] - scaled
    bank.weights[row, bucket] = 0.0 if left < EPSILON else left
    tighten(bank, row)


@compiled_inner
def add_memory(
    bank: Bank, slots: Slots, rules: BankRules, slot: int, time: int, use: int, oom: bool
) -> None:
    """Add a memory sample of a container, in bytes."""
    if use < 0 or (not oom and time < slots.last_memory[slot]):
        return
    slots.last_memory[slot] = time
    row = slots.row[slot]
    if slots.window_end[slot] == UNSET:
        slots.window_end[slot] = time
    if time < slots.window_end[slot]:
        highest = max(slots.peak[slot], slots.oom_peak[slot])
        if highest == 0 or use <= highest:
            return
        subtract_weight(bank, row, float(highest), 1.0, slots.window_end[slot])
    else:
        passed = (time - slots.window_end[slot]) // rules.interval
        slots.window_end[slot] += (passed + 1) * rules.interval
        slots.peak[slot] = 0
        slots.oom_peak[slot] = 0
    add_weight(bank, row, float(use), 1.0, slots.window_end[slot])
    if oom:
        slots.oom_peak[slot] = use
    else:
        slots.peak[slot] = use


@compiled
def add_cpu_samples(
    bank: Bank,
    rows: Rows,
    slots: Slots,
    constant_weights: bool,
    which: Ints,
    times: Ints,
    cpu_m: Ints,
    request_m: Ints,
) -> None:
    """Add CPU samples of containers in the given order; negative amounts were not measured.

    This is the innermost loop: arrays are unpacked from their tuples once, because passing a tuple
    costs more than the sum.
    """
    row_of, last_cpu = slots.row, slots.last_cpu
    weights, total, first, last = bank.weights, bank.total, bank.first, bank.last
    reference, half_life, count = bank.reference, bank.half_life, bank.starts.size
    width, ratio, log_ratio = bank.width, bank.ratio, bank.log_ratio
    first_time, last_time, number = rows.first, rows.last, rows.number
    for n in range(which.size):
        slot, time = which[n], times[n]
        if cpu_m[n] < 0 or time <= last_cpu[slot]:
            continue
        last_cpu[slot] = time
        row = row_of[slot]
        if reference[row] == UNSET or time > reference[row] + half_life * MOST_EXPONENT:
            shift(bank, row, time)
        weight = LEAST_WEIGHT
        if not constant_weights:
            weight = max(float(request_m[n]) / 1000.0, LEAST_WEIGHT)
        weight *= inlined_exp2(float(time - reference[row]) / float(half_life))
        bucket = find_bucket(float(cpu_m[n]) / 1000.0, width, ratio, log_ratio, count)
        weights[row, bucket] += weight
        total[row] += weight
        if weights[row, bucket] >= EPSILON:
            first[row] = min(first[row], bucket)
            last[row] = max(last[row], bucket)
        last_time[row] = max(last_time[row], time)
        if first_time[row] == UNSET or time < first_time[row]:
            first_time[row] = time
        number[row] += 1


@compiled
def add_memory_samples(
    bank: Bank, slots: Slots, rules: BankRules, which: Ints, times: Ints, memory_bytes: Ints
) -> None:
    """Add memory samples of containers in the given order; negative amounts were not measured."""
    last_memory, window_end = slots.last_memory, slots.window_end
    peak, oom_peak = slots.peak, slots.oom_peak
    for n in range(which.size):
        slot, time, use = which[n], times[n], memory_bytes[n]
        if use < 0 or time < last_memory[slot]:
            continue
        highest = max(peak[slot], oom_peak[slot])
        if time < window_end[slot] and (highest == 0 or use <= highest):
            last_memory[slot] = time  # usually there is no new peak
        else:
            add_memory(bank, slots, rules, slot, time, use, False)


@compiled
def add_ooms(
    memory: Bank, slots: Slots, rules: BankRules, which: Ints, times: Ints, requests: Ints
) -> None:
    """Add OOM kills of containers in the given order."""
    for n in range(which.size):
        slot, time = which[n], times[n]
        last_seen = slots.last_memory[slot] if rules.oom_age_by_sample else slots.window_end[slot]
        if last_seen != UNSET and time < last_seen - rules.interval:
            continue
        used = max(requests[n], slots.peak[slot])
        needed = max(used + rules.oom_min, whole(float(used) * rules.oom_ratio))
        add_memory(memory, slots, rules, slot, time, needed, True)


@compiled_inner
def whole(amount: float) -> int:
    """Truncate a number to an amount (``amounts.from_float``)."""
    if math.isnan(amount):
        return UNSET
    if amount > _MOST:
        return _MOST
    return 0 if amount < 0.0 else int(amount)


@compiled_inner
def percentiles(bank: Bank, row: int, shares: Floats, ends_of_buckets: Floats) -> None:
    """Write the ends of the buckets in which the shares, in any order, are reached."""
    weights = bank.weights[row]
    ends_of_buckets[:] = 0.0
    if weights[bank.first[row]] < EPSILON:
        return
    reached = 0.0
    open_shares = shares.size
    done = np.zeros(shares.size, dtype=np.bool_)
    for bucket in range(bank.first[row], bank.last[row] + 1):
        reached += weights[bucket]
        for n in range(shares.size):
            ends = bucket == bank.last[row] or reached >= shares[n] * bank.total[row]
            if ends and not done[n]:
                done[n] = True
                ends_of_buckets[n] = bank.starts[min(bucket + 1, bank.starts.size - 1)]
                open_shares -= 1
        if open_shares == 0:
            return


@compiled_inner
def confidence(rows: Rows, row: int, interval: int, minutes: float) -> float:
    """Return the confidence in a history, in units of the confidence interval."""
    lifespan = 0.0
    if rows.number[row]:
        lifespan = float(rows.last[row] - rows.first[row]) / float(interval)
    return min(lifespan, float(rows.number[row]) / minutes)


@compiled
def estimate_rows(
    bank: Bank,
    rows: Rows,
    which: Ints,
    shares: Floats,
    unit: float,
    margin: float,
    interval: int,
    minutes: float,
    least: Ints,
    estimates: Ints,
) -> None:
    """Write target, lower and upper estimate of rows.

    Args:
        bank: Histograms of one resource.
        rows: Times and numbers of samples.
        which: The rows to estimate.
        shares: Percentiles of target, lower and upper estimate.
        unit: 1000 converts cores to millicores; 1 keeps bytes.
        margin: Safety margin.
        interval: Confidence interval in nanoseconds.
        minutes: The same in minutes.
        least: Floor of each row.
        estimates: Output: three estimates per row.
    """
    ends_of_buckets = np.zeros(3)
    for n in range(which.size):
        row = which[n]
        percentiles(bank, row, shares, ends_of_buckets)
        share = confidence(rows, row, interval, minutes)
        for part in range(3):
            amount = whole(ends_of_buckets[part] * unit)
            amount += whole(float(amount) * margin)
            if part == 1:
                amount = whole(float(amount) * inlined_power(1.0 + 0.001 / share, -2))
            elif part == 2:
                amount = whole(float(amount) * (1.0 + 1.0 / share))
            estimates[n, part] = max(amount, least[n])
