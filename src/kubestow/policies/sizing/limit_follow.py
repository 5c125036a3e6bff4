"""The recommender ``limit-follow``: limits of running pods follow their usage.

Shi 2023 (4.18) and (4.19): every T the last five samples are averaged; if the mean rose against
the five before, the limit becomes mean x (1 + lambda), if it fell, mean / (1 + lambda). Every ten
minutes it adjusts the ten pods of each node that use most.

As printed (``strict``), a limit after a fall is 83 % of usage: throttling for CPU, an OOM kill for
memory. By default a limit is therefore never below the largest recent sample, and never again as
low as one at which the container was OOM-killed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, reasons, window_statistics

NAME = "limit-follow"

Share = Annotated[float, decoding.ValueBounds(least=0.0)]


@dataclass(frozen=True, slots=True)
class LimitFollowParameters:
    """Parameters of ``limit-follow``.

    Attributes:
        strict: Use the printed rule, which goes below usage after a fall.
        elasticity: The lambda of (4.18) and (4.19).
        samples: Number of samples that are averaged.
        memory_margin: Share by which memory limits exceed the largest recent sample, so that the
            kernel can reclaim memory.
        oom_ratio: Growth beyond a limit at which a container was OOM-killed (VPA's 1.2).
        period_s: Seconds between two adjustments.
        most_pods: Number of pods adjusted per node, those that use most.
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
    """Limits that follow usage; NaN leaves a limit unchanged."""

    parameters: LimitFollowParameters = LimitFollowParameters()
    name: str = NAME

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the limits of each container, by its busiest pod."""
        p = self.parameters
        cpu = usage.largest(follow(usage.cpu_cores, p))
        memory = follow(usage.memory_bytes, p)
        if not p.strict:
            recent = window_statistics.largest(usage.memory_bytes[:, -2 * p.samples :])
            memory = np.fmax(memory, recent * (1.0 + p.memory_margin))
        limits = usage.largest(memory)
        if not p.strict:
            killed = np.where(
                usage.oom_killed_bytes > 0.0, usage.oom_killed_bytes * p.oom_ratio, -np.inf
            )
            limits = np.where(np.isnan(limits), limits, np.maximum(limits, killed))
        why = reasons.by_container(
            cpu,
            limits,
            f"{{}} follows the last {p.samples} samples plus {100 * p.elasticity:g} %",
            f"{{}} follows the last {p.samples} plus {100 * p.elasticity:g} %",
        )
        return estimates.exact(cpu, limits, why)


def follow(values: Floats, parameters: LimitFollowParameters) -> Floats:
    """Return the limit of each row; NaN where too little is known or nothing has changed.

    Args:
        values: Usage by row and sample, newest last.
        parameters: How closely limits follow usage.
    """
    count, more = parameters.samples, 1.0 + parameters.elasticity
    if values.shape[1] < 2 * count:
        return np.full(len(values), np.nan)
    before = values[:, -2 * count : -count].mean(axis=1)
    now = values[:, -count:].mean(axis=1)
    if parameters.strict:
        moved = np.where(now > before, now * more, now / more)
        # A mean that is not known neither rose nor fell.
        return np.where((now == before) | np.isnan(now) | np.isnan(before), np.nan, moved)
    recent: Floats = values[:, -2 * count :].max(axis=1)
    limits: Floats = np.maximum(now * more, recent)
    return limits


def busiest(nodes: Ints, used: Floats, most: int) -> Ints:
    """Return the indices of the pods that use most, per node, in order of nodes.

    Args:
        nodes: Node of each pod.
        used: Usage of each pod; ties go to the pod listed first.
        most: Number of pods per node.
    """
    order = np.lexsort((np.arange(len(nodes)), -used, nodes))
    sorted_nodes = nodes[order]
    ranks = np.arange(len(order)) - np.searchsorted(sorted_nodes, sorted_nodes)
    chosen: Ints = order[ranks < most]
    return chosen
