"""The words of the field: names and texts that no engineer would use stay out of the source."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "kubestow"

# Words that stood for something that Kubernetes, queueing theory or forecasting have a name for.
NAMES = frozenset(
    {
        *("found", "told", "tell", "wish", "wishes", "nought", "foretold", "buried", "heard"),
        *("book", "books", "door", "doors", "sighting", "sightings", "surroundings", "advice"),
    }
)
TEXTS = re.compile(
    r"\b(nought|foretold|for want of|sightings?|surroundings|wishes|puts? up with|as of old"
    r"|is told|are told|told apart)\b",
    re.IGNORECASE,
)
# Python 3.12 and later split f-strings into parts.
_READ_BY_PEOPLE = (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1))


def tokens() -> Iterator[tuple[str, tokenize.TokenInfo]]:
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            yield f"{path.relative_to(SOURCE)}:{token.start[0]}", token


def test_names_are_words_of_the_field() -> None:
    bad = [
        f"{place}: {token.string}"
        for place, token in tokens()
        if token.type == tokenize.NAME
        and token.string.upper() != "NOT_FOUND"  # the status of HTTP
        and NAMES.intersection(re.split(r"_|(?<=[a-z])(?=[A-Z])", token.string.lower()))
    ]
    assert bad == []


def test_texts_are_plain_english() -> None:
    bad = [
        f"{place}: {match.group()}"
        for place, token in tokens()
        if token.type in _READ_BY_PEOPLE
        for match in TEXTS.finditer(token.string)
    ]
    assert bad == []
