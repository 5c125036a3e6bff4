"""A real Prometheus with loaded samples, for the tests of this folder."""

from tests.sources.prometheus_history import direct, history

__all__ = ["direct", "history"]
