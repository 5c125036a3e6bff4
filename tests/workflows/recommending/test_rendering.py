"""Recommendations as JSON and as patches, and which are shown."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import yaml

from kubestow.model import decoding, errors
from kubestow.model import usage as model_usage
from kubestow.model.keys import ContainerKey
from kubestow.policies.sizing.recommendations import Recommendation, SizingBacktest
from kubestow.workflows.recommending import pipeline
from kubestow.workflows.recommending import rendering as texts
from kubestow.workflows.recommending.totals import Severity
from tests.workflows.recommending.scenes import MIB, advice, amounts, facts, key, steady, table

WEB = key("web")


def result(*actual: Recommendation) -> pipeline.RecommendResult:
    usage = table({one.key: [steady(1)] for one in actual})
    places = tuple(range(len(actual)))
    return pipeline.RecommendResult("auto", actual, (), (), model_usage.Inventory(), usage, places)


def test_json_is_as_the_contract_says() -> None:
    given = model_usage.ContainerFacts(amounts("500m", "512Mi"), amounts("", "1Gi"))
    one = advice(
        WEB, given, {"cpu": 115, "memory": 115 * MIB}, {"memory": 115 * MIB},
        lower={"cpu": 100}, upper={"cpu": 2000, "memory": 2048 * MIB}, samples=20160,
        backtest=SizingBacktest(4, 0.25, 0.01, 0.5, 0.4), throttled=0.125,
        estimate={"memory": 100 * MIB},
    )  # fmt: skip
    (actual,) = texts.recommendations_as_json(result(one))
    assert actual == {
        "workload": "shop/Deployment/web", "container": "app", "strategy": "auto",
        "current": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "recommended": {
            "requests": {"cpu": "115m", "memory": "115Mi"}, "limits": {"memory": "115Mi"},
        },
        "estimate": {"memory": "100Mi"},
        "bounds": {"lower": {"cpu": "100m"}, "upper": {"cpu": "2", "memory": "2Gi"}},
        "samples": 20160, "evidence": {"windows": 0, "samples": 20160}, "replicas": 1,
        "suitable": True, "severity": "medium", "why": "because",
        "usage": {
            "cpu_p95_cores": 0.1, "cpu_mean_cores": 0.1, "memory_peak_bytes": 0.0,
            "memory_mean_bytes": 0.0, "oom_kills": 0, "throttled": 0.125, "autocorrelated": 0.0,
            "page_cache_bytes": None,
        },
        "backtest": {
            "windows": 4, "miss_rate": 0.25, "cpu_over": 0.01, "slack": 0.5, "cpu_slack": 0.4,
            "misses": None, "miss_rate_upper": None, "window_s": 86400.0, "runs": False,
        },
    }  # fmt: skip


def documents(*actual: Recommendation) -> list[Any]:
    return list(yaml.safe_load_all(texts.recommendations_as_patches(result(*actual))))


SIZED = {"cpu": 115, "memory": 115 * MIB}
CONTAINERS = [{"name": "app", "resources": {"requests": {"cpu": "115m", "memory": "115Mi"}}}]


@pytest.mark.parametrize(
    ("kind", "version", "spec", "command"),
    [
        ("Deployment", "apps/v1", {"template": {"spec": {"containers": CONTAINERS}}},
         "# kubectl -n shop patch deployment web --patch-file FILE"),
        ("CronJob", "batch/v1",
         {"jobTemplate": {"spec": {"template": {"spec": {"containers": CONTAINERS}}}}},
         "# kubectl -n shop patch cronjob web --patch-file FILE"),
        ("Pod", "v1", {"containers": CONTAINERS},
         "# kubectl -n shop patch pod web --subresource resize --patch-file FILE"),
        ("Job", "batch/v1", {"template": {"spec": {"containers": CONTAINERS}}},
         "# the template of a Job cannot be changed: set it where the Job is made"),
    ],
    ids=["deployment", "cron job", "pod", "job"],
)  # fmt: skip
def test_a_patch_reaches_the_containers_of_its_kind(
    kind: str, version: str, spec: dict[str, Any], command: str
) -> None:
    one = advice(key("web", kind=kind), facts("500m", "512Mi"), SIZED)
    (actual,) = documents(one)
    assert actual == {
        "apiVersion": version, "kind": kind, "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }  # fmt: skip
    lines = texts.recommendations_as_patches(result(one)).splitlines()
    assert lines[:2] == [command, "# app: because"]


def test_a_limit_that_is_to_go_is_null() -> None:
    given = model_usage.ContainerFacts(amounts("500m", "512Mi"), amounts("1", "512Mi"))
    one = advice(WEB, given, SIZED, {"memory": 115 * MIB})
    (actual,) = documents(one)
    (container,) = actual["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": None, "memory": "115Mi"}


def test_containers_of_a_workload_share_a_patch_and_what_stays_has_none() -> None:
    same = facts("115m", "115Mi")
    actual = documents(
        advice(key("db"), same, SIZED),
        advice(WEB, facts("1", "1Gi"), SIZED),
        advice(key("web", "same"), same, SIZED),
        advice(key("web", "side"), facts(), {"cpu": 10}),
        advice(key("x"), facts("1"), {}),
    )
    (document,) = actual
    names = [one["name"] for one in document["spec"]["template"]["spec"]["containers"]]
    assert (document["metadata"]["name"], names) == ("web", ["app", "side"])


def test_a_kind_that_kubectl_cannot_merge_into_is_only_named() -> None:
    actual = texts.recommendations_as_patches(
        result(
            advice(key("a", kind="Rollout"), facts("1"), SIZED),
            advice(WEB, facts("1"), SIZED),
        )
    )
    assert actual.startswith(
        "# shop/Rollout/a: kubectl cannot merge into Rollout; change it at its"
    )
    (document,) = yaml.safe_load_all(actual)
    assert document["metadata"]["name"] == "web"


def test_odd_names_break_neither_the_document_nor_the_command() -> None:
    odd = ContainerKey("shop", "Deployment", "a; rm -r b\nkind: Pod", "app")
    one = advice(odd, facts("1"), SIZED, why="first\nkind: Secret")
    (actual,) = documents(one)
    assert actual["kind"] == "Deployment"
    assert actual["metadata"]["name"] == odd.workload
    assert (
        "patch deployment 'a; rm -r b kind: Pod' --patch-file"
        in texts.recommendations_as_patches(result(one))
    )


LABELS = model_usage.Inventory(
    labels={
        key("web").of: {"app.kubernetes.io/name": "web"},
        key("db").of: {"app_kubernetes_io_name": "db"},  # as kube-state-metrics writes it
    }
)


@pytest.mark.parametrize(
    ("namespaces", "labels", "expected"),
    [
        ((), "", ["db", "web"]),
        (("shop", "other"), "", ["db", "web"]),
        (("sh*",), "", ["db", "web"]),
        ((), "app.kubernetes.io/name=web", ["web"]),
        ((), "app.kubernetes.io/name=db", ["db"]),
        (("shop",), "app.kubernetes.io/name=db", ["db"]),
        ((), "app.kubernetes.io/name in (db, web)", ["db", "web"]),
        ((), "app.kubernetes.io/name notin (db)", ["web"]),
        ((), "app.kubernetes.io/name,!old", ["db", "web"]),
    ],
    ids=["all", "namespace", "pattern", "label", "plain label", "both", "in", "not in", "exists"],
)
def test_usage_is_chosen_by_namespace_and_label(
    namespaces: tuple[str, ...], labels: str, expected: list[str]
) -> None:
    whole = table({key("web"): [steady(1), steady(1)], key("db"): [steady(1, cores=0.7)]})
    actual = texts.select_usage(whole, LABELS, namespaces, decoding.parse_selector(labels))
    assert [one.workload for one in actual.keys] == expected
    rows = {"db": 1, "web": 2}
    assert len(actual.pods) == len(actual.cpu_cores) == sum(rows[name] for name in expected)
    assert actual.owners[0] == 0
    assert np.unique(actual.owners).tolist() == list(range(len(expected)))
    assert len(actual.throttled) == len(actual.oom_kills) == len(expected)
    if expected == ["db"]:
        assert actual.cpu_cores.max() == 0.7


def test_a_choice_of_nothing_is_refused() -> None:
    with pytest.raises(errors.InputError, match="no container matches namespace x, label a=b"):
        texts.select_usage(
            table({WEB: [steady(1)]}), LABELS, ("x",), decoding.parse_selector("a=b")
        )


def test_severity_shortens_advice_and_what_goes_with_it() -> None:
    low = advice(key("a"), facts("500m"), {"cpu": 400})
    high = advice(key("b"), facts("5"), {"cpu": 400})
    whole = pipeline.recommend(
        table({low.key: [steady(1)], high.key: [steady(1)]}), model_usage.Inventory(),
        pipeline.RecommendRequest("percentile"),
    )  # fmt: skip
    whole = dataclasses.replace(whole, recommendations=(low, high))
    actual = texts.filter_by_severity(whole, Severity.MEDIUM)
    assert actual.recommendations == (high,)
    assert actual.places == (1,)
    assert [record.subject for record in actual.records] == ["container/shop/Deployment/b/app"]
    assert texts.filter_by_severity(whole, Severity.NONE) is whole
