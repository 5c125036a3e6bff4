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
from kubestow.workflows.comparing import grid
from tests.reports import browsers

SHORT = ("duration=40m", "maintenance[0].start=10m")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = demonstrating.plan

    def plan(seeds: int) -> grid.ComparisonGrid:
        return whole(seeds, SHORT)

    monkeypatch.setattr(demonstrating, "plan", plan)


def test_the_verdict_comes_first_then_at_most_seven_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main.run(["demo", "--out", str(tmp_path), "--seeds", "2", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    words = " ".join(shown.split())
    # Money with a currency, nodes, p95, OOM kills and waiting, in one sentence.
    verdict = words[: words.index(" A day of a web shop")]
    assert re.match(r"kubestow runs this day for \$[0-9]+ instead of \$[0-9]+ \(", verdict)
    for said in ("nodes", "95th percentile", "OOM kills", "pods wait for a node"):
        assert said in verdict
    assert verdict.count(". ") == 0
    assert verdict.endswith(".")
    lines = shown.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("mean of 2 seeds"))
    end = next(n for n, line in enumerate(lines) if line.startswith("Green: "))
    assert end - head - 1 == len(demonstrating.ROWS) <= 7
    assert "cost of the day (USD)" in shown
    assert "`" not in shown
    assert len(demonstrating.VARIANTS) == 4
    for way in demonstrating.VARIANTS:
        assert way.name in lines[head]
        assert way is demonstrating.VARIANTS[0] or f"{way.name}: {way.how}. " in words


def test_the_page_starts_with_the_verdict_and_needs_no_network(tmp_path: Path) -> None:
    assert main.run(["demo", "--out", str(tmp_path), "--seeds", "1", "--jobs", "1"]) == 0
    page = (tmp_path / "report.html").read_text()
    assert 'A day of a web shop in four variants</h1>\n<p class="verdict">kubestow runs' in page
    assert "Scaled one pod start ahead" in page
    assert "Requests and usage" in page
    assert "as guessed" in page
    assert "cost of the day (USD)" in page
    assert (tmp_path / "day.png").read_bytes().startswith(b"\x89PNG")
    assert "vegaEmbed" in page
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)  # nothing to fetch
    assert "`" not in page[page.rindex("<body>") :]
    if browsers.CHROMIUM is not None:
        for dark in (False, True):
            seen = browsers.see(page, tmp_path, width=375, dark=dark)
            assert (seen.overflow, seen.hidden, seen.charts) == (0, 0, 4)
            assert (max(seen.background) < 40) == dark


def test_results_are_those_of_the_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["demo", "--out", str(tmp_path), "--seeds", "1", "--jobs", "1", "-o", "json"]
    assert main.run(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == json.loads((tmp_path / "results.json").read_text())
    assert answer["conclusion"].startswith("kubestow runs this day for $")
    assert len(answer["steps"]) == 3
    assert [one["label"] for one in answer["variants"]] == [w.name for w in demonstrating.VARIANTS]
    for one in answer["variants"]:
        row = one["rows"][0]
        assert row["currency"] == "USD"
        assert one["summary"]["cost"]["mean"] == row["cost"] > 0
        assert row["nodes_mean"] == row["node_hours"] / (row["simulated_seconds"] / 3600)
        assert row["pod_wait"] == row["pending_pod_seconds"] / row["pods_created"]
    # Finished runs are kept: the second time nothing is computed.
    assert len(list((tmp_path / "cells").iterdir())) == len(demonstrating.VARIANTS)


def test_pods_use_as_little_of_their_requests_as_in_the_field(tmp_path: Path) -> None:
    sweep = demonstrating.plan(1)
    stock = dataclasses.replace(sweep, variants=sweep.variants[:1])
    row = demonstrating.run(stock, tmp_path, 1, lambda *_: None).results[0].records[0].measures
    # At night even less than the tenth and the fifth of the whole day.
    assert 0.04 < row["eru"]["cpu"] < 0.13
    assert 0.15 < row["eru"]["memory"] < 0.3
    workloads = sweep.variants[0].loaded.scenario.spec.workloads
    assert sum(workload.service is not None for workload in workloads) >= 4
    assert max(workload.pod.startup.mean for workload in workloads) >= 90.0
    crowd = next(workload.demand for workload in workloads if workload.name == "web")
    assert crowd is not None
    rates = [float(piece.start.value()) for piece in crowd.segments]
    assert max(rates) > 5 * sorted(rates)[-4]


def test_a_bad_number_of_seeds_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "--seeds", "0"]) == 2
    assert "--seeds: 0: must be >= 1" in capsys.readouterr().err


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
