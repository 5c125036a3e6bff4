"""The tasks of the process under test, and how it is spoken to."""

import io
import json

import numpy as np
import pytest

from kubestow.studies.schubert.limits import timed_tasks


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
    ids=["empty", "one-byte", "three-bytes", "a-stripe-and-a-tail"],
)
def test_the_hash_is_xxh64(text: bytes, digest: int) -> None:
    # Published digests, seed 0: xxhash_spec.md and the manual of the Python package xxhash.
    assert timed_tasks.hash_bytes(np.frombuffer(text, dtype=np.uint8).copy()) == digest


def test_the_hash_reads_every_byte() -> None:
    buffer = np.zeros(99, dtype=np.uint8)
    first = timed_tasks.hash_bytes(buffer)
    for position in range(99):
        changed = buffer.copy()
        changed[position] = 1
        assert timed_tasks.hash_bytes(changed) != first


def test_a_buffer_is_filled_periodically() -> None:
    buffer = np.empty(300, dtype=np.uint8)
    timed_tasks.fill(buffer, timed_tasks.PERIOD)
    assert buffer.tolist() == [index % 113 for index in range(300)]


@pytest.mark.parametrize(
    ("number", "divisors"), [(2, 0), (97, 0), (12, 4), (49, 1)], ids=["2", "97", "12", "49"]
)
def test_divisors_are_counted_one_by_one(number: int, divisors: int) -> None:
    # 12: 2, 3, 4, 6.
    assert timed_tasks.count_divisors(number) == divisors


def test_the_server_says_that_it_is_ready_and_answers_each_order() -> None:
    orders = [{"task": "cpu", "number": 97}, {"task": "memory", "bytes": 226, "period": 113}]
    answers = io.StringIO()
    timed_tasks.serve(io.StringIO("".join(json.dumps(one) + "\n" for one in orders)), answers)
    ready, cpu, memory = map(json.loads, answers.getvalue().splitlines())
    assert ready == {"ready": True}
    assert cpu["answer"] == 0
    expected = np.arange(226, dtype=np.uint8) % 113
    assert memory["answer"] == timed_tasks.hash_bytes(expected.astype(np.uint8))
    assert cpu["seconds"] > 0.0
    assert memory["seconds"] > 0.0
