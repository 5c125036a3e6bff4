"""Metric values: polled, written or forecast, and stored in memory."""

from kubestow.live.metrics_api.values.forecasts import MetricForecaster
from kubestow.live.metrics_api.values.members import Members
from kubestow.live.metrics_api.values.polling import Poller, counting
from kubestow.live.metrics_api.values.rules import MetricRules, read_rules
from kubestow.live.metrics_api.values.table import (
    MAX_VALUES,
    TTL_S,
    FullError,
    Labels,
    MetricTable,
    MetricValue,
    Subject,
)
from kubestow.live.metrics_api.values.writes import (
    MAX_WRITE_BYTES,
    WRITE_PREFIX,
    WriteTarget,
    read_labels,
    read_metric_value,
    read_target,
)

__all__ = [
    "MAX_VALUES",
    "MAX_WRITE_BYTES",
    "TTL_S",
    "WRITE_PREFIX",
    "FullError",
    "Labels",
    "Members",
    "MetricForecaster",
    "MetricRules",
    "MetricTable",
    "MetricValue",
    "Poller",
    "Subject",
    "WriteTarget",
    "counting",
    "read_labels",
    "read_metric_value",
    "read_rules",
    "read_target",
]
