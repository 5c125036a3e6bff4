"""Label selectors in the text form of URLs: ``app=web,tier in (a,b),!old``.

The grammar of ``k8s.io/apimachinery/pkg/labels``, without the comparisons ``>`` and ``<``.
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
_EXISTS = re.compile(rf"\s*(?P<sign>!?)\s*{_KEY}\s*")


def parse_selector(text: str) -> LabelSelector:
    """Return the selector; an empty text matches everything.

    >>> parse_selector("app=web,tier notin (a, b)").matches({"app": "web"})
    True

    Raises:
        ValueError: If the text is not a selector.
    """
    if len(text) > _MOST:
        raise ValueError(f"a label selector of {len(text)} characters; expected at most {_MOST}")
    if not text.strip():
        return LabelSelector()
    requirements, position = [], 0
    while True:
        requirement, position = _next(text, position)
        requirements.append(requirement)
        if position == len(text):
            return LabelSelector(tuple(requirements))
        if text[position] != ",":
            raise _syntax_error(text)
        position += 1


def _next(text: str, position: int) -> tuple[Requirement, int]:
    if match := _SET.match(text, position):
        operator = selectors.IN if match["sign"] == "in" else selectors.NOT_IN
        values = tuple(sorted({value.strip() for value in match["values"].split(",")}))
    elif match := _EQUAL.match(text, position):
        operator = selectors.NOT_IN if match["sign"] == "!=" else selectors.IN
        values = (match["value"],)
    elif match := _EXISTS.match(text, position):
        operator = selectors.DOES_NOT_EXIST if match["sign"] else selectors.EXISTS
        values = ()
    else:
        raise _syntax_error(text)
    if not all(map(selectors.is_label_value, values)):
        raise _syntax_error(text)
    return Requirement(match["key"], operator, values), match.end()


def _syntax_error(text: str) -> ValueError:
    return ValueError(f"{text[:60]!r}: expected a label selector such as app=web,tier in (a,b)")


def selector_json(selector: LabelSelector) -> dict[str, Any] | None:
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
    document: dict[str, Any] = {}
    if equal:
        document["matchLabels"] = equal
    if others:
        document["matchExpressions"] = others
    return document
