"""Usage of a whole cluster out of a Prometheus, in few questions.

Usage is asked for as two ranges for all containers at once, paged so that no answer grows beyond
some megabytes, the newest page first; everything else is one question each. What is not there (a
cluster without kube-state-metrics, a runtime without OOM events) leaves out what it feeds, and a
note says so. Pods are traced to their workloads by owners, so that pods that are gone count, too.
"""

from __future__ import annotations

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
# Points of all series in one answer: about 25 bytes each, so some 20 MB.
_PAGE_POINTS: Final = 800_000
_UNITS: Final = {"cpu": resources.CPU, "memory": resources.MEMORY}


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """What to read.

    Attributes:
        end_s: Until when, seconds since the epoch.
        history_s: How far back.
        step_s: Distance of two points.
        namespaces: Only these; all if empty.
        with_labels: Whether labels of pods are wanted.
    """

    end_s: float
    history_s: float = HISTORY_S
    step_s: float = USAGE_STEP_S
    namespaces: tuple[str, ...] = ()
    with_labels: bool = False

    @property
    def where(self) -> tuple[Matcher, ...]:
        """Conditions on labels."""
        if not self.namespaces:
            return ()
        return (Matcher("namespace", "=~", "|".join(re.escape(n) for n in self.namespaces)),)


@dataclass(slots=True)
class _Reading:
    """One reading on its way: what was left out, and how far it is."""

    client: prometheus.PrometheusClient
    question: UsageQuery
    watch: Watch
    notes: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def ask(
        self, what: str, promql: str, done: float, lost: str = ""
    ) -> tuple[prometheus.InstantSample, ...]:
        """Ask something that may be missing; a refusal is a note.

        Args:
            what: What is asked for.
            promql: The question.
            done: Share of the reading that is done.
            lost: What goes wrong without it; empty for what a cluster may well not have.
        """
        self.watch(what, done)
        try:
            answer = self.client.query(promql, self.question.end_s)
        except prometheus.ReadError as err:
            if err.kind == prometheus.REFUSED:
                self.notes.append(f"{what}: {err.problem}")
                return ()
            raise
        if not answer.samples and lost:
            self.notes.append(f"{what}: none known to the server; {lost}")
        elif not answer.samples:
            self.absent.append(what)
        return answer.samples

    def told(self) -> tuple[str, ...]:
        """Return all notes; what may simply not be there shares one."""
        if not self.absent:
            return tuple(self.notes)
        return (*self.notes, f"none known to the server: {', '.join(self.absent)}")


def read_prometheus_usage(
    client: prometheus.PrometheusClient, question: UsageQuery, watch: Watch = lambda *_: None
) -> tuple[Usage, usage.Inventory]:
    """Read usage and everything that goes with it.

    Args:
        client: Asks the server.
        question: What to read.
        watch: Is told what is being read, and the share that is done.

    Raises:
        InputError: If the server has no usage of any container, or does not answer.
    """
    reading = _Reading(client, question, watch)
    cpu, memory = _usage(reading)
    series = sorted({*_names(cpu), *_names(memory)})
    if not series:
        raise errors.InputError(
            client.place,
            "has no container_memory_working_set_bytes and no "
            "container_cpu_usage_seconds_total in that time",
        )
    workloads = _workloads(reading, {(name[0], name[1]) for name in series})
    table = _table(reading, series, workloads, cpu, memory)
    inventory = _inventory(reading, workloads)
    return replace(table, notes=(*table.notes, *reading.told())), inventory


def _usage(reading: _Reading) -> tuple[prometheus.Range, prometheus.Range]:
    question = reading.question
    lost = "there is no container_memory_working_set_bytes"
    promql = usage_queries.count(question.where, question.history_s)
    found = reading.ask("containers", promql, 0.0, lost)
    containers = max(int(found[0].value) if found else 1, 1)
    page = max(_PAGE_POINTS // containers, 1)
    # Steps stand on multiples of their length; a whole history of them ends with the last one.
    end_s = question.end_s // question.step_s * question.step_s
    start_s = end_s - question.history_s + question.step_s
    steps = prometheus.align_steps(start_s, end_s, question.step_s)
    pages = list(steps.pages(min(page, prometheus.PAGE)))
    read: list[tuple[prometheus.Range, prometheus.Range]] = []
    try:
        # The newest first: whoever does not wait for the rest has what matters most.
        for number, part in enumerate(reversed(pages)):
            read.append(_part(reading, part, number / len(pages), 1.0 / len(pages)))
    except KeyboardInterrupt:
        if not read:
            raise
        known_s = sum(part[0].steps.count for part in read) * question.step_s
        reading.notes.append(
            "reading was interrupted: only the last "
            f"{decoding.format_duration(known_s)} of usage count"
        )
    cpu, memory = zip(*reversed(read), strict=True)
    return prometheus.join_pages(cpu), prometheus.join_pages(memory)


def _part(
    reading: _Reading, part: prometheus.Steps, begin: float, share: float
) -> tuple[prometheus.Range, prometheus.Range]:
    """Read CPU and memory of a part of the history.

    Args:
        reading: What is being read.
        part: The moments.
        begin: Share of usage that was read before.
        share: Share of usage that this is.
    """
    question = reading.question
    queries = (
        ("CPU", usage_queries.cpu(question.where, question.step_s)),
        ("memory", usage_queries.memory(question.where, question.step_s)),
    )
    found = []
    for place, (what, promql) in enumerate(queries):
        reading.watch(what, 0.02 + 0.84 * (begin + share * place / len(queries)))
        found.append(
            reading.client.query_range(
                promql, part.start_ms / 1000.0, part.end_ms / 1000.0, question.step_s
            )
        )
    return found[0], found[1]


Name = tuple[str, str, str]


def _names(found: prometheus.Range) -> list[Name]:
    return [_name(labels) for labels in found.labels]


def _name(labels: prometheus.Labels) -> Name:
    told = dict(labels)
    return told.get("namespace", ""), told.get("pod", ""), told.get("container", "")


def _workloads(
    reading: _Reading, pods: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], WorkloadKey]:
    """Trace pods to their workloads; a pod without a known owner stands for itself."""
    where, history_s = reading.question.where, reading.question.history_s
    lost = "every pod stands for itself (is kube-state-metrics scraped?)"
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
    found = {}
    for namespace, pod in pods:
        kind, name = owned.get((namespace, pod), ("Pod", pod))
        if kind == "ReplicaSet":
            kind, name = sets.get((namespace, name), (kind, name))
        elif kind == "Job":
            kind, name = jobs.get((namespace, name), (kind, name))
            if kind == "Job":
                kind, name = guess_job_owner(name)
        found[namespace, pod] = WorkloadKey(namespace, kind, name)
    return found


def _owners(
    samples: Sequence[prometheus.InstantSample], label: str
) -> dict[tuple[str, str], tuple[str, str]]:
    found = {}
    for sample in samples:
        told = dict(sample.labels)
        kind = told.get("owner_kind", "")
        # kube-state-metrics writes <none> where there is no owner.
        # A static pod belongs to its node, which is no workload.
        if kind and not kind.startswith("<") and kind != "Node":
            key = (told.get("namespace", ""), told.get(label, ""))
            found[key] = (kind, told.get("owner_name", ""))
    return found


def _table(
    reading: _Reading,
    series: Sequence[Name],
    workloads: Mapping[tuple[str, str], WorkloadKey],
    cpu: prometheus.Range,
    memory: prometheus.Range,
) -> Usage:
    keys = [
        ContainerKey(*workloads[namespace, pod], container) for namespace, pod, container in series
    ]
    order = sorted(range(len(series)), key=lambda place: (keys[place], series[place]))
    containers = tuple(dict.fromkeys(keys[place] for place in order))
    places = {key: place for place, key in enumerate(containers)}
    rows = {series[place]: row for row, place in enumerate(order)}
    points = cpu.values.shape[1]
    grids = []
    for found in (cpu, memory):
        grid = np.full((len(series), points), np.nan)
        for name, values in zip(_names(found), found.values, strict=True):
            grid[rows[name]] = values
        grids.append(grid)
    owners = np.array([places[keys[place]] for place in order], dtype=np.int64)
    throttled, kills = _shortages(reading, rows, owners, len(containers))
    return Usage(
        containers=containers,
        pods=tuple(series[place][1] for place in order),
        owners=owners,
        step_s=reading.question.step_s,
        end_s=cpu.steps.start_ms / 1000.0 + (points - 1) * cpu.steps.step_ms / 1000.0,
        cpu_cores=grids[0],
        memory_bytes=grids[1],
        throttled=throttled,
        oom_kills=kills,
        oom_killed_bytes=np.zeros(len(containers)),
        notes=(*cpu.warnings, *memory.warnings),
    )


def _shortages(
    reading: _Reading, rows: Mapping[Name, int], owners: NDArray[np.int64], count: int
) -> tuple[Floats, Floats]:
    """Return mean throttling and OOM kills by container."""
    where, history_s = reading.question.where, reading.question.history_s
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
        # An increase is extended to the whole window, so that one kill may read 1.0003.
        whole = np.where(per_row > 0.0, np.maximum(np.rint(per_row), 1.0), 0.0)
        kills = np.maximum(kills, np.bincount(owners, whole, count))
    total, seen = np.zeros(count), np.zeros(count)
    for sample in reading.ask("throttling", usage_queries.throttling(where, history_s), 0.92):
        row = rows.get(_name(sample.labels))
        if row is not None and np.isfinite(sample.value):
            total[owners[row]] += sample.value
            seen[owners[row]] += 1.0
    return np.where(seen > 0.0, total / np.maximum(seen, 1.0), np.nan), kills


def _inventory(
    reading: _Reading, workloads: Mapping[tuple[str, str], WorkloadKey]
) -> usage.Inventory:
    # In the order of the questions: keyword arguments are worked out as they are written.
    return usage.Inventory(
        containers=_facts(reading, workloads),
        nodes=_nodes(reading),
        autoscaled=_autoscaled(reading),
        labels=_labels(reading, workloads) if reading.question.with_labels else {},
    )


def _facts(
    reading: _Reading, workloads: Mapping[tuple[str, str], WorkloadKey]
) -> dict[ContainerKey, usage.ContainerFacts]:
    """Return requests and limits; of pods that differ, during a rollout, the larger counts."""
    where = reading.question.where
    amounts: dict[ContainerKey, dict[str, dict[str, float]]] = {}
    for part, metric, done in (
        ("requests", "kube_pod_container_resource_requests", 0.93),
        ("limits", "kube_pod_container_resource_limits", 0.94),
    ):
        lost = "nothing is known to be freed" if part == "requests" else ""
        for sample in reading.ask(part, usage_queries.stated(metric, where), done, lost):
            key = _key(sample.labels, workloads)
            resource = _UNITS.get(dict(sample.labels).get("resource", ""))
            if key is None or resource is None or not np.isfinite(sample.value):
                continue
            known = amounts.setdefault(key, {"requests": {}, "limits": {}})[part]
            known[resource] = max(known.get(resource, 0.0), sample.value)
    heaps: dict[ContainerKey, int] = {}
    question = usage_queries.heaps(where, reading.question.history_s)
    for sample in reading.ask("Java heaps", question, 0.95):
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
    found = {}
    for name, value in amounts.items():
        if name == resources.CPU:
            found[name] = quantities.millis(round(value * 1000.0))
        else:
            found[name] = quantities.units(round(value), quantities.Format.BINARY_SI)
    return found


def _nodes(reading: _Reading) -> dict[str, resources.ResourceList]:
    found: dict[str, dict[str, quantities.Quantity]] = {}
    for sample in reading.ask("nodes", usage_queries.nodes(), 0.96, "pods are not made to fit"):
        told = dict(sample.labels)
        name, resource = told.get("node", ""), told.get("resource", "")
        if name and np.isfinite(sample.value):
            amount = (
                quantities.millis(round(sample.value * 1000.0))
                if resource == resources.CPU
                else quantities.units(round(sample.value))
            )
            found.setdefault(name, {})[resource] = amount
    return {
        name: stated
        for name, stated in sorted(found.items())
        if resources.CPU in stated and resources.MEMORY in stated
    }


def _autoscaled(reading: _Reading) -> dict[WorkloadKey, dict[str, int]]:
    where = reading.question.where
    targets = reading.ask("autoscalers", usage_queries.autoscaler_targets(where), 0.97)
    if not targets:
        return {}
    objects = {}
    for sample in reading.ask("autoscaled objects", usage_queries.autoscaled_objects(where), 0.98):
        told = dict(sample.labels)
        key = (told.get("namespace", ""), told.get("horizontalpodautoscaler", ""))
        objects[key] = WorkloadKey(
            key[0], told.get("scaletargetref_kind", ""), told.get("scaletargetref_name", "")
        )
    found: dict[WorkloadKey, dict[str, int]] = {}
    for sample in targets:
        told = dict(sample.labels)
        workload = objects.get((told.get("namespace", ""), told.get("horizontalpodautoscaler", "")))
        if workload is not None and np.isfinite(sample.value):
            found.setdefault(workload, {})[told.get("metric_name", "")] = round(sample.value)
    return found


def _labels(
    reading: _Reading, workloads: Mapping[tuple[str, str], WorkloadKey]
) -> dict[WorkloadKey, dict[str, str]]:
    found: dict[WorkloadKey, dict[str, str]] = {}
    for sample in reading.ask("labels", usage_queries.labels(reading.question.where), 0.99):
        told = dict(sample.labels)
        workload = workloads.get((told.get("namespace", ""), told.get("pod", "")))
        if workload is not None:
            # kube-state-metrics writes label_ before the name and _ for what is no letter.
            found.setdefault(workload, {}).update(
                {
                    name.removeprefix("label_"): value
                    for name, value in told.items()
                    if name.startswith("label_")
                }
            )
    return found
