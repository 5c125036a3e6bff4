"""The pack command as a user runs it."""

from __future__ import annotations

import csv
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubestow import testing
from kubestow.cli import main
from kubestow.policies.placing.packing import heuristics
from kubestow.policies.placing.packing.offline import heuristics as offline_heuristics
from kubestow.workflows import packing

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "first-steps" / "cluster.yaml")
CSV = "name,cpu,memory,count\nbig,6,20Gi,3\nsmall,2,10Gi,3\n"
# Two dimensions of 10: three items of 5 and three of 4 in the first, the other way round below.
VBP = "2\n10 10\n3\n6 3 3\n4 7 2\n3 3 1\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main.run(["pack", *arguments, "-o", "json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def manifest(folder: Path, objects: list[dict[str, Any]]) -> str:
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.csv"
    path.write_text(CSV)
    return path


def test_a_csv_is_packed_by_all_heuristics(items: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = run(capsys, str(items), "--capacity", "cpu=8,memory=30Gi")
    names = [result["heuristic"] for result in answer["results"]]
    assert names == [*heuristics.HEURISTICS, *offline_heuristics.OFFLINE_HEURISTICS]
    assert (answer["instance"], answer["dimensions"], answer["items"]) == ("items", 2, 6)
    # CPU: 3 x 6 + 3 x 2 = 24 cores on nodes of 8: three are needed and enough
    assert answer["lower_bound"] == 3
    assert answer["optimal"]
    best = next(r for r in answer["results"] if r["heuristic"] == answer["best"])
    assert (best["nodes"], best["gap"]) == (3, 0.0)


def test_a_vbp_instance_is_solved_exactly_and_can_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, where = tmp_path / "i.vbp", tmp_path / "where.csv"
    path.write_text(VBP)
    answer = run(
        capsys, str(path), "--heuristic", "first-fit", "--exact", "3", "--assignments", str(where)
    )
    # 6+4, 6+4, 6+3 in the first dimension; 3+7, 3+7, 3+3 in the second
    assert answer["optimal"]
    assert answer["lower_bound"] == 3
    rows = list(csv.DictReader(where.read_text().splitlines()))
    assert {row["heuristic"] for row in rows} == {"first-fit", "exact"}
    sizes = [(6, 3)] * 3 + [(4, 7)] * 2 + [(3, 3)]
    loads: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in (row for row in rows if row["heuristic"] == "exact"):
        for j in range(2):
            loads[row["node"]][j] += sizes[int(row["item"])][j]
    assert len(loads) == 3
    assert all(max(load) <= 10 for load in loads.values())


def test_a_cluster_gets_the_configuration_that_was_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # stock kube-scheduler spreads the twelve and six pods over all ten nodes
    objects = [testing.node(f"n{i:02d}", cpu="8", memory="32Gi") for i in range(10)]
    objects += [testing.pod(f"a{i}", cpu="900m", memory="2Gi") for i in range(12)]
    objects += [testing.pod(f"b{i}", cpu="700m", memory="5Gi") for i in range(6)]
    source, target = manifest(tmp_path, objects), tmp_path / "scheduler.yaml"
    answer = run(capsys, source, "--heuristic", "k8s-most", "--scheduler-config", str(target))
    configuration = answer["configuration"]
    assert configuration["stock"]["nodes"] == 10
    assert configuration["nodes"] == configuration["nodes_most"] == 3
    assert yaml.safe_load(target.read_text()) == configuration["document"]
    assert main.run(["place", source, "--config", str(target), "-o", "json"]) == 0
    placed = json.loads(capsys.readouterr().out)["pods"]
    assert len({pod["node"] for pod in placed}) == 3


def test_pods_that_forbid_sharing_a_node_get_one_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    objects = [testing.node(f"n{i}") for i in range(4)]
    objects += [
        testing.pod(f"web-{i}", cpu="100m", labels={"app": "web"}, affinity=apart) for i in range(3)
    ]
    target = tmp_path / "assignments.csv"
    answer = run(capsys, manifest(tmp_path, objects), "--assignments", str(target))
    assert answer["constrained"]
    assert answer["lower_bound"] == 3
    assert answer["optimal"]
    assert {row["nodes"] for row in answer["results"]} == {3}
    lines = [line.split(",") for line in target.read_text().splitlines()[1:]]
    held = [node for heuristic, _, node in lines if heuristic == "first-fit"]
    assert len(set(held)) == 3
    assert set(held) <= {"n0", "n1", "n2", "n3"}


def test_a_pod_larger_than_every_node_is_named_and_the_rest_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [testing.node("n1"), testing.pod("huge", cpu="64"), testing.pod("web")]
    source = manifest(tmp_path, objects)
    answer = run(capsys, source)
    assert answer["items"] == 1
    assert answer["left_out"] == [
        {"pod": "default/huge", "reason": "0/1 nodes admit it: 1 Insufficient cpu"}
    ]
    assert main.run(["pack", source]) == 0
    shown = capsys.readouterr().out
    assert "Left out: 1 pods" in shown
    assert "default/huge: 0/1 nodes admit it: 1 Insufficient cpu" in shown


def test_constraints_that_new_nodes_cannot_satisfy_are_named_and_nothing_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [testing.pod("a", nodeSelector={"disk": "ssd"}), testing.pod("b")]
    answer = run(capsys, manifest(tmp_path, objects), "--capacity", "cpu=4,memory=8Gi,pods=10")
    assert answer["not_honoured"] == [{"pod": "default/a", "reason": "node selector"}]
    assert answer["best"]
    assert not answer["optimal"]
    assert "configuration" not in answer


def test_other_nodes_can_be_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    answer = run(capsys, EXAMPLE, "--heuristic", "first-fit", "--capacity", "cpu=4,memory=20Gi")
    # 3 + 0.5 + 1 + 1 cores, 20 + 6 + 4 + 4 GiB: the database fills a node's memory alone
    assert answer["results"][0]["nodes"] == 2


def test_the_table_tells_bound_and_best(items: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["pack", str(items), "--capacity", "cpu=8,memory=30Gi"]) == 0
    shown = capsys.readouterr().out
    assert "6 items on 3 nodes (proven optimal; lower bound 3), by first-fit." in shown
    assert "-o json lists all" in shown


def test_negative_sizes_of_public_sets_are_allowed_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "i.vbp"
    path.write_text("1\n10\n2\n6 3\n-2 1\n")
    answer = run(capsys, str(path), "--heuristic", "first-fit")
    # three items of 6 need three nodes as read; with 2 of relief the bound is ceil(18 / 12) = 2
    assert answer["results"][0]["nodes"] == 3
    assert answer["lower_bound"] <= 3
    assert "negative" in answer["notes"][0]


BAD = [
    (CSV.replace("6,", "-6,"), ["--capacity", "cpu=8,memory=30Gi"], "-6"),
    (CSV.replace("20Gi", "lots"), ["--capacity", "cpu=8,memory=30Gi"], "lots"),
    (CSV, ["--capacity", "cpu=4,memory=30Gi"], "capacity of a node"),  # larger than every node
    (CSV, [], "--capacity"),
    (CSV, ["--capacity", "cpu=8"], "memory"),
    (CSV, ["--capacity", "cpu"], "must be RESOURCE=QUANTITY"),
    (CSV, ["--capacity", "cpu=8,memory=30Gi", "--heuristic", "magic"], "magic"),
    (CSV, ["--capacity", "cpu=8,memory=30Gi", "--exact", "-1"], "expected seconds"),
    (CSV, ["--capacity", "cpu=8,memory=30Gi", "--scheduler-config", "x.yaml"], "needs a cluster"),
    ("", ["--capacity", "cpu=8"], "is empty"),
]


@pytest.mark.parametrize(("text", "options", "message"), BAD, ids=[m for _, _, m in BAD])
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    options: list[str],
    message: str,
) -> None:
    path = tmp_path / "items.csv"
    path.write_text(text)
    assert main.run(["pack", str(path), *options]) == 2
    caught = capsys.readouterr().err
    assert message in caught
    assert caught.strip().count("\n") == 0


def test_a_vbp_instance_brings_its_own_capacity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "i.vbp"
    path.write_text(VBP)
    assert main.run(["pack", str(path), "--capacity", "cpu=1"]) == 2
    assert "its own capacity" in capsys.readouterr().err


def test_slow_heuristics_are_skipped_with_a_line_when_there_are_many_items(
    items: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "MANY_ITEMS", 5)
    answer = run(capsys, str(items), "--capacity", "cpu=8,memory=30Gi")
    names = [result["heuristic"] for result in answer["results"]]
    assert "first-fit" in names
    assert "dot-item" in names
    assert not {"dot-node", "completion"} & set(names)
    (note,) = answer["notes"]
    assert note.startswith("skipped for more than 5 items; name them to run them: dot-node")
    named = ["--heuristic", "completion"]
    alone = run(capsys, str(items), "--capacity", "cpu=8,memory=30Gi", *named)
    assert [result["heuristic"] for result in alone["results"]] == ["completion"]


def test_compiling_is_not_part_of_the_time_of_a_heuristic(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = [0.0]
    genuine = packing.pack_by

    def pack_by(*given: Any) -> Any:
        now_s.append(now_s[-1] + (1.0 if len(now_s) > 1 else 100.0))  # the first call compiles
        return genuine(*given)

    monkeypatch.setattr(packing, "pack_by", pack_by)
    monkeypatch.setattr(time, "perf_counter", lambda: now_s[-1])
    folder = Path(__file__).parents[2] / "examples/first-steps"
    assert main.run(["pack", str(folder), "--heuristic", "first-fit", "-o", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["seconds"] for row in result["results"]] == [1.0]
