"""Small scenarios, and worlds that are run by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubestow import testing
from kubestow.simulation import outcomes, recorders
from kubestow.simulation import run as simulation_run
from kubestow.simulation.world.actors import LiveNode, LivePod, LiveWorkload
from kubestow.simulation.world.world import World
from kubestow.workflows import scenario_files

NODE = {"cpu": "4", "memory": "8Gi", "pods": "20"}


def document(*workloads: dict[str, Any], nodes: Any = 2, **spec: Any) -> dict[str, Any]:
    """Return a scenario without policies; ``nodes`` is a number or the pools themselves."""
    pools = (
        [{"name": "n", "count": nodes, "allocatable": NODE}] if isinstance(nodes, int) else nodes
    )
    metrics = {"scrape": 5, "window": 10, "lag": 0}
    defaults: dict[str, Any] = {"duration": "10m", "policies": {}, "metrics": metrics}
    return testing.scenario(*workloads, nodes=pools, **{**defaults, **spec})


def pods(cpu: str = "1", memory: str = "1Gi", startup: Any = 10, **more: Any) -> dict[str, Any]:
    """Return a template of pods that take ten seconds to start and have no grace."""
    return {
        "requests": {"cpu": cpu, "memory": memory},
        "startup": {"mean": startup},
        "grace": 0,
        **more,
    }


def workload(name: str = "web", **more: Any) -> dict[str, Any]:
    """Return a workload with small pods."""
    return {"name": name, "pod": pods(), **more}


def service(mean: float = 20, **more: Any) -> dict[str, Any]:
    """Return demand and service of a workload, 20 ms of processor time per request."""
    return {"demand": {"mean": mean}, "service": {"cpuPerRequest": "20ms", **more}}


def load(value: dict[str, Any]) -> scenario_files.Loaded:
    """Read a scenario."""
    return scenario_files.read(value, "small.yaml", Path())


def run(value: dict[str, Any], seed: int | None = None) -> outcomes.RunOutcome:
    """Run a scenario to its end."""
    loaded = load(value)
    return simulation_run.run(loaded.scenario, loaded.inputs, seed)


@dataclass(slots=True)
class Play:
    """A world whose clock is moved by hand."""

    world: World
    recorder: recorders.Recorder
    scenario: Any = field(repr=False)

    def until(self, time_s: float) -> Play:
        """Run up to and including a time."""
        self.world.clock.run(time_s)
        return self

    def workload(self, name: str = "web") -> LiveWorkload:
        """Return a workload."""
        return next(w for w in self.world.workloads if w.name == name)

    def pod(self, name: str) -> LivePod:
        """Return a pod that is not gone."""
        return next(w.pods[name] for w in self.world.workloads if name in w.pods)

    def node(self, name: str) -> LiveNode:
        """Return a node."""
        return self.world.by_name[name]

    def phases(self, name: str = "web") -> dict[str, str]:
        """Return the phases of a workload's pods."""
        return {key: pod.phase.value for key, pod in self.workload(name).pods.items()}

    def times(self, what: str, who: str | None = None) -> list[float]:
        """Return when something happened, to a pod or to anybody."""
        return [
            t
            for t, result, key, _ in self.world.ledger.events
            if result == what and (who is None or key == f"default/{who}")
        ]

    def events(self, *what: str) -> list[tuple[float, str, str]]:
        """Return time, event and subject of some kinds of events."""
        return [
            (t, result, key.removeprefix("default/"))
            for t, result, key, _ in self.world.ledger.events
            if result in what
        ]

    def kill(self, name: str, container: int = 0) -> None:
        """Let a container go over its memory limit at the end of the current step."""
        row = self.pod(name).container_rows[container]
        self.world.containers.rows["leak"][row] = 1e12
        self.world.containers.rows["memory_limit"][row] = 1e9


def start(value: dict[str, Any], seed: int = 1) -> Play:
    """Return a scenario at its start."""
    loaded = load(value)
    world = simulation_run.start(loaded.scenario.spec, seed, loaded.inputs)
    recorder = recorders.make(world)
    recorder.start()
    return Play(world, recorder, loaded.scenario)
