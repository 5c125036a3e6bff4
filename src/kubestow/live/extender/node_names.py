"""Finds the rows of nodes by the names in a request, without creating Python strings.

kube-scheduler sends the names of all candidate nodes with every pod. Decoding them into strings and
looking each up takes longer than most policies take to score the nodes. Here compiled code scans
the bytes of the list and looks names up by their hash (FNV-1a) in a table of all nodes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kubestow.model import arrays
from kubestow.model.arrays import Bytes
from kubestow.policies.compiling import compiled, inlined

_OFFSET: Final = np.uint64(0xCBF29CE484222325)  # of 64-bit FNV-1a
_PRIME: Final = np.uint64(0x100000001B3)
_FREE: Final = -1
UNKNOWN: Final = -1
_QUOTE, _ESCAPE, _COMMA = ord('"'), ord("\\"), ord(",")
_OPEN, _CLOSE, _SPACE = ord("["), ord("]"), ord(" ")


class NameIndex(NamedTuple):
    """A hash table of node names.

    Attributes:
        text: All names concatenated, UTF-8.
        starts: Start of each name, and the end of the last.
        slots: Rows by hash, with open addressing; -1 is free. Size: a power of two, at most half
            full.
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

    Returns ``None`` for a text that is not a plain list of strings, or contains escapes; the caller
    must decode it as JSON.
    """
    rows = np.empty(len(text) // 3 + 1, dtype=np.int64)  # two quotes and a comma per name
    count = scan(np.frombuffer(text, dtype=np.uint8), *table, rows)
    return None if count < 0 else rows[:count]


@inlined
def hash_text(text: Bytes, start: int, end: int) -> int:
    """Return a non-negative hash."""
    digest = _OFFSET
    for i in range(start, end):
        digest = (digest ^ np.uint64(text[i])) * _PRIME
    return np.int64(digest >> np.uint64(1))  # type: ignore[return-value]  # an int once compiled


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
    """Return whether two texts are equal."""
    i = 0
    while i < length and one[start + i] == other[begin + i]:
        i += 1
    return i == length


@inlined
def find_row(
    request: Bytes, start: int, end: int, text: Bytes, starts: arrays.Ints, slots: arrays.Ints
) -> int:
    """Return the row of one name."""
    mask = len(slots) - 1
    slot = hash_text(request, start, end) & mask
    while slots[slot] != _FREE:
        row = slots[slot]
        begin, length = starts[row], starts[row + 1] - starts[row]
        if length == end - start and is_equal(request, start, text, begin, length):
            return int(row)
        slot = (slot + 1) & mask
    return UNKNOWN


@compiled
def scan(
    request: Bytes, text: Bytes, starts: arrays.Ints, slots: arrays.Ints, rows: arrays.Ints
) -> int:
    """Fill in the rows of the names in a list; return their number, or -1 if malformed."""
    last = len(request) - 1
    if last < 1 or request[0] != _OPEN or request[last] != _CLOSE:
        return -1
    count, at, expects_name = 0, 1, True  # a name is expected, not a comma
    while at < last:
        byte = request[at]
        if byte == _QUOTE and expects_name:
            start = at + 1
            at = start
            while at < last and request[at] != _QUOTE:
                if request[at] == _ESCAPE:
                    return -1
                at += 1
            if at == last:
                return -1
            rows[count] = find_row(request, start, at, text, starts, slots)
            count += 1
            expects_name = False
        elif byte == _COMMA and not expects_name:
            expects_name = True
        elif byte > _SPACE:
            return -1
        at += 1
    return -1 if expects_name and count > 0 else count
