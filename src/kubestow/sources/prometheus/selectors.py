"""Build PromQL from validated parts, so that no name or value is read as syntax.

The grammar is that of promql/parser/lex.go: names of metrics and labels are words, values are in
double quotes with Go's escapes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kubestow.model import decoding, errors

EQUAL, DIFFERENT, MATCHING, NOT_MATCHING = OPERATORS = ("=", "!=", "=~", "!~")

_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_CONDITION = re.compile(rf"({_LABEL.pattern})\s*(=~|!~|!=|=)\s*(.*)", re.DOTALL)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}

SCRAPES = 4
"""Fewest scrapes in a window: a rate needs two, one may be late and one may fail."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on a label.

    Attributes:
        label: Name of the label.
        operator: ``=``, ``!=``, ``=~`` or ``!~``.
        value: A value, or a regular expression (RE2, anchored at both ends).
    """

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.label}{self.operator}{quote(self.value)}"


def parse_matcher(text: str) -> Matcher:
    """Parse a condition on a label in PromQL notation; quotes are optional.

    >>> str(parse_matcher('pod=~web-.*')), str(parse_matcher('job="a"'))
    ('pod=~"web-.*"', 'job="a"')

    Raises:
        InputError: If the text is not a condition.
    """
    parts = _CONDITION.fullmatch(text.strip())
    if parts is None:
        problem = f"{text!r}: expected LABEL=VALUE, LABEL!=VALUE, LABEL=~REGEX or LABEL!~REGEX"
        raise errors.InputError("matcher", problem)
    label, operator, value = parts.groups()
    quoted = len(value) > 1 and value[0] == value[-1] == '"'
    return Matcher(label, operator, value[1:-1] if quoted else value)


def select_series(metric: str, matchers: Sequence[Matcher] = ()) -> str:
    r"""Return a selector of series.

    >>> select_series("up", [Matcher("job", "=", 'a"b')])
    'up{job="a\\"b"}'

    Raises:
        InputError: If a name or an operator is invalid.
    """
    if not _METRIC.fullmatch(metric):
        raise errors.InputError("metric", f"{metric!r}: expected letters, digits, _ and :")
    for matcher in matchers:
        check_label(matcher.label)
        if matcher.operator not in OPERATORS:
            expectation = f"expected one of {', '.join(OPERATORS)}"
            raise errors.InputError("matcher", f"{matcher.operator!r}: {expectation}")
    return f"{metric}{{{','.join(map(str, matchers))}}}" if matchers else metric


def check_label(name: str) -> str:
    """Return a label name after validation.

    Raises:
        InputError: If the name is invalid.
    """
    if not _LABEL.fullmatch(name):
        raise errors.InputError("label", f"{name!r}: expected letters, digits and _")
    return name


def quote(value: str) -> str:
    """Quote a text for PromQL.

    Raises:
        InputError: If it cannot be encoded as UTF-8.
    """
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise errors.InputError("label value", f"{value!r}: expected valid Unicode") from None
    escaped = (_ESCAPES.get(c) or (c if c >= " " else f"\\x{ord(c):02x}") for c in value)
    return f'"{"".join(escaped)}"'


def window(window_s: float, scrape_s: float) -> str:
    """Format the window of a rate.

    >>> window(60.0, 15.0)
    '[60s]'

    Raises:
        InputError: If it covers too few scrapes.
    """
    if not scrape_s > 0.0:
        raise errors.InputError("scrape interval", f"{scrape_s:g} s: must be > 0")
    if not SCRAPES * scrape_s <= window_s < float("inf"):
        window = decoding.format_duration(window_s) if window_s < float("inf") else window_s
        scrape = decoding.format_duration(scrape_s)
        problem = f"{window}: expected at least {SCRAPES} scrape intervals of {scrape}"
        raise errors.InputError("window", problem)
    window_ms = round(window_s * 1000.0)
    return f"[{window_ms // 1000}s]" if window_ms % 1000 == 0 else f"[{window_ms}ms]"
