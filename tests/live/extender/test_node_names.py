"""Rows of nodes out of the text of a list, against what a JSON decoder and a dictionary find."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.extender import node_names

# As nodes are named, and a little beyond: short alphabets make prefixes and near misses.
NAMES = st.lists(st.text("ab.-é1", min_size=1, max_size=5), unique=True, max_size=40)


@given(NAMES, st.lists(st.text("ab.-é1", max_size=5), max_size=40), st.booleans())
def test_rows_are_those_a_dictionary_has(names: list[str], more: list[str], wide: bool) -> None:
    asked = [*names, *more]
    separators = (" , ", ": ") if wide else (",", ":")
    text = json.dumps(asked, ensure_ascii=False, separators=separators).encode()
    result = node_names.find_rows(node_names.make_table(tuple(names)), text)
    assert result is not None
    rows = {name: row for row, name in enumerate(names)}
    assert result.tolist() == [rows.get(name, node_names.UNKNOWN) for name in asked]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[",
        b'["a]',
        b'["a" "b"]',
        b'["a",]',
        b'[,"a"]',
        b"[1]",
        b'["a",1]',
        b'["a\\u0062"]',  # valid, but has to be decoded as JSON
        b'[["a"]]',
        b'{"a":"b"}',
    ],
)
def test_what_is_no_plain_list_of_texts_is_left_to_others(text: bytes) -> None:
    assert node_names.find_rows(node_names.make_table(("a", "ab")), text) is None


def test_an_empty_list_has_no_rows() -> None:
    result = node_names.find_rows(node_names.make_table(("a",)), b"[ ]")
    assert result is not None
    assert len(result) == 0


def test_five_thousand_names_are_found() -> None:
    names = tuple(f"node-{number:04}" for number in range(5000))
    order = np.random.default_rng(1).permutation(5000)
    text = json.dumps([names[row] for row in order]).encode()
    result = node_names.find_rows(node_names.make_table(names), text)
    assert result is not None
    assert (result == order).all()
