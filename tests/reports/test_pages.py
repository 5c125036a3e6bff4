"""Pages are whole, safe and offline."""

import altair as alt

from kubestow.reports import pages


def chart() -> alt.Chart:
    data = alt.InlineData([{"x": 1, "y": 2, "label": "</script>"}])
    made: alt.Chart = alt.Chart(data).mark_point().encode(x="x:Q", y="y:Q", tooltip="label:N")
    return made


def test_text_is_escaped() -> None:
    page = pages.render("a < b", [pages.Paragraph("c & d"), pages.Heading("<e>")])
    assert "<title>a &lt; b</title>" in page
    assert "<p>c &amp; d</p>" in page
    assert "<h2>&lt;e&gt;</h2>" in page


def test_scripts_are_inlined_once_however_many_charts_there_are() -> None:
    one = pages.render("t", [pages.make_figure(chart(), "first")])
    two = pages.render("t", [pages.make_figure(chart(), "first")] * 2)
    assert one.count("window.vegaEmbed=") == two.count("window.vegaEmbed=") == 1
    assert len(two) < len(one) + 5000
    assert 'id="chart-0"' in two
    assert 'id="chart-1"' in two


def test_pages_without_charts_carry_no_scripts() -> None:
    assert "<script" not in pages.render("t", [pages.Paragraph("p")])


def test_a_closing_tag_in_the_data_does_not_end_the_script() -> None:
    page = pages.render("t", [pages.make_figure(chart(), "c")])
    body = page[page.rindex("<body>") :]  # the scripts hold one, too
    assert body.count("</script>") == 1


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = pages.render("t", [pages.make_figure(chart(), "c")])
    assert "<script src" not in page
    assert "<link" not in page


def test_tables_show_captions_marks_and_folds() -> None:
    table = pages.PageTable(
        ("name", "value"), [["a", "1"], ["b", "2"]], "Two rows.", {(1, 1): "bad"}
    )
    page = pages.render("t", [table])
    assert "<caption>Two rows.</caption>" in page
    assert '<td class="bad">2</td>' in page
    assert "<td>1</td>" in page
    folded = pages.render("t", [pages.PageTable(("a",), [["1"]], "Later.", folded=True)])
    assert "<details><summary>Later.</summary>" in folded
