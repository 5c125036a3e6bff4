"""Static control groups (McNaughton 2016, 4.5)."""

from __future__ import annotations

import pytest

from kubestow.model import errors
from kubestow.policies.scaling import static
from tests.policies.scaling import make


@pytest.mark.parametrize(
    ("mode", "replicas"),
    [("over", 12), ("under", 2), ("average", 5), ("fixed", 7)],
)
def test_replicas_are_worked_out_from_the_load(mode: str, replicas: int) -> None:
    # One pod serves 0.6 x 0.5 cores / 0.036 s = 8.33 requests per second:
    # 100 / 8.33 = 12, 10 / 8.33 = 1.2, 40 / 8.33 = 4.8.
    parameters = static.StaticParameters(
        mode=mode,
        replicas=7,
        load_max_rps=100.0,
        load_min_rps=10.0,
        load_mean_rps=40.0,
        request_cores=0.5,
    )
    scaler = static.Static(make.spec(), parameters)
    decision, memory = scaler.decide(make.external(0.0, 3, 1.0), scaler.start())
    assert (decision.desired, decision.reason) == (replicas, f"static: {mode}")
    assert decision.record().outcome == str(replicas)
    assert scaler.restore(memory.as_json()) == memory


def test_a_whole_number_of_pods_is_not_rounded_up_by_floats() -> None:
    # 3.6 / 0.6 is 6.000000000000001 in floats.
    assert static.needed_replicas(100.0, 0.036, 1.0, 0.6) == 6


def test_bounds_hold_and_the_minimum_is_the_default() -> None:
    assert static.Static(make.spec(min_replicas=3)).replicas == 3
    many = static.StaticParameters(replicas=99)
    assert static.Static(make.spec(max_replicas=9), many).replicas == 9


@pytest.mark.parametrize(
    "parameters",
    [static.StaticParameters(mode="some"), static.StaticParameters(mode="over", target=0.0)],
    ids=["unknown mode", "no target"],
)
def test_bad_parameters_are_refused(parameters: static.StaticParameters) -> None:
    with pytest.raises(errors.InputError):
        static.Static(make.spec(), parameters)
