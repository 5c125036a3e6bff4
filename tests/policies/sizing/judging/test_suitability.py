"""The suitability screen: what is counted, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kubestow.policies.sizing.guards import heaps
from kubestow.policies.sizing.judging import suitability
from tests.policies.sizing import scenes

NAN = scenes.NAN
PLAIN = suitability.ScreenParameters()


def test_a_steady_container_is_suitable() -> None:
    result = suitability.screen_container(scenes.usage([[1.0, 2.0, 2.0, 1.0, 2.0, 1.0]]), 2, PLAIN)
    assert result.windows.tolist() == [3]
    assert result.spread.tolist() == [0.0]
    assert result.suitable.tolist() == [True]
    assert result.reasons == ("",)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0, 1.0, 1.0, 1.0], "windows: 2, 3 needed"),
        # Peaks 1, 1, 4: mean 2, deviation sqrt(3) = 1.73, 87 %.
        ([1.0, 1.0, 1.0, 1.0, 4.0, 1.0], "peaks vary by 87 %"),
    ],
)
def test_why_a_container_is_not_suitable(values: list[float], reason: str) -> None:
    result = suitability.screen_container(scenes.usage([values]), 2, PLAIN)
    assert result.reasons == (reason,)
    assert result.suitable.tolist() == [False]


def test_growth_that_stands_out_is_a_trend() -> None:
    # 10, 11, ... 17: mean 13.5, slope 1 per window, 7 %.
    growing = [10.0 + k for k in range(8)]
    result = suitability.screen_container(scenes.usage([growing, [10.0] * 8]), 1, PLAIN)
    assert result.trend[0] == pytest.approx(1.0 / 13.5)
    assert result.trend[1] == 0.0
    assert result.reasons == ("memory grows 7 % per window", "")


def test_of_runs_every_row_is_one() -> None:
    usage = replace(
        scenes.usage([[1.0, NAN], [2.0, 2.0], [9.0, 1.0], [2.0, NAN]], owners=[0, 1, 0, 1]),
        runs=True,
    )
    result = suitability.screen_container(usage, 5, PLAIN)
    assert result.windows.tolist() == [2, 2]
    assert result.spread[1] == 0.0
    assert result.reasons[1] == "runs: 2, 3 needed"


def test_java_with_an_unknown_heap_is_not_suitable() -> None:
    usage = scenes.usage([[1.0] * 4, [1.0] * 4])
    known = (heaps.JavaHeap(None, None, "image"), heaps.JavaHeap(2**30, None, "heap flag"))
    result = suitability.screen_container(usage, 1, PLAIN, known)
    assert result.reasons == ("Java (image), heap unknown", "")


def test_independent_values_are_within_the_band_and_a_walk_is_not() -> None:
    rng = np.random.default_rng(2)
    noise = 100.0 + rng.normal(size=(200, 500))
    walks = 1000.0 + rng.normal(size=(20, 500)).cumsum(axis=1)
    quiet = suitability.screen_container(scenes.usage(noise.tolist()), 50, PLAIN)
    # 5 % of 20 lags on average, give or take the error of 4000 lags.
    assert np.mean(quiet.dependent) == pytest.approx(0.05, abs=0.012)
    wild = suitability.screen_container(scenes.usage(walks.tolist()), 50, PLAIN)
    assert (wild.dependent > 0.5).all()
    assert np.mean(quiet.dependent > 0.1) < 0.2


def test_nothing_measured_is_nothing_known() -> None:
    result = suitability.screen_container(scenes.usage([[NAN, NAN, NAN]]), 1, PLAIN)
    assert result.windows.tolist() == [0]
    assert result.suitable.tolist() == [False]
