"""Usage of all containers in a step: compiled loops over arrays of records."""

from kubestow.simulation.usage.containers import (
    NONE,
    RUNNING,
    SERVING,
    STARTING,
    ContainerTable,
    RecordArray,
)
from kubestow.simulation.usage.cpu_limits import mean_response_alone
from kubestow.simulation.usage.request_tables import PlayedRequests
from kubestow.simulation.usage.response_times import (
    BUCKETS,
    ResponseTable,
    make_response_table,
    percentile,
)
from kubestow.simulation.usage.step import advance_usage
from kubestow.simulation.usage.tables import HOST, SERVICE, SIGNAL

__all__ = [
    "BUCKETS",
    "HOST",
    "NONE",
    "RUNNING",
    "SERVICE",
    "SERVING",
    "SIGNAL",
    "STARTING",
    "ContainerTable",
    "PlayedRequests",
    "RecordArray",
    "ResponseTable",
    "advance_usage",
    "make_response_table",
    "mean_response_alone",
    "percentile",
]
