"""Pod arrivals on nodes whose load is measured late, placed by several variants.

A light model of a cluster: nodes have a background load outside of requests, pods use a share of
their requests from the moment they are bound, metrics are means over a window that ended some time
ago. Pods are placed one after another by the scheduler and the terms that run in a cluster. Pods
that metrics do not show yet are assumed to use their requests, which may be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec
import numpy as np

from kubestow.model import arrays, clusters, nodes, pods, quantities, resources, states, workloads
from kubestow.policies.placing import profiles, scheduler, terms

RESOURCES: Final = (
    resources.CPU,
    resources.MEMORY,
    terms.NETWORK,
    terms.DISK_IO,
    resources.EPHEMERAL_STORAGE,
)
TITLES: Final = ("CPU", "memory", "network", "disk I/O", "disk space")
# A node of table 5.1: 4 cores, 8 GB, 30 Mbit/s, 120 MB/s, 100 GB; here in m, MB, kbit/s, MB/s, MB.
NODE: Final = (4000, 8000, 30_000, 120, 100_000)
# Table 5.8; memory and disk space are not given there, regressions give 400 MB and 4.5 GB.
PODS: Final = {
    "pod1": (600, 400, 2000, 10, 4500),
    "pod2": (200, 400, 5000, 10, 4500),
    "pod3": (200, 400, 2000, 20, 4500),
}
GAUGES: Final = (1, 4)  # memory and disk space are current values, not averages
_FEATURES: Final = profiles.scheduler_features("1.37")
_STREAM: Final = 53  # weights were chosen on other streams


@dataclass(frozen=True, slots=True)
class BalanceScene:
    """Nodes, pods and metrics of an experiment.

    Attributes:
        name: Its name.
        nodes: Number of nodes.
        replicas: Pods of each of the three types.
        size: Size of nodes, relative to the thesis.
        background: Maximum load outside of requests, drawn uniformly per node and resource.
        shuffled: Whether pods arrive in random order, instead of type by type.
        least_use: Minimum usage as a share of requests, drawn uniformly up to 1 per pod and
            resource.
        gap_s: Seconds between two pods; infinite if metrics show every pod before the next one.
        lag_s: Age of the newest metrics in seconds.
        window_s: Averaging window of metrics in seconds.
    """

    name: str
    nodes: int = 3
    replicas: int = 5
    size: int = 1
    background: float = 0.0
    shuffled: bool = True
    least_use: float = 1.0
    gap_s: float = float("inf")
    lag_s: float = 0.0
    window_s: float = 0.0


@dataclass(frozen=True, slots=True)
class BalanceVariant:
    """A shipped profile, with other parameters of its extension if given."""

    name: str
    profile: str = "kube-scheduler"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    weight: int | None = None

    def make(self) -> profiles.Profile:
        """Return the profile."""
        if self.name == RANDOM:
            return profiles.Profile(
                scores=()
            )  # all feasible nodes score equally, so the choice is random
        profile = profiles.make_profile(self.profile)
        if profile.extension is None:
            return profile
        weight = profile.extension.weight if self.weight is None else self.weight
        extension = replace(profile.extension, parameters=self.parameters, weight=weight)
        return replace(profile, extension=extension)


RANDOM: Final = "random"


@dataclass(frozen=True, slots=True)
class BalanceTask:
    """One run."""

    scene: BalanceScene
    variant: BalanceVariant
    seed: int


class BalanceRun(msgspec.Struct, frozen=True):
    """The result of a run.

    Attributes:
        deviations: Standard deviation of utilisation over nodes, in percent, per resource.
        waiting: Number of pending pods.
        most: Highest utilisation of any resource of any node, in percent.
        placed: Type and node of every pod, in order of arrival; -1 if it is pending.
    """

    deviations: list[float]
    waiting: int
    most: float
    placed: list[tuple[str, int]]


def compute(task: BalanceTask) -> bytes:
    """Run a task and return its result as JSON."""
    rng = np.random.default_rng([_STREAM, task.seed, task.scene.nodes])
    order = np.repeat(np.arange(len(PODS)), task.scene.replicas)
    if task.scene.shuffled:
        rng.shuffle(order)
    background = rng.uniform(0.0, 1.0, (task.scene.nodes, len(RESOURCES))) * task.scene.background
    shares = rng.uniform(task.scene.least_use, 1.0, (len(order), len(RESOURCES)))
    return msgspec.json.encode(_Arrivals(task, background).run(order, shares, rng))


class _Arrivals:
    """The state of one run."""

    def __init__(self, task: BalanceTask, background: arrays.Floats) -> None:
        scene = task.scene
        self._scene = scene
        self._specs = [pods.PodSpec((_container(amounts),)) for amounts in PODS.values()]
        self._state = states.from_cluster(_cluster(scene))
        self._columns = [self._state.columns[name] for name in RESOURCES]
        self._scheduler = scheduler.Scheduler(task.variant.make(), _FEATURES)
        self._capacity = np.array(NODE, dtype=np.float64) * scene.size
        self._background = background * self._capacity
        self._loads = self._background.copy()
        windows_s = [0.0 if j in GAUGES else scene.window_s for j in range(len(RESOURCES))]
        # Load that metrics do not show, by actual usage; and assumed load, by requests.
        self._unseen = terms.AssumedLoads(scene.nodes, windows_s, float("inf"))
        self._assumed = terms.AssumedLoads(scene.nodes, windows_s)

    def run(
        self, order: arrays.Ints, shares: arrays.Floats, rng: np.random.Generator
    ) -> BalanceRun:
        """Place pods in the given order, with usage as shares of their requests."""
        placed = []
        names = list(PODS)
        for number, kind in enumerate(order.tolist()):
            time_s = number * self._scene.gap_s if np.isfinite(self._scene.gap_s) else 0.0
            pod = pods.Pod(
                f"p{number}",
                self._specs[kind],
                labels={"app": names[kind]},
                owner=pods.OwnerReference("apps/v1", "ReplicaSet", names[kind]),
            )
            row = self._scheduler.place(pod, self._state, rng, loads=self._measure(time_s)).row
            placed.append((names[kind], -1 if row is None else row))
            if row is not None:
                requests = np.array(PODS[names[kind]], dtype=np.float64)
                self._bind(pod, row, time_s, requests, requests * shares[number])
        percent = 100.0 * self._loads / self._capacity
        waiting = sum(row < 0 for _, row in placed)
        return BalanceRun(percent.std(axis=0).tolist(), waiting, float(percent.max()), placed)

    def _bind(
        self, pod: pods.Pod, row: int, time_s: float, requests: arrays.Floats, used: arrays.Floats
    ) -> None:
        self._state.place(pod, row)
        self._loads[row] += used
        if np.isfinite(self._scene.gap_s):
            self._unseen.add(pod.key, row, used, time_s)
            self._assumed.add(pod.key, row, requests, time_s)

    def _measure(self, time_s: float) -> terms.Loads:
        measured_s = time_s - self._scene.lag_s
        shape = (self._scene.nodes, len(self._state.columns))
        loads = terms.Loads(np.full(shape, np.nan), np.zeros(shape))
        loads.used[:, self._columns] = self._loads - self._unseen.at(time_s, measured_s)
        loads.assumed[:, self._columns] = self._assumed.at(time_s, measured_s)
        return loads


def _container(amounts: tuple[int, ...]) -> pods.Container:
    return pods.Container("c", requests=_listed(amounts))


def _listed(amounts: tuple[int, ...]) -> resources.ResourceList:
    return {
        name: quantities.millis(amount) if name == resources.CPU else quantities.units(amount)
        for name, amount in zip(RESOURCES, amounts, strict=True)
    }


def _cluster(scene: BalanceScene) -> clusters.Cluster:
    """Return the nodes and one service per type, by which stock kube-scheduler spreads pods."""
    offered = {
        **_listed(tuple(amount * scene.size for amount in NODE)),
        resources.PODS: quantities.units(110),
    }
    return clusters.Cluster(
        nodes=tuple(
            nodes.Node(f"node{row + 1:03d}", offered, {nodes.HOSTNAME_LABEL: f"node{row + 1:03d}"})
            for row in range(scene.nodes)
        ),
        services=tuple(workloads.Service(name, "default", {"app": name}) for name in PODS),
    )
