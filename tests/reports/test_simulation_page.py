"""The report of a run: time lines, nodes, events, measures."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from kubestow.reports import figures, node_charts, simulation_page, time_charts
from kubestow.simulation import outcomes, run, timelines
from kubestow.workflows import scenario_files
from tests.reports import browsers
from tests.studies import scenarios

TROUBLE = """
  - {name: leaky, replicas: 2, pod: {requests: {memory: 128Mi}, limits: {memory: 200Mi},
      usage: {memory: {pattern: segments, segments: [{start: 100Mi, end: 400Mi, seconds: 8m}]}}}}
  failures: [{node: n-1, at: 5m, duration: 10m}]
  policies:
"""


def simulate(folder: Path, text: str = scenarios.TINY) -> outcomes.RunOutcome:
    loaded = scenario_files.load(scenarios.write(folder, text))
    return run.run(loaded.scenario, loaded.inputs)


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> outcomes.RunOutcome:
    text = scenarios.TINY.replace("\n  policies:\n", TROUBLE)
    return simulate(tmp_path_factory.mktemp("trouble"), text)


def test_the_page_has_every_part(troubled: outcomes.RunOutcome) -> None:
    page = simulation_page.make_page(troubled)
    assert "<title>Simulation of tiny</title>" in page
    for heading in ("Timelines", "Services", "Nodes", "Notable events"):
        assert f"<h2>{heading}</h2>" in page
    assert len(re.findall(r'<figure><div id="chart-', page)) == 4
    assert (
        '<td>nodes failed</td><td data-label="count">1</td><td data-label="first">0:05:00</td>'
        in page
    )
    assert "containers OOM-killed" in page
    assert "default/web" in page
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)  # nothing to fetch
    assert len(page) < 1_200_000  # the scripts are 0.9 MB of it


@browsers.needs_browser
def test_the_page_opens_offline(troubled: outcomes.RunOutcome, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(simulation_page.make_page(troubled), encoding="utf-8")
    shown = browsers.open_page(path, tmp_path / "profile")
    assert len(re.findall(r'<svg[^>]*class="marks"', shown)) == 4
    assert "mark-line" in shown
    assert "mark-rect" in shown


def test_a_quiet_run_says_that_nothing_happened(tmp_path: Path) -> None:
    page = simulation_page.make_page(simulate(tmp_path))
    assert "None: no OOM kill, eviction, failure or drain." in page


def test_without_services_nothing_is_said_of_requests(tmp_path: Path) -> None:
    text = scenarios.TINY.partition("  - name: web")[0] + scenarios.TINY[
        scenarios.TINY.index("  - name: db") :
    ].replace("scaler: hpa, target: {cpu: 0.6}, min: 1, max: 8", "scaler: none")
    page = simulation_page.make_page(simulate(tmp_path, text))
    assert "<h2>Services</h2>" not in page
    assert "requests per second" not in page
    assert "CPU requested" in page


def test_the_busiest_services_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    text = scenarios.TINY.replace("  - name: web\n", "  - name: web\n    count: 9\n")
    outcome = simulate(tmp_path, text.replace("count: 3, all", "count: 9, all"))
    page = simulation_page.make_page(outcome)
    assert "3 services with fewer requests are left out." in page
    names = simulation_page.busiest(timelines.workloads(outcome))
    assert len(names) == 9
    totals = timelines.workloads(outcome).group_by("workload").agg(pl.col("demand").sum())
    asked = dict(totals.iter_rows())
    assert [asked[name] for name in names] == sorted((asked[n] for n in names), reverse=True)


def test_charts_can_be_drawn_without_a_browser(troubled: outcomes.RunOutcome) -> None:
    time = time_charts.axis(1200.0)
    table = timelines.workloads(troubled)
    for chart in (
        simulation_page.totals_chart(table, time),
        simulation_page.services_chart(table, ["default/web"], time),
        node_charts.chart(timelines.nodes(troubled), time),
        simulation_page.events_chart(
            timelines.events(troubled).filter(pl.col("event") == "oom-killed"), time
        ),
    ):
        image = figures.render_png(chart.to_dict(), scale=1.0)
        assert image.startswith(b"\x89PNG")
        assert len(image) > 2500


def test_lines_are_thinned_to_means_and_peaks() -> None:
    # 720 looks become 360 points of two looks: means 0.5, 2.5, ...; peaks 1, 3, ...
    table = pl.DataFrame(
        {
            "time_s": [60.0 * n for n in range(1, 721)],
            "mean": [float(n) for n in range(720)],
            "peak": [float(n) for n in range(720)],
        }
    )
    result = time_charts.thin(table, (), highest=("peak",))
    assert len(result) == time_charts.POINTS
    assert result["mean"][:2].to_list() == [0.5, 2.5]
    assert result["peak"][:2].to_list() == [1.0, 3.0]
    assert result["time_s"][-1] == 43200.0


def test_short_lines_stay_as_they_are() -> None:
    table = pl.DataFrame(
        {"time_s": [60.0, 60.0, 120.0, 120.0], "who": ["a", "b"] * 2, "value": [1.0, 2.0, 3.0, 4.0]}
    )
    result = time_charts.thin(table, ("who",)).sort("who", "time_s")
    assert result["value"].to_list() == [1.0, 3.0, 2.0, 4.0]


def test_gaps_are_left_out_of_chart_rows() -> None:
    table = pl.DataFrame({"time_s": [3600.0], "a": [None], "b": [float("nan")], "c": [0.123456]})
    assert time_charts.records(table, time_charts.axis(86400.0)) == [{"c": 0.1235, "t": 1.0}]


def nodes_table(nodes: int, looks: int) -> pl.DataFrame:
    """Node number i uses i/nodes of its cores and half of its memory all the time."""
    rows = [
        {
            "time_s": 300.0 * (look + 1),
            "node": f"n-{node}",
            "used_cpu": 8.0 * node / nodes,
            "cores": 8.0,
            "used_memory": 16.0,
            "room": 32.0,
        }
        for look in range(looks)
        for node in range(nodes)
    ]
    return pl.DataFrame(rows)


def test_few_nodes_have_a_row_each() -> None:
    result = node_charts.grid(nodes_table(3, 4))
    assert result["row"].unique(maintain_order=True).to_list() == ["n-0", "n-1", "n-2"]
    assert result.filter(row="n-1")["cpu"].to_list() == pytest.approx([1 / 3] * 4)
    assert result.filter(row="n-1")["start_s"].to_list() == [0.0, 300.0, 600.0, 900.0]


def test_a_thousand_nodes_are_ranked_and_shown_in_bands() -> None:
    result = node_charts.grid(nodes_table(1000, 288))
    rows = result["row"].unique(maintain_order=True).to_list()
    # 1000 / 48 = 20.8, so 21 to a band: 47 bands of 21 and one of 13.
    assert len(rows) == 48
    assert (rows[0], rows[-1]) == ("1 to 21", "988 to 1000")
    assert len(result) == 48 * 96
    # The busiest 21 have 0.979 to 0.999, mean 0.989; the idlest 13 have 0 to 0.012, mean 0.006.
    assert result.filter(row="1 to 21")["cpu"].to_list() == pytest.approx([0.989] * 96)
    assert result.filter(row="988 to 1000")["cpu"].to_list() == pytest.approx([0.006] * 96)


def test_long_runs_are_shown_in_hours_and_short_ones_in_minutes() -> None:
    assert (time_charts.axis(86400.0).unit, time_charts.axis(86400.0).end) == ("hours", 24.0)
    assert (time_charts.axis(1200.0).unit, time_charts.axis(1200.0).end) == ("minutes", 20.0)
