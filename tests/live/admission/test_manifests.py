"""What a cluster needs to call the webhook."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from kubestow.live.admission import handler, manifests
from kubestow.live.certificates import sources
from tests.live.admission import make


def test_an_unreachable_webhook_does_not_stand_in_the_way() -> None:
    (hook,) = manifests.webhook_configuration("k", "kubestow", "web")["webhooks"]
    assert hook["failurePolicy"] == "Ignore"
    assert hook["timeoutSeconds"] > handler.DEADLINE_S
    assert hook["sideEffects"] == "NoneOnDryRun"


def test_only_creations_of_labelled_pods_in_labelled_namespaces_are_sent() -> None:
    (hook,) = manifests.webhook_configuration("k", "kubestow", "web")["webhooks"]
    (rule,) = hook["rules"]
    assert (rule["operations"], rule["resources"]) == (["CREATE"], ["pods"])
    assert hook["namespaceSelector"]["matchLabels"] == {"kubestow.io/managed": "true"}
    assert hook["objectSelector"]["matchLabels"] == {"kubestow.io/managed": "true"}
    (elsewhere,) = hook["namespaceSelector"]["matchExpressions"]
    assert "kubestow" in elsewhere["values"]


def test_each_label_has_a_webhook_of_its_own() -> None:
    labels = ("kubestow.io/managed", "resource-allocation-operator")
    hooks = manifests.webhook_configuration("k", "kubestow", "web", labels)["webhooks"]
    assert [list(hook["objectSelector"]["matchLabels"]) for hook in hooks] == [[x] for x in labels]
    assert len({hook["name"] for hook in hooks}) == 2


def test_rights_are_limited_to_names() -> None:
    for rule in (*manifests.cluster_rules("k"), *sources.secret_rules("s")):
        changes = set(rule["verbs"]) & {"patch", "update", "delete"}
        assert not changes or rule["resourceNames"]
        assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])


def test_the_guide_shows_the_configuration_that_is_meant() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "how-to" / "admission.md").read_text("utf-8")
    (shown,) = re.findall(r"```yaml\n(.+?)```", guide, re.DOTALL)
    meant = manifests.webhook_configuration("kubestow", "kubestow", "kubestow-admission")
    assert yaml.safe_load(shown) == meant


def test_the_guide_names_every_metric_of_a_webhook(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "how-to" / "admission.md").read_text("utf-8")
    make.keep(f"sqlite:///{tmp_path}/store.db")
    with make.webhook(f"sqlite:///{tmp_path}/store.db") as (hook, _):
        families = [family.name for family in hook.metrics.registry.collect()]
    missing = [name for name in families if name.removeprefix("kubestow_admission_") not in guide]
    assert families
    assert missing == []
