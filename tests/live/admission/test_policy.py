"""Whom admission changes: labels, freezing, modes, aliases."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.live.admission import policy as admission_policy
from kubestow.live.admission.policy import AdmissionPolicy
from kubestow.live.caches.namespace_bounds import NamespaceFacts
from kubestow.model import errors, pods

LABELLED = {"kubestow.io/managed": "true"}
HERE = NamespaceFacts(LABELLED, {})


def pod(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None
) -> pods.Pod:
    spec = pods.PodSpec((pods.Container("c"),))
    return pods.Pod("p", spec, labels=labels or {}, annotations=annotations or {})


@pytest.mark.parametrize(
    ("labels", "namespace", "expected"),
    [
        (LABELLED, HERE, ""),
        (LABELLED, None, ""),
        ({}, HERE, "no-label"),
        ({"kubestow.io/managed": "false"}, HERE, "no-label"),
        ({"kubestow.io/managed": "True"}, HERE, "no-label"),
        (LABELLED, NamespaceFacts({}, {}), "no-label"),
        (LABELLED | {"kubestow.io/freeze": "true"}, HERE, "frozen"),
        (LABELLED | {"kubestow.io/freeze": "false"}, HERE, ""),
        (LABELLED, NamespaceFacts(LABELLED | {"kubestow.io/freeze": "true"}, {}), "frozen"),
        (LABELLED, NamespaceFacts(LABELLED, {"kubestow.io/mode": "off"}), "frozen"),
    ],
)
def test_a_pod_is_changed_only_where_both_labels_say_so(
    labels: dict[str, str], namespace: NamespaceFacts | None, expected: str
) -> None:
    assert admission_policy.why_not(AdmissionPolicy(), pod(labels), namespace) == expected


def test_freezing_works_by_annotation_too() -> None:
    assert (
        admission_policy.why_not(
            AdmissionPolicy(), pod(LABELLED, {"kubestow.io/freeze": "true"}), None
        )
        == "frozen"
    )


def test_other_labels_are_understood_where_configured() -> None:
    theirs = {"resource-allocation-operator": "true"}
    assert admission_policy.why_not(AdmissionPolicy(), pod(theirs), None) == "no-label"
    alias = AdmissionPolicy(labels=("kubestow.io/managed", "resource-allocation-operator"))
    assert admission_policy.why_not(alias, pod(theirs), NamespaceFacts(theirs, {})) == ""


def test_the_label_of_namespaces_may_be_left_to_the_selector() -> None:
    lenient = AdmissionPolicy(check_namespaces=False)
    assert admission_policy.why_not(lenient, pod(LABELLED), NamespaceFacts({}, {})) == ""


@pytest.mark.parametrize(
    ("policy", "own", "marks", "expected"),
    [
        (AdmissionPolicy(), {}, {}, False),
        (AdmissionPolicy(dry_run=True), {}, {}, True),
        (AdmissionPolicy(dry_run=True), {"kubestow.io/mode": "apply"}, {}, True),
        (AdmissionPolicy(), {"kubestow.io/mode": "dry-run"}, {}, True),
        (AdmissionPolicy(), {}, {"kubestow.io/mode": "dry-run"}, True),
        (AdmissionPolicy(), {"kubestow.io/mode": "apply"}, {"kubestow.io/mode": "dry-run"}, False),
    ],
)
def test_dry_runs_by_option_pod_or_namespace(
    policy: AdmissionPolicy, own: dict[str, str], marks: dict[str, str], expected: bool
) -> None:
    namespace = NamespaceFacts(LABELLED, marks)
    assert admission_policy.is_dry(policy, pod(LABELLED, own), namespace) is expected


def test_the_first_label_that_names_a_workload_counts() -> None:
    policy = AdmissionPolicy(id_labels=("kubestow.io/id", "resource-allocation-operator/id"))
    theirs = {"resource-allocation-operator/id": "theirs"}
    assert admission_policy.named(policy, theirs)["kubestow.io/id"] == "theirs"
    assert (
        admission_policy.named(policy, theirs | {"kubestow.io/id": "ours"})["kubestow.io/id"]
        == "ours"
    )
    assert "kubestow.io/id" not in admission_policy.named(AdmissionPolicy(), theirs)


@pytest.mark.parametrize(
    "wrong",
    [{"cpu_factor": 0.5}, {"memory_factor": float("nan")}, {"cpu_least_m": -1}, {"cpu_most_m": 5}],
)
def test_policies_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.InputError):
        AdmissionPolicy(**wrong)
