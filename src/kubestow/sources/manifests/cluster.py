"""Reads a cluster from manifests: ``kubectl get ... -o yaml|json`` output, folders, streams.

Deployments, StatefulSets, DaemonSets, Jobs and custom kinds with a pod template are expanded into
the pods they still lack. Other kinds do not affect placement; they are counted. What is malformed
is refused in a file that the user named, and skipped and reported in a folder, unless reading is
strict.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from kubestow.model import clusters, decoding, errors, nodes, pods, workloads
from kubestow.sources.manifests import (
    budgets,
    claims,
    custom_kinds,
    documents,
    expansion,
    renderers,
    storage,
)
from kubestow.sources.manifests import pods as pod_source

_T = TypeVar("_T")
# Groups whose kinds are read by name; "extensions" is where workloads were before "apps".
_READ_GROUPS = ("", "apps", "batch", "extensions", "policy", "storage.k8s.io", "scheduling.k8s.io")
_READ_KINDS = (
    *("Node", "Pod", "Namespace", "Service", "PriorityClass", "PodDisruptionBudget"),
    *storage.StorageReader().readers(),
)
_NAMESPACED = ("Pod", "Service", "PodDisruptionBudget", "PersistentVolumeClaim", *expansion.KINDS)
_EFFECTS = (nodes.NO_SCHEDULE, nodes.PREFER_NO_SCHEDULE, nodes.NO_EXECUTE)


def read_cluster(
    *sources: str,
    strict: bool = False,
    rules: Sequence[custom_kinds.KindRule] = (),
    nodes: Sequence[nodes.Node] = (),
) -> clusters.Cluster:
    """Read a cluster from files, folders, or ``-`` for standard input, all together.

    Args:
        sources: Files and folders.
        strict: Whether to refuse what would otherwise be skipped and reported.
        rules: How to expand custom kinds, before the built-in rules.
        nodes: Nodes to add.

    Raises:
        InputError: If nothing can be read, or something named or strict is malformed.
    """
    refusals: list[clusters.Refusal] = []
    hints: dict[str, None] = {}

    def refuse(path: Path, error: errors.InputError) -> None:
        hints.update(dict.fromkeys(renderers.hints_for_file(path)))
        refusals.append(
            clusters.Refusal(error.place, renderers.template_problem(path) or error.problem)
        )

    decoded = []
    for source in sources:
        decoded += documents.read_documents(source, None if strict else refuse)
        if not strict:
            hints |= dict.fromkeys(renderers.hints_for_folder(Path(source)))
    read = build_cluster(decoded, strict=strict, rules=rules, nodes=nodes)
    report = replace(
        read.report,
        refused=(*refusals, *read.report.refused),
        hints=tuple(hints),
    )
    return replace(read, report=report)


@dataclass(slots=True)
class _Objects:
    """The objects read so far."""

    nodes: dict[str, nodes.Node] = field(default_factory=dict)
    pods: dict[str, pods.Pod] = field(default_factory=dict)
    namespaces: dict[str, workloads.Namespace] = field(default_factory=dict)
    services: list[workloads.Service] = field(default_factory=list)
    budgets: list[workloads.DisruptionBudget] = field(default_factory=list)
    workloads: dict[str, workloads.Workload] = field(default_factory=dict)
    storage: storage.StorageReader = field(default_factory=storage.StorageReader)


@dataclass(slots=True)
class _Report:
    """What is left out so far."""

    strict: bool
    skipped: Counter[str] = field(default_factory=Counter)
    expanded: Counter[str] = field(default_factory=Counter)
    refused: list[clusters.Refusal] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def refusing(self, document: documents.Document) -> Iterator[None]:
        """Report an error of a document that may be skipped; raise any other."""
        try:
            yield
        except errors.InputError as error:
            if document.named or self.strict:
                raise
            self.refused.append(clusters.Refusal(error.place, error.problem))


@dataclass(frozen=True, slots=True)
class _Object:
    """An object of the input."""

    document: documents.Document
    group: str
    kind: str
    entry: decoding.Field

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What two manifests of one object have in common."""
        metadata = self.entry["metadata"]
        return (
            self.group,
            self.kind,
            metadata["namespace"].text("") or "default",
            metadata["name"].text(""),
        )


def build_cluster(
    decoded: Iterable[documents.Document],
    *,
    strict: bool = False,
    rules: Sequence[custom_kinds.KindRule] = (),
    nodes: Sequence[nodes.Node] = (),
) -> clusters.Cluster:
    """Build a cluster from decoded documents.

    Args:
        decoded: The documents.
        strict: Whether to refuse what would otherwise be skipped and reported.
        rules: How to expand custom kinds, before the built-in rules.
        nodes: Nodes to add.

    Raises:
        InputError: If an object that the user named is malformed, or named twice.
    """
    report = _Report(strict)
    objects: list[_Object] = []
    for document in decoded:
        other = renderers.kind_of_file(document)
        if other and not document.named:
            report.skipped[other] += 1
            continue
        with report.refusing(document):
            objects.append(_object(document))
    custom = custom_kinds.CustomKinds((*rules, *custom_kinds.RULES), _scale_paths(objects))
    objects = _without_duplicates(objects, custom, report)
    classes = _priority_classes(objects, report)
    reader = pod_source.PodReader(classes.values, peaceful=frozenset(classes.peaceful))
    objects_read = _Objects({node.name: node for node in nodes})
    readers: dict[str, Callable[[decoding.Field], None]] = {
        "Node": lambda f: _keep(objects_read.nodes, f["metadata"]["name"].text(), read_node(f), f),
        "Pod": lambda f: _keep_pod(objects_read.pods, reader.read(f), f),
        "Namespace": lambda f: _keep_namespace(objects_read.namespaces, f),
        "Service": lambda f: objects_read.services.append(read_service(f)),
        "PriorityClass": lambda _: None,  # read beforehand
        "PodDisruptionBudget": lambda f: objects_read.budgets.append(budgets.read_budget(f)),
        **objects_read.storage.readers(),
    }
    for one in objects:
        with report.refusing(one.document):
            if one.group in _READ_GROUPS and one.kind in _READ_KINDS:
                readers[one.kind](one.entry)
                continue
            made = _read_workloads(one, custom, reader)
            if made is None:
                _skip(one, report)
                continue
            for workload in made:
                _keep(objects_read.workloads, workload.key, workload, one.entry)
            if one.group not in _READ_GROUPS:
                report.expanded[one.kind] += 1
    return replace(
        _assemble(objects_read),
        report=clusters.InputReport(
            dict(report.skipped),
            dict(report.expanded),
            tuple(report.refused),
            tuple(report.duplicates),
        ),
    )


def _read_workloads(
    one: _Object, custom: custom_kinds.CustomKinds, reader: pod_source.PodReader
) -> list[workloads.Workload] | None:
    """Return the workloads of an object; ``None`` if its kind creates no pods."""
    if one.group in _READ_GROUPS:
        if one.kind not in expansion.KINDS:
            return None
        return [expansion.read_workload(one.kind, one.entry, reader)]
    return custom.read(one.group, one.kind, one.entry, reader) or None


def _skip(one: _Object, report: _Report) -> None:
    """Count an object that is not part of the cluster."""
    built_in = "." not in one.group or one.group.endswith(".k8s.io")
    if report.strict and not built_in:
        raise one.entry["kind"].refuse("a custom kind without a rule for its pods")
    report.skipped[one.kind] += 1


def _without_duplicates(
    objects: list[_Object], custom: custom_kinds.CustomKinds, report: _Report
) -> list[_Object]:
    """Drop earlier manifests of an object that a folder has more than once, if it would be read."""
    last: dict[tuple[str, str, str, str], int] = {}
    dropped: set[int] = set()
    for position, one in enumerate(objects):
        with report.refusing(one.document):
            if not _is_read(one, custom):
                continue
            identity = one.identity
            before = last.get(identity)
            last[identity] = position
            if before is None or not identity[3] or one.document.named or report.strict:
                continue
            dropped.add(before)
            scoped = f"{identity[2]}/" if one.kind in _NAMESPACED else ""
            report.duplicates.append(f"{one.kind} {scoped}{identity[3]}")
    return [one for position, one in enumerate(objects) if position not in dropped]


def _is_read(one: _Object, custom: custom_kinds.CustomKinds) -> bool:
    if one.group in _READ_GROUPS:
        return one.kind in _READ_KINDS or one.kind in expansion.KINDS
    return bool(custom.rules_for(one.group, one.kind, one.entry))


def _object(document: documents.Document) -> _Object:
    entry = decoding.Field(document.value, document.place)
    if not isinstance(document.value, dict):
        raise entry.refuse("expected a Kubernetes object (a mapping with apiVersion and kind)")
    group, slash, _ = entry["apiVersion"].text().partition("/")
    return _Object(document, group if slash else "", entry["kind"].text(), entry)


def _scale_paths(objects: list[_Object]) -> dict[tuple[str, str], str]:
    paths: dict[tuple[str, str], str] = {}
    for one in objects:
        if one.kind == "CustomResourceDefinition":
            with contextlib.suppress(errors.InputError):
                paths |= custom_kinds.scale_paths(one.entry)
    return paths


@dataclass(slots=True)
class _PriorityClasses:
    """Priority classes by name; the global default has the empty name.

    Attributes:
        values: Value of each class.
        peaceful: Classes whose pods do not preempt.
    """

    # The two classes every cluster has (pkg/apis/scheduling/types.go).
    values: dict[str, int] = field(
        default_factory=lambda: {
            "system-node-critical": 2_000_001_000,
            "system-cluster-critical": 2_000_000_000,
        }
    )
    peaceful: set[str] = field(default_factory=set)

    def add(self, entry: decoding.Field) -> None:
        """Add a PriorityClass."""
        value, default = entry["value"].integer(0), entry["globalDefault"].truth()
        names = {entry["metadata"]["name"].text()} | ({""} if default else set())
        self.values |= dict.fromkeys(names, value)
        if entry["preemptionPolicy"].text("") == "Never":
            self.peaceful |= names


def _priority_classes(objects: list[_Object], report: _Report) -> _PriorityClasses:
    classes = _PriorityClasses()
    for one in objects:
        if one.kind == "PriorityClass":
            with report.refusing(one.document):
                classes.add(one.entry)
    return classes


def _keep(known: dict[str, _T], name: str, value: _T, entry: decoding.Field) -> None:
    if name in known:
        raise entry["metadata"]["name"].refuse(f"duplicate {entry['kind'].text()}")
    known[name] = value


def _keep_pod(known: dict[str, pods.Pod], pod: pods.Pod, entry: decoding.Field) -> None:
    entry["metadata"]["name"].text()
    if not pod.status.finished:  # a finished pod holds no resources
        _keep(known, pod.key, pod, entry)


def _keep_namespace(known: dict[str, workloads.Namespace], entry: decoding.Field) -> None:
    metadata = entry["metadata"]
    name = metadata["name"].text()
    _keep(known, name, workloads.Namespace(name, metadata["labels"].labels()), entry)


def read_node(entry: decoding.Field) -> nodes.Node:
    """Read a node from its document."""
    metadata, spec, status = entry["metadata"], entry["spec"], entry["status"]
    offered = status["allocatable"] if not status["allocatable"].missing else status["capacity"]
    return nodes.Node(
        name=metadata["name"].text(),
        labels=metadata["labels"].labels(),
        allocatable=offered.quantities(),
        unschedulable=spec["unschedulable"].truth(),
        taints=tuple(
            nodes.Taint(t["key"].text(), t["value"].text(""), t["effect"].choice(_EFFECTS))
            for t in spec["taints"].items()
        ),
        images=tuple(
            nodes.NodeImage(image["names"].texts(), image["sizeBytes"].integer(0, least=0))
            for image in status["images"].items()
        ),
    )


def read_service(entry: decoding.Field) -> workloads.Service:
    """Read a service from its document."""
    selector = entry["spec"]["selector"]
    return workloads.Service(
        name=entry["metadata"]["name"].text(),
        namespace=entry["metadata"]["namespace"].text("") or "default",
        selector=None if selector.missing else selector.labels(),
    )


def _assemble(objects_read: _Objects) -> clusters.Cluster:
    cluster = clusters.Cluster(
        nodes=tuple(objects_read.nodes.values()),
        pods=tuple(objects_read.pods.values()),
        namespaces=objects_read.namespaces,
        services=tuple(objects_read.services),
        budgets=tuple(objects_read.budgets),
    )
    made, controllers = expansion.expand(objects_read.workloads, cluster)
    made = [claims.with_claims(pod, controllers) for pod in made]
    unstored = [*(pod for pod in cluster.pods if not pod.uid), *made]
    return replace(
        cluster,
        pods=(*cluster.pods, *made),
        controllers=controllers,
        storage=claims.settle(objects_read.storage, unstored, controllers),
    )
