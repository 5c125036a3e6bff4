"""Ready-made PromQL queries with their units, by name.

Shi 2023, 3.1 prints three of them (damaged; repaired in the digest): CPU, disk and network of
nodes, from node_exporter. Container metrics come from cAdvisor in the kubelet, requests from
kube-state-metrics. ``rate`` and ``irate`` handle counters that were reset.

Every query has a companion that returns the time of its newest sample: the result of a rate has the
time of the query, which hides for minutes that scrapes have stopped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kubestow.model import errors
from kubestow.sources.prometheus import origins, selectors
from kubestow.sources.prometheus.selectors import Matcher

PERCENT, CORES, BYTES = "percent", "cores", "bytes"
BYTES_PER_S, OPERATIONS_PER_S, REQUESTS_PER_S = "bytes/s", "operations/s", "requests/s"

# Suggested in the digest of Shi 2023, 3.1. The default of Prometheus is a minute.
SCRAPE_S = 15.0
MINUTE_S, FIVE_MINUTES_S = 60.0, 300.0

_CONTAINER = ("namespace", "pod", "container")
_POD = ("namespace", "pod")
# The series of a pod's cgroup has no container; its sandbox is called POD (cAdvisor with Docker).
_REAL_CONTAINERS = (Matcher("container", "!=", ""), Matcher("container", "!=", "POD"))
# Logical volumes and RAID count the bytes of their disks a second time.
_REAL_DISKS = (Matcher("device", "!~", "dm-.*|md.*|loop.*|ram.*|sr.*"),)
# As printed: a bond counts the bytes of its members again, and loopback leaves no node.
_REAL_LINKS = (Matcher("device", "!~", "bond.*?|lo"),)
# What is the same in all copies of a series of cAdvisor, and differs where series add up.
_CGROUP = ("id", "name", "cpu", "device", "interface")
# What differs between the copies of any series that a pair of servers makes.
_COPIES = ", ".join(origins.REPLICAS)

Where = Sequence[Matcher]


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL query.

    Attributes:
        name: What it measures.
        promql: The query.
        unit: Unit of its values.
        labels: Labels that identify the series of the result.
        newest: PromQL for the time of the newest sample behind the result; empty if unknown.
        metric: The metric behind it, whose labels tell clusters apart; empty if unknown.
        where: Conditions on its labels.
    """

    name: str
    promql: str
    unit: str
    labels: tuple[str, ...] = ()
    newest: str = ""
    metric: str = ""
    where: tuple[Matcher, ...] = ()


def raw(promql: str, unit: str = "", newest: str = "") -> Query:
    """Return a user-written query.

    Raises:
        InputError: If it is empty.
    """
    if not promql.strip():
        raise errors.InputError("query", "is empty; expected PromQL")
    return Query("query", promql, unit, (), newest)


def node_cpu(where: Where = (), *, window_s: float = MINUTE_S, scrape_s: float = SCRAPE_S) -> Query:
    """CPU usage of each node, in percent of all its processors."""
    metric = "node_cpu_seconds_total"
    over = selectors.window(window_s, scrape_s)
    idle = _once(
        f"rate({selectors.select_series(metric, (Matcher('mode', '=', 'idle'), *where))}{over})"
    )
    every = _once(f"rate({selectors.select_series(metric, where)}{over})")
    promql = f"(1 - sum by (instance) ({idle}) / sum by (instance) ({every})) * 100"
    return _query("node CPU", promql, PERCENT, ("instance",), metric, where)


def node_disk(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Bytes per second that the disks of each node read and write."""
    pair = ("node_disk_read_bytes_total", "node_disk_written_bytes_total")
    over = selectors.window(window_s, scrape_s)
    rates = _both("rate", pair, (*_REAL_DISKS, *where), over)
    promql = f"sum by (instance) ({_once(rates)})"
    chosen = (*_REAL_DISKS, *where)
    return _query("node disk", promql, BYTES_PER_S, ("instance",), pair[0], chosen)


def node_disk_operations(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Operations per second that each disk completes: the query as Shi 2023 prints it."""
    pair = ("node_disk_reads_completed_total", "node_disk_writes_completed_total")
    rates = _both("rate", pair, where, selectors.window(window_s, scrape_s))
    labels = ("instance", "device")
    promql = f"{_by('max', labels)} ({rates})"
    return _query("node disk operations", promql, OPERATIONS_PER_S, labels, pair[0], where)


def node_network(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Bytes per second that each node receives and sends, from the last two scrapes."""
    pair = ("node_network_receive_bytes_total", "node_network_transmit_bytes_total")
    over = selectors.window(window_s, scrape_s)
    rates = _both("irate", pair, (*_REAL_LINKS, *where), over)
    promql = f"sum by (instance) ({_once(rates)})"
    chosen = (*_REAL_LINKS, *where)
    return _query("node network", promql, BYTES_PER_S, ("instance",), pair[0], chosen)


def container_cpu(
    where: Where = (), *, window_s: float = MINUTE_S, scrape_s: float = SCRAPE_S
) -> Query:
    """CPU usage of each container, in cores."""
    metric, chosen = "container_cpu_usage_seconds_total", (*_REAL_CONTAINERS, *where)
    rate = f"rate({selectors.select_series(metric, chosen)}{selectors.window(window_s, scrape_s)})"
    promql = _add(_CONTAINER, rate)
    return _query("container CPU", promql, CORES, _CONTAINER, metric, chosen)


def container_memory(where: Where = ()) -> Query:
    """Working set of each container; around a restart the larger one counts."""
    metric, chosen = "container_memory_working_set_bytes", (*_REAL_CONTAINERS, *where)
    promql = f"{_by('max', _CONTAINER)} ({selectors.select_series(metric, chosen)})"
    return _query("container memory", promql, BYTES, _CONTAINER, metric, chosen)


def pod_network(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Bytes per second that each pod receives and sends; its containers share one network."""
    pair = ("container_network_receive_bytes_total", "container_network_transmit_bytes_total")
    chosen = (Matcher("pod", "!=", ""), Matcher("interface", "!=", "lo"), *where)
    rates = _both("rate", pair, chosen, selectors.window(window_s, scrape_s))
    promql = _add(_POD, rates)
    return _query("pod network", promql, BYTES_PER_S, _POD, pair[0], chosen)


def container_disk(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Bytes per second that each container reads from and writes to disks."""
    pair = ("container_fs_reads_bytes_total", "container_fs_writes_bytes_total")
    chosen = (*_REAL_CONTAINERS, *where)
    rates = _both("rate", pair, chosen, selectors.window(window_s, scrape_s))
    promql = _add(_CONTAINER, rates)
    return _query("container disk", promql, BYTES_PER_S, _CONTAINER, pair[0], chosen)


def container_requests(resource: str, where: Where = ()) -> Query:
    """Requests of each container; replicas of kube-state-metrics count once.

    Args:
        resource: ``cpu`` or ``memory``.
        where: Conditions on labels.

    Raises:
        InputError: If the resource is another one.
    """
    units = {"cpu": CORES, "memory": BYTES}
    if resource not in units:
        raise errors.InputError("resource", f"{resource!r}: expected one of {', '.join(units)}")
    metric = "kube_pod_container_resource_requests"
    chosen = (Matcher("resource", "=", resource), *where)
    promql = f"{_by('max', _CONTAINER)} ({selectors.select_series(metric, chosen)})"
    name = f"container {resource} requests"
    return _query(name, promql, units[resource], _CONTAINER, metric, chosen)


def request_rate(
    metric: str,
    where: Where = (),
    *,
    by: Sequence[str] = (),
    window_s: float = MINUTE_S,
    scrape_s: float = SCRAPE_S,
) -> Query:
    """Rate of a counter of requests, summed over its series or by some labels.

    Args:
        metric: A counter of requests, e.g. ``http_requests_total``.
        where: Conditions on labels, e.g. the service's name.
        by: Labels to group by; without them the result is one series.
        window_s: Window of the rate.
        scrape_s: Scrape interval of the counter in seconds.
    """
    rate = f"rate({selectors.select_series(metric, where)}{selectors.window(window_s, scrape_s)})"
    labels = tuple(selectors.check_label(label) for label in by)
    once = _once(rate)
    promql = f"{_by('sum', labels)} ({once})" if labels else f"sum({once})"
    return _query("request rate", promql, REQUESTS_PER_S, labels, metric, where)


NAMED: Mapping[str, Callable[[Where], Query]] = MappingProxyType(
    {
        "node-cpu": node_cpu,
        "node-disk": node_disk,
        "node-disk-operations": node_disk_operations,
        "node-network": node_network,
        "container-cpu": container_cpu,
        "container-memory": container_memory,
        "container-disk": container_disk,
        "container-cpu-requests": functools.partial(container_requests, "cpu"),
        "container-memory-requests": functools.partial(container_requests, "memory"),
        "pod-network": pod_network,
    }
)
"""Queries by name."""

_COUNTER = "_total"


def named(name: str, where: Where = ()) -> Query:
    """Return a query by its name; the name of a counter means its rate, summed.

    >>> named("container-memory", [Matcher("pod", "=", "web-0")]).labels
    ('namespace', 'pod', 'container')

    Raises:
        InputError: If the name is neither a query nor a counter.
    """
    if name in NAMED:
        return NAMED[name](where)
    if name.endswith(_COUNTER):
        return request_rate(name, where)
    expected = f"a counter ({_COUNTER}) or one of {', '.join(NAMED)}"
    raise errors.InputError("metric", f"{name!r}: expected {expected}")


def _both(function: str, pair: tuple[str, str], where: Where, over: str) -> str:
    return " + ".join(f"{function}({selectors.select_series(name, where)}{over})" for name in pair)


def _add(labels: tuple[str, ...], rates: str) -> str:
    """Add up the series of a pod or container, of which each copy counts once."""
    return f"{_by('sum', labels)} ({_by('max', (*_CONTAINER, *_CGROUP))} ({rates}))"


def _once(rates: str) -> str:
    """Keep one of the series that a pair of servers has both."""
    return f"max without ({_COPIES}) ({rates})"


def _query(
    name: str, promql: str, unit: str, labels: tuple[str, ...], metric: str, where: Where
) -> Query:
    newest = _newest(metric, where)
    return Query(name, promql, unit, labels, newest, metric, tuple(where))


def _by(aggregation: str, labels: tuple[str, ...]) -> str:
    return f"{aggregation} by ({', '.join(labels)})"


def _newest(metric: str, where: Where) -> str:
    return f"max(timestamp({selectors.select_series(metric, where)}))"
