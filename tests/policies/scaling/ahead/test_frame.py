"""The autoscaler's rules around a proposal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from kubestow.policies.scaling import static
from kubestow.policies.scaling.ahead import frame
from kubestow.policies.scaling.hpa import hpa
from tests.policies.scaling import make, scenes


@dataclass(frozen=True)
class Wish:
    """Proposes what it was made with; ``None`` falls back."""

    replicas: int | None
    down_s: float = 300.0

    def start(self) -> static.NoMemory:
        return static.NoMemory()

    def restore(self, value: Mapping[str, Any]) -> static.NoMemory:
        return static.NoMemory(**value)

    def propose(
        self, observation: frame.ProposalInputs, memory: static.NoMemory
    ) -> tuple[frame.Proposed, static.NoMemory]:
        if self.replicas is None:
            return frame.fall_back(observation, "no wish"), memory
        return frame.Proposed(self.replicas, "wish"), memory


def decide(wish: int | None, observation: Any, *metrics: Any, **spec: Any) -> Any:
    given = make.spec(*(metrics or (make.CPU,)), **spec)
    scaler = frame.Framed("wish", given, hpa.HpaParameters(), Wish(wish))
    return scaler.decide(observation, scaler.start())[0]


def observe(count: int, percent: float = 60.0) -> Any:
    return scenes.observe(0.0, [percent] * count)


@pytest.mark.parametrize(
    ("current", "wish", "desired", "reason"),
    [
        (5, 7, 7, "wish"),
        (5, 5, 5, "wish"),
        (10, 11, 10, "wish"),  # within a tenth
        (5, 100, 10, "wish; ScaleUpLimit"),  # at most double
        (12, 100, 20, "wish; TooManyReplicas"),
        (5, -3, 5, "wish; ScaleDownStabilized"),  # the first sync remembers the 5 it finds
        (25, 3, 20, hpa.ABOVE),
        (1, 9, 2, hpa.BELOW),
        (0, 9, 0, frame.AT_ZERO),
    ],
)
def test_a_proposal_is_followed_as_far_as_rules_allow(
    current: int, wish: int, desired: int, reason: str
) -> None:
    result = decide(wish, observe(current), min_replicas=2)
    assert (result.desired, result.reason, result.proposed) == (desired, reason, wish)


def test_the_reactive_proposal_is_not_held_back_by_a_second_tolerance() -> None:
    # 10 pods at 50 % of a target of 60 %: ratio 0.83, 9 pods, which is a tenth less than 10.
    scaler = frame.Framed("wish", make.spec(make.CPU), hpa.HpaParameters(), Wish(None, 0.0))
    _, memory = scaler.decide(observe(10), scaler.start())
    later = scenes.observe(400.0, [50.0] * 10)
    assert scaler.decide(later, memory)[0].desired == 9


def test_without_proposal_the_fallback_says_why() -> None:
    result = decide(None, observe(5, 100.0))
    assert (result.desired, result.reason) == (9, "reactive: no wish")
    record = result.record()
    assert record.rejected == {"forecast": "no wish"}
    assert (record.numbers["reactive"], record.outcome) == (9.0, "9")
    nothing = decide(None, make.external(0.0, 5, 1.0))
    assert (nothing.desired, nothing.proposed) == (5, None)
    assert "no reactive proposal either" in nothing.reason
    assert nothing.error.startswith("invalid metrics (1 invalid out of 1)")
