"""Patches change the keys they name and nothing else, whatever the pod looks like."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubestow.live.admission import patches
from kubestow.live.admission.learned_reader import LearnedRow
from kubestow.live.admission.learned_table import LearnedCache
from kubestow.live.admission.policy import CHANGED, WOULD_CHANGE, AdmissionPolicy, LimitRule
from kubestow.live.admission.reviewer import Reviewer
from kubestow.live.servers import telemetry
from kubestow.model.keys import ContainerKey
from tests.live.admission import make
from tests.live.patching import apply

AMOUNTS = ("10m", "250m", "1", "128Mi", "0.5", "1e3", "2G", "300M")


class Given:
    """A store that holds what it is given."""

    def __init__(self, *rows: LearnedRow) -> None:
        self.rows = rows

    def everything(self) -> tuple[LearnedRow, ...]:
        return self.rows

    def since(self, number: int) -> tuple[LearnedRow, ...]:
        return tuple(row for row in self.rows if row.number > number)


def reviewer(policy: AdmissionPolicy, **values: dict[str, str]) -> Reviewer:
    """Return one that knows containers of the pod with the id ``x``."""
    rows = [
        LearnedRow(
            number,
            ContainerKey("default", "id", "x", name),
            0.0,
            "s",
            {"version": 1, "requests": r, "evidence": {"windows": 30}},
        )
        for number, (name, r) in enumerate(values.items(), start=1)
    ]
    cache = LearnedCache(Given(*rows), telemetry.Telemetry("test"))
    assert cache.refresh()
    return Reviewer(policy, cache)


def review_of(pod: dict[str, Any]) -> dict[str, Any]:
    review = make.recorded("pods-main-create")
    review["request"]["object"] = pod
    return review


RESOURCES = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "requests": st.none()
        | st.dictionaries(
            st.sampled_from(
                ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi")
            ),
            st.sampled_from(AMOUNTS),
        ),
        "limits": st.none()
        | st.dictionaries(
            st.sampled_from(("cpu", "memory", "ephemeral-storage", "example.com/gpu")),
            st.sampled_from(AMOUNTS),
        ),
        "claims": st.just([{"name": "gpu"}]),
    },
)
CONTAINERS = st.lists(
    st.builds(
        lambda name, resources, with_it: (
            {"name": name, "env": [{"name": "a", "value": "b"}]}
            | ({"resources": resources} if with_it else {})
        ),
        st.sampled_from(("known", "half", "unknown")),
        RESOURCES,
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda container: container["name"],
)
RULES: st.SearchStrategy[LimitRule] = st.sampled_from(
    ("none", "request", "keep", "scale", "untouched", "factor")
)


@example(
    containers=[{"name": "known", "resources": {"limits": {"memory": "10m"}}}],
    inits=[{"name": "known"}],
    annotations=None,
    policy=AdmissionPolicy(memory_limit="untouched"),
)
@given(
    containers=CONTAINERS,
    inits=CONTAINERS,
    annotations=st.none() | st.just({}) | st.just({"a/b": "c"}),
    policy=st.builds(AdmissionPolicy, cpu_limit=RULES, memory_limit=RULES, dry_run=st.booleans()),
)
def test_a_patch_changes_cpu_and_memory_of_known_containers_and_one_annotation(
    containers: list[dict[str, Any]],
    inits: list[dict[str, Any]],
    annotations: dict[str, str] | None,
    policy: AdmissionPolicy,
) -> None:
    pod: dict[str, Any] = {
        "metadata": {"labels": {"kubestow.io/managed": "true", "kubestow.io/id": "x"}},
        "spec": {"containers": containers, "initContainers": inits, "dnsPolicy": "Default"},
    }
    if annotations is not None:
        pod["metadata"]["annotations"] = annotations
    known = {"cpu": "700m", "memory": "900M"}
    decides = reviewer(policy, known=known, half={"memory": "50M"})
    verdict = decides.review(make.request(review_of(pod)))
    patched = apply(pod, verdict.patch)
    assert_only_that_differs(pod, patched, policy)
    again = decides.review(make.request(review_of(patched)))
    if not policy.dry_run:
        assert (again.outcome, again.patch) == ("unchanged", [])
    check_limits(patched)


def assert_only_that_differs(
    pod: dict[str, Any], patched: dict[str, Any], policy: AdmissionPolicy
) -> None:
    before, after = without_sizes(pod), without_sizes(patched)
    assert before == after
    if policy.dry_run:
        assert patched["spec"] == pod["spec"]
    for old, new in zip(pod["spec"]["containers"], patched["spec"]["containers"], strict=True):
        if old["name"] == "unknown":
            assert json.dumps(old) == json.dumps(new)
        if old["name"] == "half":
            for section in ("requests", "limits"):
                assert amount(old, section, "cpu") == amount(new, section, "cpu")
        # A request is never taken away.
        for resource in ("cpu", "memory"):
            if amount(old, "requests", resource) is not None:
                assert amount(new, "requests", resource) is not None


def amount(container: dict[str, Any], section: str, resource: str) -> str | None:
    result = ((container.get("resources") or {}).get(section) or {}).get(resource)
    return None if result is None else str(result)


def without_sizes(pod: dict[str, Any]) -> dict[str, Any]:
    """Return a pod without what may change: CPU, memory, our annotations, empty parents."""
    bare = copy.deepcopy(pod)
    notes = bare["metadata"].pop("annotations", None) or {}
    bare["notes"] = {k: v for k, v in notes.items() if k not in (CHANGED, WOULD_CHANGE)}
    for container in bare["spec"]["containers"]:
        resources = container.pop("resources", None) or {}
        for section in ("requests", "limits"):
            kept = resources.pop(section, None) or {}
            kept = {name: value for name, value in kept.items() if name not in ("cpu", "memory")}
            container[section] = kept
        container["rest"] = resources
    return bare


def check_limits(pod: dict[str, Any]) -> None:
    """No request of a changed container is beyond its limit."""
    from kubestow.model import quantities

    note = json.loads((pod["metadata"].get("annotations") or {}).get(CHANGED, '{"containers": {}}'))
    for container in pod["spec"]["containers"]:
        for place in note["containers"].get(container["name"], {}).get("changes", {}):
            resource = place.partition(".")[2]
            request = amount(container, "requests", resource)
            limit = amount(container, "limits", resource)
            if request is not None and limit is not None:
                assert quantities.parse(request) <= quantities.parse(limit)


@pytest.mark.parametrize(
    ("resources", "paths"),
    [
        (
            None,
            [
                "/spec/containers/0/resources",
                "/spec/containers/0/resources/requests",
                "/spec/containers/0/resources/requests/memory",
                "/spec/containers/0/resources/limits",
                "/spec/containers/0/resources/limits/memory",
            ],
        ),
        (
            {"requests": {"cpu": "1"}},
            [
                "/spec/containers/0/resources/requests/memory",
                "/spec/containers/0/resources/limits",
                "/spec/containers/0/resources/limits/memory",
            ],
        ),
    ],
    ids=["no resources", "other requests"],
)
def test_parents_are_made_once_where_they_are_missing(
    resources: dict[str, Any] | None, paths: list[str]
) -> None:
    pod = {
        "metadata": {"labels": {"kubestow.io/managed": "true", "kubestow.io/id": "x"}},
        "spec": {"containers": [{"name": "known", "resources": resources}]},
    }
    verdict = reviewer(AdmissionPolicy(), known={"memory": "900M"}).review(
        make.request(review_of(pod))
    )
    result = [operation["path"] for operation in verdict.patch]
    annotation = ["/metadata/annotations", "/metadata/annotations/kubestow.io~1changed"]
    assert result == paths + annotation


@given(st.text())
def test_keys_are_escaped_so_that_they_come_back(key: str) -> None:
    from tests.live.patching import keys_of

    assert keys_of("/" + patches.escape(key)) == [key]
