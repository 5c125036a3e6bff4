"""``kubestow install`` without a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kubestow.cli import main


def test_objects_are_printed_as_yaml_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["install", "--render"]) == 0
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert main.run(["install", "--render", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed
    assert printed[0]["kind"] == "Namespace"


def test_values_are_read_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("namespace: tools\nscheduler: {enabled: false}\nmetricsApi: {enabled: false}\n")
    assert main.run(["install", "--render", "--values", str(file), "-o", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {document["metadata"].get("namespace", "tools") for document in result} == {"tools"}
    assert not any("scheduler" in document["metadata"]["name"] for document in result)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("scheduler: {term: best}", "scheduler.term: 'best'"),
        ("replicas: 2", "replicas: unknown key"),
        ("a: 1\n---\nb: 1\n", "2 documents: expected one"),
    ],
)
def test_values_of_no_use_leave_with_2(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    assert main.run(["install", "--render", "--values", str(file)]) == 2
    assert problem in capsys.readouterr().err


def test_nothing_is_applied_where_nobody_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["install"]) == 2
    assert (
        "cannot ask for confirmation without a terminal; expected --yes" in capsys.readouterr().err
    )
