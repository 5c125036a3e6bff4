"""Proposers that follow the outlook; they differ in how they turn it into replicas."""

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
    """The memory of an outlook proposer.

    Attributes:
        sync: Memory common to predictive scalers.
        outlook: State of the forecast.
        needs: Recent times and pods needed; empty unless ``settle`` keeps them.
        first: Time and replicas of the first sync.
    """

    sync: lookahead.SyncMemory
    outlook: forecasting_outlook.OutlookState
    needs: tuple[tuple[float, int], ...] = ()
    first: tuple[float, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {
            "look": self.sync.as_json(),
            "outlook": self.outlook.as_json(),
            "needs": [list(need) for need in self.needs],
            "first": None if self.first is None else list(self.first),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OutlookMemory:
        """Return the memory that ``as_json`` wrote."""
        first = value["first"]
        return cls(
            lookahead.SyncMemory.from_json(value["look"]),
            forecasting_outlook.OutlookState.from_json(value["outlook"]),
            tuple((float(time_s), int(need)) for time_s, need in value["needs"]),
            None if first is None else (float(first[0]), int(first[1])),
        )


class Ahead(NamedTuple):
    """The inputs of a ``Weigh`` function.

    Attributes:
        sample: What this sync observed.
        demand: The demand now.
        outlook: The forecast demand.
        steps: The horizon in steps.
        memory: The memory after this sync.
    """

    sample: lookahead.DemandSample
    demand: scaling_demand.Demand
    outlook: forecasting_outlook.Outlook
    steps: int
    memory: OutlookMemory

    def numbers(self) -> dict[str, float]:
        """Return the numbers for the decision record."""
        return {
            "load": self.demand.load,
            "level": self.outlook.level,
            "mean": self.outlook.mean,
            "upper": self.outlook.upper,
            "target": self.demand.target,
            "horizon_s": self.sample.horizon_s,
            "startup_s": self.sample.startup_s,
            "smoothing": self.outlook.smoothing,
            "gate": float(self.outlook.trending or self.outlook.smoothing < 1.0),
        }


Weigh = Callable[[frame.ProposalInputs, Ahead], frame.Proposed]
Settle = Callable[
    [frame.ProposalInputs, frame.Proposed, Ahead], tuple[frame.Proposed, OutlookMemory]
]


def _keep(
    _: frame.ProposalInputs, proposed: frame.Proposed, ahead: Ahead
) -> tuple[frame.Proposed, OutlookMemory]:
    return proposed, ahead.memory


class OutlookProposer:
    """Updates the outlook at every sync, and lets a function turn it into a proposal.

    Args:
        spec: The autoscaler's specification; its first metric is forecast.
        horizon: Parameters of the forecast horizon.
        outlook: Parameters of the forecast.
        weigh: Makes a proposal.
        down_s: Downscale stabilization in seconds, where the autoscaler sets no window.
        settle: Adjusts the proposal to earlier ones.
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
        """Downscale stabilization in seconds, where the autoscaler sets no window."""
        return self._down_s

    def start(self) -> OutlookMemory:
        """Return the initial memory."""
        return OutlookMemory(lookahead.SyncMemory(), forecasting_outlook.begin())

    def restore(self, value: Mapping[str, Any]) -> OutlookMemory:
        """Return the memory that ``as_json`` wrote."""
        return OutlookMemory.from_json(value)

    def propose(
        self, inputs: frame.ProposalInputs, memory: OutlookMemory
    ) -> tuple[frame.Proposed, OutlookMemory]:
        """Update the outlook with this sync, and make a proposal."""
        sample, learnt = lookahead.take(
            inputs.observation, self._metric, memory.sync, self._horizon
        )
        if isinstance(sample.demand, str):
            return frame.fall_back(inputs, sample.demand), replace(memory, sync=learnt)
        state = forecasting_outlook.begin() if sample.steps < 0 else memory.outlook
        step_s = learnt.step_s or lookahead.FIRST_STEP_S
        steps = startup.steps(sample.horizon_s, step_s)
        for _ in range(max(sample.steps, 1)):  # missed syncs count as this one
            outlook, state = forecasting_outlook.advance(
                state,
                sample.demand.load,
                steps,
                step_s,
                self._outlook,
                sample.window_s,
                sample.until_s,
            )
        now = (inputs.observation.time_s, inputs.observation.current_replicas)
        after = OutlookMemory(learnt, state, memory.needs, memory.first or now)
        ahead = Ahead(sample, sample.demand, outlook, steps, after)
        return self._settle(inputs, self._weigh(inputs, ahead), ahead)
