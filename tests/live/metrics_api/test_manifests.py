"""The objects that a cluster needs."""

from __future__ import annotations

from kubestow.live.certificates import sources
from kubestow.live.metrics_api import manifests


def test_the_newest_version_is_preferred() -> None:
    result = manifests.api_services("home", "metrics", 8443)
    priorities = {each["metadata"]["name"]: each["spec"]["versionPriority"] for each in result}
    assert set(priorities) == set(manifests.GROUPS)
    assert priorities["v1beta2.custom.metrics.k8s.io"] > priorities["v1beta1.custom.metrics.k8s.io"]
    for each in result:
        assert each["spec"]["service"] == {"name": "metrics", "namespace": "home", "port": 8443}
        assert "insecureSkipTLSVerify" not in each["spec"]


def test_nobody_gets_more_than_needed() -> None:
    rules = [*manifests.cluster_rules(), *sources.secret_rules("certificates")]
    for rule in rules:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
    assert manifests.writer_rules("pods", "rate") == [
        {"apiGroups": ["custom.metrics.k8s.io"], "resources": ["pods/rate"], "verbs": ["create"]}
    ]
