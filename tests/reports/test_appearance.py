"""Pages follow dark mode, and show every value on a phone."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import pytest

from kubestow.reports import appearance, figures, pages, time_charts
from tests.reports import browsers

PHONE = 375
COLUMNS = tuple(f"a rather long name of column {number}" for number in range(12))


def make_page() -> str:
    """Return a page with all that is wide: panels of lines, charts side by side, a long table."""
    rows = [{"t": t, "line": name, "y": t} for name in ("one", "two") for t in (0.0, 12.0, 24.0)]
    lines = {"one": figures.INK, "two": figures.PALETTE[1]}
    time = time_charts.axis(86400.0)
    panels = [time_charts.Panel("requests per second", lines, "y")]
    dots = alt.Chart(alt.InlineData(rows)).mark_point().encode(x="t:Q", y="y:Q")
    beside = alt.hconcat(dots.properties(width=330), dots.properties(width=330))
    blocks: list[pages.Block] = [
        pages.Verdict("Two lines with the same values: `one` and `two`."),
        pages.make_figure(time_charts.overlay(rows, panels, "line", time), "Lines."),
        pages.make_figure(beside, "Side by side."),
        pages.PageTable(COLUMNS, [["a-name-without-any-space-" * 3, *["1,234.5 ± 0.1"] * 11]]),
        pages.PageTable(("measure", "value"), [["response, mean", "12.3 ms"]]),
    ]
    return pages.render("Wide", blocks)


@browsers.needs_browser
def test_the_page_is_dark_where_the_system_is(tmp_path: Path) -> None:
    light = browsers.see(make_page(), tmp_path)
    dark = browsers.see(make_page(), tmp_path, dark=True)
    assert min(light.background) > 240 > 100 > max(light.ink)
    assert max(dark.background) < 40 < 200 < min(dark.ink)
    assert light.charts == dark.charts == 2
    # Labels of charts are light on dark: black ones could not be read.
    assert dark.labels
    assert set(light.labels) == {"#000"}
    assert all(int(label[1:3], 16) > 140 for label in dark.labels)


@browsers.needs_browser
@pytest.mark.parametrize("width", [PHONE, 320], ids=["phone", "small phone"])
def test_no_value_lies_outside_a_narrow_screen(tmp_path: Path, width: int) -> None:
    seen = browsers.see(make_page(), tmp_path, width=width)
    assert (seen.overflow, seen.hidden, seen.scrolling, seen.charts) == (0, 0, 0, 2)


def test_words_between_backticks_are_code() -> None:
    page = make_page()
    body = page[page.rindex("<body>") :]
    assert "<code>one</code> and <code>two</code>" in body
    assert "`" not in body


def test_every_colour_of_the_palette_has_a_light_twin_for_dark_pages() -> None:
    for colour in (figures.INK, *figures.PALETTE):
        assert f'"{colour}": "#' in appearance.SCRIPT


def test_lines_that_coincide_differ_in_dashes_and_width() -> None:
    names = [str(number) for number in range(len(figures.PALETTE))]
    lines = dict(zip(names, figures.PALETTE, strict=True))
    channels = figures.line_channels("line", lines, alt.Legend(title=None))
    ranges = {name: channel.to_dict()["scale"]["range"] for name, channel in channels.items()}
    assert set(ranges) == {"color", "strokeDash", "strokeWidth"}
    assert len({str(dash) for dash in ranges["strokeDash"]}) == len(names)
    assert ranges["strokeDash"][0] == [1, 0]  # the first one is drawn through
    assert ranges["strokeWidth"] == sorted(ranges["strokeWidth"], reverse=True)
    chart = time_charts.overlay(
        [{"t": 0.0, "line": "0", "y": 1.0}],
        [time_charts.Panel("y", lines, "y")],
        "line",
        time_charts.axis(86400.0),
    )
    assert "strokeDash" in chart.to_dict()["vconcat"][0]["encoding"]


def test_long_texts_in_tables_may_be_broken_and_a_line_alone_is_plain() -> None:
    page = pages.render("t", [pages.PageTable(("why",), [["because " * 10]])])
    assert '<td class="long">because ' in page
    alone = figures.line_channels("line", {"one": figures.INK}, alt.Legend(title=None))
    assert list(alone) == ["color"]
