"""The demonstration, on a shorter day."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from kubestow.cli import main
from kubestow.reports import demonstration_page
from kubestow.workflows import demonstrating
from kubestow.workflows.comparing import comparison, grid, measures

SHORT = ("duration=40m", "maintenance[0].start=10m", "cluster.nodes[0].count=14")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = demonstrating.plan

    def plan(seeds: int) -> grid.ComparisonGrid:
        return whole(seeds, SHORT)

    monkeypatch.setattr(demonstrating, "plan", plan)


def test_the_demonstration_shows_four_ways_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["demo", "--out", str(tmp_path), "--seeds", "2", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert len(demonstrating.VARIANTS) == 4
    for way in demonstrating.VARIANTS:
        assert way.name in shown
    page = (tmp_path / "report.html").read_text()
    assert "A day of a web shop in four variants" in page
    assert "Scaled one pod start ahead" in page
    assert "Requests and usage" in page
    assert "as guessed" in page
    assert (tmp_path / "day.png").read_bytes().startswith(b"\x89PNG")
    assert "vegaEmbed" in page
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)  # nothing to fetch


def test_results_are_those_of_the_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["demo", "--out", str(tmp_path), "--seeds", "1", "--jobs", "1", "-o", "json"]
    assert main.run(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == json.loads((tmp_path / "results.json").read_text())
    assert [one["label"] for one in answer["variants"]] == [w.name for w in demonstrating.VARIANTS]
    for one in answer["variants"]:
        row = one["rows"][0]
        assert one["summary"]["cost"]["mean"] == row["cost"] > 0
        waited = row["workloads"]["default/database"]["pending_pod_seconds"]
        assert row["database_pending"] == waited
    # Finished runs are kept: the second time nothing is computed.
    assert len(list((tmp_path / "cells").iterdir())) == len(demonstrating.VARIANTS)


def test_a_bad_number_of_seeds_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "--seeds", "0"]) == 2
    assert "--seeds: 0: must be >= 1" in capsys.readouterr().err


def test_a_cell_is_marked_only_if_every_seed_agrees(tmp_path: Path) -> None:
    actual = demonstrating.run(demonstrating.plan(2), tmp_path, 1, lambda *_: None)
    rows = dict(demonstrating.table(actual))
    for measure in demonstrating.ROWS:
        title = f"{measure.title} ({measure.unit})" if measure.unit else measure.title
        cells = rows[title]
        assert cells[0].verdict == ""
        for one, cell in zip(actual.results[1:], cells[1:], strict=True):
            assert cell.verdict == _expected(actual, one, measure.path, measure.better)


def test_only_the_way_that_is_scaled_ahead_tells_what_it_expected(tmp_path: Path) -> None:
    actual = demonstrating.run(demonstrating.plan(1), tmp_path, 1, lambda *_: None)
    reported = {one.label: "ahead_load" in one.records[0].series for one in actual.results}
    assert reported == {way.name: way.name == demonstrating.AHEAD for way in demonstrating.VARIANTS}
    others = tuple(one for one in actual.results if one.label != demonstrating.AHEAD)
    without = dataclasses.replace(actual, results=others)
    assert "Scaled one pod start ahead" not in demonstration_page.report(without)


def test_requests_are_sized_by_auto_where_the_way_says_so(tmp_path: Path) -> None:
    sweep = demonstrating.plan(1)
    sizing = [one.loaded.scenario.spec.policies.sizing.recommender for one in sweep.variants]
    assert sizing == ["keep", "keep", "auto", "auto"]
    actual = demonstrating.run(sweep, tmp_path, 1, lambda *_: None)
    rows = dict(demonstrating.table(actual))
    # Nothing is sized in the first two ways, and 40 minutes are too short for an hourly answer.
    missed = rows["hours above recommended memory (%)"]
    assert [cell.text for cell in missed] == ["-"] * 4
    only_stock = dataclasses.replace(actual, results=actual.results[:1])
    assert "Requests and usage" not in demonstration_page.report(only_stock)


def test_sizes_are_means_of_a_pod() -> None:
    pod = {
        "requested_cpu": 2.0,
        "used_cpu": 0.5,
        "requested_memory": 2.0 * 2**30,
        "used_memory": 2.0**30,
    }
    empty = dict.fromkeys(pod)
    outcome = {"workloads": {"default/a": {"per_pod": pod}, "default/b": {"per_pod": empty}}}
    rows = demonstration_page._collect("before", outcome)
    assert [(row["workload"], row["requested"], row["used"]) for row in rows] == [
        ("default/a", 2.0, 0.5),
        ("default/a", 2.0, 1.0),
    ]
    shown = demonstration_page._sizes_table(rows, ("before",)).rows
    assert [row[-1] for row in shown] == ["25 %", "50 %"]


def test_three_seeds_unless_told_otherwise() -> None:
    assert demonstrating.SEEDS == 3
    assert demonstrating.plan(demonstrating.SEEDS).seeds == (1, 2, 3)


def _expected(
    actual: comparison.Comparison, one: comparison.ComparisonResult, path: str, better: str
) -> str:
    def values(result: comparison.ComparisonResult) -> list[float]:
        flat = [record.measures for record in result.records]
        return [measures.value_of(row, path) or 0.0 for row in flat]

    pairs = list(zip(values(one), values(actual.results[0]), strict=True))
    if all(mine > stock for mine, stock in pairs):
        return "good" if better == "higher" else "bad"
    if all(mine < stock for mine, stock in pairs):
        return "bad" if better == "higher" else "good"
    return ""
