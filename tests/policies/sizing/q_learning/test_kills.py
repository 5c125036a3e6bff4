"""OOM kills are evaluations, and what was killed is not given again."""

from __future__ import annotations

import numpy as np

from kubestow.model import usage
from kubestow.policies.sizing.q_learning import QLearning, QMemory, QParameters, ResourceUse
from kubestow.policies.sizing.q_learning import RunStatistics as Run


def test_a_kill_is_remembered_for_some_runs_and_then_forgotten() -> None:
    learner, rng = QLearning(QParameters(kill_runs=3)), np.random.default_rng(1)
    memory: QMemory = learner.begin(None, 1024.0)
    given = []
    for failed in (2048.0, 0.0, 0.0, 0.0, 0.0):
        request, memory = learner.evaluate(
            memory, Run(memory=ResourceUse(500.0, 500.0, failed)), rng
        )
        given.append(request.memory_mb or 0.0)
        memory = QMemory.from_json(memory.as_json())
    assert all(amount > 2048.0 for amount in given[:3])
    assert given[-1] < 2048.0


def test_memory_rests_in_the_upper_half_of_its_band() -> None:
    # Maximum 980: band 980 to 1078, states 1024 and, above it, none: 1024. Maximum 1016: 1016 to
    # 1117.6, states 1024 and 1088; the middle is 1066.8, so 1088.
    for largest, expected in ((980.0, 1024.0), (1016.0, 1088.0)):
        cpu = np.full((1, 4), np.nan)
        cpu[0, 1:3] = 0.5
        table = usage.arrange(
            ("a",), np.zeros(1, dtype=np.int64), 60.0, 240.0, cpu, cpu * 2e6 * largest, runs=True
        )
        assert QLearning().estimate(table).memory_bytes[0] == expected * 1e6
