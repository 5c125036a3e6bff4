"""PromQL from parts: what is no name is refused, what is a value is quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.sources.prometheus import selectors
from kubestow.sources.prometheus.selectors import Matcher

_UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@pytest.mark.parametrize(
    ("matchers", "text"),
    [
        ([], "up"),
        ([Matcher("job", "=", "a")], 'up{job="a"}'),
        ([Matcher("job", "!~", "a|b"), Matcher("x", "!=", "")], 'up{job!~"a|b",x!=""}'),
        ([Matcher("job", "=~", r"a\.b")], r'up{job=~"a\\.b"}'),
        ([Matcher("job", "=", "a\tb\r\x00")], r'up{job="a\x09b\x0d\x00"}'),
        ([Matcher("job", "=", "café 日本")], 'up{job="café 日本"}'),
    ],
    ids=["bare", "one", "two", "regular expression", "control characters", "Unicode"],
)
def test_a_selector_is_written_out(matchers: list[Matcher], text: str) -> None:
    assert selectors.select_series("up", matchers) == text


@pytest.mark.parametrize(
    ("metric", "matcher", "problem"),
    [
        ("up{}", None, "metric: 'up{}': expected letters, digits, _ and :"),
        ("", None, "metric: '': expected letters, digits, _ and :"),
        ("1up", None, "metric: '1up': expected letters, digits, _ and :"),
        ("up\n", None, "metric: 'up\\n': expected letters, digits, _ and :"),
        ("up", Matcher('a="b",c', "=", ""), "label: 'a=\"b\",c': expected letters, digits and _"),
        ("up", Matcher("a", "==", ""), "matcher: '==': expected one of =, !=, =~, !~"),
        ("up", Matcher("a", "=", "\ud800"), "label value: '\\ud800': expected valid Unicode"),
    ],
    ids=["syntax", "empty", "digit", "newline", "label", "operator", "surrogate"],
)
def test_what_is_no_name_is_refused(metric: str, matcher: Matcher | None, problem: str) -> None:
    with pytest.raises(errors.InputError) as refused:
        selectors.select_series(metric, [] if matcher is None else [matcher])
    assert str(refused.value) == problem


@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]) | st.just("\n")))
def test_a_quoted_text_has_one_end_and_loses_nothing(value: str) -> None:
    quoted = selectors.quote(value)
    inner, position, back = quoted[1:-1], 0, ""
    while position < len(inner):
        pair = inner[position : position + 2]
        step = 2 if pair in _UNESCAPED else 1
        back += _UNESCAPED.get(pair, pair[:1])
        assert step == 2 or pair[0] not in '"\\\n'
        position += step
    assert (quoted[0], quoted[-1], back) == ('"', '"', value)


@pytest.mark.parametrize(
    ("window_s", "scrape_s", "text"),
    [(60.0, 15.0, "[60s]"), (1.0, 0.25, "[1s]"), (0.9, 0.2, "[900ms]"), (300.0, 60.0, "[300s]")],
)
def test_a_window_is_written_in_whole_units(window_s: float, scrape_s: float, text: str) -> None:
    assert selectors.window(window_s, scrape_s) == text


@pytest.mark.parametrize(
    ("window_s", "scrape_s", "problem"),
    [
        (59.0, 15.0, "window: 59s: expected at least 4 scrape intervals of 15s"),
        (float("inf"), 15.0, "window: inf: expected at least 4 scrape intervals of 15s"),
        (60.0, 0.0, "scrape interval: 0 s: must be > 0"),
        (60.0, float("nan"), "scrape interval: nan s: must be > 0"),
    ],
    ids=["short", "endless", "no scrapes", "NaN"],
)
def test_a_window_without_four_scrapes_is_refused(
    window_s: float, scrape_s: float, problem: str
) -> None:
    with pytest.raises(errors.InputError) as refused:
        selectors.window(window_s, scrape_s)
    assert str(refused.value) == problem
