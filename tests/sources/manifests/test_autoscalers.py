"""Autoscalers out of manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubestow.model import errors
from kubestow.sources.manifests import autoscalers

V2 = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {maxReplicas: 5, metrics: []}
"""
V1 = """
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: old}
spec: {maxReplicas: 5, targetCPUUtilizationPercentage: 70}
"""
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"


def write(folder: Path, *documents: str) -> str:
    file = folder / "hpa.yaml"
    file.write_text("\n---\n".join(documents))
    return str(file)


def test_the_one_autoscaler_is_found_among_other_objects(tmp_path: Path) -> None:
    result = autoscalers.read_autoscalers(write(tmp_path, DEPLOYMENT, V2))
    assert result["metadata"]["name"].text() == "web"
    assert result.place == "hpa.yaml#2"


def test_v2beta2_has_the_same_shape(tmp_path: Path) -> None:
    result = autoscalers.read_autoscalers(write(tmp_path, V2.replace("v2", "v2beta2")))
    assert result["spec"]["maxReplicas"].integer() == 5


def test_the_cpu_target_of_v1_becomes_a_metric(tmp_path: Path) -> None:
    metrics = list(autoscalers.read_autoscalers(write(tmp_path, V1))["spec"]["metrics"].items())
    assert [metric["type"].text() for metric in metrics] == ["Resource"]
    target = metrics[0]["resource"]["target"]
    assert target["averageUtilization"].integer() == 70


@pytest.mark.parametrize("name", ["old", "default/old"])
def test_one_of_several_is_chosen_by_name(tmp_path: Path, name: str) -> None:
    result = autoscalers.read_autoscalers(write(tmp_path, V2, V1), name)
    assert result["metadata"]["name"].text() == "old"


BAD = [
    ((DEPLOYMENT,), None, "expected one HorizontalPodAutoscaler, found none"),
    ((V2, V1), None, "found 2 of them: shop/web, default/old"),
    ((V2,), "other", "expected one HorizontalPodAutoscaler named other, found none"),
    ((V2.replace("/v2", "/v2beta1"),), None, "expected one of autoscaling/v2"),
    (("[1, 2]",), None, "expected a Kubernetes object"),
    ((V1.replace("70", "0"),), None, "must be >= 1"),
    (
        (V1.replace("{name: old}",
         "{name: old, annotations: {autoscaling.alpha.kubernetes.io/metrics: '[]'}}"),),
        None,
        "expected autoscaling/v2",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("documents", "name", "message"), BAD, ids=[m for _, _, m in BAD])
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, documents: tuple[str, ...], name: str | None, message: str
) -> None:
    with pytest.raises(errors.InputError) as caught:
        autoscalers.read_autoscalers(write(tmp_path, *documents), name)
    assert message in str(caught.value)
