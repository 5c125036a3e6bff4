"""Scenario files: what is refused, with file, path, value and reason; overrides; traces."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kubestow.cli import main
from kubestow.model import errors
from kubestow.simulation.scenarios import document
from kubestow.workflows import scenario_files

GOOD = """
apiVersion: kubestow.io/v1alpha1
kind: Scenario
metadata: {name: good}
spec:
  duration: 10m
  cluster:
    nodes:
    - {name: n, count: 2, allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
    - {name: big, count: 1, max: 3, allocatable: {cpu: "8", memory: 16Gi, pods: "20"}}
  workloads:
  - name: web
    replicas: 2
    pod: {requests: {cpu: 500m}, limits: {cpu: "1"}, containers: [{name: side}]}
    demand: {mean: 20}
    service: {cpuPerRequest: 15ms}
    disruption: {maxUnavailable: 1}
    scaling: {scaler: hpa, target: {cpu: 0.6}, max: 5}
  - name: report
    kind: Pipeline
    work: {duration: 1m, every: 5m}
  failures: [{node: n-1, at: 5m}]
  maintenance: [{start: 6m, pool: n}]
  policies:
    sizing: {recommender: vpa, mode: initial}
"""
SCHEMA = jsonschema.Draft202012Validator(document.schema())
DELETED = object()

# path, value, message, and whether the schema sees it without the rules that span members
Mistake = tuple[str, Any, str, bool]
MISTAKES: list[Mistake] = [
    ("kind", "Pod", "kind: 'Pod': expected one of Scenario", True),
    ("apiVersion", "v1", "apiVersion: 'v1': expected one of kubestow.io/v1alpha1", True),
    ("metadata", DELETED, "metadata: is missing; expected a mapping", True),
    ("spec.duration", DELETED, "spec.duration: is missing; expected a duration such as 90s", True),
    ("spec.duration", 0, "spec.duration: 0: must be > 0", True),
    ("spec.step", "1h", "spec.step: '1h': must not be longer than the duration", False),
    ("spec.sead", 1, "spec.sead: unknown key; did you mean seed?", True),
    ("spec.seed", -1, "spec.seed: -1: must be >= 0", True),
    ("spec.cluster.nodes", [], "spec.cluster.nodes: []: a cluster needs nodes", False),
    (
        "spec.cluster.nodes[0].allocatable.cpu",
        "four",
        "spec.cluster.nodes[0].allocatable.cpu: 'four': not a quantity; expected a number...",
        True,
    ),
    (
        "spec.cluster.nodes[0].allocatable.memory",
        DELETED,
        "spec.cluster.nodes[0].allocatable.memory: None: every node needs cpu, memory and pods",
        False,
    ),
    (
        "spec.cluster.nodes[0].allocatable.cpu",
        "0",
        "spec.cluster.nodes[0].allocatable.cpu: '0': every node needs cpu, memory and pods",
        False,
    ),
    (
        "spec.cluster.nodes[0].capacity",
        {"cpu": "2"},
        "spec.cluster.nodes[0].capacity.cpu: '2': must not be below allocatable 4",
        False,
    ),
    (
        "spec.cluster.nodes[1].name",
        "n",
        "spec.cluster.nodes[1].name: 'n': is the name of another pool",
        False,
    ),
    (
        "spec.cluster.nodes[1]",
        {"name": "n-1", "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}},
        "spec.cluster.nodes[1].name: 'n-1': another pool has a node n-1, too",
        False,
    ),
    (
        "spec.cluster.nodes[1].max",
        0,
        "spec.cluster.nodes[1].max: 0: must not be below the count 1",
        False,
    ),
    (
        "spec.cluster.from",
        "snapshot.yaml",
        "spec.cluster.from: 'snapshot.yaml': kubestow cannot simulate manifests or snapshots ye...",
        False,
    ),
    ("spec.workloads[0].replicas", -3, "spec.workloads[0].replicas: -3: must be >= 0", True),
    (
        "spec.workloads[0].kind",
        "RC",
        "spec.workloads[0].kind: 'RC': expected one of Deploy...",
        True,
    ),
    (
        "spec.workloads[1].name",
        "web",
        "spec.workloads[1].name: 'web': is the name of another workload",
        False,
    ),
    (
        "spec.workloads[0].pod.requests.cpu",
        "2",
        "spec.workloads[0].pod.requests.cpu: '2': must not be above the limit 1",
        False,
    ),
    (
        "spec.workloads[0].pod.containers[0].name",
        "main",
        "spec.workloads[0].pod.containers[0].name: 'main': is the name of another container",
        False,
    ),
    (
        "spec.workloads[0].pod.startup",
        {"mean": "soon"},
        "spec.workloads[0].pod.startup.mean: 'soon': expected a duration such as 90s, 15m or 1h30m",
        True,
    ),
    (
        "spec.workloads[0].service",
        DELETED,
        "spec.workloads[0].service: None: demand and service belong together",
        False,
    ),
    (
        "spec.workloads[0].service.cpuPerReqest",
        1,
        "spec.workloads[0].service.cpuPerReqest: unknown key; did you mean cpuPerRequest?",
        True,
    ),
    (
        "spec.workloads[0].demand",
        {"pattern": "diurnal", "mean": 5},
        "spec.workloads[0].demand.peak: None: is needed by the pattern diurnal",
        False,
    ),
    (
        "spec.workloads[0].demand",
        {"pattern": "diurnal", "mean": 5, "peak": 4},
        "spec.workloads[0].demand.peak: 4: must not be below the mean",
        False,
    ),
    (
        "spec.workloads[0].demand",
        {"pattern": "segments", "segments": []},
        "spec.workloads[0].demand.segments: []: must last longer than 0 s",
        False,
    ),
    (
        "spec.workloads[0].demand",
        {"pattern": "segments", "repeat": True, "segments": [{"start": 1, "seconds": 0}]},
        "spec.workloads[0].demand.segments: [{'seconds': 0, 'start': 1}]: must last longer than...",
        False,
    ),
    (
        "spec.workloads[0].demand.pattern",
        "zigzag",
        "spec.workloads[0].demand.pattern: 'zigzag': expected one of constant, diurnal...",
        True,
    ),
    (
        "spec.workloads[0].disruption.minAvailable",
        1,
        "spec.workloads[0].disruption: {'maxUnavailable': 1, 'minAvailable': 1}: expected eith...",
        False,
    ),
    (
        "spec.workloads[0].work",
        {"duration": 5},
        "spec.workloads[0].work: {'duration': 5}: a Deployment has no work that ends",
        False,
    ),
    ("spec.workloads[1].work", DELETED, "spec.workloads[1].work: None: a Pipeline needs...", False),
    (
        "spec.workloads[1].work.every",
        DELETED,
        "spec.workloads[1].work.every: None: a Pipeline needs the time between its runs",
        False,
    ),
    (
        "spec.workloads[1].work.duration",
        0,
        "spec.workloads[1].work.cpuSeconds: None: a job needs cpuSeconds, a duration, or both",
        False,
    ),
    (
        "spec.workloads[0].scaling.scaler",
        "magic",
        "spec.workloads[0].scaling.scaler: 'magic': expected one of none, static, threshold...",
        False,
    ),
    (
        "spec.workloads[0].scaling.target",
        {"gpu": 1},
        "spec.workloads[0].scaling.target.gpu: 1.0: expected cpu, memory, rps",
        False,
    ),
    (
        "spec.workloads[0].scaling.min",
        9,
        "spec.workloads[0].scaling.max: 5: must not be below min 9",
        False,
    ),
    (
        "spec.workloads[0].scaling.behavior",
        {"scaleUp": {"policies": [{"type": "Cats", "value": 1, "periodSeconds": 1}]}},
        "spec.workloads[0].scaling.behavior.scaleUp.policies[0].type: 'Cats'...",
        False,
    ),
    (
        "spec.workloads[1].scaling",
        {"scaler": "hpa"},
        "spec.workloads[1].scaling.scaler: 'hpa': only a Deployment or StatefulSet can be scaled",
        False,
    ),
    (
        "spec.failures[0].node",
        "n-7",
        "spec.failures[0].node: 'n-7': expected the name of a node, n-0 to big-2",
        False,
    ),
    (
        "spec.failures[0].node",
        "n",
        "spec.failures[0].node: 'n': expected the name of a node, n-0 to big-2",
        False,
    ),
    (
        "spec.maintenance[0].pool",
        "m",
        "spec.maintenance[0].pool: 'm': expected one of big, n",
        False,
    ),
    (
        "spec.metrics",
        {"scrape": "20s"},
        "spec.metrics.scrape: 20.0: must be a multiple of the step, 15 s",
        False,
    ),
    (
        "spec.metrics",
        {"window": "1s"},
        "spec.metrics.window: '1s': must not be shorter than the scrape interval",
        False,
    ),
    (
        "spec.policies.placing",
        {"version": "1.2"},
        "spec.policies.placing.version: '1.2': expected one of 1....",
        True,
    ),
    (
        "spec.policies.placing",
        {"profile": "best"},
        "spec.policies.placing.profile: 'best': expected one of...",
        True,
    ),
    (
        "spec.policies.sizing.recommender",
        "oracle",
        "spec.policies.sizing.recommender: 'oracle': expected one of keep, percentile...",
        False,
    ),
    (
        "spec.policies.sizing.parameters",
        {"nope": 1},
        "spec.policies.sizing.parameters.nope: unknown key...",
        False,
    ),
    (
        "spec.policies.moving",
        {"plan": "shuffle"},
        "spec.policies.moving.plan: 'shuffle': expected one of compact",
        True,
    ),
]


def good() -> Any:
    return yaml.safe_load(GOOD)


def broken(path: str, value: Any) -> Any:
    document = copy.deepcopy(good())
    if value is not DELETED:
        scenario_files.set_value(document, path, value, "test")
        return document
    *steps, last = path.replace("[", ".").replace("]", "").split(".")
    here = document
    for step in steps:
        here = here[int(step) if step.isdigit() else step]
    del here[last]
    return document


def write(folder: Path, document: Any) -> str:
    path = folder / "bad.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def matches(text: str, expected: str) -> bool:
    """Compare a message; long lists of what is known are cut off in the table."""
    if expected.endswith("..."):
        return text.startswith(expected.removesuffix("..."))
    return text == expected


def test_the_good_one_is_good(tmp_path: Path) -> None:
    loaded = scenario_files.load(write(tmp_path, good()))
    assert loaded.scenario.metadata.name == "good"
    SCHEMA.validate(good())


@pytest.mark.parametrize(
    ("path", "value", "message", "seen"),
    MISTAKES,
    ids=[f"{i}-{path}" for i, (path, *_) in enumerate(MISTAKES)],
)
def test_a_mistake_is_refused_with_file_path_value_and_reason(
    path: str,
    value: Any,
    message: str,
    seen: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = broken(path, value)
    file = write(tmp_path, document)
    with pytest.raises(errors.InputError) as caught:
        scenario_files.load(file)
    assert matches(str(caught.value), f"bad.yaml: {message}")
    assert SCHEMA.is_valid(document) is not seen
    out = tmp_path / "out"
    assert main.run(["simulate", file, "--out", str(out)]) == 2
    shown = capsys.readouterr()
    assert f"bad.yaml: {message.removesuffix('...')}" in shown.err
    assert not shown.out
    assert not out.exists()


def test_numbered_workloads_may_not_have_the_name_of_another(tmp_path: Path) -> None:
    document = good()
    document["spec"]["workloads"][0]["count"] = 2
    document["spec"]["workloads"][1]["name"] = "web-1"
    with pytest.raises(errors.InputError, match=r"workloads\[1\].name: 'web-1': is the name of"):
        scenario_files.load(write(tmp_path, document))


def test_several_documents_and_no_document_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(GOOD + "---" + GOOD, encoding="utf-8")
    with pytest.raises(errors.InputError, match="expected one scenario, found 2 documents"):
        scenario_files.load(str(path))
    with pytest.raises(errors.InputError):
        scenario_files.load(str(tmp_path / "missing.yaml"))


def test_places_can_be_overridden(tmp_path: Path) -> None:
    file = write(tmp_path, good())
    changes = ["seed=9", "workloads[0].replicas=7", "policies.scaling.target.cpu=0.7", "step=5s"]
    spec = scenario_files.load(file, changes).scenario.spec
    assert (spec.seed, spec.workloads[0].replicas, spec.step) == (9, 7, 5.0)
    assert spec.policies.scaling.target == {"cpu": 0.7}
    renamed = scenario_files.load(file, ["metadata.name=other", "spec.seed=3"])
    assert (renamed.scenario.metadata.name, renamed.scenario.spec.seed) == ("other", 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("seed", "changes: 'seed': expected path=value"),
        ("=5", "changes: '=5': expected path=value"),
        ("seed=[", "changes seed: '[': expected a YAML value"),
        ("workloads[9].replicas=1", "changes workloads[9].replicas=1: there is no entry [9]"),
        ("workloads.web=1", "changes workloads.web=1: 'web' is not inside a mapping"),
        ("ports[0]=1", "changes ports[0]=1: there is no list 'ports'"),
        ("...=1", "changes ...=1: expected a path such as policies.scaling.max"),
        ("seed.deep=1", "changes seed.deep=1: 'deep' is not inside a mapping"),
    ],
)
def test_overrides_that_lead_nowhere_are_refused(change: str, message: str, tmp_path: Path) -> None:
    document = good()
    document["spec"]["seed"] = 1
    with pytest.raises(errors.InputError) as caught:
        scenario_files.load(write(tmp_path, document), [change])
    assert str(caught.value) == message


def traced(folder: Path, text: str, **demand: Any) -> str:
    (folder / "load.csv").write_text(text, encoding="utf-8")
    document = good()
    document["spec"]["workloads"][0]["demand"] = {
        "pattern": "trace",
        "trace": "load.csv",
        **demand,
    }
    return write(folder, document)


def test_traces_are_found_beside_the_scenario(tmp_path: Path) -> None:
    file = traced(tmp_path, "timestamp,a,b\n0,1,10\n60,2,20\n", column="b")
    trace = scenario_files.load(file).inputs.traces["load.csv#b"]
    assert trace.values.tolist() == [10.0, 20.0]
    assert trace.end_s == 120.0  # the last value holds for one step of the series


def test_traces_below_0_are_refused(tmp_path: Path) -> None:
    file = traced(tmp_path, "timestamp,value\n0,1\n60,-2\n")
    with pytest.raises(errors.InputError, match=r"load.csv: value: -2: must be >= 0"):
        scenario_files.load(file)


def test_a_trace_that_is_missing_is_refused(tmp_path: Path) -> None:
    file = traced(tmp_path, "timestamp,value\n0,1\n", column="nope")
    with pytest.raises(errors.InputError, match="has no column 'nope'"):
        scenario_files.load(file)


def test_a_scheduler_configuration_replaces_the_profile(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: default-scheduler\n"
        "  plugins: {score: {disabled: [{name: '*'}]}}\n",
        encoding="utf-8",
    )
    document = good()
    document["spec"]["policies"]["placing"] = {"config": "config.yaml"}
    assert scenario_files.load(write(tmp_path, document)).inputs.profile.scores == ()


@pytest.mark.parametrize("source", ["nodes.yaml", ".", "typo.yaml", "shop.stow"])
def test_a_cluster_from_elsewhere_is_refused_plainly(source: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("kind: Node\n", encoding="utf-8")
    file = write(tmp_path, broken("spec.cluster", {"from": source}))
    with pytest.raises(errors.InputError, match=r"spec\.cluster\.from: ") as caught:
        scenario_files.load(file)
    assert f"{source!r}: kubestow cannot simulate manifests or snapshots yet" in str(caught.value)
    assert "expected nodes instead, e.g. nodes: [{name: n, count: 3" in str(caught.value)
