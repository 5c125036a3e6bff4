"""The recommender ``limit-follow``: limits of running pods that follow what they use.

Shi 2023 (4.18) and (4.19): every T the last five samples are averaged; if the mean rose against
the five before, the limit becomes mean x (1 + lambda), if it fell, mean / (1 + lambda). Every ten
minutes the ten pods of each node that use most are adjusted.

As printed (``strict``), a limit after a fall is 83 % of what is used: throttling for CPU, an OOM
kill for memory. The default therefore goes by the largest of the recent samples, too, and never
below it; what a container was killed at is never set again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, window_statistics

NAME = "limit-follow"

Share = Annotated[float, decoding.ValueBounds(least=0.0)]


@dataclass(frozen=True, slots=True)
class LimitFollowParameters:
    """How closely limits follow.

    Attributes:
        strict: As printed, below what is used after a fall.
        elasticity: The lambda of (4.18) and (4.19).
        samples: How many samples are averaged.
        memory_margin: Memory limits stay so far above the largest recent sample; the kernel needs
            some room to reclaim in.
        oom_ratio: Growth beyond a limit a container was killed at (VPA's 1.2).
        period_s: How often limits are set.
        most_pods: How many pods of a node, those that use most.
    """

    strict: bool = False
    elasticity: Share = 0.2
    samples: Annotated[int, decoding.ValueBounds(least=1)] = 5
    memory_margin: Share = 0.1
    oom_ratio: Annotated[float, decoding.ValueBounds(least=1.0)] = 1.2
    period_s: Annotated[decoding.Seconds, decoding.ValueBounds(above=0.0)] = 600.0
    most_pods: Annotated[int, decoding.ValueBounds(least=1)] = 10


@dataclass(frozen=True, slots=True)
class LimitFollow:
    """Limits that follow use; NaN leaves a limit as it is."""

    parameters: LimitFollowParameters = LimitFollowParameters()
    name: str = NAME

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the limits of each container, that of its busiest pod."""
        p = self.parameters
        cpu = usage.largest(follow(usage.cpu_cores, p))
        memory = follow(usage.memory_bytes, p)
        if not p.strict:
            recent = window_statistics.largest(usage.memory_bytes[:, -2 * p.samples :])
            memory = np.fmax(memory, recent * (1.0 + p.memory_margin))
        wanted = usage.largest(memory)
        if not p.strict:
            killed = np.where(
                usage.oom_killed_bytes > 0.0, usage.oom_killed_bytes * p.oom_ratio, -np.inf
            )
            wanted = np.where(np.isnan(wanted), wanted, np.maximum(wanted, killed))
        return estimates.exact(cpu, wanted)


def follow(values: Floats, parameters: LimitFollowParameters) -> Floats:
    """Return the limit of each row; NaN where too little is known or nothing has changed.

    Args:
        values: Use by row and sample, newest last.
        parameters: How closely limits follow.
    """
    count, more = parameters.samples, 1.0 + parameters.elasticity
    if values.shape[1] < 2 * count:
        return np.full(len(values), np.nan)
    before = values[:, -2 * count : -count].mean(axis=1)
    now = values[:, -count:].mean(axis=1)
    if parameters.strict:
        moved = np.where(now > before, now * more, now / more)
        # What was not measured neither rose nor fell.
        return np.where((now == before) | np.isnan(now) | np.isnan(before), np.nan, moved)
    recent: Floats = values[:, -2 * count :].max(axis=1)
    found: Floats = np.maximum(now * more, recent)
    return found


def busiest(nodes: Ints, used: Floats, most: int) -> Ints:
    """Return the places of the pods that use most, so many of each node, in order of nodes.

    Args:
        nodes: On which node each pod is.
        used: What it uses; ties go to the pod that is named first.
        most: How many of each node.
    """
    order = np.lexsort((np.arange(len(nodes)), -used, nodes))
    sorted_nodes = nodes[order]
    ranks = np.arange(len(order)) - np.searchsorted(sorted_nodes, sorted_nodes)
    found: Ints = order[ranks < most]
    return found
