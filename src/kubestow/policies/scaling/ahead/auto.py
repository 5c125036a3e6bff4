"""``auto``: order pods one start-up time ahead, as far as the forecast has proven skill.

Two conditions set the number of pods. The *expected* demand at the horizon must meet the
autoscaler's target utilisation. And the *upper end* of demand until then, exceeded with a stated
risk, must fit what the pods can do at most: halfway between the target and their whole request.
The first is the HorizontalPodAutoscaler's rule with demand one start-up ahead; the second keeps
bursts from being met too late, and costs little where demand is steady. Where no forecast beats
persistence, the scaler is reactive, and the record says so.

Scaling down, the largest need of the last minutes counts, as upstream, but with a bound: after a
burst only a share more than the current need stays, and while demand falls as forecast one pod.
The replicas at the first sync count as needed, too, because the first minutes prove little.
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
    """Forecast horizon, safety margin and stabilization.

    Attributes:
        horizon: Parameters of the forecast horizon.
        outlook: Parameters of the forecast.
        reserve: Share of the range between target and request that the upper end of demand may
            use: 0 holds it at the target, 1 lets it use the whole request.
        pool: Up to this load in pods, the headroom shrinks only with the square root of the load
            (the square-root rule of McNaughton 2016, 5.4); 0 keeps the target's share at any load.
        calm_s: Stabilization window in seconds: the largest need within it counts (upstream:
            300 s). An autoscaler that sets its own window uses only that one.
        spare: Bound on that need: at most this share above the current need, plus one pod. The
            rest is removed at once after a burst.
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
    """Turns the outlook into a proposal, for one specification."""

    def __init__(self, spec: specs.AutoscalerSpec, parameters: AutoScalingParameters) -> None:
        self._several = len(spec.metrics) > 1
        self._parameters = parameters
        has_window = spec.behavior is not None and spec.behavior.down.window_s is not None
        self._calm_s = 0.0 if has_window else parameters.calm_s

    def weigh(self, inputs: frame.ProposalInputs, ahead: outlook_proposers.Ahead) -> frame.Proposed:
        """Propose the pods for the expected demand or for its upper end, whichever is more."""
        outlook, target = ahead.outlook, ahead.demand.target
        most = max(target + (1.0 - target) * self._parameters.reserve, target)
        expected = self._staff(outlook.mean, target)
        upper = outlook.upper / most
        need = max(expected, upper)
        recommended = math.ceil(round(need, 9))
        candidates = [
            records.Candidate("expected", {"load": outlook.mean, "at": target}, expected),
            records.Candidate("upper", {"load": outlook.upper, "at": most}, upper),
        ]
        candidates.sort(key=lambda candidate: -(candidate.total or 0.0))
        if self._several and inputs.reactive is not None:  # other metrics count as they are now
            recommended = max(recommended, inputs.reactive)
        return frame.Proposed(
            replicas=recommended,
            reason=self._reason(ahead, expected, upper),
            numbers=ahead.numbers(),
            candidates=tuple(candidates),
            rejected=_rejected(outlook),
            backtest=_backtest(outlook),
            need=need,
        )

    def _reason(self, ahead: outlook_proposers.Ahead, expected: float, upper: float) -> str:
        """Return which rule set the number of pods: the outlook, or the headroom of few pods."""
        reason = _reason(ahead.outlook, upper > expected)
        load, target = ahead.outlook.mean, ahead.demand.target
        plain = load / target
        others = math.ceil(round(max(plain, upper), 9))
        if math.ceil(round(expected, 9)) <= others:
            return reason
        return (
            f"small pool: a load of {load:.2f} pods gets {expected:.2f} (square-root headroom), "
            f"at the target {plain:.2f}; {reason}"
        )

    def _staff(self, load: float, target: float) -> float:
        """Return the pods for a load at the target, with relatively more headroom at small loads.

        The headroom a queue needs grows with the square root of its load, so a share that suits
        many pods is too little for a few.
        """
        if target >= 1.0:  # pods may use more than they request: no headroom
            return load / target
        root = math.sqrt(max(load, 0.0) * self._parameters.pool)
        return load + (1.0 / target - 1.0) * max(load, root)

    def settle(
        self, inputs: frame.ProposalInputs, proposed: frame.Proposed, ahead: outlook_proposers.Ahead
    ) -> tuple[frame.Proposed, outlook_proposers.OutlookMemory]:
        """Keep what was needed recently, up to a bound; keeping never adds pods."""
        now_s, there = inputs.observation.time_s, inputs.observation.current_replicas
        parameters, need = self._parameters, proposed.replicas or 0
        since_s = now_s - self._calm_s
        recent = (entry for entry in ahead.memory.needs if since_s <= entry[0] <= now_s)
        needs = (*recent, (now_s, need))
        spare = 0.0 if ahead.outlook.falling else parameters.spare
        most = math.ceil(need * (1.0 + spare)) + 1
        kept = min(max(count for _, count in needs), most)
        first_s, first = ahead.memory.first or (now_s, 0)
        if 0.0 <= now_s - first_s < self._calm_s:  # as upstream: the first replicas count as needed
            kept = max(kept, first)
        kept = min(kept, there)
        if kept > need:
            reason = f"{proposed.reason}, some spared"
            proposed = replace(proposed, replicas=kept, reason=reason, need=None)
        return proposed, replace(ahead.memory, needs=needs)


def _reason(outlook: forecasting_outlook.Outlook, bound_by_upper: bool) -> str:
    if bound_by_upper:
        return "forecast: upper end by season" if outlook.seasonal else "forecast: upper end"
    if outlook.trending:
        return "forecast: trend"
    if outlook.smoothing < 1.0:
        return "forecast: smoothed level"
    return f"{frame.REACTIVE}: nothing beats persistence"


def _rejected(outlook: forecasting_outlook.Outlook) -> dict[str, str]:
    if math.isnan(outlook.trend):
        return {"trend": "no rise stands out of the noise"}
    if outlook.trending:
        return {}
    if outlook.trend <= outlook.level:
        return {"trend": "is not above the level"}
    if math.isnan(outlook.skill):
        return {"trend": "is not sure enough without any forecast judged"}
    return {"trend": f"skill {outlook.skill:.2f} against persistence at this horizon"}


def _backtest(outlook: forecasting_outlook.Outlook) -> dict[str, float]:
    if not math.isfinite(outlook.skill):
        return {"judged": outlook.evaluated}
    return {"skill": outlook.skill, "judged": outlook.evaluated}


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
