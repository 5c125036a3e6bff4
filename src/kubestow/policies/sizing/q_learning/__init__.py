"""The recommender ``q-learning`` of Böttcher 2023, and its fixed point in closed form."""

from kubestow.policies.sizing.q_learning.closed_form import (
    LAST_FIVE,
    LAST_RUNS,
    ClosedForm,
    round_up,
)
from kubestow.policies.sizing.q_learning.memory import QMemory, ResourceUse, RunStatistics
from kubestow.policies.sizing.q_learning.parameters import AS_PRINTED, STRICT, QParameters
from kubestow.policies.sizing.q_learning.recommender import Q_LEARNING, QLearning

__all__ = [
    "AS_PRINTED",
    "LAST_FIVE",
    "LAST_RUNS",
    "Q_LEARNING",
    "STRICT",
    "ClosedForm",
    "QLearning",
    "QMemory",
    "QParameters",
    "ResourceUse",
    "RunStatistics",
    "round_up",
]
