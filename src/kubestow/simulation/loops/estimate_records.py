"""Records of changed requests: sizes, reasons, what the guards did, and the back-test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kubestow.model import decisions, resources
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, guards, judging
from kubestow.policies.sizing.recommendations import Recommendation
from kubestow.simulation import world
from kubestow.simulation.loops import sizing_context
from kubestow.simulation.world import LiveWorkload

_OVER, _PEAK, _MEMORY = 5, 3, 1  # indexes in the result of ``judging.backtest``
_OFTEN = 0.05  # CPU may be exceeded in 5 % of the samples


@dataclass(slots=True, eq=False)
class Track:
    """Back-tests of the estimates for some containers.

    Attributes:
        containers: Number of containers.
        asked_s: Time of the last estimate.
    """

    containers: int
    asked_s: float = 0.0
    _last: estimates.Estimates | None = None
    _judged: Floats = field(init=False)
    _over: Floats = field(init=False)
    _missed: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._judged, self._over, self._missed = np.zeros((3, self.containers))

    def keep(self, estimate: estimates.Estimates, now_s: float) -> None:
        """Keep an estimate until it can be back-tested."""
        self._last, self.asked_s = estimate, now_s

    def backtest_last(
        self, news: Usage, killed: NDArray[np.bool_] | None = None
    ) -> tuple[int, int, int]:
        """Compare the last estimate with the usage that followed.

        Args:
            news: Usage since the estimate.
            killed: Containers OOM-killed since: no sample shows the memory that killed them.

        Returns:
            Number of containers compared, and of those that exceeded CPU and memory.
        """
        if self._last is None or not news.points or not len(news.owners):
            return 0, 0, 0
        scores = judging.backtest(news, self._last)
        over, peak, memory = scores[_OVER], scores[_PEAK], scores[_MEMORY]
        known = np.isfinite(over) & np.isfinite(peak) & np.isfinite(memory)
        self._judged += known
        self._over += np.where(known, over, 0.0)
        missed = known & (peak > memory)
        if killed is not None:
            missed |= known & killed
        self._missed += missed
        often = known & (over > _OFTEN)
        return int(known.sum()), int(often.sum()), int(missed.sum())

    def backtest(self, place: int) -> dict[str, float]:
        """Return the back-test of one container; empty if no estimate was compared.

        ``cpu_over`` is the mean share of CPU samples above the estimate, ``memory_missed`` the
        share of estimates that memory exceeded.
        """
        judged = float(self._judged[place])
        if not judged:
            return {}
        return {
            "judged": judged,
            "cpu_over": float(self._over[place]) / judged,
            "memory_missed": float(self._missed[place]) / judged,
        }


KILLED = "was killed for its memory"


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """The basis of a change.

    Attributes:
        estimates: Estimates of many containers.
        track: Back-tests of earlier ones.
        place: Index of the workload's first container among them.
    """

    estimates: estimates.Estimates
    track: Track
    place: int


def make(
    workload: LiveWorkload,
    policy: str,
    guarded: guards.GuardedPod,
    basis: Basis | None,
    time_s: float,
) -> decisions.DecisionRecord:
    """Return the record of a change.

    Args:
        workload: The workload.
        policy: Name of the recommender.
        guarded: The new sizes.
        basis: The estimates; ``None`` if only an OOM kill caused the change.
        time_s: Time of the change.
    """
    names = [plan.name for plan in world.containers_of(workload.spec)]
    places = {sized.container: names.index(sized.container) for sized in guarded}
    return decisions.DecisionRecord(
        kind="sizing",
        subject=f"workload/{workload.key}",
        policy=policy,
        outcome="; ".join(_describe(sized, places[sized.container], basis) for sized in guarded),
        parameters={"mode": workload.sizing.mode},
        time=time_s,
        rejected={
            f"{sized.container} as estimated": "; ".join(sized.reasons)
            for sized in guarded
            if sized.reasons
        },
        numbers=dict(_numbers(guarded, places, basis)),
        backtest={
            f"{name}/{key}": value
            for name, place in places.items()
            for key, value in (basis.track.backtest(basis.place + place) if basis else {}).items()
        },
    )


def _describe(sized: Recommendation, place: int, basis: Basis | None) -> str:
    amounts = ", ".join(
        f"{name} {sizing_context.quantity(name, amount)}" for name, amount in sized.requests.items()
    )
    reason = KILLED
    if basis is not None:
        reasons = basis.estimates.reasons
        reason = reasons[basis.place + place] if reasons else ""
    return f"{sized.container} {amounts}" + (f" ({reason})" if reason else "")


def _numbers(
    guarded: guards.GuardedPod, places: dict[str, int], basis: Basis | None
) -> Iterator[tuple[str, float]]:
    for sized in guarded:
        for name, amount in sized.requests.items():
            cores = amount / 1000.0 if name == resources.CPU else float(amount)
            yield f"{sized.container}/{name}", cores
        for key, values in (basis.estimates.numbers if basis else {}).items():
            value = float(values[basis.place + places[sized.container]]) if basis else np.nan
            if np.isfinite(value):
                yield f"{sized.container}/{key}", value
