"""The cases of upstream's own tests of capping, limits, LimitRanges and admission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubestow.model import limit_ranges, quantities
from kubestow.policies.sizing.vpa.actuation import admission
from kubestow.policies.sizing.vpa.capping import capping, limit_scaling
from tests.policies.sizing.vpa import recorded

ALL = recorded.load("upstream_tables.jsonl.gz")


def cases(
    kind: str, wanted: Callable[[recorded.Json], bool] = lambda _: True
) -> pytest.MarkDecorator:
    result = [case for case in ALL if case["kind"] == kind and wanted(case)]
    assert result
    return pytest.mark.parametrize("case", result, ids=lambda c: f"{c['package']}-{c['name']}")


def quantity(text: Any) -> quantities.Quantity:
    return quantities.parse("0" if text is None else str(text))


@cases("capped")
def test_recommendations_are_capped_for_a_pod_as_upstream_caps_them(case: recorded.Json) -> None:
    given = case["in"]
    recommended = recorded.read_recommended(given["vpa"]["status"].get("recommendation"))
    capped, notes = capping.cap_for_pod(
        recommended,
        recorded.read_containers(given["pod"]),
        recorded.policies_of(given["vpa"]),
        recorded.read_ranges(given),
    )
    expected = recorded.read_recommended(case["out"]["recommendation"])
    assert recorded.written(capped) == recorded.written(expected)
    result = {name: sorted(texts) for name, texts in notes.items()}
    annotations = case["out"]["annotations"] or {}
    assert result == {name: sorted(texts) for name, texts in annotations.items()}


@cases("policy")
def test_policies_bound_recommendations_as_upstream_bounds_them(case: recorded.Json) -> None:
    recommended, policy, most = case["in"]
    got = capping.apply_policies(
        recorded.read_recommended(recommended),
        recorded.read_policies((policy or {}).get("containerPolicies")),
        recorded.read_amounts(most),
    )
    assert recorded.written(got) == recorded.written(recorded.read_recommended(case["out"]))


@cases("limits")
def test_limits_keep_their_proportion(case: recorded.Json) -> None:
    got = limit_scaling.proportional_limits(*(recorded.read_amounts(one) for one in case["in"]))
    assert got == recorded.read_amounts(case["out"])


@cases("limit")
def test_a_limit_keeps_its_proportion(case: recorded.Json) -> None:
    name, *given = case["in"]
    got = limit_scaling.proportional_limit(name, *(quantity(one) for one in given))
    assert got == (None if case["out"] is None else quantity(case["out"]))


@cases("boundary")
def test_boundaries_of_requests_are_upstreams(case: recorded.Json) -> None:
    name, *given = case["in"]
    got = limit_scaling.boundary_request(name, *(quantity(one) for one in given))
    assert got == quantity(case["out"])


@cases("range")
def test_limit_ranges_combine_as_upstream_combines_them(case: recorded.Json) -> None:
    kind, listed = case["in"]
    items = [
        recorded.read_range(item, item["type"])
        for entry in listed or ()
        for item in entry["spec"]["limits"] or ()
    ]
    got = limit_ranges.combine(item for item in items if item is not None)
    expected = recorded.read_range(case["out"], kind)
    assert (got.container if kind == "Container" else got.pod) == expected


def not_off(case: recorded.Json) -> bool:
    vpa = case["in"]["vpa"]
    return bool(vpa) and recorded.update_policy_of(vpa).mode != "Off" and not case["out"]["error"]


@cases("admission", not_off)
def test_new_pods_get_what_upstream_gives_them(case: recorded.Json) -> None:
    given = case["in"]
    containers = recorded.read_containers(given["pod"])
    result = admission.recommended_resources(
        containers,
        recorded.read_recommended(given["vpa"]["status"].get("recommendation")),
        recorded.policies_of(given["vpa"]),
        recorded.read_ranges(given),
    )
    for container, expected in zip(containers, case["out"]["resources"], strict=True):
        got = result.get(container.name)
        requests, limits = (
            recorded.read_amounts({k: v for k, v in (expected[part] or {}).items() if k})
            for part in ("Requests", "Limits")
        )
        assert dict(got.requests if got else {}) == requests
        assert dict(got.limits if got else {}) == limits
