"""The document of a recommendation: what is written, what is read, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubestow.live.stores import recommendations
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.model import errors, quantities
from kubestow.model.keys import ContainerKey

WEB = ContainerKey("default", "Deployment", "web", "c")


def read(content: Any) -> StoredRecommendation:
    return recommendations.decode(WEB, 1.0, "s", content)


def test_a_document_read_back_is_the_recommendation_with_its_notation() -> None:
    amounts = {"cpu": quantities.parse("0.5"), "memory": quantities.parse("1216M")}
    made = StoredRecommendation(1.0, "s", amounts, {"memory": quantities.parse("2Gi")}, "because")
    document = json.loads(json.dumps(recommendations.encode(made)))
    assert document == {
        "version": 1,
        "requests": {"cpu": "500m", "memory": "1216M"},
        "limits": {"memory": "2Gi"},
        "why": "because",
    }
    assert read(document) == made


def test_evidence_travels_with_a_recommendation_and_is_unknown_without() -> None:
    amounts = {"cpu": quantities.parse("1")}
    made = StoredRecommendation(1.0, "s", amounts, evidence=8, samples=2304)
    document = json.loads(json.dumps(recommendations.encode(made)))
    assert document["evidence"] == {"windows": 8, "samples": 2304}
    assert read(document) == made
    assert read({"version": 1, "requests": {"cpu": "1"}}).evidence is None


def test_a_document_of_before_version_1_is_upgraded() -> None:
    result = read({"requests": {"cpu": "512m"}, "limits": {"cpu": "1"}, "why": "because"})
    assert result == StoredRecommendation(
        1.0, "s", {"cpu": quantities.parse("512m")}, {"cpu": quantities.parse("1")}, "because"
    )
    assert result.version == 1


@pytest.mark.parametrize(
    "content",
    [
        [],
        "512m",
        {},
        {"target": {"cpu": "512m"}},
        {"recommended": {"requests": {"cpu": "512m"}}},
        {"requests": {"cpu": "-1"}},
        {"requests": {"cpu": "0"}},
        {"version": 2, "requests": {"cpu": "1"}},
        {"version": 1, "requests": {"cpu": "1"}, "evidence": {"windows": -1}},
        {"version": 1, "requests": {"cpu": "1"}, "evidence": {"windows": "many"}},
        {"version": 1, "requests": {"cpu": "1"}, "evidence": 9},
        {"version": "1", "requests": {"cpu": "1"}},
    ],
    ids=json.dumps,
)
def test_a_document_that_is_not_understood_is_refused_with_its_container(content: Any) -> None:
    with pytest.raises(errors.InputError, match="default/Deployment/web/c"):
        read(content)
