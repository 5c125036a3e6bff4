"""Pages in a real browser, without a network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import altair as alt
import pytest

from kubestow.reports import pages

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-quic",
    "--virtual-time-budget=5000", "--dump-dom",
)  # fmt: skip


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium; 'make test' as root installs it")
def test_charts_are_drawn_offline(tmp_path: Path) -> None:
    values = [{"x": 1, "y": 2}, {"x": 2, "y": 3}]
    chart = alt.Chart(alt.InlineData(values=values)).mark_line().encode(x="x:Q", y="y:Q")
    page = tmp_path / "page.html"
    blocks: list[pages.Block] = [
        pages.make_figure(chart, "A line."),
        pages.PageTable(("a", "b"), [("1", "2")]),
    ]
    page.write_text(pages.render("A <title>", blocks), encoding="utf-8")
    assert CHROMIUM is not None
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *OPTIONS, profile, page.as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert "<svg" in done.stdout
    assert "mark-line" in done.stdout
    assert "A &lt;title&gt;" in done.stdout
    assert "A line." in done.stdout
