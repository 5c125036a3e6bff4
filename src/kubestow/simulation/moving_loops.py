"""The loop that hosts movers, as a descheduler would: plan, then evict within the budgets."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

from kubestow.model import decisions, fields, structures
from kubestow.policies.moving import plans, registries
from kubestow.policies.placing import profiles, schedulers
from kubestow.simulation import disruptions, lifecycles, maintenances, worlds
from kubestow.simulation.actors import LivePod, NodePhase, Phase
from kubestow.simulation.worlds import World


@dataclass(slots=True, eq=False)
class MovingLoop:
    """One mover for the whole cluster."""

    world: World
    mover: plans.Mover
    scheduler: schedulers.Scheduler

    def start(self) -> None:
        """Plan at the rhythm the scenario asks for."""
        period_s = self.world.spec.policies.moving.interval
        self.world.clock.every(period_s, self._round, first_s=period_s, priority=worlds.CONTROL)

    def _round(self) -> None:
        world = self.world
        if any(w.pending.value > 0 for w in world.workloads):
            return  # pods wait already: nothing is taken apart
        found: dict[str, LivePod] = {}
        running: dict[int, list[plans.Movable]] = {}
        for node in world.live_nodes():
            pods = [pod for pod in node.pods.values() if maintenances.movable(pod)]
            settled = all(pod.phase is Phase.READY for pod in pods)
            if node.phase is not NodePhase.READY or node.held or not settled:
                continue
            running[world.state.rows[node.name]] = [
                plans.Movable(pod.pod, pod.workload.key if pod.workload.spec.disruption else "")
                for pod in pods
            ]
            found.update((pod.key, pod) for pod in pods)
        allowed = {
            w.key: allowance
            for w in world.workloads
            if (allowance := disruptions.allowed(w)) is not None
        }
        budget = plans.MoveBudget(most=len(found), allowed=allowed)
        plan = self.mover.plan(world.state, running, self.scheduler, budget)
        for record in plan.records:
            stamped = dataclasses.replace(record, time=world.now_s)
            world.ledger.decide(functools.partial(_itself, stamped))
        for key in plan.moves:
            if disruptions.may_evict(found[key]):
                world.ledger.count("moves")
                lifecycles.stop(world, found[key], "moved")


def _itself(record: decisions.DecisionRecord) -> decisions.DecisionRecord:
    return record


def start(world: World, profile: profiles.Profile) -> None:
    """Start the mover the scenario asks for, if any."""
    moving = world.spec.policies.moving
    if not moving.enabled:
        return
    entry = registries.REGISTRY[moving.plan]
    raw = fields.Field(moving.parameters or {}, "scenario", "spec.policies.moving.parameters")
    mover = entry.make(structures.read(entry.parameters, raw))
    MovingLoop(world, mover, schedulers.Scheduler(profile, world.features)).start()
