"""Group pods as ready, unready, missing or ignored, and sum over the groups.

Ports ``groupPods`` and the sums of ``metrics/utilization.go`` (pkg/controller/podautoscaler, 1.37)
in one compiled pass over the arrays of an observation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.policies.compiling import compiled
from kubestow.policies.scaling.observations import FAILED, NO_CONDITION, NOT_READY, PENDING, Codes

# Go's zero time, long before anything, with room for a sum.
LONG_AGO_NS = -(2**62)


class Groups(NamedTuple):
    """Counts of pods and sums over them.

    Attributes:
        ready: Pods with a sample that counts.
        unready: Pods that cannot serve yet.
        missing: Pods without a sample.
        total_milli: Sum of the samples that count.
        requests_milli: Sum of the requests of the ready pods.
        unready_requests_milli: The same of the unready ones.
        missing_requests_milli: The same of the missing ones.
        missing_fallback_milli: Assumed usage of missing pods when scaling down.
        faulty: Pods without a request, of any group.
    """

    ready: int
    unready: int
    missing: int
    total_milli: int
    requests_milli: int
    unready_requests_milli: int
    missing_requests_milli: int
    missing_fallback_milli: int
    faulty: int


@compiled
def to_ns(time_s: float) -> int:
    """Return seconds as whole nanoseconds; NaN and minus infinity are long ago."""
    if math.isnan(time_s) or time_s < -4e9:
        return LONG_AGO_NS
    return round(time_s * 1e9)


@compiled
def is_unready(
    now_ns: int,
    initialisation_ns: int,
    delay_ns: int,
    ready: int,
    started_s: float,
    since_s: float,
    sampled_s: float,
    window_s: float,
) -> bool:
    """Return whether a CPU sample is not yet evidence of the pod's load."""
    if ready == NO_CONDITION or math.isnan(started_s):
        return True
    started_ns, since_ns = to_ns(started_s), to_ns(since_s)
    if started_ns + initialisation_ns > now_ns:
        # Still starting: the sample must cover a whole window since the pod became ready.
        return ready == NOT_READY or to_ns(sampled_s) < since_ns + to_ns(window_s)
    # Not ready, and has not been since shortly after its start.
    return ready == NOT_READY and started_ns + delay_ns > since_ns


@compiled
def group(
    now_ns: int,
    check_readiness: bool,
    initialisation_ns: int,
    delay_ns: int,
    fallback_percent: int,
    phases: Codes,
    readies: Codes,
    deleted: Bools,
    started_s: Floats,
    since_s: Floats,
    values: Ints,
    present: Bools,
    sampled_s: Floats,
    window_s: Floats,
    requests: Ints,
) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Group the pods; the fields of the result are those of ``Groups``."""
    ready = unready = missing = faulty = 0
    total = requested = unready_requested = missing_requested = fallback = 0
    for row in range(len(phases)):
        if requests[row] < 0:
            faulty += 1
        if deleted[row] or phases[row] == FAILED:
            continue
        if phases[row] == PENDING:
            unready += 1
            unready_requested += requests[row]
        elif not present[row]:
            missing += 1
            missing_requested += requests[row]
            # Requests are not negative, so that dropping the fraction is rounding down.
            fallback += requests[row] * fallback_percent // 100
        elif check_readiness and is_unready(
            now_ns,
            initialisation_ns,
            delay_ns,
            readies[row],
            started_s[row],
            since_s[row],
            sampled_s[row],
            window_s[row],
        ):
            unready += 1
            unready_requested += requests[row]
        else:
            ready += 1
            total += values[row]
            requested += requests[row]
    # Plain integers also where the loop is not compiled, because sums may exceed 64 bits.
    return (
        ready,
        unready,
        missing,
        int(total),
        int(requested),
        int(unready_requested),
        int(missing_requested),
        int(fallback),
        faulty,
    )
