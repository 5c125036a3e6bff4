"""Where series come from: several clusters on one server, pairs of servers, repeated scrapes.

A server that many clusters write to (Thanos, Mimir, federation) tells them apart by external labels
that every server adds to all its series. Usage of two clusters must never be added up: a label that
separates clusters is an error until one value is chosen. Copies of the same series (a pair of
servers for high availability, two scrape jobs for the same kubelet) are counted once.

Names of cluster labels and of replica labels are conventions. For any other label the series are
compared: cAdvisor's labels ``id`` and ``name`` (the cgroup and the container ID) are the same in
copies and differ between clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from kubestow.model import decoding, errors
from kubestow.sources.prometheus import client as clients
from kubestow.sources.prometheus import responses, selectors
from kubestow.sources.prometheus.selectors import Matcher

CLUSTERS: Final = (
    "cluster",
    "cluster_id",
    "cluster_name",
    "clusterid",
    "clustername",
    "k8s_cluster",
    "k8s_cluster_name",
    "kube_cluster",
    "kubernetes_cluster",
)
"""Usual names of the label that separates clusters, external or from OpenTelemetry."""

REPLICAS: Final = ("__replica__", "prometheus_replica", "replica", "rule_replica", "thanos_replica")
"""Usual names of the label that separates the servers of a pair (Prometheus Operator, Thanos)."""

# Labels of a scrape and of its target: the same container may have several of them.
_SCRAPES: Final = ("endpoint", "job", "metrics_path", "service")
# What a container, its node and its owner are called; never the name of a cluster.
_OBJECTS: Final = (
    "namespace", "pod", "container", "id", "name", "image", "cpu", "instance", "node", "uid",
    "owner_kind", "owner_name", "owner_is_controller",
)  # fmt: skip
_CONTAINER: Final = ("namespace", "pod", "container")
_COPIES: Final = ("id", "name")
_MOST_LISTED: Final = 10

Value = TypeVar("Value")


class SeveralClustersError(errors.InputError):
    """Series of several clusters where those of one are expected.

    Args:
        place: Address of the server.
        label: The label that separates them.
        values: Its values; empty for series without it.
    """

    def __init__(self, place: str, label: str, values: Sequence[str]) -> None:
        self.label, self.values = label, tuple(values)
        problem = f"has series of several clusters: {label} is {list_values(values)}"
        super().__init__(place, f"{problem}; expected one of them")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Series to examine.

    Attributes:
        metric: A metric that every container has.
        where: Conditions on labels; a label that they name was chosen and is not examined.
        inventory: A metric of kube-state-metrics, on which only external labels are common.
    """

    metric: str
    where: Sequence[Matcher] = ()
    inventory: str = "kube_pod_owner"


def examine_origins(
    client: clients.PrometheusClient,
    chosen: Chosen,
    conditions: Sequence[Matcher],
    end_s: float,
    history_s: float,
) -> tuple[str, ...]:
    """Return notes on series that are there several times.

    Args:
        client: Client of the server.
        chosen: The series.
        conditions: Conditions on labels that narrow the metric to containers.
        end_s: End of the history in seconds since the epoch.
        history_s: Length of the history in seconds.

    Raises:
        SeveralClustersError: If the series are of several clusters.
        ReadError: If there is no valid response.
    """
    over = f"[{decoding.format_duration(history_s)}]"
    selector = selectors.select_series(chosen.metric, (*conditions, *chosen.where))
    values = _values(client, selector, over, end_s)
    settled = {matcher.label for matcher in chosen.where}
    several = {name: listed for name, listed in values.items() if len(listed) > 1}
    notes = [
        f"{name} is {list_values(listed)}: read as one cluster, as chosen"
        for name, listed in several.items()
        if name in settled and name in CLUSTERS
    ]
    open_names = [name for name in several if name not in settled]
    for name in open_names:
        if name in CLUSTERS:
            raise SeveralClustersError(client.place, name, several[name])
    if not open_names:
        return tuple(notes)
    external = _external(client, chosen, open_names, over, end_s)
    series = _series(client, selector, open_names, end_s)
    copied = []
    for name in open_names:
        copies, splits = _compare(series, name)
        if name not in _SCRAPES and (splits > copies or (name in external and not copies)):
            raise SeveralClustersError(client.place, name, several[name])
        if copies:
            copied.append(f"{name} ({copies} containers: {list_values(several[name])})")
    if copied:
        notes.append(f"the same usage is there several times, and counts once: {', '.join(copied)}")
    return tuple(notes)


def refuse_several_clusters(
    client: clients.PrometheusClient,
    metric: str,
    where: Sequence[Matcher],
    end_s: float,
    history_s: float,
) -> None:
    """Refuse a metric that is there of several clusters, by the usual names of the label.

    Raises:
        SeveralClustersError: If a label that no condition names has several values.
        ReadError: If there is no valid response.
    """
    over = f"[{decoding.format_duration(history_s)}]"
    selector = selectors.select_series(metric, where)
    promql = f"count by ({', '.join(CLUSTERS)}) (last_over_time({selector}{over}))"
    values = _collect(client.query(promql, end_s).samples)
    settled = {matcher.label for matcher in where}
    for name in CLUSTERS:
        if name not in settled and len(values.get(name, ())) > 1:
            raise SeveralClustersError(client.place, name, values[name])


def merge_copies(
    series: Iterable[tuple[responses.Labels, Value]], larger: Callable[[Value, Value], Value]
) -> dict[responses.Labels, Value]:
    """Merge series that differ by nothing but the server of a pair.

    >>> both = [((("pod", "a"), ("replica", "0")), 1.0), ((("pod", "a"), ("replica", "1")), 2.0)]
    >>> merge_copies(both, max)
    {(('pod', 'a'),): 2.0}
    """
    merged: dict[responses.Labels, Value] = {}
    for labels, value in series:
        key = tuple(label for label in labels if label[0] not in REPLICAS)
        merged[key] = larger(merged[key], value) if key in merged else value
    return merged


def refuse_mixed_clusters(place: str, series: Iterable[responses.Labels]) -> None:
    """Refuse series that have several values of a label with a usual name of clusters.

    Raises:
        SeveralClustersError: If they do.
    """
    values = _collect_values([dict(labels) for labels in series])
    for name in CLUSTERS:
        if len(values.get(name, ())) > 1:
            raise SeveralClustersError(place, name, values[name])


def list_values(values: Sequence[str]) -> str:
    """List values of a label, shortened.

    >>> list_values(["prod", ""])
    'prod or (none)'
    """
    shown = [value or "(none)" for value in values[:_MOST_LISTED]]
    if len(values) > _MOST_LISTED:
        shown.append(f"{len(values) - _MOST_LISTED} more")
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _values(
    client: clients.PrometheusClient, selector: str, over: str, end_s: float
) -> dict[str, list[str]]:
    """Return the values of every label that names no object, over the whole history."""
    promql = f"count without ({', '.join(_OBJECTS)}) (last_over_time({selector}{over}))"
    return _collect(client.query(promql, end_s).samples)


def _collect(samples: Iterable[responses.InstantSample]) -> dict[str, list[str]]:
    return _collect_values([dict(sample.labels) for sample in samples])


def _collect_values(groups: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    names = sorted({name for group in groups for name in group})
    return {
        name: sorted(
            {group.get(name, "") for group in groups}, key=lambda value: (not value, value)
        )
        for name in names
    }


def _external(
    client: clients.PrometheusClient,
    chosen: Chosen,
    names: Sequence[str],
    over: str,
    end_s: float,
) -> set[str]:
    """Return the labels that have several values in the inventory as well.

    Labels of nodes are on the series of kubelets alone; those of kube-state-metrics have them only
    if the server adds them to all series.
    """
    unknown = [name for name in names if name not in (*REPLICAS, *_SCRAPES)]
    if not unknown:
        return set()
    selector = selectors.select_series(chosen.inventory, chosen.where)
    values = _values(client, selector, over, end_s)
    return {name for name in unknown if len(values.get(name, ())) > 1}


def _series(
    client: clients.PrometheusClient, selector: str, names: Sequence[str], end_s: float
) -> list[dict[str, str]]:
    """Return the series of each container at the end, by its own labels and those in doubt."""
    by = ", ".join((*_CONTAINER, *_COPIES, *names))
    return [
        dict(one.labels) for one in client.query(f"count by ({by}) ({selector})", end_s).samples
    ]


def _compare(series: Iterable[dict[str, str]], name: str) -> tuple[int, int]:
    """Return how many containers a label shows several times: as copies, and as others.

    Series without cAdvisor's own labels cannot be compared; only labels of replicas and scrapes
    then mean copies.
    """
    by_container: dict[tuple[str, ...], dict[str, set[tuple[str, ...]]]] = {}
    for labels in series:
        container = tuple(labels.get(key, "") for key in _CONTAINER)
        copy = tuple(labels.get(key, "") for key in _COPIES)
        by_container.setdefault(container, {}).setdefault(labels.get(name, ""), set()).add(copy)
    copies = splits = 0
    for by_value in by_container.values():
        if len(by_value) < 2:
            continue
        shared = len(set().union(*by_value.values())) < sum(map(len, by_value.values()))
        comparable = all(any(copy) for ids in by_value.values() for copy in ids)
        same = shared if comparable else name in (*REPLICAS, *_SCRAPES)
        copies, splits = copies + same, splits + (not same)
    return copies, splits
