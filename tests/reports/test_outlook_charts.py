"""What a scaler expected beside what came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubestow.reports import outlook_charts, pages
from tests.reports import browsers
from tests.studies import scenarios

SERIES: dict[str, list[float | None]] = {
    "time_s": [60.0, 120.0, None, 1800.0],
    "ahead_load": [3.0, 3.5, 9.0, 4.0],
    "ahead_forecast": [None, 3.75, 9.0, 4.5],
    "ahead_forecast_upper": [None, 4.75, 9.0, 5.5],
    "ahead_forecast_horizon_s": [None, 120.0, 9.0, 1800.0],
    "ahead_gate": [None, 0.0, 9.0, 1.0],
    "ahead_replicas": [5.0, 6.0, 9.0, 8.0],
}


def test_forecasts_stand_at_the_time_they_are_about() -> None:
    first, second, last = outlook_charts.outlook_rows(SERIES)
    # Before anything was expected there is only what is.
    assert first == {"hour": 0.0167, "load": 3.0, "replicas": 5.0}
    # 120 s ahead of 120 s: 240 s are 0.0667 h.
    assert second == {
        "hour": 0.0333, "load": 3.5, "replicas": 6.0,
        "mean": 3.75, "upper": 4.75, "gate": "last value", "about": 0.0667,
    }  # fmt: skip
    assert (last["hour"], last["about"], last["gate"]) == (0.5, 1.0, "forecast")


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        outlook_charts.outlook_rows({**SERIES, "ahead_load": [1.0]})


def test_the_chart_has_three_lines_a_band_and_the_gate() -> None:
    chart = outlook_charts.outlook_chart(SERIES).to_dict()
    upper, gate = chart["vconcat"]
    marks = [layer["mark"]["type"] for layer in upper["layer"]]
    assert marks == ["area", "line"]
    assert gate["mark"]["type"] == "tick"
    lines = chart["datasets"][upper["layer"][1]["data"]["name"]]
    by_name = {
        name: [(row["hour"], row["pods"]) for row in lines if row["what"] == name]
        for name in ("forecast", "load", "replicas")
    }
    assert by_name["forecast"] == [(0.0667, 3.75), (1.0, 4.5)]
    assert by_name["load"] == [(0.0167, 3.0), (0.0333, 3.5), (0.5, 4.0)]
    assert by_name["replicas"] == [(0.0167, 5.0), (0.0333, 6.0), (0.5, 8.0)]


def test_a_run_scaled_ahead_keeps_what_was_expected(tmp_path: Path) -> None:
    result = scenarios.compare(tmp_path, 1, varied=["policies.scaling.scaler=hpa,auto"])
    reactive, ahead = (one.records[0].series for one in result.results)
    assert "ahead_load" not in reactive
    rows = outlook_charts.outlook_rows(ahead)
    reported = [row for row in rows if "mean" in row]
    assert len(reported) > 10  # of 20 minutes
    for row in reported:
        assert row["upper"] >= row["mean"] >= 0.0
        assert row["about"] > row["hour"]
        assert row["gate"] in ("forecast", "last value")
    assert len(json.dumps(outlook_charts.outlook_chart(ahead).to_dict())) > 1000


@browsers.needs_browser
def test_a_browser_draws_the_chart(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    figure = pages.make_figure(outlook_charts.outlook_chart(SERIES), "What was expected.")
    page.write_text(pages.render("Ahead", [figure]), encoding="utf-8")
    drawn = browsers.open_page(page, tmp_path / "profile")
    for text in ("<svg", "forecast", "load", "replicas", "last value"):
        assert text in drawn
