"""Usage on one grid: what is cut off, what belongs together."""

from __future__ import annotations

import numpy as np

from kubestow.policies.sizing import batches


def make() -> batches.Batch:
    return batches.make(
        ["a", "b"],
        np.array([1, 0, 1]),
        60.0,
        600.0,
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, np.nan]]),
        np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0], [70.0, 80.0, 90.0]]),
        np.array([0.0, 5.0]),
    )


def test_rows_stand_in_the_order_of_their_containers() -> None:
    batch = make()
    assert batch.owners.tolist() == [0, 1, 1]
    assert batch.cpu_cores[0].tolist() == [4.0, 5.0, 6.0]
    assert batch.cpu_cores[2].tolist()[:2] == [7.0, 8.0]


def test_the_past_ends_earlier_and_has_no_later_points() -> None:
    cut = make().until(2)
    assert (cut.end_s, cut.points) == (540.0, 2)
    assert cut.memory_bytes[0].tolist() == [40.0, 50.0]


def test_points_between_two_places() -> None:
    cut = make().between(1, 2)
    assert (cut.end_s, cut.memory_bytes[:, 0].tolist()) == (540.0, [50.0, 20.0, 80.0])


def test_some_of_the_containers() -> None:
    part = make().of(1, 2)
    assert part.names == ("b",)
    assert part.owners.tolist() == [0, 0]
    assert part.memory_bytes[:, 0].tolist() == [10.0, 70.0]
    assert part.killed_bytes.tolist() == [5.0]


def test_the_largest_row_of_each_container_counts() -> None:
    batch = make()
    found = batch.largest(np.array([np.nan, 3.0, 2.0]))
    assert np.isnan(found[0])
    assert found[1] == 3.0
