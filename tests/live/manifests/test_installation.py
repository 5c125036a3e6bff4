"""The objects of an installation: rights, guards of containers, certificates, commands."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import pytest
import yaml
from typer.main import get_command

from kubestow.cli import main
from kubestow.live.manifests import api_paths, installation
from kubestow.live.manifests.values import (
    CERT_MANAGER,
    Admission,
    InstallationValues,
    MetricsApi,
    SchedulerValues,
)
from kubestow.model import errors
from kubestow.model.decoding import fields, structures
from kubestow.policies.placing.profiles import configuration

WITHOUT = {
    "admission": InstallationValues(
        metrics_api=MetricsApi(enabled=False), scheduler=SchedulerValues(enabled=False)
    ),
    "metrics-api": InstallationValues(
        admission=Admission(enabled=False), scheduler=SchedulerValues(enabled=False)
    ),
    "scheduler": InstallationValues(
        admission=Admission(enabled=False), metrics_api=MetricsApi(enabled=False)
    ),
    "everything": InstallationValues(),
    "cert-manager": InstallationValues(certificates=CERT_MANAGER),
    "otherwise": InstallationValues(
        namespace="tools",
        pull_secrets=("mine",),
        admission=Admission(replicas=1, dry_run=True),
        metrics_api=MetricsApi(replicas=2, prometheus="http://p:9090", rules="metrics"),
        scheduler=SchedulerValues(term="clbp", taint_high_load=True),
    ),
}


def _of_kind(values: InstallationValues, kind: str) -> list[dict[str, Any]]:
    return [each for each in installation.render_installation(values) if each["kind"] == kind]


@pytest.fixture(params=list(WITHOUT.values()), ids=list(WITHOUT))
def values(request: pytest.FixtureRequest) -> InstallationValues:
    result: InstallationValues = request.param
    return result


def test_every_object_has_a_place_of_its_own(values: InstallationValues) -> None:
    paths = [api_paths.path_of(document) for document in installation.render_installation(values)]
    assert len(paths) == len(set(paths))
    assert paths[0] == f"/api/v1/namespaces/{values.namespace}"


def test_containers_have_no_right_they_do_not_need(values: InstallationValues) -> None:
    for deployment in _of_kind(values, "Deployment"):
        spec = deployment["spec"]["template"]["spec"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"].keys() == {"memory"}
            assert {"startupProbe", "livenessProbe"} <= container.keys()


def test_rights_have_no_wildcard_and_secrets_are_named(values: InstallationValues) -> None:
    for role in [*_of_kind(values, "ClusterRole"), *_of_kind(values, "Role")]:
        for rule in role["rules"]:
            assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
            assert rule.get("resourceNames") != []  # which would mean all of them
            if "secrets" in rule["resources"]:
                assert role["kind"] == "Role"
                assert rule.get("resourceNames") or rule["verbs"] == ["create"]


def test_several_replicas_have_a_budget(values: InstallationValues) -> None:
    several = {
        d["metadata"]["name"] for d in _of_kind(values, "Deployment") if d["spec"]["replicas"] > 1
    }
    assert several == {d["metadata"]["name"] for d in _of_kind(values, "PodDisruptionBudget")}
    assert len(_of_kind(values, "NetworkPolicy")) == len(_of_kind(values, "Deployment"))


def test_commands_are_such_that_the_program_takes_them(values: InstallationValues) -> None:
    for deployment in _of_kind(values, "Deployment"):
        name, *arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        command = get_command(importlib.import_module(main.COMMANDS[name][0]).app)
        if name != "metrics-api":
            arguments += ["--store", "sqlite:///x"]  # from the Secret
        command.make_context(name, arguments)  # raises on what it does not know


def test_the_address_of_the_store_is_no_argument() -> None:
    for deployment in _of_kind(InstallationValues(), "Deployment"):
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        assert "--store" not in container["args"]
        if container["args"][0] != "metrics-api":
            (variable,) = container["env"]
            assert variable["name"] == "KUBESTOW_STORE"
            assert variable["valueFrom"]["secretKeyRef"] == {"name": "kubestow-store", "key": "url"}


def test_the_scheduler_asks_the_extender_beside_it() -> None:
    (result,) = _of_kind(WITHOUT["otherwise"], "ConfigMap")
    document = yaml.safe_load(result["data"]["scheduler.yaml"])
    assert document["extenders"][0]["urlPrefix"] == "http://127.0.0.1:8888"
    assert document["leaderElection"]["resourceNamespace"] == "tools"
    own = {key: value for key, value in document.items() if key != "leaderElection"}
    (profile,) = configuration.read_configuration(fields.Field(own, "scheduler.yaml"))
    assert profile.name == "kubestow"


def test_cert_manager_makes_certificates_and_fills_in_bundles() -> None:
    result = installation.render_installation(WITHOUT["cert-manager"])
    kinds = [document["kind"] for document in result]
    assert (kinds.count("Certificate"), kinds.count("Issuer")) == (2, 1)
    annotated = [d for d in result if d["kind"] in ("MutatingWebhookConfiguration", "APIService")]
    assert all("cert-manager.io/inject-ca-from" in d["metadata"]["annotations"] for d in annotated)
    rules = [rule for d in result if d["kind"] in ("Role", "ClusterRole") for rule in d["rules"]]
    assert not any("secrets" in rule["resources"] for rule in rules)
    mine = replace(WITHOUT["cert-manager"], issuer="corporate")
    assert "Issuer" not in [document["kind"] for document in installation.render_installation(mine)]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"replicas": 2}, "values: replicas: unknown key"),
        ({"scheduler": {"term": "best"}}, "scheduler.term: 'best': "),
        ({"admission": {"replicas": 0}}, "admission.replicas: 0: must be >= 1"),
        (
            {part: {"enabled": False} for part in ("admission", "metricsApi", "scheduler")},
            "nothing is enabled",
        ),
    ],
    ids=["unknown", "term", "none", "nothing"],
)
def test_values_of_no_use_are_refused_with_their_place(
    document: dict[str, Any], problem: str
) -> None:
    with pytest.raises(errors.InputError) as caught:
        structures.read_structure(InstallationValues, fields.Field(document, "values"))
    assert problem in str(caught.value)


def test_a_kind_that_is_not_installed_has_no_place() -> None:
    with pytest.raises(errors.InputError, match="expected one of APIService"):
        api_paths.path_of({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})
