"""The pack command as a user runs it."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubestow.cli import main
from kubestow.model.decoding import fields
from kubestow.policies.placing.packing import heuristics
from kubestow.policies.placing.packing.offline import heuristics as offline_heuristics
from kubestow.policies.placing.profiles import configuration

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "first-steps" / "cluster.yaml")
CSV = "name,cpu,memory,count\nbig,6,20Gi,3\nsmall,2,10Gi,3\n"
# Two dimensions of 10: three items of 5 and three of 4 in the first, the other way round below.
VBP = "2\n10 10\n3\n6 3 3\n4 7 2\n3 3 1\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main.run(["pack", *arguments, "-o", "json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


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


def test_a_cluster_is_packed_anew_and_gets_a_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "scheduler.yaml"
    answer = run(
        capsys, EXAMPLE, "--heuristic", "k8s-most,adaptive", "--scheduler-config", str(target)
    )
    assert answer["items"] == 4
    assert answer["configuration"]["heuristic"] == "k8s-most"
    written = yaml.safe_load(target.read_text())
    assert written == answer["configuration"]["document"]
    (profile,) = configuration.read_configuration(fields.Field(written, "scheduler.yaml"))
    assert profile.fit.strategy == "MostAllocated"


def test_other_nodes_can_be_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    answer = run(capsys, EXAMPLE, "--heuristic", "first-fit", "--capacity", "cpu=4,memory=20Gi")
    # 3 + 0.5 + 1 + 1 cores, 20 + 6 + 4 + 4 GiB: the database fills a node's memory alone
    assert answer["results"][0]["nodes"] == 2


def test_the_table_tells_bound_and_best(items: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["pack", str(items), "--capacity", "cpu=8,memory=30Gi"]) == 0
    shown = capsys.readouterr().out
    assert "Lower bound 3; best 3 by" in shown
    assert "proven optimal" in shown
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


def test_a_pod_larger_than_every_node_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["pack", EXAMPLE, "--capacity", "cpu=2,memory=64Gi"]) == 2
    assert "pod shop/db-0: larger than every node in cpu" in capsys.readouterr().err


def test_a_vbp_instance_brings_its_own_capacity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "i.vbp"
    path.write_text(VBP)
    assert main.run(["pack", str(path), "--capacity", "cpu=1"]) == 2
    assert "its own capacity" in capsys.readouterr().err
