"""Proposers that go by the outlook: they differ in how they weigh what is to be expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kubestow.policies.forecasting import outlook as forecasting_outlook
from kubestow.policies.scaling import demand as scaling_demand
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling import lookahead, startup
from kubestow.policies.scaling.ahead import frame


@dataclass(frozen=True, slots=True, eq=False)
class OutlookMemory:
    """What was seen, and what was learnt of demand.

    Attributes:
        look: What is remembered from look to look.
        outlook: What was learnt of demand.
        needs: When how many pods were needed, of late; kept by those who want it.
        first: When the first look was, and how many replicas it found.
    """

    look: lookahead.LookMemory
    outlook: forecasting_outlook.OutlookState
    needs: tuple[tuple[float, int], ...] = ()
    first: tuple[float, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {
            "look": self.look.as_json(),
            "outlook": self.outlook.as_json(),
            "needs": [list(need) for need in self.needs],
            "first": None if self.first is None else list(self.first),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OutlookMemory:
        """Return the memory that ``as_json`` wrote."""
        first = value["first"]
        return cls(
            lookahead.LookMemory.from_json(value["look"]),
            forecasting_outlook.OutlookState.from_json(value["outlook"]),
            tuple((float(time_s), int(need)) for time_s, need in value["needs"]),
            None if first is None else (float(first[0]), int(first[1])),
        )


class Ahead(NamedTuple):
    """What a weigher goes by.

    Attributes:
        look: What was seen now.
        demand: The work there is.
        found: What is to be expected.
        steps: The horizon in steps.
        memory: The memory with this look in it.
    """

    look: lookahead.Look
    demand: scaling_demand.Demand
    found: forecasting_outlook.Outlook
    steps: int
    memory: OutlookMemory

    def numbers(self) -> dict[str, float]:
        """Return what a record should tell."""
        return {
            "load": self.demand.load,
            "level": self.found.level,
            "mean": self.found.mean,
            "upper": self.found.upper,
            "target": self.demand.target,
            "horizon_s": self.look.horizon_s,
            "startup_s": self.look.startup_s,
            "smoothing": self.found.smoothing,
            "gate": float(self.found.trending or self.found.smoothing < 1.0),
        }


Weigh = Callable[[frame.Seen, Ahead], frame.Proposed]
Settle = Callable[[frame.Seen, frame.Proposed, Ahead], tuple[frame.Proposed, OutlookMemory]]


def _keep(
    _: frame.Seen, proposed: frame.Proposed, ahead: Ahead
) -> tuple[frame.Proposed, OutlookMemory]:
    return proposed, ahead.memory


class OutlookProposer:
    """Takes every look into the outlook, then lets a function weigh it.

    Args:
        spec: What the autoscaler is told; its first metric is looked ahead.
        horizon: How far to look ahead.
        outlook: What the forecast goes by.
        weigh: Makes a proposal.
        down_s: How long the largest proposal counts, where the autoscaler does not say.
        settle: Changes the proposal in the light of earlier ones.
    """

    def __init__(
        self,
        spec: specs.AutoscalerSpec,
        horizon: lookahead.HorizonParameters,
        outlook: forecasting_outlook.OutlookParameters,
        weigh: Weigh,
        down_s: float,
        settle: Settle = _keep,
    ) -> None:
        self._metric = spec.metrics[0]
        self._horizon = horizon
        self._outlook = outlook
        self._weigh = weigh
        self._settle = settle
        self._down_s = down_s

    @property
    def down_s(self) -> float:
        """How long the largest proposal counts, where the autoscaler does not say."""
        return self._down_s

    def start(self) -> OutlookMemory:
        """Return the memory of a proposer that has seen nothing yet."""
        return OutlookMemory(lookahead.LookMemory(), forecasting_outlook.begin())

    def restore(self, value: Mapping[str, Any]) -> OutlookMemory:
        """Return the memory that ``as_json`` wrote."""
        return OutlookMemory.from_json(value)

    def propose(
        self, seen: frame.Seen, memory: OutlookMemory
    ) -> tuple[frame.Proposed, OutlookMemory]:
        """Take in what is seen, and weigh what is to be expected."""
        look, learnt = lookahead.take(seen.observation, self._metric, memory.look, self._horizon)
        if isinstance(look.demand, str):
            return frame.fall_back(seen, look.demand), replace(memory, look=learnt)
        state = forecasting_outlook.begin() if look.steps < 0 else memory.outlook
        step_s = learnt.step_s or lookahead.FIRST_STEP_S
        steps = startup.steps(look.horizon_s, step_s)
        for _ in range(max(look.steps, 1)):  # a look that was missed saw what this one sees
            found, state = forecasting_outlook.advance(
                state, look.demand.load, steps, step_s, self._outlook, look.window_s, look.until_s
            )
        now = (seen.observation.time_s, seen.observation.current_replicas)
        after = OutlookMemory(learnt, state, memory.needs, memory.first or now)
        ahead = Ahead(look, look.demand, found, steps, after)
        return self._settle(seen, self._weigh(seen, ahead), ahead)
