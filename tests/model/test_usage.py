"""Usage on one grid: what is cut off, what belongs together."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kubestow.model.keys import ContainerKey
from kubestow.model.usage import Usage, arrange


def make() -> Usage:
    return arrange(
        ["a", "b"],
        np.array([1, 0, 1]),
        60.0,
        600.0,
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, np.nan]]),
        np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0], [70.0, 80.0, 90.0]]),
        np.array([0.0, 5.0]),
    )


def test_rows_stand_in_the_order_of_their_containers() -> None:
    usage = make()
    assert usage.owners.tolist() == [0, 1, 1]
    assert usage.cpu_cores[0].tolist() == [4.0, 5.0, 6.0]
    assert usage.cpu_cores[2].tolist()[:2] == [7.0, 8.0]


def test_the_past_ends_earlier_and_has_no_later_points() -> None:
    cut = make().until(2)
    assert (cut.end_s, cut.points) == (540.0, 2)
    assert cut.memory_bytes[0].tolist() == [40.0, 50.0]


def test_points_between_two_places() -> None:
    cut = make().between(1, 2)
    assert (cut.end_s, cut.memory_bytes[:, 0].tolist()) == (540.0, [50.0, 20.0, 80.0])


def test_some_of_the_containers() -> None:
    part = make().of(1, 2)
    assert part.containers == ("b",)
    assert part.owners.tolist() == [0, 0]
    assert part.memory_bytes[:, 0].tolist() == [10.0, 70.0]
    assert part.oom_killed_bytes.tolist() == [5.0]


def test_the_largest_row_of_each_container_counts() -> None:
    usage = make()
    result = usage.largest(np.array([np.nan, 3.0, 2.0]))
    assert np.isnan(result[0])
    assert result[1] == 3.0


def named() -> Usage:
    whole = dataclasses.replace(
        make(), pods=("p", "q", "r"), throttled=np.array([0.1, 0.2]), oom_kills=np.array([0.0, 2.0])
    )
    keys = (ContainerKey("n", "Job", "w", "a"), ContainerKey("n", "Job", "w", "b"))
    return dataclasses.replace(whole, containers=keys)


@pytest.mark.parametrize("how", ["of", "pick"])
def test_a_part_takes_everything_of_its_containers_along(how: str) -> None:
    part = named().of(1, 2) if how == "of" else named().pick(np.array([1]))
    assert [key.container for key in part.keys] == ["b"]
    assert part.names == ("n/Job/w/b",)
    assert part.owners.tolist() == [0, 0]
    assert part.pods == ("q", "r")
    assert part.cpu_cores[:, 0].tolist() == [1.0, 7.0]
    assert part.memory_bytes[:, 0].tolist() == [10.0, 70.0]
    numbers = (part.throttled, part.oom_kills, part.oom_killed_bytes)
    assert [values.tolist() for values in numbers] == [[0.2], [2.0], [5.0]]


def test_containers_that_lie_apart_can_be_picked() -> None:
    usage = arrange(["a", "b", "c"], np.array([0, 1, 2]), 60.0, 0.0, np.eye(3), np.eye(3))
    part = usage.pick(np.array([0, 2]))
    assert part.containers == ("a", "c")
    assert part.owners.tolist() == [0, 1]
    assert part.cpu_cores.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert part.pods == ()


def test_containers_with_a_name_only_have_no_keys() -> None:
    assert make().names == ("a", "b")
    with pytest.raises(TypeError, match="without a key"):
        _ = make().keys
