"""A client of Prometheus' query API: checked queries, bounded requests, strict decoding."""

from kubestow.sources.prometheus.client import PrometheusClient
from kubestow.sources.prometheus.errors import REFUSED, ReadError
from kubestow.sources.prometheus.histories import RANGE_S, STEP_S, read_history
from kubestow.sources.prometheus.origins import (
    Chosen,
    SeveralClustersError,
    examine_origins,
    merge_copies,
    refuse_mixed_clusters,
    refuse_several_clusters,
)
from kubestow.sources.prometheus.pages import PAGE, Steps, align_steps
from kubestow.sources.prometheus.queries import NAMED, Query, named, raw
from kubestow.sources.prometheus.ranges import Range, join_pages
from kubestow.sources.prometheus.responses import (
    InstantSample,
    Labels,
    Vector,
    series_name,
    shorten_response,
)
from kubestow.sources.prometheus.selectors import (
    Matcher,
    check_label,
    parse_matcher,
    select_series,
)
from kubestow.sources.prometheus.settings import PrometheusSettings

__all__ = [
    "NAMED",
    "PAGE",
    "RANGE_S",
    "REFUSED",
    "STEP_S",
    "Chosen",
    "InstantSample",
    "Labels",
    "Matcher",
    "PrometheusClient",
    "PrometheusSettings",
    "Query",
    "Range",
    "ReadError",
    "SeveralClustersError",
    "Steps",
    "Vector",
    "align_steps",
    "check_label",
    "examine_origins",
    "join_pages",
    "merge_copies",
    "named",
    "parse_matcher",
    "raw",
    "read_history",
    "refuse_mixed_clusters",
    "refuse_several_clusters",
    "select_series",
    "series_name",
    "shorten_response",
]
