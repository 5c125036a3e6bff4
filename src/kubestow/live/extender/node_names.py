"""Finds rows of nodes by the names in a question, without making a thousand Python texts of them.

kube-scheduler sends the names of all nodes that are left with every pod. To turn them into texts
and look each of them up takes longer than most policies take to judge the nodes. Here compiled code
goes over the bytes of the list and looks names up by their hash (FNV-1a) in a table of all nodes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kubestow.model import arrays
from kubestow.model.arrays import Bytes
from kubestow.policies.compiling import compiled, inlined

_OFFSET: Final = np.uint64(0xCBF29CE484222325)  # of FNV-1a with 64 bits
_PRIME: Final = np.uint64(0x100000001B3)
_FREE: Final = -1
UNKNOWN: Final = -1
_QUOTE, _ESCAPE, _COMMA = ord('"'), ord("\\"), ord(",")
_OPEN, _CLOSE, _SPACE = ord("["), ord("]"), ord(" ")


class NameIndex(NamedTuple):
    """Names of nodes and where to find them.

    Attributes:
        text: All names one after the other, UTF-8.
        starts: Where each begins, and where the last ends.
        slots: Rows by hash, with open addressing; -1 is free. A power of two, at most half full.
    """

    text: Bytes
    starts: arrays.Ints
    slots: arrays.Ints


def make_table(names: tuple[str, ...]) -> NameIndex:
    """Return a table of names; a name's row is its position."""
    encoded = [name.encode() for name in names]
    starts = np.zeros(len(names) + 1, dtype=np.int64)
    starts[1:] = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    slots = np.full(2 ** (2 * len(names) + 1).bit_length(), _FREE, dtype=np.int64)
    fill_slots(text, starts, slots)
    return NameIndex(text, starts, slots)


def find_rows(table: NameIndex, text: bytes) -> arrays.Ints | None:
    """Return the row of every name in a JSON list, ``UNKNOWN`` where there is none.

    ``None`` is returned for a text that is no plain list of texts, or has escapes in it; that has
    to be read the long way.
    """
    found = np.empty(len(text) // 3 + 1, dtype=np.int64)  # no name is shorter than its quotes
    count = scan(np.frombuffer(text, dtype=np.uint8), *table, found)
    return None if count < 0 else found[:count]


@inlined
def hash_text(text: Bytes, start: int, end: int) -> int:
    """Return a hash that is not negative."""
    found = _OFFSET
    for i in range(start, end):
        found = (found ^ np.uint64(text[i])) * _PRIME
    return np.int64(found >> np.uint64(1))  # type: ignore[return-value]  # an int once compiled


@compiled
def fill_slots(text: Bytes, starts: arrays.Ints, slots: arrays.Ints) -> None:
    """Put the rows of all names into their slots."""
    mask = len(slots) - 1
    for row in range(len(starts) - 1):
        slot = hash_text(text, starts[row], starts[row + 1]) & mask
        while slots[slot] != _FREE:
            slot = (slot + 1) & mask
        slots[slot] = row


@inlined
def is_equal(one: Bytes, start: int, other: Bytes, begin: int, length: int) -> bool:
    """Return whether two texts are the same."""
    i = 0
    while i < length and one[start + i] == other[begin + i]:
        i += 1
    return i == length


@inlined
def find_row(
    asked: Bytes, start: int, end: int, text: Bytes, starts: arrays.Ints, slots: arrays.Ints
) -> int:
    """Return the row of one name."""
    mask = len(slots) - 1
    slot = hash_text(asked, start, end) & mask
    while slots[slot] != _FREE:
        row = slots[slot]
        begin, length = starts[row], starts[row + 1] - starts[row]
        if length == end - start and is_equal(asked, start, text, begin, length):
            return int(row)
        slot = (slot + 1) & mask
    return UNKNOWN


@compiled
def scan(
    asked: Bytes, text: Bytes, starts: arrays.Ints, slots: arrays.Ints, found: arrays.Ints
) -> int:
    """Fill in the rows of the names in a list; return how many, or -1 if it is no such list."""
    last = len(asked) - 1
    if last < 1 or asked[0] != _OPEN or asked[last] != _CLOSE:
        return -1
    count, at, wanted = 0, 1, True  # a name is wanted, not a comma
    while at < last:
        byte = asked[at]
        if byte == _QUOTE and wanted:
            start = at + 1
            at = start
            while at < last and asked[at] != _QUOTE:
                if asked[at] == _ESCAPE:
                    return -1
                at += 1
            if at == last:
                return -1
            found[count] = find_row(asked, start, at, text, starts, slots)
            count += 1
            wanted = False
        elif byte == _COMMA and not wanted:
            wanted = True
        elif byte > _SPACE:
            return -1
        at += 1
    return -1 if wanted and count > 0 else count
