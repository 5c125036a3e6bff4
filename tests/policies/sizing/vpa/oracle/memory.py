"""What ``vpa`` remembers of one workload: aggregates, containers, restored checkpoints.

The part of upstream's ``ClusterState`` that concerns one VPA object
(``pkg/recommender/model/cluster.go``, ``vpa.go``, VPA 1.7). A memory is never changed:
``observe`` works on a copy; ``save_checkpoints`` and ``restore`` are upstream's restart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kubestow.model import decoding
from kubestow.policies.sizing.vpa.recommender.parameters import Gathering
from tests.policies.sizing.vpa.oracle import aggregates, checkpoints, containers, instants, news
from tests.policies.sizing.vpa.oracle.aggregates import Aggregate
from tests.policies.sizing.vpa.oracle.containers import VpaContainer

COLLECTION_NS: Final = 3600 * instants.SECOND_NS
"""Expired aggregates are looked for so often (``aggregateContainerStateGCInterval``)."""

Pair = tuple[str, str]
GatheringOf = Callable[[str], Gathering]


@dataclass(frozen=True, slots=True, eq=False)
class VpaMemory:
    """The memory; its parts must not be changed by who holds it.

    Attributes:
        aggregates: By template and container name, in order of appearance.
        containers: By pod and container name.
        templates: Template of every known pod.
        finished: Known pods that have ended.
        restored: Histories from checkpoints, by container name.
        collected_ns: When expired aggregates were last looked for.
        round_ns: When the last news came.
    """

    aggregates: dict[Pair, Aggregate] = field(default_factory=dict)
    containers: dict[Pair, VpaContainer] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    finished: frozenset[str] = frozenset()
    restored: dict[str, Aggregate] = field(default_factory=dict)
    collected_ns: int = 0
    round_ns: int = 0

    def by_name(self, gathering: GatheringOf) -> dict[str, Aggregate]:
        """Return the merged history of every container name.

        Upstream merges in random order and moves the reference instants of what it merges; here
        the order is that of appearance and nothing is moved.
        """
        merged: dict[str, Aggregate] = {}
        sources = [(name, part) for (_, name), part in self.aggregates.items()]
        for name, part in (*sources, *self.restored.items()):
            if name not in merged:
                merged[name] = aggregates.make(gathering(name))
            merged[name].merge(part.copy())
        return merged

    def save_checkpoints(self, gathering: GatheringOf, now_s: float) -> dict[str, Any]:
        """Return upstream's checkpoint of every container name.

        The peak of an interval that still runs is left out, lest it count twice once restored.
        """
        now_ns = instants.from_seconds(now_s)
        merged = self.by_name(gathering)
        for (_, name), container in self.containers.items():
            if name in merged and now_ns < container.window_end_ns:
                merged[name].subtract_memory(container.highest_bytes, container.window_end_ns)
        return {name: checkpoints.save(part, now_ns) for name, part in merged.items()}


def restore(saved: decoding.Field, gathering: GatheringOf, now_s: float) -> VpaMemory:
    """Return the memory of a recommender that starts from upstream's checkpoints."""
    now_ns = instants.from_seconds(now_s)
    restored = {
        name: checkpoints.load(status, gathering(name), now_ns) for name, status in saved.members()
    }
    return VpaMemory(restored=restored)


def observe(memory: VpaMemory, given: news.UsageNews, gathering: GatheringOf) -> VpaMemory:
    """Return the memory after one round: clean-up, then pods, then samples, then OOM kills.

    Upstream cleans up at the end of a round, after recommending; here that waits for the next.
    """
    now_ns = instants.from_seconds(given.time_s)
    taking = _Taking(
        _collected(_copied(memory), gathering, given.workload_exists), gathering, now_ns
    )
    if given.pods is not None:
        taking.know(given.pods)
    for sample in given.samples:
        taking.add(sample)
    for kill in given.ooms:
        taking.kill(kill)
    return replace(taking.memory, round_ns=now_ns)


def _copied(memory: VpaMemory) -> VpaMemory:
    return replace(
        memory,
        aggregates={key: part.copy() for key, part in memory.aggregates.items()},
        containers={key: part.copy() for key, part in memory.containers.items()},
        templates=dict(memory.templates),
    )


@dataclass(slots=True)
class _Taking:
    """Takes up news into a memory it owns."""

    memory: VpaMemory
    gathering: GatheringOf
    now_ns: int

    def know(self, pods: tuple[news.HistoryPod, ...]) -> None:
        """Forget containers of pods that are gone, make aggregates for new ones."""
        live = {pod.name for pod in pods}
        for key in [key for key in self.memory.containers if key[0] not in live]:
            del self.memory.containers[key]
        self.memory.templates.clear()
        for pod in pods:
            for name in pod.containers:
                self._entry(pod.name, name, pod.template)
        finished = frozenset(pod.name for pod in pods if pod.finished)
        self.memory = replace(self.memory, finished=finished)

    def add(self, sample: news.UsageSample) -> None:
        container, aggregate = self._entry(sample.pod, sample.container, sample.template)
        rules = self.gathering(sample.container)
        time_ns = instants.from_seconds(sample.time_s)
        if sample.cpu_cores is not None:
            cpu_m = measured_cpu_m(sample.cpu_cores)
            request_m = measured_cpu_m(sample.cpu_request_cores)
            containers.add_cpu(container, aggregate, cpu_m, time_ns, rules, request_m)
        if sample.memory_bytes is not None:
            memory_bytes = measured_bytes(sample.memory_bytes)
            containers.add_memory(container, aggregate, memory_bytes, time_ns, rules)

    def kill(self, kill: news.OomKill) -> None:
        container, aggregate = self._entry(kill.pod, kill.container, kill.template)
        time_ns = instants.from_seconds(kill.time_s)
        rules = self.gathering(kill.container)
        containers.record_oom(container, aggregate, kill.request_bytes, time_ns, rules)

    def _entry(self, pod: str, name: str, template: str) -> tuple[VpaContainer, Aggregate]:
        memory = self.memory
        memory.templates[pod] = template
        container = memory.containers.setdefault((pod, name), VpaContainer())
        key = (template, name)
        if key not in memory.aggregates:
            memory.aggregates[key] = aggregates.make(self.gathering(name), self.now_ns)
        return container, memory.aggregates[key]


def _collected(memory: VpaMemory, gathering: GatheringOf, workload_exists: bool) -> VpaMemory:
    """Drop aggregates that are expired, or empty without a pod that could still contribute."""
    if memory.round_ns - memory.collected_ns < COLLECTION_NS:
        return memory
    contributing = {
        (memory.templates[pod], name)
        for pod, name in memory.containers
        if workload_exists or pod not in memory.finished
    }
    kept = {
        key: part
        for key, part in memory.aggregates.items()
        if (part.count or key in contributing)
        and not part.expired(memory.round_ns, gathering(key[1]).window_ns)
    }
    return replace(memory, aggregates=kept, collected_ns=memory.round_ns)


def measured_cpu_m(cores: float) -> int:
    """Return measured cores as the metrics API hands them on: nanocores, then millicores up.

    >>> measured_cpu_m(0.069), measured_cpu_m(0.0691)
    (69, 70)
    """
    return -(-round(cores * 1e9) // 10**6)


def measured_bytes(amount: float) -> int:
    """Return measured memory in whole bytes, rounded up as a quantity is."""
    return math.ceil(amount)
