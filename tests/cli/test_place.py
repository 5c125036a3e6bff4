"""The place command as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubestow import testing
from kubestow.cli import main
from kubestow.workflows import placing

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "first-steps" / "cluster.yaml")
NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
---
"""


def run(*arguments: str) -> int:
    return main.run(["place", *arguments])


def test_the_example_is_placed_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EXAMPLE, "-o", "json") == 0
    first, second = json.loads(capsys.readouterr().out)["pods"]
    assert first["node"] == second["node"] == "big-1"
    assert first["rejected"] == {"small-1": "Insufficient memory"}
    # big-1 after placing: CPU 4/8, memory 24/32: fit (50 + 25) / 2 = 37
    assert first["scores"]["big-1"]["NodeResourcesFit"] == 37
    assert first["final"] == {"big-1": 812, "big-2": 362}
    assert (first["top"], first["tie"]) == (["big-1"], False)


def test_the_table_names_what_decided(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EXAMPLE) == 0
    shown = capsys.readouterr().out
    assert "TaintToleration +300" in shown
    assert "big-1" in shown


def test_the_scores_of_one_pod_can_be_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EXAMPLE, "-o", "json") == 0
    name = json.loads(capsys.readouterr().out)["pods"][0]["pod"]
    assert run(EXAMPLE, "--pod", name) == 0
    shown = capsys.readouterr().out
    assert "Balanced" in shown
    assert "small-1: Insufficient memory" in shown


def test_a_pod_that_fits_nowhere_is_told_and_can_fail_a_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(NODE + POD.replace("100m", '"2"'))
    assert run(str(file)) == 0
    assert "1 Insufficient cpu" in capsys.readouterr().out
    assert run(str(file), "--check") == 1


def test_ties_and_single_nodes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(NODE + POD)
    assert run(str(file)) == 0
    assert "the only feasible node" in capsys.readouterr().out
    file.write_text(NODE + NODE.replace("n1", "n2") + POD)
    assert run(str(file)) == 0
    assert "tie of 2 nodes" in capsys.readouterr().out
    drawn = set()
    for seed in range(8):
        assert run(str(file), "--seed", str(seed), "-o", "json") == 0
        drawn.add(json.loads(capsys.readouterr().out)["pods"][0]["node"])
    assert drawn == {"n1", "n2"}


def test_without_pending_pods_there_is_nothing_to_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(NODE)
    assert run(str(file)) == 0
    assert "No pending pod" in capsys.readouterr().out


def test_a_configuration_file_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "s.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {score: {disabled: [{name: '*'}]}}}]\n"
    )
    assert run(EXAMPLE, "--config", str(config), "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["pods"][0]["final"] == {"big-1": 1, "big-2": 1}


CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
BAD = [
    (NODE + POD.replace("100m", '"-1"'), "", "must not be negative"),
    (NODE + POD.replace("100m", "lots"), "", "not a quantity"),
    (NODE + NODE, "", "duplicate Node"),
    ("a: [", "", "broken YAML"),
    ("&a [*a]", "", "contains itself"),
    (POD, "", "no Node in the input"),
    (NODE + POD, CONFIG + "profiles: [{plugins: {score: {enabled: [{name: Nope}]}}}]",
     "unknown plugin"),
    (NODE + POD, CONFIG + "---\n" + CONFIG, "expected one configuration"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "config", "message"), BAD, ids=[m for _, _, m in BAD])
def test_bad_input_is_one_readable_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, config: str, message: str
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    options = []
    if config:
        (tmp_path / "s.yaml").write_text(config)
        options = ["--config", str(tmp_path / "s.yaml")]
    assert run(str(file), *options) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.count("\n") == 1
    assert caught.err.startswith("error: ")
    assert message in caught.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-file.yaml"],
        [EXAMPLE, "--version", "1.20"],
        [EXAMPLE, "--version", "new"],
        [EXAMPLE, "--profile", "nonsense"],
        [EXAMPLE, "--profile", "schubert-85", "--config", "x.yaml"],
        [EXAMPLE, "--pod", "no/body"],
        [EXAMPLE, "--nonsense"],
        [],
    ],
)
def test_bad_arguments_leave_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_many_pods_are_assigned_by_the_compiled_kernel_to_the_same_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [testing.node(f"n{i}", cpu="2") for i in range(4)]
    objects += [testing.pod(f"p{i}", cpu="900m") for i in range(9)]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert main.run(["place", str(path), "-o", "json"]) == 0
    expected = {one["pod"]: one["node"] for one in json.loads(capsys.readouterr().out)["pods"]}
    monkeypatch.setattr(placing, "MANY", 30)  # 9 pods x 4 nodes are 36
    assert main.run(["place", str(path), "--check"]) == 1
    shown = capsys.readouterr().out
    assert "8 of 9 pending pods get a node." in shown
    result = dict(line.split() for line in shown.splitlines() if line.startswith("default/"))
    assert result == {pod: node or "-" for pod, node in expected.items()}


LOW = """
apiVersion: v1
kind: Pod
metadata: {name: low}
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 900m}}}]}
status: {phase: Running}
---
"""
HIGH = """
apiVersion: v1
kind: Pod
metadata: {name: high}
spec:
  priority: 10
  resourceClaims: [{name: gpu}]
  containers: [{name: c, resources: {requests: {cpu: 500m}}}]
---
"""


def test_preemption_is_shown_and_can_be_switched_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(NODE + LOW + HIGH)
    assert run(str(file), "-o", "json") == 0
    (shown,) = json.loads(capsys.readouterr().out)["pods"]
    assert shown["preemption"] == {"node": "n1", "victims": ["default/low"], "broken_budgets": 0}
    assert run(str(file)) == 0
    assert "would preempt default/low on" in " ".join(capsys.readouterr().out.split("│")).replace(
        "\n", " "
    ).replace("  ", " ")
    assert run(str(file), "--no-preemption", "-o", "json") == 0
    (shown,) = json.loads(capsys.readouterr().out)["pods"]
    assert "preemption" not in shown


def test_what_is_not_modelled_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(NODE + HIGH)
    assert run(str(file), "-o", "json") == 0
    missing = json.loads(capsys.readouterr().out)["not_modelled"]
    assert missing["counts"] == {"resourceClaims": 1}
    assert missing["pods"] == [{"pod": "default/high", "kinds": ["resourceClaims"]}]
    assert run(str(file)) == 0
    assert "Not modelled: resourceClaims (1 pod)" in capsys.readouterr().out


def test_missing_claims_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.yaml"
    volumes = "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], containers"
    file.write_text(NODE + POD.replace("containers", volumes))
    assert run(str(file), "--check") == 1
    shown = capsys.readouterr().out
    assert "no PersistentVolumeClaim is in the input" in shown
    assert run(str(file), "-o", "json") == 0
    (placed,) = json.loads(capsys.readouterr().out)["pods"]
    assert placed["rejected"] == {"n1": 'persistentvolumeclaim "data" not found'}
