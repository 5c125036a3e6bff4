"""The scheduling cycle compiled: the decisions of ``scheduler``, for many pods at once."""

__all__ = []
