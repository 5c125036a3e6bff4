"""Custom kinds become pods by rules, by their templates, and by rules of users."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.model import clusters, decoding, errors
from kubestow.sources import manifests


def read(*objects: dict[str, Any], rules: tuple[manifests.KindRule, ...] = ()) -> clusters.Cluster:
    documents = [manifests.Document(f"file#{i}", value) for i, value in enumerate(objects, 1)]
    return manifests.build_cluster(documents, rules=rules)


def custom(api: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def template(cpu: str = "1") -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}


def cores(cluster: clusters.Cluster) -> list[tuple[str, str]]:
    return [(pod.name, str(pod.spec.containers[0].requests.get("cpu", ""))) for pod in cluster.pods]


CASES = [
    ("argoproj.io/v1alpha1", "Rollout", {"replicas": 2, "template": template()}, 2),
    (
        "monitoring.coreos.com/v1",
        "Prometheus",
        {"replicas": 2, "shards": 3, "resources": {"requests": {"cpu": "1"}}},
        6,
    ),
    ("monitoring.coreos.com/v1", "Alertmanager", {"resources": {"requests": {"cpu": "1"}}}, 1),
    (
        "kafka.strimzi.io/v1beta2",
        "Kafka",
        {
            "kafka": {"replicas": 3, "resources": {"requests": {"cpu": "1"}}},
            "zookeeper": {"replicas": 2, "resources": {"requests": {"cpu": "1"}}},
            "entityOperator": {},
        },
        5,
    ),
    (
        "elasticsearch.k8s.elastic.co/v1",
        "Elasticsearch",
        {"nodeSets": [{"name": "hot", "count": 2, "podTemplate": template()}]},
        2,
    ),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {
            "replicatedJobs": [
                {
                    "name": "w",
                    "replicas": 2,
                    "template": {"spec": {"parallelism": 3, "template": template()}},
                }
            ]
        },
        6,
    ),
    (
        "kubeflow.org/v1",
        "PyTorchJob",
        {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template()},
                "Worker": {"replicas": 3, "template": template()},
            }
        },
        4,
    ),
    (
        "ray.io/v1",
        "RayCluster",
        {
            "headGroupSpec": {"template": template()},
            "workerGroupSpecs": [{"replicas": 2, "template": template()}],
        },
        3,
    ),
    ("serving.knative.dev/v1", "Service", {"template": template()}, 1),
    ("example.com/v1", "Anything", {"replicas": 4, "template": template()}, 4),
]


@pytest.mark.parametrize(("api", "kind", "spec", "count"), CASES, ids=[c[1] for c in CASES])
def test_a_custom_kind_becomes_its_pods(
    api: str, kind: str, spec: dict[str, Any], count: int
) -> None:
    cluster = read(custom(api, kind, spec))
    assert [cpu for _, cpu in cores(cluster)] == ["1"] * count
    assert cluster.report.expanded == {kind: 1}
    assert not cluster.report.skipped
    assert not cluster.services  # a Knative Service is not a Service


def test_a_definition_says_where_replicas_are() -> None:
    definition = custom(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        {
            "group": "example.com",
            "names": {"kind": "Ring"},
            "versions": [{"subresources": {"scale": {"specReplicasPath": ".spec.size"}}}],
        },
    )
    ring = custom("example.com/v1", "Ring", {"size": 5, "template": template()})
    cluster = read(definition, ring)
    assert len(cluster.pods) == 5
    assert cluster.report.skipped == {"CustomResourceDefinition": 1}


def test_a_kind_without_pods_is_counted() -> None:
    cluster = read(custom("example.com/v1", "Thing", {"replicas": 3}))
    assert not cluster.pods
    assert cluster.report.skipped == {"Thing": 1}


def test_rules_of_users_come_first() -> None:
    document = [
        {
            "group": "example.com",
            "kind": "Thing",
            "pod": "spec.placement",
            "resources": "spec.size",
            "replicas": ["spec.copies", "spec.zones"],
        }
    ]
    rules = manifests.read_rules(decoding.Field(document, "kinds.yaml"))
    spec = {
        "copies": 2,
        "zones": 3,
        "size": {"requests": {"cpu": "1"}},
        "placement": {"nodeSelector": {"disk": "ssd"}},
    }
    cluster = read(custom("example.com/v1", "Thing", spec), rules=rules)
    assert len(cluster.pods) == 6
    assert cluster.pods[0].spec.node_selector == {"disk": "ssd"}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"group": "a", "kind": "B"}, "expected either template or pod"),
        ({"group": "a", "kind": "B", "template": "x", "pod": "y"}, "either template or pod"),
        ({"group": "a", "kind": "B", "template": "x", "size": "y"}, "unknown field"),
        ({"kind": "B", "template": "x"}, "group"),
    ],
)
def test_a_wrong_rule_is_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InputError, match=message):
        manifests.read_rules(decoding.Field([rule], "kinds.yaml"))
