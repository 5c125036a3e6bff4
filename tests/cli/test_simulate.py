"""The simulate command as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from kubestow.cli import main
from tests.studies import scenarios

FILES = {
    "results.json",
    "timeline.parquet",
    "nodes.parquet",
    "events.parquet",
    "decisions.jsonl",
    "report.html",
}


def run(folder: Path, *arguments: str) -> int:
    return main.run(["simulate", scenarios.write(folder), *arguments])


def test_the_table_shows_measures_and_services(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path) == 0
    shown = capsys.readouterr().out
    assert "tiny, seed 3: 20m" in shown
    assert "requests late or lost" in shown
    assert "default/web" in shown


def test_all_files_are_written_and_the_report_is_one_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(tmp_path, "--out", str(out), "-o", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    del answer["wall_seconds"]
    assert {path.name for path in out.iterdir()} == FILES
    assert json.loads((out / "results.json").read_text()) == answer
    assert pl.read_parquet(out / "timeline.parquet")["time_s"].max() == 1200.0
    assert "Simulation of tiny" in (out / "report.html").read_text()


def test_the_same_seed_gives_the_same_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        assert run(tmp_path, "--out", str(tmp_path / name)) == 0
    assert run(tmp_path, "--out", str(tmp_path / "other"), "--seed", "4") == 0
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    other = (tmp_path / "other" / "results.json").read_bytes()
    assert other != (tmp_path / "one" / "results.json").read_bytes()


def test_a_place_can_be_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = ["--set", "policies.scaling.max=3", "--set", "duration=10m"]
    assert run(tmp_path, *changes, "-o", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["policies"]["scaling"]["max"] == 3
    assert answer["simulated_seconds"] == 600.0


BAD = [
    (["--set", "policies"], "expected path=value"),
    (["--set", "policies.scaling.max=0"], "spec.policies.scaling.max: 0: must be >= 1"),
    (["--set", "workloads[9].replicas=1"], "there is no entry [9]"),
    (["--seed", "-1"], "greater than or equal to 0"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_one_readable_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(tmp_path, *arguments) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.startswith("error: ")
    assert message in caught.err
