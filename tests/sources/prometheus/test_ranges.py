"""Answers on one grid, with gaps in sight: against a real server, and part by part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import pages, ranges, responses
from kubestow.sources.prometheus import settings as settings_of
from tests.sources.prometheus_history import BEGIN_S, History

A, B = (("x", "a"),), (("x", "b"),)


def matrix(*rows: tuple[responses.Labels, dict[int, float]]) -> responses.Matrix:
    return responses.Matrix(
        tuple(
            responses.SeriesRow(
                labels, np.array(list(points), dtype=np.int64), np.array(list(points.values()))
            )
            for labels, points in rows
        )
    )


def test_a_hole_is_seen_beyond_the_look_back(history: History) -> None:
    # The last sample before the hole is at 150 s; the server looks back 300 s. Of the moments at
    # 20 s distance 460, 480, ..., 580 have none: seven. The next sample is at 600 s.
    with history.client() as client:
        result = client.query_range("holed", BEGIN_S, BEGIN_S + 720, 20)
    assert result.gaps(0) == ranges.Gaps(points=7, stretches=1, longest=7, odd=0)
    assert np.flatnonzero(np.isnan(result.values[0])).tolist() == list(range(23, 30))
    grid = result.as_grid("here")
    assert grid.names == ('holed{x="1"}',)
    assert (grid.start_s, grid.step_s, grid.mended.gaps, grid.mended.filled) == (BEGIN_S, 20, 1, 7)
    assert grid.values[0, 22:31].tolist() == [10.0] * 8 + [40.0]


def test_values_that_are_no_numbers_are_gaps_and_counted(history: History) -> None:
    with history.client() as client:
        result = client.query_range("odd", BEGIN_S - 30, BEGIN_S + 60, 15)
    # Two moments before the first sample, then 1, NaN, +Inf, -Inf, 5.
    assert result.gaps(0) == ranges.Gaps(points=5, stretches=2, longest=3, odd=3)
    values = result.values[0]
    assert values[[2, 6]].tolist() == [1.0, 5.0]


def test_a_long_range_comes_in_pages_with_different_series(history: History) -> None:
    shares: list[float] = []
    with history.client() as client:
        result = client.query_range("long", BEGIN_S, BEGIN_S + 22_999, 1, shares.append)
    assert shares == pytest.approx([11_000 / 23_000, 22_000 / 23_000, 1.0])
    assert [dict(labels)["part"] for labels in result.labels] == ["all", "early", "late"]
    every, early, late = result.values
    moments = np.arange(23_000)
    np.testing.assert_array_equal(every, moments // 60)
    # Early is known until its last sample, number 130 at 7800 s, is 300 s old.
    np.testing.assert_array_equal(early[:8100], np.minimum(moments[:8100] // 60, 130))
    assert np.isnan(early[8101:]).all()
    assert np.isnan(late[:12_000]).all()
    np.testing.assert_array_equal(late[12_000:], moments[12_000:] // 60)
    assert result.gaps(2) == ranges.Gaps(12_000, 1, 12_000, 0)


def test_without_pages_the_server_refuses(history: History) -> None:
    client = prometheus_client.PrometheusClient(
        settings_of.PrometheusSettings(history.url), page=20_000
    )
    with client, pytest.raises(faults.ReadError) as refused:
        client.query_range("long", BEGIN_S, BEGIN_S + 11_001, 1)
    assert refused.value.kind == faults.REFUSED
    assert "answered 400: bad_data: exceeded maximum resolution of 11,000" in str(refused.value)


def test_a_range_without_series_is_empty(history: History) -> None:
    with history.client() as client:
        result = client.query_range("nowhere", BEGIN_S, BEGIN_S + 60, 15)
    assert (result.labels, result.values.shape) == ((), (0, 5))


def test_a_moment_on_two_pages_counts_once() -> None:
    answers = [matrix((A, {0: 1.0, 10: 2.0})), matrix((B, {20: 7.0}), (A, {10: 2.0, 20: 3.0}))]
    result = ranges.assemble("here", pages.Steps(0, 10, 3), answers)
    assert result.labels == (A, B)
    np.testing.assert_array_equal(result.values, [[1.0, 2.0, 3.0], [np.nan, np.nan, 7.0]])


def test_a_grid_begins_with_the_first_number_of_its_series() -> None:
    answers = [matrix((A, {20: 4.0, 40: 5.0}), (B, {0: 1.0}))]
    result = ranges.assemble("here", pages.Steps(0, 10, 6), answers)
    grid = result.pick(0).as_grid("here")
    assert (grid.names, grid.start_s, grid.values.tolist()) == (
        ('{x="a"}',), 0.02, [[4.0, 4.0, 5.0, 5.0]],
    )  # fmt: skip
    assert (grid.mended.gaps, grid.mended.filled) == (2, 2)
    assert result.as_grid("here").values.shape == (2, 6)


@pytest.mark.parametrize("moment_ms", [5, -10, 30], ids=["between", "before", "after"])
def test_a_moment_beside_the_steps_is_refused(moment_ms: int) -> None:
    with pytest.raises(
        faults.ReadError, match=r"here: response has samples outside the requested steps"
    ):
        ranges.assemble("here", pages.Steps(0, 10, 3), [matrix((A, {moment_ms: 1.0}))])


def test_a_series_without_numbers_makes_no_grid() -> None:
    answers = [matrix((A, {0: np.inf, 10: np.nan}))]
    result = ranges.assemble("here", pages.Steps(0, 10, 2), answers)
    with pytest.raises(errors.InputError, match=r'here: \{x="a"\}: has no values'):
        result.as_grid("here")


@given(st.lists(st.booleans(), max_size=60))
def test_stretches_add_up(missing: list[bool]) -> None:
    lengths = ranges.stretches(np.array(missing, dtype=np.bool_))
    runs = "".join("x" if hole else " " for hole in missing).split()
    assert lengths.tolist() == [len(run) for run in runs]
