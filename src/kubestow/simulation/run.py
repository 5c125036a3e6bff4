"""Runs a scenario: builds the world, starts the loops, runs the clock, collects the outcome."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubestow.policies.placing import profiles
from kubestow.simulation import kernel, loops, outcomes, recorders, scenarios, usage
from kubestow.simulation.usage import NONE
from kubestow.simulation.world import (
    CONTROL,
    LIFE,
    LONG_AGO_S,
    STEP,
    STEPPED,
    Controllers,
    LivePod,
    Phase,
    Rollout,
    World,
    build_nodes,
    cover_nodes,
    crash_container,
    create_pod,
    fail_node,
    finish_pod,
    make_world,
    relieve_node,
)

_LASTING = (scenarios.DAEMON_SET, scenarios.STATEFUL_SET, scenarios.DEPLOYMENT)
_PIECES = 100
Watch = Callable[[float], None]


def _ignore(_: float) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The files that a scenario refers to, already read.

    Attributes:
        profile: The scheduler profile.
        traces: Recorded series.
    """

    profile: profiles.Profile
    traces: Mapping[str, scenarios.SignalTrace]


def start(scenario: scenarios.ScenarioSpec, seed: int, inputs: Inputs) -> World:
    """Return a world at time 0: nodes and initial pods exist, and loops are scheduled."""
    world = make_world(scenario, seed, inputs.traces)
    manager = Controllers(world)
    scheduler = loops.SchedulerHost(world, inputs.profile, kernel.make_generator(seed, "ties"))
    observer = loops.Observer(world)
    build_nodes(world)
    loops.set_static(world)
    _place_lasting(world, scheduler)
    for workload in world.workloads:
        world.clock.at(workload.spec.start, functools.partial(manager.begin, workload), CONTROL)
    for failure in scenario.failures:
        world.clock.at(failure.at, functools.partial(_fail, world, failure), LIFE)
    for plan in scenario.maintenance:
        Rollout(world, plan).start()
    world.clock.every(scenario.step, lambda: advance(world), first_s=scenario.step, priority=STEP)
    scheduler.start()
    observer.start()
    loops.start_scaling(world, observer)
    loops.start_sizing(world, observer)
    loops.start_moving(world, inputs.profile)
    if scenario.policies.provisioning.enabled:
        loops.ProvisioningLoop(world, scheduler, inputs.profile).start()
    return world


def _fail(world: World, failure: scenarios.Failure) -> None:
    """Fail a node if it exists by now."""
    node = world.by_name.get(failure.node)
    if node is not None:
        fail_node(world, node, failure.duration)


def _place_lasting(world: World, scheduler: loops.SchedulerHost) -> None:
    """Create and bind the initial pods: DaemonSets first, then by priority."""
    pods: list[LivePod] = []
    lasting = [w for w in world.workloads if w.spec.kind in _LASTING and w.spec.start <= 0.0]
    for workload in sorted(lasting, key=lambda w: _LASTING.index(w.spec.kind) > 0):
        if workload.spec.kind == scenarios.DAEMON_SET:
            pods += cover_nodes(world, workload, LONG_AGO_S)
            continue
        pods += [
            create_pod(
                world,
                workload,
                f"{workload.name}-{ordinal}",
                workload.pod_spec(),
                LONG_AGO_S,
            )
            for ordinal in range(workload.replicas)
        ]
    scheduler.place_warm(pods)


def advance(world: World) -> None:
    """Compute usage in the step that ends now, and handle OOM kills, completions and pressure."""
    step_s = min(world.spec.step, world.now_s - world.step_start_s)  # the last may be shorter
    if world.spec.step - step_s < 1e-6 * world.spec.step:
        step_s = world.spec.step
    world.signals["value"] = world.signal_values[:, world.step]
    world.services["rate"] = world.demand[:, world.step]
    usage.advance_usage(
        world.containers.top,
        world.step,
        world.step_start_s,
        step_s,
        world.containers.rows,
        world.signals,
        world.services,
        world.hosts,
        world.histograms,
        world.table,
        world.plays.table,
    )
    world.step += 1
    world.step_start_s = world.now_s
    world.notify(STEPPED, step_s)
    rows = world.containers.rows[: world.containers.top]
    for row in rows["killed"].nonzero()[0].tolist():
        live = world.pod_of_container[row]
        if live.phase in (Phase.READY, Phase.STARTING, Phase.CRASHED):
            crash_container(world, live, row)
    for row in rows["finished"].nonzero()[0].tolist():
        live = world.pod_of_container[row]
        if live.phase is Phase.READY and live.ends_s <= world.now_s:
            finish_pod(world, live)
    relieve_node(world)
    _clear_left(world)


def _clear_left(world: World) -> None:
    """Free the rows of removed containers; their open requests are lost."""
    rows = world.containers.rows
    inside = rows["in_system"]
    for row in world.containers.leaving():
        world.ledger.throttling[0] += float(rows["periods"][row])
        world.ledger.throttling[1] += float(rows["throttled"][row])
        service = world.pod_of_container.pop(row).workload.service
        if service != NONE:
            world.services["all_dropped"][service] += inside[row]
        inside[row] = 0.0
        if rows["play"][row] != NONE:
            world.plays.leave(int(rows["play"][row]))
    world.containers.clear_left()


def run(
    scenario: scenarios.Scenario, inputs: Inputs, seed: int | None = None, watch: Watch = _ignore
) -> outcomes.RunOutcome:
    """Simulate a scenario from its start to its end.

    Args:
        scenario: The scenario.
        inputs: The files it refers to.
        seed: Seed to use instead of the scenario's.
        watch: Called with the share that is done.
    """
    chosen = scenario.spec.seed if seed is None else seed
    world = start(scenario.spec, chosen, inputs)
    recorder = recorders.make(world)
    recorder.start()
    for piece in range(1, _PIECES + 1):
        world.clock.run(scenario.spec.duration * (piece / _PIECES))
        watch(piece / _PIECES)
    if world.now_s - world.step_start_s > 1e-6 * scenario.spec.step:
        advance(world)
    return outcomes.collect(world, recorder, scenario.metadata.name)
