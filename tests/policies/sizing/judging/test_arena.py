"""Back-tests: what an estimator gets, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates
from kubestow.policies.sizing.judging import arena
from tests.policies.sizing import scenes

NAN = scenes.NAN


@dataclass
class Last:
    """Answers with the last value of the first row, and remembers how much it was shown."""

    name: str = "last"
    shown: list[int] = field(default_factory=list)

    def estimate(self, usage: Usage) -> estimates.Estimates:
        self.shown.append(usage.points)
        return estimates.exact(usage.cpu_cores[:, -1], usage.memory_bytes[:, -1])


def test_origins_are_the_last_windows_for_which_there_is_a_past() -> None:
    assert arena.origins(100, 10, 3, 5) == [70, 80, 90]
    assert arena.origins(30, 10, 5, 15) == [20]
    assert arena.origins(10, 10, 5, 0) == []


def test_an_estimator_sees_the_past_and_is_judged_by_the_next_window() -> None:
    last = Last()
    usage = scenes.usage([[1.0, 2.0, 1.0, 3.0, 2.0, 9.0]])
    judged = arena.walk(usage, last, 2, [2, 4])
    assert last.shown == [2, 4]
    assert judged.cpu_cores.tolist() == [[2.0, 3.0]]
    assert judged.cpu_peak_cores.tolist() == [[3.0, 9.0]]
    assert judged.cpu_mean_cores.tolist() == [[2.0, 5.5]]
    assert judged.cpu_over.tolist() == [[0.5, 0.5]]
    assert judged.memory_missed.tolist() == [[1.0, 1.0]]


def test_what_was_not_measured_is_not_judged() -> None:
    judged = arena.walk(scenes.usage([[1.0, NAN, NAN]]), Last(), 2, [1])
    assert np.isnan(judged.cpu_over).all()
    assert np.isnan(judged.memory_missed).all()


def test_without_origins_nothing_is_known() -> None:
    judged = arena.walk(scenes.usage([[1.0]]), Last(), 2, [])
    assert judged.cpu_cores.shape == (1, 0)


def test_the_future_does_not_shine_through() -> None:
    values = np.arange(1.0, 13.0)
    changed = values.copy()
    changed[8:] = 99.0
    before = arena.walk(scenes.usage([values.tolist()]), Last(), 2, [4, 6, 8])
    after = arena.walk(scenes.usage([changed.tolist()]), Last(), 2, [4, 6, 8])
    assert before.cpu_cores.tolist() == after.cpu_cores.tolist()


def test_pods_of_a_container_are_judged_together() -> None:
    # Two pods of one container; estimators answer by container.
    @dataclass
    class Fixed:
        name: str = "fixed"

        def estimate(self, usage: Usage) -> estimates.Estimates:
            return estimates.exact(np.full(len(usage.containers), 2.0), np.full(1, 2000.0))

    usage = scenes.usage([[1.0, 1.0, 3.0], [1.0, 1.0, 1.0]], owners=[0, 0])
    judged = arena.walk(usage, Fixed(), 2, [1])
    assert judged.cpu_peak_cores.tolist() == [[3.0]]
    assert judged.cpu_over.tolist() == [[0.25]]  # one of four samples
    assert judged.cpu_mean_cores.tolist() == [[1.5]]
