"""The compiled scheduling cycle: the decisions of ``scheduler``, for many pods at once."""

from kubestow.policies.placing.batch.scheduler import place_batch

__all__ = ["place_batch"]
