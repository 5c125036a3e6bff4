"""Native histograms, written by hand as protobuf writes them, are read back."""

from __future__ import annotations

import pytest

from testenv import native_histograms as native


def varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def signed(number: int, value: int) -> bytes:
    return whole(number, value << 1 if value >= 0 else (-value << 1) - 1)


def text(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def label(name: str, value: str) -> bytes:
    return text(1, text(1, name.encode()) + text(2, value.encode()))


def span(offset: int, length: int) -> bytes:
    return text(12, signed(1, offset) + whole(2, length))


# Edges of schema 0 are powers of two. Two spans: buckets -1 and 0 (up to 0.5 and 1) with 3 and 5,
# then one is passed over, and bucket 2 (up to 4) has 2; counts are steps: 3, +2, -3. Two are 0.
SCATTERED = (
    signed(5, 0)
    + whole(7, 2)
    + span(-1, 2)
    + span(1, 1)
    + signed(13, 3)
    + signed(13, 2)
    + signed(13, -3)
)
PACKED = signed(5, 0) + span(0, 2) + text(13, varint(2 << 1) + varint((1 << 1) - 1))


def metric(histogram: bytes, kind: str) -> bytes:
    return text(4, label("type", kind) + label("other", "x") + text(7, histogram))


def family(name: str, *metrics: bytes) -> bytes:
    content = text(1, name.encode()) + text(2, b"help") + whole(3, 4) + b"".join(metrics)
    return varint(len(content)) + content


CONTENT = family("first", metric(PACKED, "admit")) + family(
    "second", metric(SCATTERED, "admit"), metric(PACKED, "validating")
)


def test_counts_are_added_up_from_steps() -> None:
    assert native.read(CONTENT, "second", {"type": "admit"}) == {0: 2, 0.5: 5, 1: 10, 4: 12}


def test_counts_that_are_packed_are_the_same() -> None:
    # Steps 2 and -1: two up to 1, one up to 2.
    assert native.read(CONTENT, "first", {}) == {0: 0, 1: 2, 2: 3}


def test_several_are_summed() -> None:
    result = native.read(CONTENT, "second", {"other": "x"})
    assert result == {0: 2, 0.5: 5, 1: 12, 2: 13, 4: 15}


def test_one_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="third"):
        native.read(CONTENT, "third", {})
    with pytest.raises(KeyError, match="second"):
        native.read(CONTENT, "second", {"type": "none"})


def test_what_is_no_protobuf_is_refused() -> None:
    with pytest.raises(ValueError, match="not protobuf"):
        native.read(varint(1) + bytes([0x0B]), "first", {})


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.25, 0.25),  # 2.5 of 10: half of the first five, up to 0.5
        (0.5, 0.5),
        (0.75, 0.75),
        (1.0, 1.0),
    ],
)
def test_quantiles_lie_between_edges(share: float, expected: float) -> None:
    assert native.quantile({0.5: 5.0, 1.0: 10.0}, share) == pytest.approx(expected)


def test_beyond_the_last_edge_nothing_more_is_known() -> None:
    assert native.quantile({0.5: 5.0, float("inf"): 10.0}, 0.9) == 0.5
