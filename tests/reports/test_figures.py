"""Charts can be drawn without a browser."""

from kubestow.reports import figures

ROWS = [
    {"x": x, "y": y, "line": line, "panel": panel}
    for x in (0.1, 0.2)
    for y, line in ((1.0, "a"), (0.9, "b"))
    for panel in ("10", "9")
]


def make() -> dict[str, object]:
    chart = figures.panels_of_lines(
        ROWS,
        x=("x", "size"),
        y=("y", "ratio"),
        series=("line", {"a": figures.PALETTE[0], "b": figures.INK}),
        panel=("panel", ["9", "10"]),
        title="T",
        ticks=(0.1, 0.2),
    )
    return dict(chart.to_dict())


def test_a_png_is_drawn() -> None:
    image = figures.render_png(make(), scale=1.0)
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(image) > 5000


def test_panels_stand_in_the_given_order_and_lines_have_the_given_colours() -> None:
    chart = str(make())
    assert "'sort': ['9', '10']" in chart
    assert f"'domain': ['a', 'b'], 'range': ['{figures.PALETTE[0]}', '{figures.INK}']" in chart


def test_only_the_line_in_ink_is_thick() -> None:
    assert "'oneOf': ['b']" in str(make())
