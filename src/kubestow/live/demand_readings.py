"""What Prometheus says of demand, as a scaler sees it: one value, or why there is none.

A scaler must live through every state of its source (theses/003 A13): whatever the server does, a
reading comes back, and a failed one names its cause, which ends up in the decision's record. Two
clocks are involved. A question without a time is answered for the server's own now, so that the
answer tells how far its clock is from ours; how old the newest sample is, is then measured on the
server's clock alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kubestow.policies.scaling import observations
from kubestow.sources import prometheus, prometheus_answers, prometheus_queries
from kubestow.sources import prometheus_errors as faults

EMPTY = "empty answer"
NOT_A_NUMBER = "not a number"
NEGATIVE = "negative"
TOO_LARGE = "too large"
STALE = "stale sample"
SKEW = "clock skew"
SEVERAL = "several series"
WARNED = "doubtful answer"

_MOST_MILLI = 2**63 - 1  # Kubernetes counts thousandths in 64 bits

Read = observations.SingleValue | observations.FailedRead


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What still counts as a reading of now.

    Attributes:
        oldest_s: Greatest age of the newest sample; four scrapes of 15 s, as in a rate's window.
        skew_s: Greatest distance of the server's clock from ours.
        together: Several series count together; otherwise they are refused.
    """

    oldest_s: float = 60.0
    skew_s: float = 30.0
    together: bool = False


def read_demand(
    client: prometheus.Client,
    query: prometheus_queries.Query,
    now_s: float,
    limits: ReadingLimits | None = None,
) -> Read:
    """Read a demand as it is now.

    Args:
        client: Asks the server.
        query: What to ask.
        now_s: Our time, in seconds since the epoch.
        limits: What still counts as now.

    Returns:
        The value in thousandths of the query's unit, or the cause why there is none. No fault of
        the server raises.
    """
    limits = limits or ReadingLimits()
    try:
        answer = client.query(query.promql)
        cause = _doubt(answer, now_s, limits)
        if not cause and query.newest:
            asked_s = answer.samples[0].time_s
            cause = _age(client.query(query.newest, asked_s), asked_s, limits.oldest_s)
    except faults.ReadError as err:
        return observations.FailedRead(f"{err.kind}: {err}")
    if cause:
        return observations.FailedRead(cause)
    # Rounded up, as Kubernetes rounds quantities (resource.Quantity.MilliValue).
    parts = (math.ceil(round(sample.value * 1000.0, 6)) for sample in answer.samples)
    return observations.SingleValue(tuple(parts))


def _doubt(answer: prometheus_answers.Vector, now_s: float, limits: ReadingLimits) -> str:
    """Return why an answer is no reading of now; empty if it is one."""
    if answer.warnings:  # e.g. a store that did not answer: what is there is too little
        return f"{WARNED}: {prometheus_answers.shorten('; '.join(answer.warnings))}"
    if not answer.samples:
        return f"{EMPTY}: no series has a value now"
    if len(answer.samples) > 1 and not limits.together:
        first, second, *_ = (prometheus_answers.name(sample.labels) for sample in answer.samples)
        return f"{SEVERAL}: {len(answer.samples)}, such as {first} and {second}; expected one"
    # The question may have waited before it was answered.
    ahead_s = answer.samples[0].time_s - now_s
    if ahead_s > limits.skew_s + answer.took_s:
        return f"{SKEW}: the server answers for {ahead_s:.0f} s in the future"
    if ahead_s < -limits.skew_s:
        return f"{SKEW}: the server answers for {-ahead_s:.0f} s ago"
    return next(filter(None, (_oddness(sample.value) for sample in answer.samples)), "")


def _oddness(value: float) -> str:
    if not math.isfinite(value):
        return f"{NOT_A_NUMBER}: {value}"
    if value < 0.0:
        return f"{NEGATIVE}: {value:g}; expected 0 or more"
    if value * 1000.0 >= _MOST_MILLI:
        return f"{TOO_LARGE}: {value:g}"
    return ""


def _age(newest: prometheus_answers.Vector, asked_s: float, oldest_s: float) -> str:
    """Return why the newest sample is too old; empty if it is not."""
    known = [sample.value for sample in newest.samples if math.isfinite(sample.value)]
    if not known:
        return f"{STALE}: none within the time the server looks back"
    age_s = asked_s - max(known)
    if age_s > oldest_s:
        return f"{STALE}: {age_s:.0f} s old; expected at most {oldest_s:g} s"
    return ""
