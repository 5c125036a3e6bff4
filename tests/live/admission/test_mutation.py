"""What a pod gets: amounts, limits, guards, classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.admission.mutation import Mutation, mutate
from kubestow.live.admission.policy import AdmissionPolicy, LimitRule
from kubestow.live.stores import StoredRecommendation
from kubestow.model import pods, quantities, requests
from kubestow.model.limit_ranges import LimitRangeItem, LimitRanges, PodBounds
from tests.live.admission.make import learned

FREE = PodBounds()
GIB = 2**30


def amounts(**given: str) -> dict[str, quantities.Quantity]:
    return {name: quantities.parse(text) for name, text in given.items()}


def container(
    name: str = "c", requests: dict[str, str] | None = None, limits: dict[str, str] | None = None
) -> pods.Container:
    return pods.Container(
        name, requests=amounts(**(requests or {})), limits=amounts(**(limits or {}))
    )


def pod(*containers: pods.Container, **more: Any) -> pods.Pod:
    annotations = more.pop("annotations", {})
    return pods.Pod("p", pods.PodSpec(containers, **more), annotations=annotations)


# The pod of the recorded review: Burstable.
WEB = container(
    requests={"cpu": "250m", "memory": "128Mi"}, limits={"cpu": "500m", "memory": "256Mi"}
)


def shown(result: Mutation) -> dict[str, str | None]:
    """Return new amounts by place."""
    return {
        f"{change.container}.{change.section}.{change.resource}": (
            None if change.new is None else str(change.new)
        )
        for change in result.changes
    }


def size(
    one: pods.Pod,
    policy: AdmissionPolicy | None = None,
    bounds: PodBounds = FREE,
    **values: StoredRecommendation,
) -> Mutation:
    return mutate(one, values or {"c": learned()}, policy or AdmissionPolicy(), bounds)


def test_by_default_memory_limit_equals_request_and_cpu_has_no_limit() -> None:
    assert shown(size(pod(WEB))) == {
        "c.requests.cpu": "512m",
        "c.requests.memory": "1216M",
        "c.limits.cpu": None,
        "c.limits.memory": "1216M",
    }


@pytest.mark.parametrize(
    ("memory", "written"),
    [("1216M", "1216M"), ("512Mi", "512Mi"), ("1275068416", "1275068416"), ("1.5Gi", "1536Mi")],
)
def test_amounts_keep_the_notation_they_were_learned_in(memory: str, written: str) -> None:
    result = size(pod(WEB), c=learned(memory=memory))
    assert shown(result)["c.requests.memory"] == written


def test_equal_amounts_in_another_notation_are_no_change() -> None:
    same = container(requests={"cpu": "0.5", "memory": "256Mi"}, limits={"memory": "268435456"})
    assert size(pod(same), c=learned("500m", "268435456")).changes == ()


def test_unknown_containers_and_init_containers_stay() -> None:
    other = container("other", {"cpu": "1"}, {"cpu": "2"})
    result = size(pod(other, WEB, init_containers=(container("c"),)))
    assert {change.container for change in result.changes} == {"c"}
    assert {change.index for change in result.changes} == {1}


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        ("512m", None, {"c.requests.cpu": "512m", "c.limits.cpu": None}),
        (None, "1216M", {"c.requests.memory": "1216M", "c.limits.memory": "1216M"}),
    ],
    ids=["cpu alone", "memory alone"],
)
def test_one_resource_alone_leaves_the_other(
    cpu: str | None, memory: str | None, expected: dict[str, str | None]
) -> None:
    assert shown(size(pod(WEB), c=learned(cpu, memory))) == expected


@pytest.mark.parametrize(
    ("rule", "cpu_limit", "memory_limit"),
    [
        # The old limits are twice the old requests; the new requests are 512m and 1216M.
        ("none", None, None),
        ("request", "512m", "1216M"),
        ("keep", "512m", "1216M"),  # raised where requests go beyond 500m and 256Mi
        ("scale", "1024m", "2432M"),
        ("factor", "768m", "1824M"),
    ],
)
def test_limits_follow_by_rule(
    rule: LimitRule, cpu_limit: str | None, memory_limit: str | None
) -> None:
    policy = AdmissionPolicy(cpu_limit=rule, memory_limit=rule, cpu_factor=1.5, memory_factor=1.5)
    result = shown(size(pod(WEB), policy))
    assert (result["c.limits.cpu"], result["c.limits.memory"]) == (cpu_limit, memory_limit)


def test_kept_limits_stay_where_requests_are_smaller() -> None:
    policy = AdmissionPolicy(cpu_limit="keep", memory_limit="keep")
    result = shown(size(pod(WEB), policy, c=learned("100m", "64Mi")))
    assert result == {"c.requests.cpu": "100m", "c.requests.memory": "64Mi"}


def test_untouched_limits_bound_the_requests() -> None:
    policy = AdmissionPolicy(cpu_limit="untouched", memory_limit="untouched")
    result = size(pod(WEB), policy)
    assert shown(result) == {"c.requests.cpu": "500m", "c.requests.memory": "256Mi"}
    assert any("not touched" in note for note in result.notes["c"])
    bare = size(pod(container()), policy)
    assert shown(bare) == {"c.requests.cpu": "512m", "c.requests.memory": "1216M"}


def test_a_floor_does_not_lift_requests_beyond_untouched_limits() -> None:
    small = container(limits={"memory": "16Mi"})
    result = size(pod(small), AdmissionPolicy(memory_limit="untouched"), c=learned(None, "900M"))
    assert shown(result) == {"c.requests.memory": "16Mi"}


def test_least_and_largest_amounts_are_kept_and_noted() -> None:
    policy = AdmissionPolicy(cpu_most_m=400, memory_least_bytes=2 * GIB)
    result = size(pod(WEB), policy)
    assert shown(result)["c.requests.cpu"] == "400m"
    assert shown(result)["c.requests.memory"] == "2147483648"
    assert result.notes["c"] == ("cpu: at most 400m", "memory: floor")


def ranges(kind: Any = "Container", **given: dict[str, str]) -> PodBounds:
    read = {key: amounts(**value) for key, value in given.items()}
    item = LimitRangeItem(kind, read.get("minimum"), read.get("maximum"), read.get("default"))
    return PodBounds(LimitRanges(item) if kind == "Container" else LimitRanges(None, item))


def test_no_amount_is_beyond_the_limit_range() -> None:
    bounds = ranges(maximum={"cpu": "300m", "memory": "1G"}, minimum={"memory": "200M"})
    result = shown(size(pod(WEB), bounds=bounds))
    # A maximum asks for a limit, too.
    assert result == {
        "c.requests.cpu": "300m",
        "c.limits.cpu": "300m",
        "c.requests.memory": "1G",
        "c.limits.memory": "1G",
    }
    low = shown(size(pod(WEB), bounds=bounds, c=learned("100m", "100M")))
    assert low["c.requests.memory"] == "200M"


def test_a_limit_that_would_come_back_too_small_is_not_taken_away() -> None:
    # The API server would fill in 200m again, below the request of 512m, and refuse the pod.
    defaulted = container(requests={"cpu": "100m"}, limits={"cpu": "200m"})
    result = size(pod(defaulted), bounds=ranges(default={"cpu": "200m"}), c=learned("512m", None))
    assert shown(result) == {"c.requests.cpu": "512m", "c.limits.cpu": "512m"}
    assert result.notes["c"] == ("cpu limit: LimitRange has a default",)
    small = size(pod(defaulted), bounds=ranges(default={"cpu": "200m"}), c=learned("50m", None))
    assert shown(small) == {"c.requests.cpu": "50m"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "LimitRanger plugin set: memory request for container c; cpu limit for container c",
            True,
        ),
        ("LimitRanger plugin set: memory limit for container c", False),
        ("LimitRanger plugin set: cpu limit for container cc", False),
        ("LimitRanger plugin set: cpu limit for init container c", False),
        ("", False),
    ],
)
def test_the_pod_annotation_shows_defaults_where_the_cluster_is_not_known(
    text: str, kept: bool
) -> None:
    note = {"kubernetes.io/limit-ranger": text}
    result = shown(size(pod(WEB, annotations=note), c=learned("300m", None)))
    assert result == (
        {"c.requests.cpu": "300m"} if kept else {"c.requests.cpu": "300m", "c.limits.cpu": None}
    )


def test_a_quota_on_limits_asks_for_one() -> None:
    bounds = PodBounds(quota={"limits.cpu": 10_000})
    result = size(pod(WEB), bounds=bounds, c=learned("300m", None))
    assert shown(result) == {"c.requests.cpu": "300m"}
    assert result.notes["c"] == ("cpu limit: the quota asks for one",)


def test_requests_grow_only_as_far_as_the_quota_goes() -> None:
    # 300m are left, of which the pod takes 250m as it is.
    bounds = PodBounds(quota={"requests.cpu": 300})
    assert shown(size(pod(WEB), bounds=bounds, c=learned("512m", None)))["c.requests.cpu"] == "300m"


def test_a_ratio_of_limit_to_request_is_kept() -> None:
    bounds = PodBounds(ratios={"cpu": 1.5})
    policy = AdmissionPolicy(cpu_limit="scale")
    assert shown(size(pod(WEB), policy, bounds, c=learned("400m", None)))["c.limits.cpu"] == "600m"
    # Without a limit the API server would refuse the pod.
    assert "c.limits.cpu" not in shown(size(pod(WEB), bounds=bounds, c=learned("400m", None)))


def test_a_pod_fits_the_largest_node_as_a_whole() -> None:
    two = (container("a", {"cpu": "1"}), container("b", {"cpu": "1"}))
    values = {name: learned("3", None) for name in ("a", "b")}
    result = mutate(pod(*two), values, AdmissionPolicy(), FREE, {"cpu": 4000, "memory": GIB})
    # Both grow alike, from 1 to 2: together 4.
    assert shown(result) == {"a.requests.cpu": "2", "b.requests.cpu": "2"}


def test_the_limits_of_a_pod_together_stay_within_its_limit_range() -> None:
    bounds = ranges("Pod", maximum={"cpu": "800m"})
    result = shown(
        size(pod(WEB), AdmissionPolicy(cpu_limit="scale"), bounds, c=learned("500m", None))
    )
    assert result == {"c.requests.cpu": "500m"}  # in proportion the limit would be 1


def test_a_change_of_class_is_noted() -> None:
    both = {"cpu": "250m", "memory": "128Mi"}
    guaranteed = pod(container(requests=both, limits=both))
    result = size(guaranteed)
    assert result.quality == (requests.QosClass.GUARANTEED, requests.QosClass.BURSTABLE)
    kept = size(guaranteed, AdmissionPolicy(keep_guaranteed=True))
    assert kept.quality == (requests.QosClass.GUARANTEED, requests.QosClass.GUARANTEED)
    assert shown(kept)["c.limits.cpu"] == "512m"
    bare = size(pod(container()))
    assert bare.quality == (requests.QosClass.BEST_EFFORT, requests.QosClass.BURSTABLE)


def test_resources_of_the_pod_itself_bound_its_containers() -> None:
    own = amounts(cpu="400m", memory="1G")
    result = shown(size(pod(WEB, pod_requests=own, pod_limits=own)))
    assert (result["c.requests.cpu"], result["c.requests.memory"]) == ("400m", "1G")


def test_a_second_call_changes_nothing() -> None:
    # API servers may call a webhook again after others changed the pod.
    changed = container(requests={"cpu": "512m", "memory": "1216M"}, limits={"memory": "1216M"})
    assert size(pod(changed)).changes == ()


AMOUNT = st.integers(min_value=1, max_value=4000)


@given(
    asked=st.none() | AMOUNT,
    factor=st.none() | st.integers(min_value=1, max_value=4),
    value=AMOUNT,
    least=AMOUNT,
    span=AMOUNT,
    default=st.none() | AMOUNT,
    ratio=st.none() | st.sampled_from((1.0, 1.5, 3.0)),
    rule=st.sampled_from(("none", "request", "keep", "scale", "factor")),
)
def test_a_pod_that_is_changed_is_one_the_namespace_accepts(
    asked: int | None,
    factor: int | None,
    value: int,
    least: int,
    span: int,
    default: int | None,
    ratio: float | None,
    rule: LimitRule,
) -> None:
    # What LimitRanges check: least <= request <= limit <= most, and limit <= ratio x request.
    before = {} if asked is None else {"cpu": f"{asked}m"}
    limits = {} if asked is None or factor is None else {"cpu": f"{asked * factor}m"}
    given_range = {"minimum": {"cpu": f"{least}m"}, "maximum": {"cpu": f"{least + span}m"}}
    if default is not None:
        given_range["default"] = {"cpu": f"{default}m"}
    bounds = replace(ranges(**given_range), ratios={} if ratio is None else {"cpu": ratio})
    policy = AdmissionPolicy(cpu_limit=rule, cpu_factor=2.0)
    one = pod(container(requests=before, limits=limits))
    result = mutate(one, {"c": learned(f"{value}m", None)}, policy, bounds)
    texts: dict[str, str | None] = {f"c.requests.{name}": text for name, text in before.items()}
    texts |= {f"c.limits.{name}": text for name, text in limits.items()} | shown(result)
    request = quantities.parse(texts["c.requests.cpu"] or "0").milli()
    limit = quantities.parse(texts["c.limits.cpu"] or "0").milli()
    assert least <= request <= limit <= least + span
    assert ratio is None or limit <= ratio * request
