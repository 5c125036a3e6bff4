"""Pods that are like others are decided on at once, and exactly as if they were the first."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.admission import learned_table, reviewer, similar_pods
from kubestow.live.admission import review as admission_review
from kubestow.live.admission.learned_reader import LearnedRow
from kubestow.live.admission.policy import MANAGED_LABEL, AdmissionPolicy
from kubestow.live.caches import namespace_bounds
from kubestow.live.caches.namespace_bounds import NamespaceBounds, NamespaceFacts
from kubestow.live.servers import telemetry
from kubestow.model.keys import ContainerKey
from tests.live.admission import make

NOW_S = 1000.0
KEYS = (
    make.WEB,
    ContainerKey("default", "id", "known", "c"),
    ContainerKey("default", "Pod", "alone", "c"),
    ContainerKey("default", "Pod", "batch", "c"),
)


@dataclass
class Store:
    """Gives one amount for all workloads."""

    cpu: str = "512m"
    number: int = 1
    asked: list[int] = field(default_factory=list)

    def everything(self) -> list[LearnedRow]:
        return [self._row(key) for key in KEYS]

    def since(self, number: int) -> list[LearnedRow]:
        self.asked.append(number)
        return self.everything() if self.number > number else []

    def _row(self, key: ContainerKey) -> LearnedRow:
        requests = {"cpu": self.cpu, "memory": "1216M"}
        content = {"version": 1, "requests": requests, "evidence": {"windows": 30}}
        return LearnedRow(self.number, key, float(self.number), "q-learning", content)


@dataclass
class Scene:
    """A reviewer and its inputs."""

    policy: AdmissionPolicy = field(default_factory=AdmissionPolicy)
    store: Store = field(default_factory=Store)
    bounds: NamespaceBounds = field(default_factory=NamespaceBounds)
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.cache = learned_table.LearnedCache(
            self.store, telemetry.Telemetry("t"), clock=lambda: self.now_s
        )
        self.cache.refresh()
        self.reviewer = self.fresh()

    def fresh(self) -> reviewer.Reviewer:
        """Return one that remembers nothing."""
        return reviewer.Reviewer(self.policy, self.cache, lambda: self.bounds, lambda: NOW_S)


def pod(name: str = "web-1", **metadata: Any) -> admission_review.AdmissionRequest:
    """Return a request for a pod of the Deployment ``web``; metadata of ``None`` is left out."""
    review = copy.deepcopy(make.managed())
    given = review["request"]["object"]["metadata"]
    given["name"] = name
    given.update(metadata)
    review["request"]["object"]["metadata"] = {k: v for k, v in given.items() if v is not None}
    review["request"]["uid"] = f"of-{name}"
    return admission_review.read(json.dumps(review).encode())


def reported(verdict: reviewer.ReviewVerdict | None) -> Any:
    """Return all that can be seen of a verdict."""
    assert verdict is not None
    record = verdict.record() if verdict.record else None
    return replace(verdict, record=None), record


def test_the_second_pod_of_a_rollout_is_recalled_with_a_record_of_its_own() -> None:
    scene = Scene()
    first, second = pod("web-1"), pod("web-2")
    assert scene.reviewer.recall(first) is None
    scene.reviewer.review(first)
    result = reported(scene.reviewer.recall(second))
    assert result == reported(scene.fresh().review(second))
    assert (result[0].outcome, result[1].parameters["pod"]) == ("changed", "web-2")
    assert result[1].parameters["request"] == "of-web-2"


LABELS = st.fixed_dictionaries(
    {},
    optional={
        MANAGED_LABEL: st.sampled_from(["true", "false"]),
        "kubestow.io/id": st.sampled_from(["known", "unknown", ""]),
        "kubestow.io/freeze": st.just("true"),
    },
)
ANNOTATIONS = st.none() | st.fixed_dictionaries(
    {}, optional={"kubestow.io/mode": st.sampled_from(["dry-run", "off"]), "other": st.text()}
)
PODS = st.builds(
    pod,
    name=st.sampled_from(["", "alone", "batch-x2z4b", "other"]),
    generateName=st.sampled_from([None, "batch-"]),
    labels=LABELS,
    annotations=ANNOTATIONS,
    ownerReferences=st.none(),
) | st.builds(pod, name=st.sampled_from(["web-1", "web-2"]), annotations=ANNOTATIONS)


@given(st.lists(PODS, min_size=2, max_size=8))
def test_what_is_recalled_is_what_would_be_decided(
    asked: list[admission_review.AdmissionRequest],
) -> None:
    scene = Scene()
    for request in asked:
        known = scene.reviewer.recall(request)
        if known is not None:
            assert reported(known) == reported(scene.fresh().review(request))
        assert reported(scene.reviewer.review(request)) == reported(scene.fresh().review(request))
        assert reported(scene.reviewer.recall(request)) == reported(scene.fresh().review(request))


def test_a_bare_pod_is_known_by_its_name_and_not_taken_for_another() -> None:
    scene = Scene()
    scene.reviewer.review(pod("alone", ownerReferences=None))
    assert scene.reviewer.recall(pod("other", ownerReferences=None)) is None
    assert scene.reviewer.recall(pod("alone", ownerReferences=None)) is not None


def test_a_table_that_was_read_again_without_news_is_the_same() -> None:
    scene = Scene()
    scene.reviewer.review(pod())
    assert scene.cache.refresh()
    assert scene.store.asked == [1]
    assert scene.reviewer.recall(pod("web-2")) is not None


def test_news_are_not_missed() -> None:
    scene = Scene()
    scene.reviewer.review(pod())
    scene.store.cpu, scene.store.number = "700m", 2
    scene.cache.refresh()
    assert scene.reviewer.recall(pod()) is None
    assert "700m" in str(scene.reviewer.review(pod()).patch)
    assert "700m" in str(reported(scene.reviewer.recall(pod())))


def test_another_cluster_is_looked_at_again() -> None:
    scene = Scene()
    scene.reviewer.review(pod())
    scene.bounds = NamespaceBounds({"default": NamespaceFacts({}, {})})
    assert scene.reviewer.recall(pod()) is None
    assert scene.reviewer.review(pod()).reason == "no-label"


@pytest.mark.parametrize("age_s", [10.0, 10.1])
def test_values_that_have_grown_old_are_not_recalled(age_s: float) -> None:
    scene = Scene(AdmissionPolicy(max_age_s=10.0))
    scene.reviewer.review(pod())
    scene.now_s = age_s
    assert (scene.reviewer.recall(pod()) is None) == (age_s > 10.0)
    assert scene.reviewer.review(pod()).reason == ("stale" if age_s > 10.0 else "")


def test_memory_is_bounded() -> None:
    memory: similar_pods.SimilarPods[int] = similar_pods.SimilarPods(
        None, namespace_bounds.unknown_bounds()
    )
    for number in range(similar_pods.MOST + 1):
        memory.keep(str(number).encode(), number)
    assert memory.entries == {str(similar_pods.MOST).encode(): similar_pods.MOST}
    memory.keep(b"x" * 2**14, 1)
    memory.keep(b"x" * (2**14 + 1), 1)
    assert len(memory.entries) == 2


def test_what_is_not_a_creation_is_recalled_at_once() -> None:
    request = admission_review.read(json.dumps(make.recorded("pods-main-create")).encode())
    other = admission_review.AdmissionRequest(
        uid=request.uid, operation="UPDATE", resource=request.resource
    )
    assert reported(Scene().reviewer.recall(other)) == reported(Scene().reviewer.review(other))
