"""Folders as people have them: what can be read is read, the rest is counted."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubestow import testing
from kubestow.cli import main
from kubestow.model import errors
from kubestow.sources import manifests

CORPUS = Path(__file__).parents[4] / "shared" / "data" / "manifests_corpus" / "corpus.tar.xz"


def write(path: Path, *objects: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(objects))


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "a.yaml", testing.node("n1"), testing.pod("web"), config_map("one"))
    write(tmp_path / "b.yaml", testing.pod("web", cpu="2"), config_map("one"))
    (tmp_path / "broken.yaml").write_text("a: [1\n")
    write(tmp_path / "odd.yaml", testing.pod("odd", cpu="lots"))
    (tmp_path / "list.yaml").write_text("- not\n- an object\n")
    crd = 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nenum: [=, "!="]\n'
    (tmp_path / "crd.yaml").write_text(crd)
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "Chart.yaml").write_text("name: app\nversion: 1.0.0\n")
    (tmp_path / "chart" / "pod.yaml").write_text("kind: Pod\nname: {{ .Values.name }}\n")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    return tmp_path


def test_a_folder_is_read_as_far_as_it_can_be(folder: Path) -> None:
    cluster = manifests.read_cluster(str(folder))
    assert [(pod.name, str(pod.spec.containers[0].requests["cpu"])) for pod in cluster.pods] == [
        ("web", "2")
    ]
    report = cluster.report
    assert report.duplicates == ("Pod default/web",)
    assert report.skipped == {
        "ConfigMap": 2,
        "CustomResourceDefinition": 1,
        "Kustomization": 1,
        "Helm chart file": 1,
    }
    refused = {one.place.partition("#")[0].partition(":")[0]: one.reason for one in report.refused}
    assert set(refused) == {"broken.yaml", "odd.yaml", "list.yaml", "chart/pod.yaml"}
    assert "render it first" in refused["chart/pod.yaml"]
    assert any("helm template RELEASE" in hint for hint in report.hints)
    assert any("kubectl kustomize" in hint for hint in report.hints)


def test_strict_refuses_what_would_be_skipped(folder: Path) -> None:
    with pytest.raises(errors.InputError, match=r"broken\.yaml"):
        manifests.read_cluster(str(folder), strict=True)


def test_strict_refuses_a_custom_kind_without_a_rule(tmp_path: Path) -> None:
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    write(tmp_path / "thing.yaml", testing.node("n1"), thing)
    assert manifests.read_cluster(str(tmp_path)).report.skipped == {"Thing": 1}
    with pytest.raises(errors.InputError, match="custom kind without a rule"):
        manifests.read_cluster(str(tmp_path), strict=True)


def test_a_named_file_must_be_right(folder: Path) -> None:
    with pytest.raises(errors.InputError, match=r"odd\.yaml"):
        manifests.read_cluster(str(folder / "odd.yaml"))


def test_added_nodes_get_the_pods_of_daemon_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}},
    }
    write(tmp_path / "ds.yaml", daemon)
    arguments = [str(tmp_path), "--nodes", "2x8cpu-32Gi,m5.xlarge", "-o", "json"]
    assert main.run(["place", *arguments]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sorted(pod["node"] for pod in answer["pods"]) == ["node-1", "node-2", "node-3"]
    assert answer["input"]["skipped"] == {}


@pytest.mark.parametrize(
    ("text", "cpu", "memory"),
    [
        ("8cpu-32Gi", "8", "32Gi"),
        ("500m" + "cpu-1Gi", "500m", "1Gi"),
        ("m5.large", "2", "8Gi"),
        ("c6i.4xlarge", "16", "32Gi"),
        ("r7g.xlarge", "4", "32Gi"),
        ("e2-standard-8", "8", "32Gi"),
        ("n1-standard-4", "4", "15Gi"),
        ("Standard_D4s_v5", "4", "16Gi"),
    ],
)
def test_shapes_and_instance_types_are_known(text: str, cpu: str, memory: str) -> None:
    (node,) = manifests.parse_nodes(text)
    assert (str(node.allocatable["cpu"]), str(node.allocatable["memory"])) == (cpu, memory)


@pytest.mark.parametrize("text", ["", "3x", "0x8cpu-32Gi", "z9.huge", "8cpu", "999999x8cpu-1Gi"])
def test_unknown_shapes_are_refused(text: str) -> None:
    with pytest.raises(errors.InputError, match="nodes"):
        manifests.parse_nodes(text)


@pytest.mark.data
@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of public manifests is not here")
def test_public_projects_are_read_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(CORPUS) as archive:
        archive.extractall(tmp_path, filter="data")
    write(tmp_path / "nodes.yaml", *(linux_node(f"n{i}") for i in range(3)))
    projects = sorted(path for path in tmp_path.iterdir() if path.is_dir())
    assert len(projects) == 5
    for project in projects:
        for command in (["place"], ["pack", "--heuristic", "first-fit"]):
            inputs = [str(tmp_path / "nodes.yaml"), str(project), "-o", "json"]
            assert main.run([*command, *inputs]) == 0, project
            report = json.loads(capsys.readouterr().out)["input"]
            assert Counter(report["skipped"]) == expected_skips(project), project


def linux_node(name: str) -> dict[str, Any]:
    return testing.node(name, cpu="64", labels={"kubernetes.io/os": "linux"})


READ = {
    *("Node", "Pod", "Namespace", "Service", "PriorityClass", "PodDisruptionBudget"),
    *("PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver"),
    *("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"),
    *("Prometheus", "Alertmanager"),
}


def expected_skips(project: Path) -> Counter[str]:
    """Count the objects of a project that are not read, with a reader of its own."""
    counts: Counter[str] = Counter()
    for path in sorted(project.rglob("*")):
        if path.suffix not in (".yaml", ".yml", ".json"):
            continue
        text = path.read_text().replace("- =\n", '- "="\n')
        try:
            values = list(yaml.safe_load_all(text))
        except yaml.YAMLError:
            continue
        for value in values:
            if not isinstance(value, dict):
                continue
            if path.name == "kustomization.yaml" and "kind" not in value:
                counts["Kustomization"] += 1
            kind = str(value.get("kind", ""))
            if not kind or "apiVersion" not in value:
                continue
            if kind.endswith("List") and "items" in value:
                counts.update(str(item["kind"]) for item in value["items"])
            elif kind not in READ:
                counts[kind] += 1
    return counts
