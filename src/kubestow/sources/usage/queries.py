"""PromQL queries for right-sizing, one per metric for a whole cluster.

Böttcher 2023, 3.7 runs seven per pod and minute; run for all containers over a range, each needs
one or two pages of points. What replaced what, and why:

=========================================  =====================================================
as printed                                 here
=========================================  =====================================================
``rate(container_cpu_usage...[1m])``       the rate over the step: two scrapes in a minute are few
``container_memory_working_set_bytes``     its ``max_over_time`` per step, so that no peak is lost
``container_memory_max_usage_bytes``       the same: with cgroup v2 it is missing or 0, and
                                           with v1 it counts the page cache
``rate(..._cfs_throttled_seconds...[1m])`` throttled over all periods, in the whole history: at
                                           the end of a pod only the last minute would count
``container_memory_failcnt``               OOM kills (kube-state-metrics, cAdvisor): missing in v2
``kube_pod_container_resource_limits``     the same
``kube_pod_container_resource_requests``   the same
=========================================  =====================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubestow.model import decoding, identities
from kubestow.sources import prometheus as selectors
from kubestow.sources.prometheus import Matcher

_BY: Final = "namespace, pod, container"
# The sum over a pod's cgroup has no container, its sandbox is called POD (cAdvisor with Docker).
REAL: Final = (Matcher("container", "!=", ""), Matcher("container", "!=", "POD"))
"""Conditions on the series of real containers."""

USAGE: Final = "container_memory_working_set_bytes"
"""The metric by which containers are counted."""

CACHE: Final = "container_memory_total_active_file_bytes"
"""Active page cache by container (cAdvisor 0.50 and later)."""

Where = Sequence[Matcher]


def cpu(where: Where, step_s: float) -> str:
    """Query the CPU usage of each container in cores, as mean over a step.

    A restarted container has two series in a step, which add up. Copies of a series, by a second
    server or scrape job, have the same cgroup and container ID, and count once.
    """
    chosen = selectors.select_series("container_cpu_usage_seconds_total", (*REAL, *where))
    once = f"max by ({_BY}, id, name, cpu) (rate({chosen}{_over(step_s)}))"
    return f"sum by ({_BY}) ({once})"


def krr_cpu(where: Where, step_s: float) -> str:
    """Query CPU usage as krr does: of several series of a container, the largest."""
    chosen = selectors.select_series("container_cpu_usage_seconds_total", (*REAL, *where))
    return f"max by ({_BY}) (rate({chosen}{_over(step_s)}))"


def krr_memory(where: Where) -> str:
    """Query the working set as krr does: its value at each step, not the largest of the step."""
    chosen = selectors.select_series(USAGE, (*REAL, *where))
    return f"max by ({_BY}) ({chosen})"


def memory(where: Where, step_s: float) -> str:
    """Query the largest working set of each container in a step."""
    chosen = selectors.select_series(USAGE, (*REAL, *where))
    return f"max by ({_BY}) (max_over_time({chosen}{_over(step_s)}))"


def memory_without_cache(where: Where, step_s: float) -> str:
    """Query the largest working set in a step without the active page cache.

    The kernel frees active file pages before it kills, but the working set counts them. The least
    cache of the step is subtracted, so that the result is never below what was in use. Containers
    without the metric keep their working set.
    """
    chosen = selectors.select_series(CACHE, (*REAL, *where))
    whole = memory(where, step_s)
    cache = f"max by ({_BY}) (min_over_time({chosen}{_over(step_s)}))"
    return f"clamp_min({whole} - {cache}, 0) or {whole}"


def cache(where: Where, history_s: float) -> str:
    """Query the largest active page cache of each container."""
    chosen = selectors.select_series(CACHE, (*REAL, *where))
    return f"max by ({_BY}) (max_over_time({chosen}{_over(history_s)}))"


def count(where: Where, history_s: float) -> str:
    """Query the number of containers."""
    chosen = selectors.select_series(USAGE, (*REAL, *where))
    return f"count(count by ({_BY}) (last_over_time({chosen}{_over(history_s)})))"


def namespaces(where: Where, history_s: float) -> str:
    """Query the namespaces that have containers."""
    chosen = selectors.select_series(USAGE, (*REAL, *where))
    return f"count by (namespace) (last_over_time({chosen}{_over(history_s)}))"


def stated(metric: str, where: Where) -> str:
    """Query requests or limits; replicas of kube-state-metrics count once."""
    both = Matcher("resource", "=~", "cpu|memory")
    return f"max by ({_BY}, resource) ({selectors.select_series(metric, (both, *where))})"


def owners(where: Where, history_s: float) -> str:
    """Query the controller of each pod of the history."""
    chosen = selectors.select_series("kube_pod_owner", where)
    return (
        "max by (namespace, pod, owner_kind, owner_name) "
        f"(last_over_time({chosen}{_over(history_s)}))"
    )


def controllers(metric: str, name: str, where: Where, history_s: float) -> str:
    """Query the controllers of ReplicaSets or jobs.

    Args:
        metric: ``kube_replicaset_owner`` or ``kube_job_owner``.
        name: The label with the name of the owned object.
        where: Conditions on labels.
        history_s: Length of the history in seconds.
    """
    chosen = selectors.select_series(metric, where)
    by = f"namespace, {selectors.check_label(name)}, owner_kind, owner_name"
    return f"max by ({by}) (last_over_time({chosen}{_over(history_s)}))"


def kills(where: Where, history_s: float) -> str:
    """Query which containers were OOM-killed, by kube-state-metrics."""
    killed = Matcher("reason", "=", "OOMKilled")
    metric = "kube_pod_container_status_last_terminated_reason"
    chosen = selectors.select_series(metric, (killed, *where))
    return f"max by ({_BY}) (max_over_time({chosen}{_over(history_s)}))"


def kill_events(where: Where, history_s: float) -> str:
    """Query how often containers were OOM-killed, by cAdvisor."""
    chosen = selectors.select_series("container_oom_events_total", (*REAL, *where))
    return f"max by ({_BY}) (increase({chosen}{_over(history_s)}))"


def throttling(where: Where, history_s: float) -> str:
    """Query the share of throttled periods of each container."""
    over = _over(history_s)
    parts = [
        f"sum by ({_BY}) (increase({selectors.select_series(metric, (*REAL, *where))}{over}))"
        for metric in (
            "container_cpu_cfs_throttled_periods_total",
            "container_cpu_cfs_periods_total",
        )
    ]
    return " / ".join(parts)


def autoscaler_targets(where: Where) -> str:
    """Query the utilisation targets of autoscalers, in percent."""
    chosen = selectors.select_series(
        "kube_horizontalpodautoscaler_spec_target_metric",
        (Matcher("metric_target_type", "=", "utilization"), *where),
    )
    return f"max by (namespace, horizontalpodautoscaler, metric_name) ({chosen})"


def autoscaled_objects(where: Where) -> str:
    """Query the scale targets of autoscalers."""
    chosen = selectors.select_series("kube_horizontalpodautoscaler_info", where)
    by = "namespace, horizontalpodautoscaler, scaletargetref_kind, scaletargetref_name"
    return f"max by ({by}) ({chosen})"


def nodes(where: Where = ()) -> str:
    """Query the allocatable resources of schedulable nodes; they have no namespace."""
    allocatable = Matcher("resource", "=~", "cpu|memory|pods")
    given = selectors.select_series("kube_node_status_allocatable", (allocatable, *where))
    closed = selectors.select_series("kube_node_spec_unschedulable", where)
    return f"max by (node, resource) ({given}) unless on (node) ({closed} == 1)"


def labels(where: Where) -> str:
    """Query the labels of pods, as far as kube-state-metrics exports them."""
    return selectors.select_series("kube_pod_labels", where)


def identity_labels(where: Where, history_s: float) -> str:
    """Query the labels of all pods of the history that name a workload, such as a pipeline."""
    return " or ".join(
        f"last_over_time({chosen}{_over(history_s)})"
        for label in identities.IDENTITY_LABELS
        for chosen in [
            selectors.select_series(
                "kube_pod_labels",
                (Matcher(f"label_{identities.exported_name(label)}", "!=", ""), *where),
            )
        ]
    )


def heaps(where: Where, history_s: float) -> str:
    """Query the largest heap of a JVM (JMX exporter, Micrometer).

    The pools of a heap add up; unbounded pools report -1. ZGC's two generations both report the
    whole heap, so that only one of them counts.
    """
    pools = (Matcher("area", "=", "heap"), Matcher("id", "!=", "ZGC Young Generation"))
    chosen = selectors.select_series("jvm_memory_max_bytes", (*pools, *where))
    largest = f"max by ({_BY}, id) (max_over_time({chosen}{_over(history_s)}))"
    return f"sum by ({_BY}) ({largest} > 0)"


def _over(span_s: float) -> str:
    return f"[{decoding.format_duration(span_s)}]"
