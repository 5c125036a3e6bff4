"""Read usage of a whole cluster from Prometheus, in few queries.

Usage is read as two ranges for all containers at once, paged so that no response exceeds some
megabytes, the newest page first; everything else is one query each. Where a metric is missing (a
cluster without kube-state-metrics, a runtime without OOM events), the results that depend on it are
omitted, with a note. Pods are traced to their workloads by owners, so that deleted pods count, too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kubestow.model import decoding, errors, quantities, resources, usage
from kubestow.model.arrays import Floats
from kubestow.model.keys import ContainerKey, WorkloadKey, guess_job_owner
from kubestow.model.usage import Usage
from kubestow.sources import prometheus
from kubestow.sources.prometheus import Matcher
from kubestow.sources.usage import queries as usage_queries

Watch = Callable[[str, float], None]

USAGE_STEP_S: Final = 300.0
HISTORY_S: Final = 8 * 86400.0
# Defaults of krr: ``--timeframe_duration 1.25`` minutes, ``--history_duration 336`` hours.
KRR_STEP_S: Final = 75.0
KRR_HISTORY_S: Final = 14 * 86400.0
# Points of all series in one response: about 25 bytes each, so some 3 MB.
_PAGE_POINTS: Final = 120_000
_UNITS: Final = {"cpu": resources.CPU, "memory": resources.MEMORY}


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """The range and scope to read.

    Attributes:
        end_s: End in seconds since the epoch.
        history_s: Length of the history in seconds.
        step_s: Seconds between two points.
        namespaces: Namespaces to read, or patterns with ``*`` and ``?``; all if empty.
        with_labels: Whether to read all labels of pods, not only those that name workloads.
        as_krr: Whether to read what krr reads: instant values with their page cache.
        origin: Conditions on external labels, such as the cluster.
    """

    end_s: float
    history_s: float = HISTORY_S
    step_s: float = USAGE_STEP_S
    namespaces: tuple[str, ...] = ()
    with_labels: bool = False
    as_krr: bool = False
    origin: tuple[Matcher, ...] = ()

    @property
    def where(self) -> tuple[Matcher, ...]:
        """Conditions on labels."""
        if not self.namespaces:
            return self.origin
        names = "|".join(map(namespace_regex, self.namespaces))
        return (*self.origin, Matcher("namespace", "=~", names))


def namespace_regex(pattern: str) -> str:
    r"""Return a name of a namespace, or a pattern of names, as regular expression.

    >>> namespace_regex("team-*")
    'team\\-.*'
    """
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


@dataclass(slots=True)
class _Reading:
    """State of a read: notes on missing metrics, and progress."""

    client: prometheus.PrometheusClient
    query: UsageQuery
    watch: Watch
    notes: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    cache: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    def ask(
        self, what: str, promql: str, done: float, lost: str = "", *, rare: bool = False
    ) -> tuple[prometheus.InstantSample, ...]:
        """Run a query whose metric may be missing; a refusal becomes a note.

        Args:
            what: Name of what is read.
            promql: The query.
            done: Share of the read that is done.
            lost: The consequence of missing data; empty where a cluster often has none.
            rare: Whether most clusters have none, so that nothing is noted.
        """
        self.watch(what, done)
        try:
            answer = self.client.query(promql, self.query.end_s)
        except prometheus.ReadError as err:
            if err.kind == prometheus.REFUSED:
                self.notes.append(f"{what}: {err.problem}")
                return ()
            raise
        if not answer.samples and lost:
            self.notes.append(f"{what}: no data on the server; {lost}")
        elif not answer.samples and not rare:
            self.absent.append(what)
        return answer.samples

    def all_notes(self) -> tuple[str, ...]:
        """Return all notes; metrics that are often missing share one."""
        if not self.absent:
            return tuple(self.notes)
        return (*self.notes, f"no data on the server: {', '.join(self.absent)}")


def read_prometheus_usage(
    client: prometheus.PrometheusClient, query: UsageQuery, watch: Watch = lambda *_: None
) -> tuple[Usage, usage.Inventory]:
    """Read usage and inventory.

    Args:
        client: Client of the server.
        query: The range and scope to read.
        watch: Called with the name of what is read and the share that is done.

    Raises:
        InputError: If the server has no usage of any container, or does not respond.
    """
    reading = _Reading(client, query, watch)
    _examine_origins(reading)
    measured = _usage(reading)
    series = sorted({name for one in measured for name in _names(one)})
    if not series:
        raise errors.InputError(client.place, _why_empty(reading))
    workloads = _workloads(reading, {(name[0], name[1]) for name in series})
    table = _table(reading, series, workloads, measured)
    inventory = _inventory(reading, workloads)
    return replace(table, notes=(*table.notes, *reading.all_notes())), inventory


def _examine_origins(reading: _Reading) -> None:
    """Refuse usage of several clusters, and note copies of the same usage."""
    reading.watch("origins", 0.0)
    query = reading.query
    chosen = prometheus.Chosen(usage_queries.USAGE, query.where)
    reading.notes.extend(
        prometheus.examine_origins(
            reading.client, chosen, usage_queries.REAL, query.end_s, query.history_s
        )
    )


def _why_empty(reading: _Reading) -> str:
    """Return why there is no usage: no such metrics at all, or no such namespace."""
    query = reading.query
    lacking = (
        "has no container_memory_working_set_bytes and no "
        "container_cpu_usage_seconds_total in that time"
    )
    if not query.namespaces:
        return lacking
    asked = ", ".join(query.namespaces)
    promql = usage_queries.namespaces(query.origin, query.history_s)
    samples = reading.ask("namespaces", promql, 1.0)
    known = sorted({dict(sample.labels).get("namespace", "") for sample in samples} - {""})
    if not known:
        return lacking
    near = difflib.get_close_matches(query.namespaces[0], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there is usage of {', '.join(known[:5])}"
    return f"has no usage of namespace {asked} in that time; {hint}"


def _usage(reading: _Reading) -> list[prometheus.Range]:
    """Return CPU and memory."""
    query = reading.query
    lost = "there is no container_memory_working_set_bytes"
    reading.cache = _cache(reading)
    promql = usage_queries.count(query.where, query.history_s)
    samples = reading.ask("containers", promql, 0.0, lost)
    containers = max(int(samples[0].value) if samples else 1, 1)
    page = max(_PAGE_POINTS // containers, 1)
    # Steps are multiples of their length; the history ends with the last whole one.
    end_s = query.end_s // query.step_s * query.step_s
    start_s = end_s - query.history_s + query.step_s
    steps = prometheus.align_steps(start_s, end_s, query.step_s)
    pages = list(steps.pages(min(page, prometheus.PAGE)))
    read: list[tuple[prometheus.Range, prometheus.Range]] = []
    try:
        # The newest first, so that an interrupted read has the most important part.
        for number, part in enumerate(reversed(pages)):
            read.append(_part(reading, part, number / len(pages), 1.0 / len(pages)))
    except KeyboardInterrupt:
        if not read:
            raise
        known_s = sum(part[0].steps.count for part in read) * query.step_s
        reading.notes.append(
            f"interrupted: only the last {decoding.format_duration(known_s)} of usage count"
        )
    cpu, memory = zip(*reversed(read), strict=True)
    return [prometheus.join_pages(cpu), prometheus.join_pages(memory)]


def _part(
    reading: _Reading, part: prometheus.Steps, begin: float, share: float
) -> tuple[prometheus.Range, prometheus.Range]:
    """Read CPU and memory of a part of the history.

    Args:
        reading: State of the read.
        part: The steps to read.
        begin: Share of usage read before.
        share: Share of usage in this part.
    """
    query = reading.query
    queries = (
        ("CPU", _cpu_query(query)),
        ("memory", _memory_query(reading)),
    )
    ranges = []
    for place, (what, promql) in enumerate(queries):
        reading.watch(what, 0.02 + 0.84 * (begin + share * place / len(queries)))
        ranges.append(
            reading.client.query_range(
                promql, part.start_ms / 1000.0, part.end_ms / 1000.0, query.step_s
            )
        )
    return ranges[0], ranges[1]


def _cpu_query(query: UsageQuery) -> str:
    ask = usage_queries.krr_cpu if query.as_krr else usage_queries.cpu
    return ask(query.where, query.step_s)


def _memory_query(reading: _Reading) -> str:
    query = reading.query
    if query.as_krr:
        return usage_queries.krr_memory(query.where)
    if reading.cache:
        return usage_queries.memory_without_cache(query.where, query.step_s)
    return usage_queries.memory(query.where, query.step_s)


def _cache(reading: _Reading) -> dict[Name, float]:
    """Return the largest page cache of each container, and note whether it is left out."""
    query = reading.query
    if query.as_krr:
        return {}
    lost = "memory is the working set with its page cache"
    samples = reading.ask(
        "page cache", usage_queries.cache(query.where, query.history_s), 0.0, lost
    )
    caches = {_name(one.labels): one.value for one in samples if np.isfinite(one.value)}
    if caches:
        reading.notes.append(
            f"page cache: left out of the memory of {len(caches)} containers of pods, "
            f"at most {max(caches.values()) / 2**20:.0f} MiB of one"
        )
    return caches


Name = tuple[str, str, str]


def _names(series: prometheus.Range) -> list[Name]:
    return [_name(labels) for labels in series.labels]


def _name(labels: prometheus.Labels) -> Name:
    label_values = dict(labels)
    return (
        label_values.get("namespace", ""),
        label_values.get("pod", ""),
        label_values.get("container", ""),
    )


def _workloads(
    reading: _Reading, pods: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], WorkloadKey]:
    """Trace pods to their workloads; a pod without a known owner is its own workload."""
    where, history_s = reading.query.where, reading.query.history_s
    lost = "every pod counts as a workload (is kube-state-metrics scraped?)"
    owned = _owners(
        reading.ask("owners", usage_queries.owners(where, history_s), 0.86, lost), "pod"
    )
    sets = _owners(
        reading.ask(
            "ReplicaSets",
            usage_queries.controllers("kube_replicaset_owner", "replicaset", where, history_s),
            0.88,
        ),
        "replicaset",
    )
    jobs = _owners(
        reading.ask(
            "jobs",
            usage_queries.controllers("kube_job_owner", "job_name", where, history_s),
            0.89,
        ),
        "job_name",
    )
    workloads = {}
    for namespace, pod in pods:
        kind, name = owned.get((namespace, pod), ("Pod", pod))
        if kind == "ReplicaSet":
            kind, name = sets.get((namespace, name), (kind, name))
        elif kind == "Job":
            kind, name = jobs.get((namespace, name), (kind, name))
            if kind == "Job":
                kind, name = guess_job_owner(name)
        workloads[namespace, pod] = WorkloadKey(namespace, kind, name)
    return workloads


def _owners(
    samples: Sequence[prometheus.InstantSample], label: str
) -> dict[tuple[str, str], tuple[str, str]]:
    owners = {}
    for sample in samples:
        label_values = dict(sample.labels)
        kind = label_values.get("owner_kind", "")
        # kube-state-metrics writes <none> where there is no owner.
        # A static pod belongs to its node, which is not a workload.
        if kind and not kind.startswith("<") and kind != "Node":
            key = (label_values.get("namespace", ""), label_values.get(label, ""))
            owners[key] = (kind, label_values.get("owner_name", ""))
    return owners


def _table(
    reading: _Reading,
    series: Sequence[Name],
    workloads: Mapping[tuple[str, str], WorkloadKey],
    measured: list[prometheus.Range],
) -> Usage:
    """Return the usage of all containers; the ranges are consumed, since they are large."""
    keys = [
        ContainerKey(*workloads[namespace, pod], container) for namespace, pod, container in series
    ]
    order = sorted(range(len(series)), key=lambda place: (keys[place], series[place]))
    containers = tuple(dict.fromkeys(keys[place] for place in order))
    places = {key: place for place, key in enumerate(containers)}
    rows = {series[place]: row for row, place in enumerate(order)}
    steps = measured[0].steps
    warnings = tuple(warning for one in measured for warning in one.warnings)
    grids = []
    while measured:
        part = measured.pop(0)
        grid = np.full((len(series), steps.count), np.nan)
        grid[[rows[name] for name in _names(part)]] = part.values
        grids.append(grid)
    owners = np.array([places[keys[place]] for place in order], dtype=np.int64)
    throttled, kills = _shortages(reading, rows, owners, len(containers))
    cache = np.full(len(containers), np.nan)
    for name, largest in reading.cache.items():
        if name in rows:
            place = owners[rows[name]]
            cache[place] = np.fmax(cache[place], largest)
    return Usage(
        containers=containers,
        pods=tuple(series[place][1] for place in order),
        owners=owners,
        step_s=reading.query.step_s,
        end_s=(steps.start_ms + (steps.count - 1) * steps.step_ms) / 1000.0,
        cpu_cores=grids[0],
        memory_bytes=grids[1],
        throttled=throttled,
        oom_kills=kills,
        oom_killed_bytes=np.zeros(len(containers)),
        notes=warnings,
        cache_bytes=cache if reading.cache else None,
    )


def _shortages(
    reading: _Reading, rows: Mapping[Name, int], owners: NDArray[np.int64], count: int
) -> tuple[Floats, Floats]:
    """Return mean throttling and OOM kills by container."""
    where, history_s = reading.query.where, reading.query.history_s
    kills = np.zeros(count)
    for what, promql, done in (
        ("OOM kills", usage_queries.kills(where, history_s), 0.9),
        ("OOM events", usage_queries.kill_events(where, history_s), 0.91),
    ):
        per_row = np.zeros(len(rows))
        for sample in reading.ask(what, promql, done):
            row = rows.get(_name(sample.labels))
            if row is not None and np.isfinite(sample.value):
                per_row[row] = sample.value
        # increase() extrapolates to the whole window, so that one kill may be 1.0003.
        whole = np.where(per_row > 0.0, np.maximum(np.rint(per_row), 1.0), 0.0)
        kills = np.maximum(kills, np.bincount(owners, whole, count))
    total, counted = np.zeros(count), np.zeros(count)
    for sample in reading.ask("throttling", usage_queries.throttling(where, history_s), 0.92):
        row = rows.get(_name(sample.labels))
        if row is not None and np.isfinite(sample.value):
            total[owners[row]] += sample.value
            counted[owners[row]] += 1.0
    return np.where(counted > 0.0, total / np.maximum(counted, 1.0), np.nan), kills


def _inventory(
    reading: _Reading, workloads: Mapping[tuple[str, str], WorkloadKey]
) -> usage.Inventory:
    # The order of the queries: keyword arguments are evaluated as written.
    return usage.Inventory(
        containers=_facts(reading, workloads),
        nodes=_nodes(reading),
        autoscaled=_autoscaled(reading),
        labels=_labels(reading, workloads),
    )


def _facts(
    reading: _Reading, workloads: Mapping[tuple[str, str], WorkloadKey]
) -> dict[ContainerKey, usage.ContainerFacts]:
    """Return requests and limits; where pods differ, during a rollout, the larger counts."""
    where = reading.query.where
    amounts: dict[ContainerKey, dict[str, dict[str, float]]] = {}
    for part, metric, done in (
        ("requests", "kube_pod_container_resource_requests", 0.93),
        ("limits", "kube_pod_container_resource_limits", 0.94),
    ):
        lost = "freed resources are unknown" if part == "requests" else ""
        for sample in reading.ask(part, usage_queries.stated(metric, where), done, lost):
            key = _key(sample.labels, workloads)
            resource = _UNITS.get(dict(sample.labels).get("resource", ""))
            if key is None or resource is None or not np.isfinite(sample.value):
                continue
            known = amounts.setdefault(key, {"requests": {}, "limits": {}})[part]
            known[resource] = max(known.get(resource, 0.0), sample.value)
    heaps: dict[ContainerKey, int] = {}
    query = usage_queries.heaps(where, reading.query.history_s)
    for sample in reading.ask("Java heaps", query, 0.95):
        key = _key(sample.labels, workloads)
        if key is not None and np.isfinite(sample.value) and sample.value > 0.0:
            heaps[key] = max(heaps.get(key, 0), int(sample.value))
    return {
        key: usage.ContainerFacts(
            _quantities(amounts.get(key, {}).get("requests", {})),
            _quantities(amounts.get(key, {}).get("limits", {})),
            heap_bytes=heaps.get(key),
        )
        for key in dict.fromkeys((*amounts, *heaps))
    }


def _key(
    labels: prometheus.Labels, workloads: Mapping[tuple[str, str], WorkloadKey]
) -> ContainerKey | None:
    namespace, pod, container = _name(labels)
    workload = workloads.get((namespace, pod))
    return None if workload is None else ContainerKey(*workload, container)


def _quantities(amounts: Mapping[str, float]) -> dict[str, quantities.Quantity]:
    result = {}
    for name, value in amounts.items():
        if name == resources.CPU:
            result[name] = quantities.millis(round(value * 1000.0))
        else:
            result[name] = quantities.units(round(value), quantities.Format.BINARY_SI)
    return result


def _nodes(reading: _Reading) -> dict[str, resources.ResourceList]:
    nodes: dict[str, dict[str, quantities.Quantity]] = {}
    for sample in reading.ask(
        "nodes",
        usage_queries.nodes(reading.query.origin),
        0.96,
        "pods are not capped to node sizes",
    ):
        label_values = dict(sample.labels)
        name, resource = label_values.get("node", ""), label_values.get("resource", "")
        if name and np.isfinite(sample.value):
            amount = (
                quantities.millis(round(sample.value * 1000.0))
                if resource == resources.CPU
                else quantities.units(round(sample.value))
            )
            nodes.setdefault(name, {})[resource] = amount
    return {
        name: stated
        for name, stated in sorted(nodes.items())
        if resources.CPU in stated and resources.MEMORY in stated
    }


def _autoscaled(reading: _Reading) -> dict[WorkloadKey, dict[str, int]]:
    where = reading.query.where
    targets = reading.ask("autoscalers", usage_queries.autoscaler_targets(where), 0.97)
    if not targets:
        return {}
    objects = {}
    for sample in reading.ask("autoscaled objects", usage_queries.autoscaled_objects(where), 0.98):
        label_values = dict(sample.labels)
        key = (label_values.get("namespace", ""), label_values.get("horizontalpodautoscaler", ""))
        objects[key] = WorkloadKey(
            key[0],
            label_values.get("scaletargetref_kind", ""),
            label_values.get("scaletargetref_name", ""),
        )
    autoscaled: dict[WorkloadKey, dict[str, int]] = {}
    for sample in targets:
        label_values = dict(sample.labels)
        workload = objects.get(
            (label_values.get("namespace", ""), label_values.get("horizontalpodautoscaler", ""))
        )
        if workload is not None and np.isfinite(sample.value):
            autoscaled.setdefault(workload, {})[label_values.get("metric_name", "")] = round(
                sample.value
            )
    return autoscaled


def _labels(
    reading: _Reading, workloads: Mapping[tuple[str, str], WorkloadKey]
) -> dict[WorkloadKey, dict[str, str]]:
    query = reading.query
    asked = usage_queries.identity_labels(query.where, query.history_s)
    if query.with_labels:
        asked = f"{usage_queries.labels(query.where)} or {asked}"
    labels_by_workload: dict[WorkloadKey, dict[str, str]] = {}
    for sample in reading.ask("labels", asked, 0.99, rare=not query.with_labels):
        label_values = dict(sample.labels)
        workload = workloads.get((label_values.get("namespace", ""), label_values.get("pod", "")))
        if workload is not None:
            # kube-state-metrics prefixes names with label_ and replaces other characters by _.
            labels_by_workload.setdefault(workload, {}).update(
                {
                    name.removeprefix("label_"): value
                    for name, value in label_values.items()
                    if name.startswith("label_")
                }
            )
    return labels_by_workload
