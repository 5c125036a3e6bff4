"""The autoscaler's rules, one at a time, with the arithmetic written out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.policies.scaling import observations
from kubestow.policies.scaling.hpa import hpa, versions
from kubestow.policies.scaling.hpa import memory as hpa_memory
from kubestow.policies.scaling.hpa import specification as specs
from tests.policies.scaling import make

SECOND_NS = 10**9


def decide(
    scaler: hpa.Hpa, *observation: observations.ScalingObservation
) -> list[tuple[int | None, int, str]]:
    memory, result = scaler.start(), []
    for line in observation:
        decision, memory = scaler.decide(line, memory)
        result.append((decision.proposed, decision.desired, decision.reason))
    return result


def test_replicas_follow_the_ratio_rounded_up() -> None:
    # 59.61 / 10 per pod = 5.961, rounded up 6
    assert decide(hpa.Hpa(make.spec()), make.external(2.042, 3, 59.61)) == [
        (6, 6, "external metric rps(nil) above target")
    ]


@pytest.mark.parametrize(
    ("value", "desired"),
    [(33.0, 3), (33.01, 4), (27.0, 3), (26.99, 3), (20.0, 2)],
    ids=["1.1 is within", "above 1.1", "0.9 is within", "ceil of 2.699", "two thirds"],
)
def test_ten_percent_are_tolerated(value: float, desired: int) -> None:
    scaler = hpa.Hpa(make.spec(), hpa.HpaParameters(downscale_stabilization_s=0.0))
    memory = hpa_memory.HpaMemory(recommendations=())
    assert scaler.decide(make.external(0.0, 3, value), memory)[0].desired == desired


def test_before_1_33_the_tolerance_is_a_distance_and_rounds_differently() -> None:
    # 1 - 1.1 is -0.10000000000000009 in floats, more than 0.1; 1 + 0.1 is 1.1.
    observation = make.external(0.0, 10, 110.0)
    for version, desired in (("1.32", 11), ("1.33", 10), ("1.37", 10)):
        scaler = hpa.Hpa(make.spec(), hpa.HpaParameters(version=version))
        assert decide(scaler, observation)[0][1] == desired, version


def test_a_tolerance_of_the_behavior_counts_from_1_35_on() -> None:
    rules = replace(specs.DEFAULT_UP, tolerance=0.5)
    spec = make.spec(behavior=specs.Behavior(up=rules))
    observation = make.external(0.0, 10, 140.0)  # ratio 1.4
    for version, desired in (("1.34", 14), ("1.35", 10), ("1.37", 10)):
        scaler = hpa.Hpa(spec, hpa.HpaParameters(version=version))
        assert decide(scaler, observation)[0][1] == desired, version


def test_without_behavior_replicas_at_most_double_or_reach_four() -> None:
    scaler = hpa.Hpa(make.spec(max_replicas=100))
    assert decide(scaler, make.external(0.0, 1, 900.0))[0][1] == 4
    assert decide(scaler, make.external(0.0, 6, 900.0))[0][1] == 12


def test_without_behavior_an_entry_as_old_as_the_window_still_counts() -> None:
    # The list begins at 2.042 with the replicas found; 300 s later it is exactly as old as the
    # window, although 302.042 - 300 is not 2.042 in floats.
    scaler = hpa.Hpa(make.spec())
    first, edge = make.external(2.042, 8, 30.0), make.external(302.042, 8, 30.0)
    assert [d for _, d, _ in decide(scaler, first, edge)] == [8, 8]
    beyond = make.external(302.043, 8, 30.0)
    assert [d for _, d, _ in decide(scaler, first, beyond)] == [8, 3]


def test_with_behavior_an_entry_as_old_as_the_window_does_not_count() -> None:
    down = replace(specs.DEFAULT_DOWN, window_s=60)
    scaler = hpa.Hpa(make.spec(behavior=specs.Behavior(down=down)))
    first, edge = make.external(2.042, 8, 30.0), make.external(62.042, 8, 30.0)
    assert [d for _, d, _ in decide(scaler, first, edge)] == [8, 3]


def test_a_window_upwards_takes_the_lowest_recent_recommendation() -> None:
    up = replace(specs.DEFAULT_UP, window_s=60)
    scaler = hpa.Hpa(make.spec(behavior=specs.Behavior(up=up)))
    result = decide(scaler, make.external(0.0, 2, 20.0), make.external(30.0, 2, 60.0))
    assert result[1] == (6, 2, "ScaleUpStabilized")


def test_policies_count_what_was_changed_within_their_period() -> None:
    up = replace(specs.DEFAULT_UP, policies=(specs.HpaScalingPolicy("Pods", 2, 60),))
    scaler = hpa.Hpa(make.spec(behavior=specs.Behavior(up=up)))
    result = decide(
        scaler,
        make.external(0.0, 2, 90.0),  # 2 + 2
        make.external(30.0, 4, 90.0),  # 2 were added within 60 s: 4 - 2 + 2
        make.external(60.0, 4, 90.0),  # the event is exactly 60 s old and gone: 4 + 2
    )
    assert [d for _, d, _ in result] == [4, 4, 6]
    assert result[1][2] == "ScaleUpLimit"


def test_replicas_out_of_bounds_are_brought_back_without_asking_metrics() -> None:
    scaler = hpa.Hpa(make.spec(min_replicas=2, max_replicas=5))
    assert decide(scaler, make.external(0.0, 9, None)) == [(None, 5, hpa.ABOVE)]
    assert decide(scaler, make.external(0.0, 1, None)) == [(None, 2, hpa.BELOW)]


def test_a_failed_read_blocks_scaling_down_but_not_up() -> None:
    other = replace(make.RPS, name="queue")
    scaler = hpa.Hpa(make.spec(make.RPS, other))
    pods = observations.ready_pods(4)

    def observation(value: int) -> observations.ScalingObservation:
        metrics: dict[str, observations.Reading] = {
            "rps": observations.SingleValue((value * 1000,)),
            "queue": observations.FailedRead("gone"),
        }
        return observations.ScalingObservation(0.0, 4, 4, metrics, pods)

    assert decide(scaler, observation(80)) == [(8, 8, "external metric rps(nil) above target")]
    assert decide(scaler, observation(10)) == [(None, 4, "FailedGetExternalMetric")]
    decision, _ = scaler.decide(observation(10), scaler.start())
    assert decision.error.endswith("unable to fetch metrics from external metrics API: gone")
    assert decision.record().rejected.keys() == {"external metric queue(nil)"}


def test_only_what_the_controller_scaled_to_zero_comes_back() -> None:
    scaler = hpa.Hpa(make.spec(min_replicas=0))
    quiet = [make.external(15.0 * i, 1, 0.0) for i in range(22)]
    memory = scaler.start()
    for line in quiet:
        decision, memory = scaler.decide(line, memory)
    assert (decision.desired, memory.scaled_to_zero) == (0, True)
    back, _ = scaler.decide(make.external(400.0, 0, 25.0), memory)
    assert (back.proposed, back.desired) == (3, 3)
    by_hand, _ = scaler.decide(make.external(400.0, 0, 25.0), scaler.start())
    assert (by_hand.proposed, by_hand.desired, by_hand.reason) == (None, 0, "ScalingDisabled")


@pytest.mark.parametrize(
    ("version", "desired"), [("1.29", 0), ("1.35", 0), ("1.36", 0), ("1.37", 0)]
)
def test_a_target_at_zero_with_a_minimum_is_left_alone(version: str, desired: int) -> None:
    scaler = hpa.Hpa(make.spec(), hpa.HpaParameters(version=version))
    assert decide(scaler, make.external(0.0, 0, 50.0)) == [(None, desired, "ScalingDisabled")]


def test_up_to_1_35_a_minimum_of_zero_alone_lets_a_target_come_back() -> None:
    # With the alpha gate of that time; 1.36 wants the condition as well.
    for version, desired in (("1.35", 4), ("1.36", 0)):
        features = replace(versions.hpa_features(version), scale_to_zero=True)
        scaler = hpa.Hpa(make.spec(min_replicas=0), hpa.HpaParameters(version), features)
        assert decide(scaler, make.external(0.0, 0, 40.0))[0][1] == desired


def test_starting_pods_do_not_count_for_cpu() -> None:
    # Two pods at 90 %, and one of 20 s that uses 300 %: ratio 1.5; with the young one at 0 % the
    # mean is 60 %, exactly the target.
    observation = make.busy(1000.0, [90.0, 90.0, 300.0])
    pods = replace(observation.pods, started_s=observation.pods.started_s.copy())
    pods.started_s[2] = 980.0
    pods = replace(pods, ready_since_s=pods.started_s)
    scaler = hpa.Hpa(make.spec(make.CPU))
    assert decide(scaler, replace(observation, pods=pods))[0][:2] == (3, 3)


def test_a_decision_carries_its_record() -> None:
    scaler = hpa.Hpa(make.spec(make.RPS, make.CPU, name="web", namespace="shop"))
    decision, _ = scaler.decide(make.external(2.0, 3, 59.61), scaler.start())
    record = decision.record()
    assert (record.kind, record.policy, record.outcome) == ("scaling", "hpa", "6")
    assert record.subject == "horizontalpodautoscaler/shop/web"
    assert record.candidates[0].total == 6.0
    assert json.dumps(record.as_json())
    assert decision.as_json()["conditions"]["AbleToScale"]["reason"] == "SucceededRescale"


def test_memory_survives_being_stored() -> None:
    scaler = hpa.Hpa(make.spec(behavior=specs.Behavior()))
    memory = scaler.start()
    assert scaler.restore(json.loads(json.dumps(memory.as_json()))) == memory
    for index, value in enumerate((80.0, 20.0, 80.0)):
        _, memory = scaler.decide(make.external(15.0 * index, 3, value), memory)
    assert scaler.restore(json.loads(json.dumps(memory.as_json()))) == memory


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(0, 500), min_size=1, max_size=12),
    least=st.integers(1, 5),
    behaved=st.booleans(),
)
def test_decisions_stay_within_bounds_and_change_nothing_given(
    values: list[float], least: int, behaved: bool
) -> None:
    behavior = specs.Behavior() if behaved else None
    scaler = hpa.Hpa(make.spec(min_replicas=least, max_replicas=15, behavior=behavior))
    memory, replicas = scaler.start(), least
    for index, value in enumerate(values):
        observation, before = make.external(15.0 * index, replicas, value), memory
        first, memory = scaler.decide(observation, before)
        again, _ = scaler.decide(observation, before)
        assert first.as_json() == again.as_json()
        assert least <= first.desired <= 15
        replicas = first.desired


def test_unknown_versions_are_refused() -> None:
    for version in ("1.28", "1.99", "new"):
        with pytest.raises(ValueError, match=r"expected 1\.29 to 1\.37"):
            versions.hpa_features(version)


def test_before_1_33_one_pod_without_samples_of_the_container_fails_the_read() -> None:
    metric = specs.MetricSpec("ContainerResource", "cpu", "AverageValue", 300, "app")
    observation = make.busy(0.0, [90.0, 90.0])
    samples = observation.metrics["cpu"]
    assert isinstance(samples, observations.PodSamples)
    partial = replace(observation, metrics={"app/cpu": replace(samples, partial=True)})
    for version, reason in (
        ("1.32", "FailedGetContainerResourceMetric"),
        ("1.33", "cpu resource above target"),
    ):
        scaler = hpa.Hpa(make.spec(metric), hpa.HpaParameters(version=version))
        assert decide(scaler, partial)[0][2] == reason


def test_external_sums_stop_at_the_largest_number_or_overflow_by_release() -> None:
    # Two values whose sum exceeds an int64: capped from 1.34 on, negative before.
    parts = (2**62, 2**62)
    observation = replace(
        make.external(0.0, 4, 1.0), metrics={"rps": observations.SingleValue(parts)}
    )
    for version, proposed in (("1.33", -(2**31)), ("1.34", 2**31 - 1)):
        scaler = hpa.Hpa(make.spec(), hpa.HpaParameters(version=version))
        assert decide(scaler, observation)[0][0] == proposed
    metric = replace(make.RPS, target=specs.VALUE)
    for version, proposed in (("1.34", -(2**31)), ("1.35", 2**31 - 1)):
        scaler = hpa.Hpa(make.spec(metric), hpa.HpaParameters(version=version))
        assert decide(scaler, observation)[0][0] == proposed


def test_an_object_metric_without_a_usable_target_is_reported() -> None:
    metric = specs.MetricSpec("Object", "m", "", 0, object_kind="Service", object_name="front")
    result = decide(hpa.Hpa(make.spec(metric)), make.external(0.0, 2, 5.0, "m"))
    assert result == [(None, 2, "FailedGetObjectMetric")]


def test_the_message_of_a_failed_object_read_names_the_object_by_release() -> None:
    metric = specs.MetricSpec(
        "Object", "m", "Value", 1000, object_kind="Service", object_name="front"
    )
    for version, text in (
        ("1.36", "unable to get metric m: Service on default front/unable to fetch"),
        ("1.37", "unable to get metric m on Service default/front: unable to fetch"),
    ):
        scaler = hpa.Hpa(make.spec(metric), hpa.HpaParameters(version=version))
        decision, _ = scaler.decide(make.external(0.0, 2, None, "m"), scaler.start())
        assert text in decision.error
