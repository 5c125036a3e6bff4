"""``auto``: which candidates keep the stated risk, which of them is chosen, and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage, arrange
from kubestow.policies.sizing import conformal, estimates, percentile, registry
from kubestow.policies.sizing.judging import tournament as sizing_tournament
from tests.policies.sizing import scenes

GIB = float(2**30)
MINUTE_S = 60.0


@dataclass(frozen=True)
class Times:
    """Answers with the largest value seen times a factor; may be silent on the first container."""

    factor: float
    name: str
    silent: bool = False

    def estimate(self, usage: Usage) -> estimates.Estimates:
        cpu = usage.largest(np.fmax.reduce(usage.cpu_cores, axis=1))
        memory = usage.largest(np.fmax.reduce(usage.memory_bytes, axis=1))
        if self.silent:
            memory[0] = np.nan
        return estimates.exact(cpu * self.factor, memory * self.factor)


@dataclass(frozen=True)
class Scattered:
    """Answers with the peak for every second container, and with six times as much for others."""

    name: str = "scattered"

    def estimate(self, usage: Usage) -> estimates.Estimates:
        given = TIGHT.estimate(usage)
        factors = np.where(np.arange(len(usage.containers)) % 2, 1.0, 6.0)
        return estimates.exact(given.cpu_cores * factors, given.memory_bytes * factors)


TIGHT, SCATTERED = Times(1.0, "tight"), Scattered()


def make_usage(memory: Floats) -> Usage:
    """Return usage with one point per window; CPU in cores is memory in GiB."""
    names = [f"c{row}" for row in range(len(memory))]
    owners = np.arange(len(memory))
    end_s = memory.shape[1] * MINUTE_S
    return arrange(names, owners, MINUTE_S, end_s, memory / GIB, memory)


def make(
    *candidates: estimates.Estimator, share: float = 0.1, **changes: Any
) -> sizing_tournament.Tournament:
    stated = conformal.ConformalParameters(
        cpu_miss_probability=share, memory_miss_probability=share, window_s=MINUTE_S
    )
    parameters = sizing_tournament.TournamentParameters(window_s=MINUTE_S)
    return sizing_tournament.Tournament(
        candidates, dataclasses.replace(parameters, **changes), stated
    )


def fleet(containers: int = 100, windows: int = 16, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(1.0, 20.0, containers)[:, None]
    return sizes * np.exp(0.3 * rng.standard_normal((containers, windows))) * GIB


def test_a_candidate_is_chosen_that_keeps_the_risk_for_less() -> None:
    cpu, memory = make(SCATTERED, TIGHT).choose(make_usage(fleet()))
    assert (cpu.name, memory.name) == ("tight", "tight")
    assert memory.tested == 400  # the last four windows of 100 containers
    assert memory.costs[1] < 0.5 * memory.costs[0]
    assert memory.explain().startswith("tight x ")
    assert "less than scattered at a risk of 10 % in 400 windows" in memory.explain()


def test_a_tight_candidate_gets_the_margin_that_keeps_the_risk() -> None:
    # Half of the peak is too small in most windows; twice as much is not.
    usage = make_usage(fleet())
    half = Times(0.5, "half")
    alone = make(SCATTERED, half).estimate(usage).memory_bytes
    next_window = fleet(windows=17)[:, -1]
    assert np.mean(next_window > half.estimate(usage).memory_bytes) > 0.5
    assert np.mean(next_window > alone) < 0.13


def test_the_first_candidate_stays_unless_another_is_clearly_cheaper() -> None:
    cpu, memory = make(TIGHT, Times(1.01, "same")).choose(make_usage(fleet()))
    assert (cpu.winner, memory.winner) == (0, 0)
    assert memory.margins == (0.0, 0.0, 0.0)


def test_idle_containers_do_not_decide_for_the_others() -> None:
    # Containers that report 0 bytes would cost the reserved bytes divided by nothing.
    values = fleet()
    idle = np.concatenate([values, np.zeros((20, values.shape[1]))])
    (_, without), (_, mixed) = (
        make(SCATTERED, TIGHT).choose(make_usage(v)) for v in (values, idle)
    )
    assert mixed.winner == without.winner
    assert max(mixed.costs) < 10.0
    floors = make(SCATTERED, TIGHT).estimate(make_usage(idle)).memory_bytes[-20:]
    assert floors.tolist() == [1e8] * 20


@pytest.mark.parametrize(("share", "known"), [(0.1, True), (0.01, False)])
def test_a_small_risk_needs_more_windows_before_others_compete(share: float, known: bool) -> None:
    # 400 windows: 40 expected misses at 10 %, 4 at 1 %.
    _, memory = make(SCATTERED, TIGHT, share=share).choose(make_usage(fleet()))
    assert np.isfinite(memory.costs[1]) == known
    assert ("compare no other" in memory.explain()) != known


def test_a_candidate_that_is_silent_on_some_containers_does_not_compete() -> None:
    _, memory = make(SCATTERED, Times(1.0, "silent", silent=True)).choose(make_usage(fleet()))
    assert memory.winner == 0


def test_a_new_container_is_left_to_the_first_candidate() -> None:
    values = fleet()
    values[0, :-2] = np.nan
    result = make(SCATTERED, TIGHT).estimate(make_usage(values))
    peak = np.nanmax(values, axis=1)
    assert result.memory_bytes[0] == pytest.approx(6.0 * peak[0])
    assert result.memory_bytes[2] < 2.0 * peak[2]


def test_floors_of_the_first_candidate_hold_for_all() -> None:
    usage = dataclasses.replace(make_usage(fleet()), oom_killed_bytes=np.full(100, 5000.0 * GIB))
    assert make(SCATTERED, TIGHT).estimate(usage).memory_bytes.min() == 6000.0 * GIB


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_the_stated_risk_holds_on_windows_to_come(share: float) -> None:
    values = fleet(300, 24, seed=5)
    auto = registry.RECOMMENDERS.get("auto")
    parameters = registry.AutoSizingParameters(
        sizing_tournament.TournamentParameters(window_s=MINUTE_S),
        conformal.ConformalParameters(share, share, MINUTE_S),
    )
    estimator = auto.make_estimator(parameters)
    missed = [
        values[:, now] > estimator.estimate(make_usage(values[:, :now])).memory_bytes
        for now in range(12, 24)
    ]
    # 3600 windows: two standard errors are 0.7 and 1.0 percentage points.
    assert share / 3.0 < np.mean(missed) < 1.2 * share


def test_usage_without_memory_is_sized_by_conformal_and_says_so() -> None:
    usage = make_usage(fleet(20, 6))
    usage = dataclasses.replace(usage, memory_bytes=np.full_like(usage.memory_bytes, np.nan))
    result = registry.RECOMMENDERS.get("auto").make_estimator(registry.AutoSizingParameters())
    given = result.estimate(usage)
    alone = conformal.Conformal().estimate(usage)
    np.testing.assert_array_equal(given.cpu_cores, alone.cpu_cores)
    assert "CPU" in given.reasons[0]
    assert "risk of 5 %" in given.reasons[0]


def test_windows_shorter_than_stated_calibrate_nothing() -> None:
    # Eight windows of two points are needed: four to test and as many before them.
    short, long = (make_usage(fleet(windows=points)) for points in (15, 16))
    auto = make(SCATTERED, TIGHT, window_s=2.0 * MINUTE_S)
    assert auto.choose(short)[1].tested == 0
    assert auto.choose(long)[1].tested == 400


def test_a_short_past_has_shorter_windows_and_no_past_none() -> None:
    parameters = sizing_tournament.TournamentParameters(window_s=600.0, windows=2)
    assert sizing_tournament.arena_window(scenes.usage([[1.0] * 100]), parameters) == 10
    assert sizing_tournament.arena_window(scenes.usage([[1.0] * 8]), parameters) == 2
    result = make(TIGHT, SCATTERED).estimate(make_usage(np.full((1, 1), GIB)))
    assert result.memory_bytes.tolist() == [GIB]


def test_the_numbers_name_the_costs() -> None:
    result = make(SCATTERED, TIGHT).estimate(make_usage(fleet()))
    assert result.numbers["memory_cost/tight"][0] > 0.0
    assert result.numbers["judged"].tolist() == [400.0] * 100


def test_an_empty_batch_is_no_trouble() -> None:
    empty = arrange([], np.empty(0, dtype=np.int64), 60.0, 0.0, np.empty((0, 9)), np.empty((0, 9)))
    result = make(percentile.Percentile(), TIGHT).estimate(empty)
    assert result.cpu_cores.shape == (0,)


def test_several_moments_at_once_are_the_same_as_one_by_one() -> None:
    usage = make_usage(fleet(windows=96))
    # Windows that are shorter than an eighth of the past are the same at every moment.
    tournament = make(SCATTERED, TIGHT, percentile.Percentile())
    at = [60, 80, 96]
    together = tournament.estimate_at(usage, at)
    for points, result in zip(at, together, strict=True):
        alone = tournament.estimate(usage.until(points))
        assert result.memory_bytes.tolist() == alone.memory_bytes.tolist()
        assert result.reasons == alone.reasons
