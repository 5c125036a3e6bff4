"""The scenario document and its JSON schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from kubestow.model import decoding
from kubestow.model.decoding import OneOf, ValueBounds
from kubestow.simulation.scenarios.cluster import Failure, Machines, Maintenance
from kubestow.simulation.scenarios.policies import Metrics, Policies
from kubestow.simulation.scenarios.workloads import PositiveSeconds, ScenarioWorkload

API_VERSION = "kubestow.io/v1alpha1"
KIND = "Scenario"


@dataclass(frozen=True, slots=True)
class ScenarioMetadata:
    """What the scenario is called.

    Attributes:
        name: Its name.
        description: What it shows.
    """

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """What is written down.

    Attributes:
        nodes: Interval between rows per node in the timeline.
        workloads: Interval between rows per workload in the timeline.
        decisions: Number of decision records to keep.
    """

    nodes: PositiveSeconds = 300.0
    workloads: PositiveSeconds = 60.0
    decisions: Annotated[int, ValueBounds(least=0)] = 10_000


@dataclass(frozen=True, slots=True)
class ScenarioSpec:
    """What happens.

    Attributes:
        duration: Simulated time.
        cluster: The nodes.
        workloads: The workloads.
        seed: Seed of all random numbers.
        step: Time step of usage; events happen at any time.
        metrics: How usage is measured.
        policies: The policies.
        failures: Node failures.
        maintenance: Rolling maintenance.
        recording: What to record.
    """

    duration: PositiveSeconds
    cluster: Machines
    workloads: tuple[ScenarioWorkload, ...]
    seed: Annotated[int, ValueBounds(least=0)] = 1
    step: PositiveSeconds = 15.0
    metrics: Metrics = field(default_factory=Metrics)
    policies: Policies = field(default_factory=Policies)
    failures: tuple[Failure, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    recording: Recording = Recording()

    def check(self, place: decoding.Field) -> None:
        """Refuse duplicate names and times that are not multiples of the step."""
        if self.step > self.duration:
            raise place["step"].refuse("must not be longer than the duration")
        for name in ("scrape", "window", "lag"):
            if not _is_multiple(getattr(self.metrics, name), self.step):
                inner = place["metrics"][name]
                shown = decoding.Field(getattr(self.metrics, name), inner.place, inner.path)
                raise shown.refuse(f"must be a multiple of the step, {self.step:g} s")
        names: set[tuple[str, str]] = set()
        for workload, inner in zip(self.workloads, place["workloads"].items(), strict=True):
            own = {(workload.namespace, name) for name in workload.names()}
            if own & names:
                raise inner["name"].refuse("is the name of another workload")
            names |= own
            self._check_volumes(workload, inner["pod"]["volumes"])
        pools = {pool.name for pool in self.cluster.nodes}
        for plan, inner in zip(self.maintenance, place["maintenance"].items(), strict=True):
            if plan.pool is not None and plan.pool not in pools:
                raise inner["pool"].refuse(f"expected one of {', '.join(sorted(pools))}")

    def _check_volumes(self, workload: ScenarioWorkload, place: decoding.Field) -> None:
        known = [kind.name for kind in self.cluster.storage_classes]
        for volume, inner in zip(workload.pod.volumes, place.items(), strict=True):
            if volume.storage_class not in known:
                listed = ", ".join(known) or "a class of cluster.storageClasses; there is none"
                raise inner["storageClass"].refuse(f"expected one of {listed}")


def _is_multiple(time_s: float, step_s: float) -> bool:
    return abs(time_s / step_s - round(time_s / step_s)) < 1e-9


@dataclass(frozen=True, slots=True)
class Scenario:
    """A cluster, what runs on it, what happens to it, and the policies that steer it."""

    api_version: Annotated[str, OneOf((API_VERSION,))]
    kind: Annotated[str, OneOf((KIND,))]
    metadata: ScenarioMetadata
    spec: ScenarioSpec = field()


def read_scenario(value: Any, place: str) -> Scenario:
    """Read a scenario from a decoded document.

    Raises:
        InputError: For the first mistake, with path, value and expectation.
    """
    return decoding.read_structure(Scenario, decoding.Field(value, place))


def schema() -> dict[str, Any]:
    """Return the JSON schema of scenario files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kubestow scenario",
        **decoding.structure_schema(Scenario),
    }
