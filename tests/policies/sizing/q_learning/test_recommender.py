"""``q-learning``: the printed rule by hand, where agents end, tables 5.1 and 5.2, memories."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import arrays, errors
from kubestow.model.usage import Usage, arrange
from kubestow.policies.sizing.q_learning import (
    agents,
    memory,
    parameters,
    recommender,
    rewards,
    statistics,
    tables,
)
from kubestow.policies.sizing.q_learning.memory import QMemory, ResourceUse, RunStatistics
from tests.policies.sizing import scenes

MEMORY = parameters.settle(parameters.QParameters(), memory=True)
CPU = parameters.settle(parameters.QParameters(), memory=False)
STRICT_MEMORY = parameters.settle(parameters.AS_PRINTED, memory=True)
STRICT_CPU = parameters.settle(parameters.AS_PRINTED, memory=False)
MAXIMA = (2704.0, 2563.0, 3427.0, 3757.0, 3877.0)  # table 5.2
NOTHING = np.zeros((0, 3))

amounts = st.floats(1.0, 20_000.0)
seeds = st.integers(0, 2**32 - 1)


def seed_of(number: int) -> arrays.Words:
    return np.array([number], dtype=np.uint64)


def band_of(average: float, largest: float, failed: float = 0.0, *, memory: bool) -> rewards.Band:
    return rewards.find_band(average, largest, failed, MEMORY if memory else CPU)


def replay(
    maxima: list[float], start: float, chosen: parameters.QSettings, seed: int = 5
) -> list[float]:
    """Return the requests of one agent after each run."""
    used = np.array([maxima])
    result = np.full(used.shape, np.nan)
    begin = np.array([start])
    agents.replay(used, used, np.zeros(used.shape), begin, chosen, seed_of(seed), result)
    return [float(request) for request in result[0]]


def test_the_update_rule_by_hand() -> None:
    # Maximum 150: band 150 to 214, states 64, 128, 192, 256. From 256 one less is 192, inside, 22
    # of 64 below its upper edge: 1 - 0.5 x 22 / 64 = 0.828125.
    # (1 - 0.5) x 2 + 0.5 x (0.828125 + 0.9 x 4) = 3.2140625; best of 192 is stay with 4.
    values = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 4.0], [0.0, 2.0, 0.0]])
    band = band_of(150.0, 150.0, memory=True)
    assert tables.learn(values, 3, tables.LESS, band, MEMORY) == (2, tables.STAY)
    assert values[3].tolist() == pytest.approx([0.0, 3.2140625, 0.0])
    # From 192 one less is 128, too small: 0.5 x 1 + 0.5 x (-10 + 0.9 x 0) = -4.5.
    assert tables.learn(values, 2, tables.LESS, band, MEMORY) == (1, tables.STAY)
    assert values[2].tolist() == pytest.approx([3.0, -4.5, 4.0])


def test_of_equal_actions_stay_comes_before_less_before_more() -> None:
    values = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    chosen = [tables.choose(values, state) for state in range(3)]
    assert chosen == [tables.STAY, tables.LESS, tables.MORE]


def test_the_ends_of_the_grid_are_not_left() -> None:
    assert tables.move(0, tables.LESS, 4) == 0
    assert tables.move(3, tables.MORE, 4) == 3


@pytest.mark.parametrize(
    ("amount", "state"), [(976.0, 14), (4214.0, 65), (1.0, 0), (1e9, 99)],
    ids=["976 to 960", "4214 to 4224", "at least one step", "at most the last"],
)  # fmt: skip
def test_requests_between_states_go_to_the_nearest(amount: float, state: int) -> None:
    assert rewards.find_state(amount, 64.0, 100) == state


@pytest.mark.parametrize(
    ("memory", "amount", "expected"),
    [
        (True, 960.0, -10.0),
        (True, 1024.0, 1.0 - 0.5 * 76.0 / 100.0),
        (True, 1088.0, 1.0 - 0.5 * 12.0 / 100.0),
        (True, 1152.0, -1.0),
        (False, 448.0, -10.0),
        (False, 512.0, 1.0 - 0.5 * 12.0 / 500.0),
        (False, 960.0, 1.0 - 0.5 * 460.0 / 500.0),
        (False, 1024.0, -1.0),
    ],
)
def test_rewards_of_a_band(memory: bool, amount: float, expected: float) -> None:
    # Memory 1000 to 1100, whose upper edge pays most; CPU 500 to 1000, whose lower edge does.
    band = band_of(500.0, 1000.0, memory=memory)
    assert rewards.reward(amount, band, MEMORY if memory else CPU) == pytest.approx(expected)


def test_what_failed_is_too_small_whatever_was_measured() -> None:
    band = band_of(500.0, 1000.0, failed=1152.0, memory=True)
    assert rewards.reward(1088.0, band, MEMORY) == -10.0
    assert rewards.reward(1216.0, band, MEMORY) == 1.0


@settings(max_examples=60, deadline=None)
@given(start=amounts, average=amounts, more=st.floats(0.0, 5_000.0), seed=seeds)
@pytest.mark.parametrize("memory", [True, False], ids=["memory", "cpu"])
def test_the_learned_policy_ends_in_the_band_from_any_start(
    memory: bool, start: float, average: float, more: float, seed: int
) -> None:
    largest, chosen = average + more, MEMORY if memory else CPU
    request, _ = agents.evaluate(
        NOTHING.copy(), start, average, largest, 0.0, chosen, seed_of(seed)
    )
    # The smallest state may lie above a band that contains none.
    low = largest if memory else average
    high = largest + max(64.0, 0.1 * largest) if memory else largest
    assert low <= request <= max(high, rewards.round_up(low, 64.0))
    assert request % 64.0 == 0.0


@settings(max_examples=60, deadline=None)
@given(start=amounts, average=amounts, more=st.floats(0.0, 5_000.0), seed=seeds)
@pytest.mark.parametrize(
    "chosen", [MEMORY, CPU, STRICT_MEMORY, STRICT_CPU],
    ids=["memory", "cpu", "strict memory", "strict cpu"],
)  # fmt: skip
def test_a_shortage_always_raises_the_request(
    chosen: parameters.QSettings, start: float, average: float, more: float, seed: int
) -> None:
    request, _ = agents.evaluate(
        NOTHING.copy(), start, average, average + more, start, chosen, seed_of(seed)
    )
    assert request > start


def test_cpu_that_was_short_goes_a_quarter_of_the_way_to_its_maximum() -> None:
    # Pod 2, Database: 533 + 0.25 x (1561 - 533) = 790, printed as 791.
    band = band_of(533.0, 1561.0, memory=False)
    assert agents.protect(448.0, 533.0, 1561.0, band, CPU) == pytest.approx(790.0)
    assert agents.protect(576.0, 533.0, 1561.0, band, CPU) == 576.0


@pytest.mark.parametrize("chosen", [MEMORY, STRICT_MEMORY], ids=["converging", "strict"])
@pytest.mark.parametrize("seed", range(5))
def test_table_5_2_never_stays_below_the_maximum(chosen: parameters.QSettings, seed: int) -> None:
    result = replay(list(MAXIMA), 3072.0, chosen, seed)
    assert all(request >= most for request, most in zip(result, MAXIMA, strict=True))


@pytest.mark.parametrize(
    ("chosen", "most"), [(MEMORY, 3), (STRICT_MEMORY, 11)], ids=["converging", "strict"]
)
@pytest.mark.parametrize("seed", range(5))
def test_table_5_1_comes_down_to_576(chosen: parameters.QSettings, most: int, seed: int) -> None:
    maxima = 515.0 + 5.0 * np.random.default_rng(seed).standard_normal(11)
    result = replay(maxima.tolist(), 976.0, chosen, seed)
    assert result.index(576.0) + 1 <= most
    assert result[-1] == 576.0
    assert all(request >= used for request, used in zip(result, maxima, strict=True))


def test_strict_moves_two_states_per_run() -> None:
    # 976 snaps to 960; two passes each: 832, 704, 576, and there it stays.
    assert replay([515.0] * 5, 976.0, STRICT_MEMORY) == [832.0, 704.0, 576.0, 576.0, 576.0]


def test_runs_one_by_one_and_all_at_once_come_to_the_same_place() -> None:
    learner = recommender.QLearning()
    rng, memory = np.random.default_rng(1), learner.begin()
    for most in MAXIMA:
        run = RunStatistics(ResourceUse(800.0, 2000.0), ResourceUse(most, most))
        request, memory = learner.evaluate(memory, run, rng)
    cpu = [[0.5, 0.5, 0.6, 2.0, 0.4]] * len(MAXIMA)
    ram = [[most * 1e6 * share for share in (0.5, 1.0, 0.7, 0.9, 0.2)] for most in MAXIMA]
    usage = as_runs(scenes.usage(cpu, ram, owners=[0] * len(MAXIMA)))
    result = learner.estimate(usage)
    assert result.memory_bytes[0] / 1e6 == request.memory_mb
    assert result.cpu_cores[0] * 1000.0 == request.cpu_m == 832.0  # ceil64(800)


def as_runs(usage: Usage) -> Usage:
    return arrange(
        usage.names, usage.owners, usage.step_s, usage.end_s, usage.cpu_cores,
        usage.memory_bytes, usage.oom_killed_bytes, runs=True,
    )  # fmt: skip


def test_a_batch_gives_the_same_answer_every_time_and_for_every_neighbour() -> None:
    rng = np.random.default_rng(3)
    values = 1.0 + 0.05 * rng.standard_normal((12, 8))
    usage = as_runs(scenes.usage(values.tolist(), (values * 1e9).tolist(), [0] * 6 + [1] * 6))
    both = recommender.QLearning().estimate(usage)
    second = recommender.QLearning().estimate(usage.of(1, 2))
    assert both.memory_bytes[1] == second.memory_bytes[0]
    assert both.cpu_cores[1] == second.cpu_cores[0]
    assert (both.lower_memory_bytes <= both.memory_bytes).all()
    assert (both.memory_bytes <= both.upper_memory_bytes).all()


def test_a_kill_raises_memory_above_the_limit_it_happened_at() -> None:
    usage = as_runs(scenes.usage([[0.1]], [[500e6]], killed=[640e6]))
    assert recommender.QLearning().estimate(usage).memory_bytes[0] > 640e6


def test_a_day_of_a_pod_that_stays_is_a_run() -> None:
    # Two days in steps of half a day; the largest pod of each day counts.
    usage = scenes.usage(
        [[1.0, 3.0, 2.0, 2.0], [4.0, scenes.NAN, 0.0, 1.0]], owners=[0, 0], step_s=43_200.0
    )
    runs = statistics.collect(usage, 86_400.0)
    assert runs.cpu_mean_m.tolist() == [[4000.0, 2000.0]]
    assert runs.cpu_peak_m.tolist() == [[4000.0, 2000.0]]


def test_runs_stand_in_the_order_in_which_they_began() -> None:
    nan = scenes.NAN
    usage = as_runs(scenes.usage([[nan, nan, 3.0], [1.0, 2.0, nan]], owners=[0, 0]))
    assert statistics.collect(usage, 60.0).cpu_peak_m.tolist() == [[2000.0, 3000.0]]


def test_what_was_never_measured_gets_no_answer() -> None:
    result = recommender.QLearning().estimate(as_runs(scenes.usage([[scenes.NAN], [0.5]])))
    assert np.isnan(result.cpu_cores[0])
    assert np.isfinite(result.cpu_cores[1])


def test_missing_cpu_does_not_hold_up_memory() -> None:
    learner = recommender.QLearning()
    run = RunStatistics(memory=ResourceUse(515.0, 515.0))
    request, memory = learner.evaluate(learner.begin(1000.0, 976.0), run, np.random.default_rng(1))
    assert (request.cpu_m, request.memory_mb) == (1000.0, 576.0)
    assert len(memory.cpu.values) == 0


@pytest.mark.parametrize("parameters", [parameters.QParameters(), parameters.AS_PRINTED])
def test_a_memory_survives_json_and_goes_on_as_before(parameters: parameters.QParameters) -> None:
    learner = recommender.QLearning(parameters)
    first = RunStatistics(ResourceUse(195.0, 281.0), ResourceUse(1688.0, 1688.0))
    later = RunStatistics(ResourceUse(210.0, 290.0), ResourceUse(1790.0, 1790.0, 1728.0))
    _, memory = learner.evaluate(learner.begin(1000.0, 1887.0), first, np.random.default_rng(1))
    restored = QMemory.from_json(json.loads(json.dumps(memory.as_json())))
    assert restored.as_json() == memory.as_json()
    decisions = [
        learner.evaluate(m, later, np.random.default_rng(2))[0] for m in (memory, restored)
    ]
    assert decisions[0] == decisions[1]


def test_an_evaluation_leaves_the_old_memory_as_it_is() -> None:
    learner = recommender.QLearning()
    run = RunStatistics(ResourceUse(195.0, 281.0), ResourceUse(1688.0, 1688.0))
    _, memory = learner.evaluate(learner.begin(), run, np.random.default_rng(1))
    before = json.dumps(memory.as_json())
    learner.evaluate(memory, run, np.random.default_rng(2))
    assert json.dumps(memory.as_json()) == before


def test_a_broken_memory_is_refused_with_its_place() -> None:
    written = memory.QMemory().as_json()
    written["cpu"]["states"] = [{"more": 1.0, "less": "x", "stay": 0.0}]
    with pytest.raises(errors.InputError, match=r"cpu\.states\[0\]\.less: 'x'"):
        QMemory.from_json(written)
