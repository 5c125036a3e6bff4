"""Label selectors as texts."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.model.decoding import selector_texts as selectors

LABELS = {"app": "web", "tier": "a", "example.com/x": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier=a", True),
        ("app!=web", False),
        ("other!=web", True),
        ("tier in (a,b)", True),
        ("tier in (b, c)", False),
        ("tier notin (b)", True),
        ("app", True),
        ("other", False),
        ("!other", True),
        ("!app", False),
        ("example.com/x=", True),
        ("in in (a)", False),
        ("app=web,tier in (a,b),!old", True),
    ],
)
def test_selectors_match(text: str, matches: bool) -> None:
    assert selectors.parse_selector(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    "text",
    ["=", "a=b c", "a,", ",a", "a in b", "a in (b", "a=(", "!", "a=-b", "a>1", "a" * 9000],
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="label selector"):
        selectors.parse_selector(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("a=b", {"matchLabels": {"a": "b"}}),
        ("!a", {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}),
        (
            "a=b,c in (e,d)",
            {
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}],
            },
        ),
    ],
)
def test_selectors_are_repeated_in_the_response(text: str, expected: Any) -> None:
    assert selectors.selector_json(selectors.parse_selector(text)) == expected
