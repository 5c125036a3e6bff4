"""The recommender ``conformal``: requests with a stated probability of being too small."""

from kubestow.policies.sizing.conformal.recommender import (
    CONFORMAL,
    Conformal,
    ConformalParameters,
    hold_requests,
    measure_cpu,
    measure_memory,
)

__all__ = [
    "CONFORMAL",
    "Conformal",
    "ConformalParameters",
    "hold_requests",
    "measure_cpu",
    "measure_memory",
]
