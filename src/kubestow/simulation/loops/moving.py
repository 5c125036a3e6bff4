"""The loop that hosts movers, like a descheduler: plan, then evict within the budgets."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

from kubestow.model import decisions, decoding
from kubestow.policies.moving import plans, registry
from kubestow.policies.placing import profiles
from kubestow.policies.placing.scheduler import Scheduler
from kubestow.simulation.world import (
    CONTROL,
    LivePod,
    NodePhase,
    Phase,
    World,
    disruptions_allowed,
    may_evict,
    movable_pods,
    stop_pod,
)


@dataclass(slots=True, eq=False)
class MovingLoop:
    """One mover for the whole cluster."""

    world: World
    mover: plans.Mover
    scheduler: Scheduler

    def start(self) -> None:
        """Plan once per interval."""
        period_s = self.world.spec.policies.moving.interval
        self.world.clock.every(period_s, self._round, first_s=period_s, priority=CONTROL)

    def _round(self) -> None:
        world = self.world
        if any(w.pending.value > 0 for w in world.workloads):
            return  # pods are pending: do not evict more
        live: dict[str, LivePod] = {}
        running: dict[int, list[plans.Movable]] = {}
        for node in world.live_nodes():
            pods = [pod for pod in node.pods.values() if movable_pods(pod)]
            settled = all(pod.phase is Phase.READY for pod in pods)
            if node.phase is not NodePhase.READY or node.held or not settled:
                continue
            running[world.state.rows[node.name]] = [
                plans.Movable(pod.pod, pod.workload.key if pod.workload.spec.disruption else "")
                for pod in pods
            ]
            live.update((pod.key, pod) for pod in pods)
        allowed = {
            w.key: allowance
            for w in world.workloads
            if (allowance := disruptions_allowed(w)) is not None
        }
        budget = plans.MoveBudget(most=len(live), allowed=allowed)
        plan = self.mover.plan(world.state, running, self.scheduler, budget)
        for record in plan.records:
            stamped = dataclasses.replace(record, time=world.now_s)
            world.ledger.decide(functools.partial(_itself, stamped))
        for key in plan.moves:
            if may_evict(live[key]):
                world.ledger.count("moves")
                stop_pod(world, live[key], "moved")


def _itself(record: decisions.DecisionRecord) -> decisions.DecisionRecord:
    return record


def start_moving(world: World, profile: profiles.Profile) -> None:
    """Start the mover of the scenario, if any."""
    moving = world.spec.policies.moving
    if not moving.enabled:
        return
    entry = registry.MOVERS.get(moving.plan)
    raw = decoding.Field(moving.parameters or {}, "scenario", "spec.policies.moving.parameters")
    mover = entry.make(decoding.read_structure(entry.parameters, raw))
    MovingLoop(world, mover, Scheduler(profile, world.features)).start()
