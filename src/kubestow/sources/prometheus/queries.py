"""The questions kubestow asks a Prometheus, with their units.

Shi 2023, 3.1 prints three of them (damaged; repaired in the digest): CPU, disk and network of
nodes, from node_exporter. Containers come from cAdvisor in the kubelet, requests from
kube-state-metrics. ``rate`` and ``irate`` take care of counters that were reset.

Every question also says how to find the newest sample behind it: the answer to a rate carries the
moment of the question, and hides for minutes that nothing is measured any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubestow.model import errors
from kubestow.sources.prometheus import selectors
from kubestow.sources.prometheus.selectors import Matcher

PERCENT, CORES, BYTES = "percent", "cores", "bytes"
BYTES_PER_S, OPERATIONS_PER_S, REQUESTS_PER_S = "bytes/s", "operations/s", "requests/s"

# Suggested in the digest of Shi 2023, 3.1; Prometheus' own default is a minute: state yours.
SCRAPE_S = 15.0
MINUTE_S, FIVE_MINUTES_S = 60.0, 300.0

_CONTAINER = ("namespace", "pod", "container")
_POD = ("namespace", "pod")
# The sum over a pod's cgroup has no container, its sandbox is called POD (cAdvisor with Docker).
_REAL_CONTAINERS = (Matcher("container", "!=", ""), Matcher("container", "!=", "POD"))
# Logical volumes and RAID count the bytes of their disks a second time.
_REAL_DISKS = (Matcher("device", "!~", "dm-.*|md.*|loop.*|ram.*|sr.*"),)
# As printed: a bond counts the bytes of its members again, and loopback leaves no node.
_REAL_LINKS = (Matcher("device", "!~", "bond.*?|lo"),)

Where = Sequence[Matcher]


@dataclass(frozen=True, slots=True)
class Query:
    """A question.

    Attributes:
        name: What is asked for.
        promql: The question in PromQL.
        unit: Unit of the answer.
        labels: Which labels tell the series of the answer apart.
        newest: PromQL for the time of the newest sample behind the answer; empty if not known.
    """

    name: str
    promql: str
    unit: str
    labels: tuple[str, ...] = ()
    newest: str = ""


def raw(promql: str, unit: str = "", newest: str = "") -> Query:
    """Return a question in a user's own words.

    Raises:
        InputError: If it is empty.
    """
    if not promql.strip():
        raise errors.InputError("query", "is empty; expected PromQL")
    return Query("query", promql, unit, (), newest)


def node_cpu(where: Where = (), *, window_s: float = MINUTE_S, scrape_s: float = SCRAPE_S) -> Query:
    """Ask how busy the processors of each node are, in percent of all of them."""
    metric = "node_cpu_seconds_total"
    over = selectors.window(window_s, scrape_s)
    idle = f"rate({selectors.select_series(metric, (Matcher('mode', '=', 'idle'), *where))}{over})"
    every = f"rate({selectors.select_series(metric, where)}{over})"
    promql = f"(1 - sum by (instance) ({idle}) / sum by (instance) ({every})) * 100"
    return Query("node CPU", promql, PERCENT, ("instance",), _newest(metric, where))


def node_disk(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Ask how many bytes per second the disks of each node read and write."""
    pair = ("node_disk_read_bytes_total", "node_disk_written_bytes_total")
    over = selectors.window(window_s, scrape_s)
    rates = _both("rate", pair, (*_REAL_DISKS, *where), over)
    return Query(
        "node disk", f"sum by (instance) ({rates})", BYTES_PER_S, ("instance",),
        _newest(pair[0], (*_REAL_DISKS, *where)),
    )  # fmt: skip


def node_disk_operations(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Ask how many operations per second each disk completes: the question as printed."""
    pair = ("node_disk_reads_completed_total", "node_disk_writes_completed_total")
    rates = _both("rate", pair, where, selectors.window(window_s, scrape_s))
    labels = ("instance", "device")
    return Query("node disk operations", rates, OPERATIONS_PER_S, labels, _newest(pair[0], where))


def node_network(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Ask how many bytes per second each node receives and sends, by the last two scrapes."""
    pair = ("node_network_receive_bytes_total", "node_network_transmit_bytes_total")
    over = selectors.window(window_s, scrape_s)
    rates = _both("irate", pair, (*_REAL_LINKS, *where), over)
    return Query(
        "node network", f"sum by (instance) ({rates})", BYTES_PER_S, ("instance",),
        _newest(pair[0], (*_REAL_LINKS, *where)),
    )  # fmt: skip


def container_cpu(
    where: Where = (), *, window_s: float = MINUTE_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Ask how many cores each container uses."""
    metric, chosen = "container_cpu_usage_seconds_total", (*_REAL_CONTAINERS, *where)
    rate = f"rate({selectors.select_series(metric, chosen)}{selectors.window(window_s, scrape_s)})"
    promql = f"{_by('sum', _CONTAINER)} ({rate})"
    return Query("container CPU", promql, CORES, _CONTAINER, _newest(metric, chosen))


def container_memory(where: Where = ()) -> Query:
    """Ask for the working set of each container; of a restarted one the larger counts."""
    metric, chosen = "container_memory_working_set_bytes", (*_REAL_CONTAINERS, *where)
    promql = f"{_by('max', _CONTAINER)} ({selectors.select_series(metric, chosen)})"
    return Query("container memory", promql, BYTES, _CONTAINER, _newest(metric, chosen))


def pod_network(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Ask how many bytes per second each pod receives and sends; its containers share it."""
    pair = ("container_network_receive_bytes_total", "container_network_transmit_bytes_total")
    chosen = (Matcher("pod", "!=", ""), Matcher("interface", "!=", "lo"), *where)
    rates = _both("rate", pair, chosen, selectors.window(window_s, scrape_s))
    promql = f"{_by('sum', _POD)} ({rates})"
    return Query("pod network", promql, BYTES_PER_S, _POD, _newest(pair[0], chosen))


def container_disk(
    where: Where = (), *, window_s: float = FIVE_MINUTES_S, scrape_s: float = SCRAPE_S
) -> Query:
    """Ask how many bytes per second each container reads from and writes to disks."""
    pair = ("container_fs_reads_bytes_total", "container_fs_writes_bytes_total")
    chosen = (*_REAL_CONTAINERS, *where)
    rates = _both("rate", pair, chosen, selectors.window(window_s, scrape_s))
    promql = f"{_by('sum', _CONTAINER)} ({rates})"
    return Query("container disk", promql, BYTES_PER_S, _CONTAINER, _newest(pair[0], chosen))


def container_requests(resource: str, where: Where = ()) -> Query:
    """Ask what each container requests; two copies of kube-state-metrics count once.

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
    return Query(name, promql, units[resource], _CONTAINER, _newest(metric, chosen))


def request_rate(
    metric: str,
    where: Where = (),
    *,
    by: Sequence[str] = (),
    window_s: float = MINUTE_S,
    scrape_s: float = SCRAPE_S,
) -> Query:
    """Ask how many requests per second a service gets, in all or by some labels.

    Args:
        metric: A counter of requests, e.g. ``http_requests_total``.
        where: Conditions on labels, e.g. the service's name.
        by: Labels to tell apart; without them there is one series.
        window_s: Window of the rate.
        scrape_s: How often the counter is scraped.
    """
    rate = f"rate({selectors.select_series(metric, where)}{selectors.window(window_s, scrape_s)})"
    labels = tuple(selectors.check_label(label) for label in by)
    promql = f"{_by('sum', labels)} ({rate})" if labels else f"sum({rate})"
    return Query("request rate", promql, REQUESTS_PER_S, labels, _newest(metric, where))


def _both(function: str, pair: tuple[str, str], where: Where, over: str) -> str:
    return " + ".join(f"{function}({selectors.select_series(name, where)}{over})" for name in pair)


def _by(aggregation: str, labels: tuple[str, ...]) -> str:
    return f"{aggregation} by ({', '.join(labels)})"


def _newest(metric: str, where: Where) -> str:
    return f"max(timestamp({selectors.select_series(metric, where)}))"
