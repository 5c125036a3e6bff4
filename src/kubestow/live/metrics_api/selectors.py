"""Label selectors as they stand in a URL: ``app=web,tier in (a,b),!old``.

The grammar of ``k8s.io/apimachinery/pkg/labels``, but for the comparisons ``>`` and ``<``.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kubestow.model import selectors
from kubestow.model.selectors import LabelSelector, Requirement

_MOST: Final = 8192  # characters
_KEY: Final = r"(?P<key>[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)"
_VALUE: Final = r"[-A-Za-z0-9_.]*"
_EQUAL = re.compile(rf"\s*{_KEY}\s*(?P<sign>==|=|!=)\s*(?P<value>{_VALUE})\s*")
_SET = re.compile(rf"\s*{_KEY}\s+(?P<sign>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_THERE = re.compile(rf"\s*(?P<sign>!?)\s*{_KEY}\s*")


def parse(text: str) -> LabelSelector:
    """Return the selector; an empty text matches everything.

    >>> parse("app=web,tier notin (a, b)").matches({"app": "web"})
    True

    Raises:
        ValueError: If the text is no selector.
    """
    if len(text) > _MOST:
        raise ValueError(f"a label selector of {len(text)} characters; expected at most {_MOST}")
    if not text.strip():
        return LabelSelector()
    found, place = [], 0
    while True:
        requirement, place = _next(text, place)
        found.append(requirement)
        if place == len(text):
            return LabelSelector(tuple(found))
        if text[place] != ",":
            raise _refusal(text)
        place += 1


def _next(text: str, place: int) -> tuple[Requirement, int]:
    if match := _SET.match(text, place):
        operator = selectors.IN if match["sign"] == "in" else selectors.NOT_IN
        values = tuple(sorted({value.strip() for value in match["values"].split(",")}))
    elif match := _EQUAL.match(text, place):
        operator = selectors.NOT_IN if match["sign"] == "!=" else selectors.IN
        values = (match["value"],)
    elif match := _THERE.match(text, place):
        operator = selectors.DOES_NOT_EXIST if match["sign"] else selectors.EXISTS
        values = ()
    else:
        raise _refusal(text)
    if not all(map(selectors.is_label_value, values)):
        raise _refusal(text)
    return Requirement(match["key"], operator, values), match.end()


def _refusal(text: str) -> ValueError:
    return ValueError(f"{text[:60]!r}: expected a label selector such as app=web,tier in (a,b)")


def as_json(selector: LabelSelector) -> dict[str, Any] | None:
    """Return a LabelSelector as ``metav1.ParseToLabelSelector`` makes it; ``None`` if empty."""
    if selector.empty:
        return None
    equal = {
        each.key: each.values[0]
        for each in selector.requirements
        if each.operator == selectors.IN and len(each.values) == 1
    }
    others = [
        {"key": each.key, "operator": each.operator}
        | ({"values": list(each.values)} if each.values else {})
        for each in selector.requirements
        if not (each.operator == selectors.IN and len(each.values) == 1)
    ]
    found: dict[str, Any] = {}
    if equal:
        found["matchLabels"] = equal
    if others:
        found["matchExpressions"] = others
    return found
