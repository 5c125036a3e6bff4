"""Records of changed requests: sizes, reasons, what the guards did, and the back-test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kubestow.model import decisions, resources
from kubestow.policies.sizing import estimates, guards
from kubestow.simulation import sizing_facts, templates
from kubestow.simulation.actors import LiveWorkload
from kubestow.simulation.estimate_tracks import Track

KILLED = "was killed for its memory"


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """What a change goes back to.

    Attributes:
        found: Estimates of many containers.
        track: How earlier ones did.
        place: Of the workload's first container among them.
    """

    found: estimates.Estimates
    track: Track
    place: int


def make(
    workload: LiveWorkload, policy: str, guarded: guards.Pod, basis: Basis | None, time_s: float
) -> decisions.DecisionRecord:
    """Return the record of a change.

    Args:
        workload: Whose requests change.
        policy: Name of the recommender.
        guarded: The new sizes.
        basis: Where they come from; ``None`` if an OOM kill alone led to them.
        time_s: When.
    """
    names = [plan.name for plan in templates.containers_of(workload.spec)]
    places = {sized.container: names.index(sized.container) for sized in guarded}
    return decisions.DecisionRecord(
        kind="sizing",
        subject=f"workload/{workload.key}",
        policy=policy,
        outcome="; ".join(_tell(sized, places[sized.container], basis) for sized in guarded),
        parameters={"mode": workload.sizing.mode},
        time=time_s,
        rejected={
            f"{sized.container} as estimated": "; ".join(sized.notes)
            for sized in guarded
            if sized.notes
        },
        numbers=dict(_numbers(guarded, places, basis)),
        backtest={
            f"{name}/{key}": value
            for name, place in places.items()
            for key, value in (basis.track.backtest(basis.place + place) if basis else {}).items()
        },
    )


def _tell(sized: guards.Sized, place: int, basis: Basis | None) -> str:
    amounts = ", ".join(
        f"{name} {sizing_facts.quantity(name, amount)}" for name, amount in sized.requests.items()
    )
    reason = KILLED
    if basis is not None:
        reasons = basis.found.reasons
        reason = reasons[basis.place + place] if reasons else ""
    return f"{sized.container} {amounts}" + (f" ({reason})" if reason else "")


def _numbers(
    guarded: guards.Pod, places: dict[str, int], basis: Basis | None
) -> Iterator[tuple[str, float]]:
    for sized in guarded:
        for name, amount in sized.requests.items():
            cores = amount / 1000.0 if name == resources.CPU else float(amount)
            yield f"{sized.container}/{name}", cores
        for key, values in (basis.found.numbers if basis else {}).items():
            value = float(values[basis.place + places[sized.container]]) if basis else np.nan
            if np.isfinite(value):
                yield f"{sized.container}/{key}", value
