"""The compiled scheduling cycle: the decisions of ``scheduler``, for many pods at once."""

from kubestow.policies.placing.batch.kernels import apply_filters, count_pod
from kubestow.policies.placing.batch.scheduler import (
    Batch,
    can_compile,
    place_batch,
    prepare_batch,
)
from kubestow.policies.placing.batch.tables import Links, Tallies

__all__ = [
    "Batch",
    "Links",
    "Tallies",
    "apply_filters",
    "can_compile",
    "count_pod",
    "place_batch",
    "prepare_batch",
]
