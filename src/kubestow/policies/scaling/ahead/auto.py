"""``auto``: order pods one start-up time ahead, as far as the forecast has shown that it can.

Two conditions set the number of pods. The *expected* demand at the horizon is to meet the
autoscaler's target utilisation. And the *upper end* of demand until then, exceeded with a stated
risk, is to fit what the pods can do at most: halfway between the target and all of their request.
The first is the HorizontalPodAutoscaler's rule with demand one start-up ahead; the second is what
keeps bursts from being met too late, and costs little where demand is calm. Where no forecast beats
persistence, what remains is reactive, and the record says so.

Downwards the largest need of the last minutes counts, as upstream, but not without end: after a
burst only a share more than the need of now stays, and while demand falls as foretold one pod. The
number that is found at first counts as needed, too: the first minutes tell little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from kubestow.model import decisions as records
from kubestow.policies.forecasting import outlook as forecasting_outlook
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling import lookahead
from kubestow.policies.scaling.ahead import frame, outlook_proposers

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class AutoScalingParameters:
    """How far to look ahead, and at what risk.

    Attributes:
        horizon: How far to look ahead.
        outlook: What the forecast goes by.
        reserve: How much of the room between target and request the upper end of demand may take:
            0 holds it at the target, 1 lets it use everything.
        pool: Up to this load in pods the room beyond the load shrinks with its root only (the
            square-root rule of McNaughton 2016, 5.4); 0 keeps the target's share at any load.
        calm_s: For so long the largest need counts (upstream's stabilisation, 300 s); an autoscaler
            with a window of its own is stabilised by that one alone.
        spare: But only so far beyond the need of now, as a share, and one pod: what is left after
            a burst goes at once.
    """

    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    outlook: forecasting_outlook.OutlookParameters = field(
        default_factory=forecasting_outlook.OutlookParameters
    )
    reserve: float = 0.5
    pool: float = 4.0
    calm_s: float = 300.0
    spare: float = 0.4


class _Weigher:
    """Weighs the outlook for one specification."""

    def __init__(self, spec: specs.AutoscalerSpec, parameters: AutoScalingParameters) -> None:
        self._several = len(spec.metrics) > 1
        self._parameters = parameters
        told = spec.behavior is not None and spec.behavior.down.window_s is not None
        self._calm_s = 0.0 if told else parameters.calm_s

    def weigh(self, seen: frame.Seen, ahead: outlook_proposers.Ahead) -> frame.Proposed:
        """Return the larger of what the expected demand and its upper end take."""
        found, target = ahead.found, ahead.demand.target
        most = max(target + (1.0 - target) * self._parameters.reserve, target)
        expected = self._staff(found.mean, target)
        upper = found.upper / most
        need = max(expected, upper)
        wanted = math.ceil(round(need, 9))
        candidates = [
            records.Candidate("expected", {"load": found.mean, "at": target}, expected),
            records.Candidate("upper", {"load": found.upper, "at": most}, upper),
        ]
        candidates.sort(key=lambda candidate: -(candidate.total or 0.0))
        if self._several and seen.reactive is not None:  # other metrics count as they are now
            wanted = max(wanted, seen.reactive)
        return frame.Proposed(
            replicas=wanted,
            reason=_reason(found, upper > expected),
            numbers=ahead.numbers(),
            candidates=tuple(candidates),
            rejected=_rejected(found),
            backtest=_backtest(found),
            need=need,
        )

    def _staff(self, load: float, target: float) -> float:
        """Return the pods a load takes: at the target, with relatively more room for a small load.

        What a queue needs beyond its load grows with the root of the load, so a share that suits
        many pods is too little for a few.
        """
        if target >= 1.0:  # pods may use more than they request: there is no room to share
            return load / target
        root = math.sqrt(max(load, 0.0) * self._parameters.pool)
        return load + (1.0 / target - 1.0) * max(load, root)

    def settle(
        self, seen: frame.Seen, proposed: frame.Proposed, ahead: outlook_proposers.Ahead
    ) -> tuple[frame.Proposed, outlook_proposers.OutlookMemory]:
        """Hold on to what was needed of late, within reason; to hold orders nothing new."""
        now_s, there = seen.observation.time_s, seen.observation.current_replicas
        parameters, need = self._parameters, proposed.replicas or 0
        since_s = now_s - self._calm_s
        recent = (entry for entry in ahead.memory.needs if since_s <= entry[0] <= now_s)
        needs = (*recent, (now_s, need))
        spare = 0.0 if ahead.found.falling else parameters.spare
        most = math.ceil(need * (1.0 + spare)) + 1
        kept = min(max(count for _, count in needs), most)
        first_s, first = ahead.memory.first or (now_s, 0)
        if 0.0 <= now_s - first_s < self._calm_s:  # as upstream: what was found counts as needed
            kept = max(kept, first)
        kept = min(kept, there)
        if kept > need:
            reason = f"{proposed.reason}, some spared"
            proposed = replace(proposed, replicas=kept, reason=reason, need=None)
        return proposed, replace(ahead.memory, needs=needs)


def _reason(found: forecasting_outlook.Outlook, bound_by_upper: bool) -> str:
    if bound_by_upper:
        return "forecast: upper end by season" if found.seasonal else "forecast: upper end"
    if found.trending:
        return "forecast: trend"
    if found.smoothing < 1.0:
        return "forecast: smoothed level"
    return f"{frame.REACTIVE}: nothing beats persistence"


def _rejected(found: forecasting_outlook.Outlook) -> dict[str, str]:
    if math.isnan(found.trend):
        return {"trend": "no rise stands out of the noise"}
    if found.trending:
        return {}
    if found.trend <= found.level:
        return {"trend": "is not above the level"}
    if math.isnan(found.skill):
        return {"trend": "is not sure enough without any forecast judged"}
    return {"trend": f"skill {found.skill:.2f} against persistence at this horizon"}


def _backtest(found: forecasting_outlook.Outlook) -> dict[str, float]:
    if not math.isfinite(found.skill):
        return {"judged": found.judged}
    return {"skill": found.skill, "judged": found.judged}


def make_auto(
    spec: specs.AutoscalerSpec, parameters: AutoScalingParameters
) -> frame.Framed[outlook_proposers.OutlookMemory]:
    """Return the scaler for one specification."""
    weigher = _Weigher(spec, parameters)
    proposer = outlook_proposers.OutlookProposer(
        spec,
        parameters.horizon,
        parameters.outlook,
        weigher.weigh,
        parameters.horizon.hold_s,
        weigher.settle,
    )
    return frame.Framed(AUTO, spec, parameters, proposer)
