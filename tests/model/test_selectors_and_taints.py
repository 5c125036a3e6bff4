"""Selectors, taints and identities."""

from __future__ import annotations

import pytest

from kubestow.model import identities, nodes, pods, selectors
from kubestow.model.nodes import Taint, Toleration
from kubestow.model.selectors import LabelSelector, NodeSelectorTerm, Requirement
from tests.model.make import pod

LABELS = {"app": "web", "cores": "8", "odd": "eight"}


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (Requirement("app", "In", ("web", "db")), True),
        (Requirement("app", "In", ("db",)), False),
        (Requirement("tier", "In", ("x",)), False),
        (Requirement("app", "NotIn", ("db",)), True),
        (Requirement("tier", "NotIn", ("x",)), True),  # an absent label is in no set
        (Requirement("app", "Exists"), True),
        (Requirement("tier", "DoesNotExist"), True),
        (Requirement("cores", "Gt", ("4",)), True),
        (Requirement("cores", "Gt", ("8",)), False),
        (Requirement("cores", "Lt", ("9",)), True),
        (Requirement("odd", "Gt", ("4",)), False),
        (Requirement("tier", "Lt", ("4",)), False),
    ],
)
def test_requirements(requirement: Requirement, expected: bool) -> None:
    assert requirement.matches(LABELS) is expected


def test_an_empty_selector_matches_everything_and_an_empty_term_nothing() -> None:
    assert LabelSelector().matches(LABELS)
    assert LabelSelector().empty
    assert not NodeSelectorTerm().matches("n", LABELS)
    assert not NodeSelectorTerm((Requirement("app", "Exists"),), valid=False).matches("n", LABELS)


def test_a_term_needs_labels_and_fields() -> None:
    term = NodeSelectorTerm(
        (Requirement("app", "Exists"),), (Requirement("metadata.name", "In", ("n1",)),)
    )
    assert term.matches("n1", LABELS)
    assert not term.matches("n2", LABELS)


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), ("-3", -3), ("+3", 3), ("x", None), ("", None), ("9223372036854775808", None)],
)
def test_integers_are_parsed_as_go_does(text: str, number: int | None) -> None:
    assert selectors.parse_int64(text) == number


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("k", "Equal", "v", "NoSchedule"), True),
        (Toleration("k", "Equal", "w"), False),
        (Toleration("k", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("other", "Exists"), False),
        (Toleration("k", "Exists", "", "NoExecute"), False),
        (Toleration("k", "Gt", "1"), False),  # behind a gate that is off
    ],
)
def test_tolerations(toleration: Toleration, expected: bool) -> None:
    assert toleration.tolerates(Taint("k", "v", "NoSchedule")) is expected


def test_only_hard_effects_keep_pods_away() -> None:
    assert not nodes.has_untolerated_taint([Taint("k", "v", nodes.PREFER_NO_SCHEDULE)], ())
    assert nodes.has_untolerated_taint([Taint("k", "v", nodes.NO_EXECUTE)], ())


def owned(kind: str, name: str, labels: dict[str, str] | None = None) -> pods.Pod:
    made = pod(name="web-abc-x1")
    owner = pods.OwnerReference("apps/v1", kind, name)
    return pods.Pod(made.name, made.spec, "shop", labels or {}, owner=owner)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (owned("ReplicaSet", "web-abc", {"pod-template-hash": "abc"}), "shop/Deployment/web"),
        (owned("ReplicaSet", "web-abc"), "shop/ReplicaSet/web-abc"),
        (owned("Job", "backup-28473120"), "shop/CronJob/backup"),
        (owned("StatefulSet", "db"), "shop/StatefulSet/db"),
        (owned("StatefulSet", "db", {"kubestow.io/id": "ledger"}), "shop/id/ledger"),
        (pod(name="solo"), "default/Pod/solo"),
    ],
)
def test_identities_survive_generated_names(made: pods.Pod, expected: str) -> None:
    assert identities.identity(made) == expected
