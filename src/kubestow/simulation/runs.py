"""A run: the world is built, its loops are started, the clock runs, the outcome is told."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubestow.policies.placing import profiles
from kubestow.simulation import (
    controllers,
    draws,
    lifecycles,
    machines,
    maintenances,
    moving_loops,
    observations,
    outcomes,
    provisioning_loops,
    recorders,
    scaling_loops,
    scheduling,
    settings,
    shapes,
    sizing_loops,
    usages,
    worlds,
)
from kubestow.simulation.actors import LivePod, Phase
from kubestow.simulation.scenarios import clusters, documents
from kubestow.simulation.scenarios import workloads as spec
from kubestow.simulation.units import NONE
from kubestow.simulation.worlds import World

_LASTING = (spec.DAEMON_SET, spec.STATEFUL_SET, spec.DEPLOYMENT)
_PIECES = 100
Watch = Callable[[float], None]


def _ignore(_: float) -> None:
    """Watch nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What a scenario refers to, already read.

    Attributes:
        profile: The scheduler profile.
        traces: Recorded series.
    """

    profile: profiles.Profile
    traces: Mapping[str, shapes.Trace]


def start(scenario: documents.Spec, seed: int, inputs: Inputs) -> World:
    """Return a world at its start: nodes and lasting pods are there, loops are waiting."""
    world = settings.make_world(scenario, seed, inputs.traces)
    manager = controllers.Controllers(world)
    scheduler = scheduling.SchedulerHost(world, inputs.profile, draws.generator(seed, "ties"))
    observer = observations.Observer(world)
    machines.build(world)
    scaling_loops.set_static(world)
    _place_lasting(world, scheduler)
    for workload in world.workloads:
        world.clock.at(
            workload.spec.start, functools.partial(manager.begin, workload), worlds.CONTROL
        )
    for failure in scenario.failures:
        world.clock.at(failure.at, functools.partial(_fail, world, failure), worlds.LIFE)
    for plan in scenario.maintenance:
        maintenances.Rollout(world, plan).start()
    world.clock.every(
        scenario.step, lambda: advance(world), first_s=scenario.step, priority=worlds.STEP
    )
    scheduler.start()
    observer.start()
    scaling_loops.start_all(world, observer)
    sizing_loops.start_all(world, observer)
    moving_loops.start(world, inputs.profile)
    if scenario.policies.provisioning.enabled:
        provisioning_loops.ProvisioningLoop(world, scheduler, inputs.profile).start()
    return world


def _fail(world: World, failure: clusters.Failure) -> None:
    """Let a node die, if it is there by now."""
    node = world.by_name.get(failure.node)
    if node is not None:
        machines.fail(world, node, failure.duration)


def _place_lasting(world: World, scheduler: scheduling.SchedulerHost) -> None:
    """Create and bind the pods that are there from the start: daemons first, then by priority."""
    found: list[LivePod] = []
    lasting = [w for w in world.workloads if w.spec.kind in _LASTING and w.spec.start <= 0.0]
    for workload in sorted(lasting, key=lambda w: _LASTING.index(w.spec.kind) > 0):
        if workload.spec.kind == spec.DAEMON_SET:
            found += controllers.cover(world, workload, lifecycles.LONG_AGO_S)
            continue
        found += [
            lifecycles.create(
                world,
                workload,
                f"{workload.name}-{ordinal}",
                workload.pod_spec(),
                lifecycles.LONG_AGO_S,
            )
            for ordinal in range(workload.replicas)
        ]
    scheduler.place_warm(found)


def advance(world: World) -> None:
    """Compute the use of the step that ends now, and what follows from it."""
    step_s = min(world.spec.step, world.now_s - world.step_start_s)  # the last may be shorter
    if world.spec.step - step_s < 1e-6 * world.spec.step:
        step_s = world.spec.step
    world.signals["value"] = world.signal_values[:, world.step]
    world.services["rate"] = world.demand[:, world.step]
    usages.advance(
        world.units.top,
        world.step,
        world.step_start_s,
        step_s,
        world.units.rows,
        world.signals,
        world.services,
        world.hosts,
        world.histograms,
        world.table,
        world.plays.table,
    )
    world.step += 1
    world.step_start_s = world.now_s
    world.tell(worlds.STEPPED, step_s)
    rows = world.units.rows[: world.units.top]
    for row in rows["killed"].nonzero()[0].tolist():
        live = world.owner_of_unit[row]
        if live.phase in (Phase.READY, Phase.STARTING, Phase.CRASHED):
            lifecycles.crash(world, live, row)
    for row in rows["finished"].nonzero()[0].tolist():
        live = world.owner_of_unit[row]
        if live.phase is Phase.READY and live.ends_s <= world.now_s:
            lifecycles.finish(world, live)
    machines.relieve(world)
    _clear_left(world)


def _clear_left(world: World) -> None:
    """Take back the rows of containers that are gone; requests left in them are lost."""
    rows = world.units.rows
    inside = rows["in_system"]
    for row in world.units.leaving():
        world.ledger.throttling[0] += float(rows["periods"][row])
        world.ledger.throttling[1] += float(rows["throttled"][row])
        service = world.owner_of_unit.pop(row).workload.service
        if service != NONE:
            world.services["all_dropped"][service] += inside[row]
        inside[row] = 0.0
        if rows["play"][row] != NONE:
            world.plays.leave(int(rows["play"][row]))
    world.units.clear_left()


def run(
    scenario: documents.Scenario, inputs: Inputs, seed: int | None = None, watch: Watch = _ignore
) -> outcomes.Outcome:
    """Simulate a scenario from its start to its end.

    Args:
        scenario: The scenario.
        inputs: What it refers to.
        seed: Replaces the seed of the scenario.
        watch: Told the share that is done, now and then.
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
    measures = outcomes.measure(world, recorder, scenario.metadata.name)
    return outcomes.Outcome(measures, world, recorder)
