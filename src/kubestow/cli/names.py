"""Names and defaults that help texts show, without the modules that define them.

Importing a registry loads compilers and solvers, which takes longer than to print a help text.
``tests/cli/test_names.py`` compares everything here with its definition.
"""

from __future__ import annotations

import enum
from typing import Final

ENGINES: Final = ("local", "ray")
SCALERS: Final = (
    "static", "threshold", "hpa", "hpa-legacy", "derivative", "line-fit", "arima", "gru",
    "arima-gru", "holt-winters", "queueing", "receding", "perfect", "auto",
)  # fmt: skip
RECOMMENDERS: Final = (
    "keep", "percentile", "krr-simple", "vpa", "level-sigma", "arima-margin", "short-margin",
    "q-learning", "limit-follow", "conformal", "auto",
)  # fmt: skip
FORECASTERS: Final = (
    "persistence", "seasonal-naive", "drift", "moving-average", "line", "ses", "holt",
    "holt-winters", "theta", "regression", "regression-log", "regression-floating",
    "regression-log-floating", "arima", "gru", "arima-gru", "auto",
)  # fmt: skip
PROFILES: Final = (
    "kube-scheduler", "most-allocated", "most-allocated-balanced", "schubert-85",
    "schubert-85-fixed", "clbp", "load-aware", "clbp-shortlist", "load-aware-shortlist",
    "clbp-alone", "load-aware-alone", "vector-dot", "k8s-vector-dot", "adaptive",
)  # fmt: skip
TERMS: Final = ("clbp", "load-aware", "vector-dot", "k8s-vector-dot", "adaptive")
DECISIONS: Final = ("shortlist", "alone", "weighted")
API_SERVICES: Final = (
    "v1beta2.custom.metrics.k8s.io",
    "v1beta1.custom.metrics.k8s.io",
    "v1beta1.external.metrics.k8s.io",
)
VERSION: Final = "1.37"
"""Kubernetes release whose scheduler and autoscaler are the default."""
MANAGED_LABEL: Final = "kubestow.io/managed"
ID_LABEL: Final = "kubestow.io/id"
DEMO_SEEDS: Final = 3
TESTED: Final = 0.3
"""Share of the points that a back-test rolls over."""
PROMETHEUS_RANGE: Final = "7d"
PROMETHEUS_QUERIES: Final = (
    "node-cpu", "node-disk", "node-disk-operations", "node-network", "container-cpu",
    "container-memory", "container-disk", "container-cpu-requests", "container-memory-requests",
    "pod-network",
)  # fmt: skip
ADMISSION_DEADLINE: Final = "2s"
MEMORY_HEADROOM: Final = "15%"
MEMORY_MIN: Final = "100Mi"
CPU_MIN: Final = "10m"
MIN_EVIDENCE: Final = 7


class Limits(enum.StrEnum):
    """What becomes of limits."""

    KEEP = "keep"
    MATCH = "match"
    NONE = "none"


class Severity(enum.StrEnum):
    """How urgent a recommendation is, most urgent first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"


def listed(names: tuple[str, ...], *, plugins: bool = False) -> str:
    """Return names as help texts list them, plug-ins mentioned where packages can add some."""
    return ", ".join(names) + (", or a plug-in" if plugins else "")
