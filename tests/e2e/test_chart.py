"""The Helm chart, rendered by Helm: the same objects as ``kubestow install`` has."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubestow.live.manifests import api_paths, installation
from kubestow.live.manifests.values import (
    CERT_MANAGER,
    Admission,
    InstallationValues,
    MetricsApi,
    ResourceValues,
    SchedulerValues,
    StoreValues,
)
from kubestow.model.decoding import structures
from kubestow.policies.placing.profiles import catalog
from kubestow.policies.placing.terms import registry
from testenv import building

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CHART = Path(__file__).parents[2] / "deploy" / "chart" / "kubestow"
OTHERWISE = InstallationValues(
    namespace="tools",
    image="registry.example/kubestow@sha256:00",
    pull_secrets=("mine", "yours"),
    store=StoreValues("database", "address"),
    admission=Admission(replicas=1, dry_run=True, resources=ResourceValues("1", "1Gi")),
    metrics_api=MetricsApi(replicas=3, prometheus="http://p:9090", rules="metrics"),
    scheduler=SchedulerValues(
        name="second", taint_high_load=True, resources=ResourceValues("2", "2Gi")
    ),
)
CASES = {
    "defaults": InstallationValues(),
    "otherwise": OTHERWISE,
    "cert-manager": InstallationValues(certificates=CERT_MANAGER),
    "all at once": replace(OTHERWISE, certificates=CERT_MANAGER, issuer="corporate"),
    "admission": InstallationValues(
        metrics_api=MetricsApi(enabled=False), scheduler=SchedulerValues(enabled=False)
    ),
    "metrics-api": InstallationValues(
        admission=Admission(enabled=False), scheduler=SchedulerValues(enabled=False)
    ),
    **{
        f"{term} {decision}": InstallationValues(
            scheduler=SchedulerValues(term=term, decision=decision)
        )
        for term in registry.TERMS
        for decision in catalog.DECISIONS
    },
}


def _helm(folder: Path, values: Any, *more: str) -> subprocess.CompletedProcess[str]:
    file = folder / "values.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    command = [
        str(building.build("helm")),
        "template",
        "any",
        str(CHART),
        f"--values={file}",
        *more,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def _by_path(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return objects by their place, with the configuration in the ConfigMap read."""
    result = {}
    for document in documents:
        if document["kind"] == "ConfigMap":
            data = {key: yaml.safe_load(text) for key, text in document["data"].items()}
            result[api_paths.path_of(document)] = {**document, "data": data}
        else:
            result[api_paths.path_of(document)] = document
    return result


@pytest.mark.parametrize("values", CASES.values(), ids=CASES.keys())
def test_the_chart_gives_the_objects_that_the_command_installs(
    tmp_path: Path, values: InstallationValues
) -> None:
    made = _helm(tmp_path, structures.write_structure(values))
    assert made.returncode == 0, made.stderr
    result = [document for document in yaml.safe_load_all(made.stdout) if document]
    expected = _by_path(installation.render_installation(values))
    assert len(result) == len(expected)
    assert _by_path(result) == expected


def test_a_namespace_that_helm_makes_is_not_made_twice(tmp_path: Path) -> None:
    made = _helm(tmp_path, {}, "--namespace", "kubestow-system")
    assert made.returncode == 0, made.stderr
    assert "kind: Namespace\n" not in made.stdout


@pytest.mark.parametrize(
    "values",
    [
        {"replica": 2},
        {"scheduler": {"term": "best"}},
        {"scheduler": {"decision": "both"}},
        {"admission": {"replicas": 0}},
    ],
    ids=["unknown", "term", "decision", "none"],
)
def test_values_of_no_use_are_refused_by_the_schema(tmp_path: Path, values: Any) -> None:
    made = _helm(tmp_path, values)
    assert made.returncode == 1
    assert "values don't meet the specifications of the schema" in made.stderr
