"""``auto``: who wins, by which windows, and what is said about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from kubestow.model.usage import Usage, arrange
from kubestow.policies.sizing import estimates, percentile
from kubestow.policies.sizing.judging import arena
from kubestow.policies.sizing.judging import tournament as sizing_tournament
from tests.policies.sizing import scenes


@dataclass(frozen=True)
class Times:
    """Answers with the largest value seen times a factor."""

    factor: float
    name: str

    def estimate(self, usage: Usage) -> estimates.Estimates:
        cpu = usage.largest(np.fmax.reduce(usage.cpu_cores, axis=1))
        memory = usage.largest(np.fmax.reduce(usage.memory_bytes, axis=1))
        return estimates.exact(cpu * self.factor, memory * self.factor)


TIGHT, ROOMY = Times(1.0, "tight"), Times(3.0, "roomy")


def run(
    values: list[list[float]], trust: float = 0.0, windows: int = 3
) -> tuple[estimates.Estimates, sizing_tournament.Scores]:
    parameters = sizing_tournament.TournamentParameters(
        window_s=120.0, windows=windows, trust=trust
    )
    tournament = sizing_tournament.Tournament((TIGHT, ROOMY), parameters)
    usage = scenes.usage(values)
    _, scores = tournament.compete(usage)
    return tournament.estimate(usage), scores


STEADY = [1.0, 2.0] * 6
GROWING = [float(2**k) for k in range(12)]


def test_steady_containers_get_the_tight_answer_and_jumping_ones_the_roomy_one() -> None:
    # Twice as much after eight of twelve points: the first window after that was foreseen by none
    # but the roomy one.
    result, scores = run([STEADY, [1.0] * 8 + [2.0] * 4])
    assert scores.windows.tolist() == [3, 3]
    assert scores.memory_winner.tolist() == [0, 1]
    assert result.memory_bytes.tolist() == [2000.0, 6000.0]
    assert result.reasons == (
        "tight: least cost in 3 past windows",
        "roomy: least cost in 3 past windows",
    )


def test_costs_are_worked_out_by_hand() -> None:
    _, scores = run([STEADY])
    # Never a miss; tight leaves nothing over, roomy 4 of a size of 2.
    assert scores.memory[:, 0].tolist() == [0.0, 2.0]
    _, scores = run([GROWING])
    # Seen until 6, 8 and 10 points: 32, 128, 512 thousand; needed next: 128, 512, 2048 thousand.
    # Tight misses always: 20 each. Roomy has 96, 384, 1536 thousand and misses always, too.
    assert scores.memory[:, 0].tolist() == [20.0, 20.0]
    assert scores.memory_missed[:, 0].tolist() == [1.0, 1.0]


def test_where_all_cost_the_same_the_first_wins() -> None:
    _, scores = run([GROWING])
    assert scores.memory_winner.tolist() == [0]


def test_a_fleet_outvotes_one_container_that_is_trusted_little() -> None:
    jumping = [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]] * 9
    own, _ = run([STEADY, *jumping], trust=0.0)
    pooled, _ = run([STEADY, *jumping], trust=100.0)
    assert own.memory_bytes[0] == 2000.0
    assert pooled.memory_bytes[0] == 6000.0


def test_a_short_past_has_shorter_windows_and_no_past_none() -> None:
    parameters = sizing_tournament.TournamentParameters(window_s=600.0, windows=2)
    assert sizing_tournament.arena_window(scenes.usage([[1.0] * 100]), parameters) == 10
    assert sizing_tournament.arena_window(scenes.usage([[1.0] * 8]), parameters) == 2
    result, scores = run([[5.0]])
    assert scores.windows.tolist() == [0]
    assert result.memory_bytes.tolist() == [5000.0]
    assert result.reasons == ("tight: nothing to judge by yet",)


def test_a_winner_without_an_answer_is_stood_in_for() -> None:
    @dataclass(frozen=True)
    class Silent:
        name: str = "silent"

        def estimate(self, usage: Usage) -> estimates.Estimates:
            nothing = np.full(len(usage.containers), np.nan)
            return estimates.exact(nothing, nothing)

    tournament = sizing_tournament.Tournament((Silent(), TIGHT))
    assert tournament.estimate(scenes.usage([[5.0]])).cpu_cores.tolist() == [5.0]


def test_the_numbers_name_costs_and_misses() -> None:
    result, _ = run([STEADY])
    assert result.numbers["memory_cost/roomy"].tolist() == [2.0]
    assert result.numbers["memory_missed"].tolist() == [0.0]
    assert result.numbers["judged"].tolist() == [3.0]


def test_an_empty_batch_is_no_trouble() -> None:
    empty = arrange([], np.empty(0, dtype=np.int64), 60.0, 0.0, np.empty((0, 9)), np.empty((0, 9)))
    result = sizing_tournament.Tournament((percentile.Percentile(),)).estimate(empty)
    assert result.cpu_cores.shape == (0,)


def test_prices_decide() -> None:
    # A miss in one of three windows: dear misses make the roomy answer win, cheap ones the tight.
    values = [1.0] * 10 + [2.0, 2.0]
    for oom, winner in ((20.0, 1), (1.0, 0)):
        parameters = sizing_tournament.TournamentParameters(
            window_s=120.0, windows=3, trust=0.0, prices=arena.Prices(oom=oom)
        )
        tournament = sizing_tournament.Tournament((TIGHT, ROOMY), parameters)
        _, scores = tournament.compete(scenes.usage([values]))
        assert scores.memory_winner.tolist() == [winner]
        # Tight: one miss of three. Roomy: 2, 2 and 1 left over of a size of 1.
        assert scores.memory[:, 0] == pytest.approx([oom / 3.0, 5.0 / 3.0])


def test_several_moments_at_once_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(7)
    usage = scenes.usage(rng.lognormal(0.0, 0.5, (4, 96)).tolist())
    # Windows that are shorter than an eighth of the past are the same at every moment.
    parameters = sizing_tournament.TournamentParameters(window_s=240.0, windows=3)
    tournament = sizing_tournament.Tournament((TIGHT, ROOMY, percentile.Percentile()), parameters)
    at = [60, 80, 96]
    together = tournament.estimate_at(usage, at)
    for points, result in zip(at, together, strict=True):
        alone = tournament.estimate(usage.until(points))
        assert result.memory_bytes.tolist() == alone.memory_bytes.tolist()
        assert result.reasons == alone.reasons
