"""The recommender ``conformal``: requests with a stated probability of being too small."""

from kubestow.policies.sizing.conformal.priors import LEVELS, SCORES
from kubestow.policies.sizing.conformal.recommender import (
    CONFORMAL,
    Conformal,
    ConformalParameters,
    find_floors,
    hold_requests,
    measure_cpu,
    measure_memory,
    score_last_windows,
)
from kubestow.policies.sizing.conformal.scores import CLASSES, tighten

__all__ = [
    "CLASSES",
    "CONFORMAL",
    "LEVELS",
    "SCORES",
    "Conformal",
    "ConformalParameters",
    "find_floors",
    "hold_requests",
    "measure_cpu",
    "measure_memory",
    "score_last_windows",
    "tighten",
]
