"""Usage on one grid: where samples land, what is cut off, what belongs together."""

from __future__ import annotations

import numpy as np

from kubestow.policies.sizing import batches, histories


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


def series(
    pod: str, times_s: list[float], cpu: list[float], ooms: tuple[histories.OomKill, ...] = ()
) -> histories.ContainerSeries:
    return histories.ContainerSeries(
        pod, "c", np.array(times_s), np.array(cpu), np.array(cpu) * 100.0, ooms=ooms
    )


def test_samples_land_in_the_step_they_were_taken_in() -> None:
    # Steps of 60 s that end at 300 s: 181 to 240 s is the second last, and of 190 and 230 s the
    # larger counts; 310 s is yet to come.
    kill = histories.OomKill(250.0, "p", "c", 4096)
    late = histories.OomKill(310.0, "p", "c", 9999)
    history = histories.UsageHistory(
        (
            series(
                "p", [130.0, 190.0, 230.0, 300.0, 310.0], [1.0, 2.0, 3.0, 4.0, 9.0], (kill, late)
            ),
            series("q", [290.0], [7.0]),
        )
    )
    batch = batches.of_history(history, 300.0, 60.0)
    assert batch.names == ("c",)
    assert batch.points == 3
    assert batch.cpu_cores[0].tolist() == [1.0, 3.0, 4.0]
    assert np.isnan(batch.cpu_cores[1, :2]).all()
    assert batch.cpu_cores[1, 2] == 7.0
    assert batch.memory_bytes[0].tolist() == [100.0, 300.0, 400.0]
    assert batch.killed_bytes.tolist() == [4096.0]


def test_the_usual_distance_of_samples_is_the_step() -> None:
    history = histories.UsageHistory((series("p", [0.0, 30.0, 60.0, 95.0], [1.0] * 4),))
    assert batches.of_history(history, 100.0).step_s == 30.0


def test_one_sample_is_enough_for_a_grid() -> None:
    batch = batches.of_history(histories.UsageHistory((series("p", [5.0], [1.0]),)), 10.0)
    assert batch.cpu_cores.tolist() == [[1.0]]


def test_nothing_measured_gives_no_rows() -> None:
    history = histories.UsageHistory((series("p", [500.0], [1.0]),))
    batch = batches.of_history(history, 10.0)
    assert batch.names == ("c",)
    assert batch.cpu_cores.shape == (0, 0)
