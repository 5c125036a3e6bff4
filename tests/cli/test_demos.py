"""The demonstration."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kubestow.cli import demos, main
from kubestow.studies import demonstrations


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demonstrations, "ORDERS", 12)
    monkeypatch.setattr(demos, "_PLANNING_SECONDS", 0.5)


def test_the_demonstration_shows_a_saving_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["demo", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "stock scheduler" in shown
    assert "lower bound" in shown
    page = (tmp_path / "report.html").read_text()
    assert "How many nodes does this cluster need?" in page
    assert (tmp_path / "nodes.png").read_bytes().startswith(b"\x89PNG")
    assert "vegaEmbed" in page
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)  # nothing to fetch


def test_results_are_plain_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "--out", str(tmp_path), "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == json.loads((tmp_path / "results.json").read_text())
    nodes = {row["heuristic"]: row["nodes"] for row in answer["results"]}
    assert answer["lower_bound"] <= answer["planned"]
    assert answer["lower_bound"] <= nodes["adaptive"] < nodes["k8s-least"]
    assert answer["pods"] == 1448
