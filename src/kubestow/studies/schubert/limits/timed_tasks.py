"""The process under test: a CPU task and a memory task, timed in a child process.

The tasks are those of Schubert 2023, 5.4: test whether 141464683 is prime by dividing by all
smaller natural numbers; and allocate 1 GiB, fill it with the repeating bytes 0 to 112, and hash it.
The thesis hashes with XXH3; here it is XXH64, its predecessor, which also reads every byte once
(github.com/Cyan4973/xxHash, doc/xxhash_spec.md). ``child_processes`` starts this module and sends
orders, one JSON object per line, so that no parameter is known when the loops are compiled. Times
exclude the pipe and the compiler.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

import numpy as np

from kubestow.model.arrays import Bytes, Words
from kubestow.policies.compiling import compiled

PRIME: Final = 141464683
PERIOD: Final = 113
"""Period of the repeating bytes 0 to 112."""

_P1: Final = np.uint64(0x9E3779B185EBCA87)
_P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_P3: Final = np.uint64(0x165667B19E3779F9)
_P4: Final = np.uint64(0x85EBCA77C2B2AE63)
_P5: Final = np.uint64(0x27D4EB2F165667C5)
_SIXTY_FOUR: Final = np.uint64(64)


@compiled
def count_divisors(number: int) -> int:
    """Return the number of divisors from 2 to number - 1, by trying all of them."""
    count = 0
    for divisor in range(2, number):
        if number % divisor == 0:
            count += 1
    return count


@compiled
def fill(buffer: Bytes, period: int) -> None:
    """Fill bytes with 0, 1, ... period - 1, repeated."""
    value = 0
    for index in range(len(buffer)):
        buffer[index] = value
        value += 1
        if value == period:
            value = 0


@compiled
def _rotate(value: np.uint64, bits: np.uint64) -> np.uint64:
    return np.uint64((value << bits) | (value >> (_SIXTY_FOUR - bits)))


@compiled
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    return np.uint64(_rotate(np.uint64(lane + word * _P2), np.uint64(31)) * _P1)


@compiled
def _merge(state: np.uint64, lane: np.uint64) -> np.uint64:
    return np.uint64((state ^ _round(np.uint64(0), lane)) * _P1 + _P4)


@compiled
def _digest_stripes(words: Words) -> np.uint64:
    """Return the state after all stripes of four words."""
    one = np.uint64(_P1 + _P2)
    two = np.uint64(_P2)
    three = np.uint64(0)
    four = np.uint64(np.uint64(0) - _P1)
    for index in range(0, len(words), 4):
        one = _round(one, words[index])
        two = _round(two, words[index + 1])
        three = _round(three, words[index + 2])
        four = _round(four, words[index + 3])
    state = np.uint64(
        _rotate(one, np.uint64(1))
        + _rotate(two, np.uint64(7))
        + _rotate(three, np.uint64(12))
        + _rotate(four, np.uint64(18))
    )
    for lane in (one, two, three, four):
        state = _merge(state, lane)
    return state


@compiled
def _little_endian(rest: Bytes, start: int, length: int) -> np.uint64:
    value = np.uint64(0)
    for offset in range(length):
        value |= np.uint64(rest[start + offset]) << np.uint64(8 * offset)
    return value


@compiled
def _finish(state: np.uint64, rest: Bytes) -> np.uint64:
    """Add the bytes after the last stripe, then mix."""
    index, left = 0, len(rest)
    while left - index >= 8:
        state ^= _round(np.uint64(0), _little_endian(rest, index, 8))
        state = np.uint64(_rotate(state, np.uint64(27)) * _P1 + _P4)
        index += 8
    if left - index >= 4:
        state ^= np.uint64(_little_endian(rest, index, 4) * _P1)
        state = np.uint64(_rotate(state, np.uint64(23)) * _P2 + _P3)
        index += 4
    while index < left:
        state ^= np.uint64(np.uint64(rest[index]) * _P5)
        state = np.uint64(_rotate(state, np.uint64(11)) * _P1)
        index += 1
    state = np.uint64((state ^ (state >> np.uint64(33))) * _P2)
    state = np.uint64((state ^ (state >> np.uint64(29))) * _P3)
    return np.uint64(state ^ (state >> np.uint64(32)))


def hash_bytes(buffer: Bytes) -> int:
    """Return XXH64 of bytes, seed 0."""
    stripes = len(buffer) // 32 * 32
    state = _digest_stripes(buffer[:stripes].view(np.uint64)) if stripes else _P5
    with np.errstate(over="ignore"):  # the sum wraps on purpose
        state = np.uint64(state) + np.uint64(len(buffer))
    return int(_finish(state, buffer[stripes:]))


def run_cpu(order: Mapping[str, Any]) -> int:
    """Try all divisors; 0 for a prime."""
    return count_divisors(int(order["number"]))


def run_memory(order: Mapping[str, Any]) -> int:
    """Allocate, fill and hash; the memory is freed before the answer."""
    buffer = np.empty(int(order["bytes"]), dtype=np.uint8)
    fill(buffer, int(order["period"]))
    return hash_bytes(buffer)


TASKS: Final[Mapping[str, Callable[[Mapping[str, Any]], int]]] = {
    "cpu": run_cpu,
    "memory": run_memory,
}
_WARM_UP: Final = ({"task": "cpu", "number": 97}, {"task": "memory", "bytes": 99, "period": 7})


def perform(order: Mapping[str, Any]) -> dict[str, Any]:
    """Run an order; return its answer and the seconds it took."""
    task = TASKS[order["task"]]
    start_s = time.perf_counter()
    answer = task(order)
    return {"seconds": time.perf_counter() - start_s, "answer": answer}


def serve(orders: TextIO, answers: TextIO) -> None:
    """Compile, report ready, then answer one order per line until the input ends."""
    for order in _WARM_UP:
        perform(order)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in orders:
        print(json.dumps(perform(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
