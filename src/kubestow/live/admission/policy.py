"""The admission policy: which pods it changes, how limits are set, and bounds of requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from kubestow.live.caches import NamespaceFacts
from kubestow.model import errors, pods, resources
from kubestow.policies.sizing.recommendations import MIN_EVIDENCE

MANAGED_LABEL: Final = "kubestow.io/managed"
FREEZE: Final = "kubestow.io/freeze"
MODE: Final = "kubestow.io/mode"
CHANGED: Final = "kubestow.io/changed"
WOULD_CHANGE: Final = "kubestow.io/would-change"

LimitRule = Literal["none", "request", "keep", "scale", "untouched", "factor"]
"""``none``: no limit. ``request``: equal to the request. ``keep``: unchanged, but raised to the
request. ``scale``: in the same proportion to the request as before. ``untouched``: unchanged, and
caps the request. ``factor``: a multiple of the request."""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """Parameters of admission.

    Attributes:
        labels: A pod, and its namespace, must have one of these with the value ``true``.
        id_labels: Labels that name a workload; the first one present is used.
        check_namespaces: Also require the label on the namespace, if that is known. The API
            server's namespaceSelector does the same.
        dry_run: Change nothing; only report what would be changed.
        frozen: Workloads that are not changed, as ``namespace/kind/name``.
        cpu_limit: Rule for CPU limits; without a limit, containers can use idle CPU (Böttcher
            2023, 3.11).
        memory_limit: Rule for memory limits; equal to the request, so that no memory is reclaimed.
        cpu_factor: CPU limit per request, for the rule ``factor``.
        memory_factor: Memory limit per request, for the rule ``factor``.
        keep_guaranteed: Give Guaranteed pods limits equal to their requests, regardless of the
            rules, so that they keep their QoS class.
        pod_level: Also change containers of pods with pod-level resources (``spec.resources``).
        cpu_least_m: Minimum CPU request, millicores.
        cpu_most_m: Maximum CPU request, millicores; ``None`` for no maximum.
        memory_least_bytes: Minimum memory request, bytes.
        memory_most_bytes: Maximum memory request, bytes; ``None`` for no maximum.
        min_change: Changes below this fraction of a request are skipped.
        max_age_s: Maximum age of the table of learned values, seconds.
        min_evidence: Windows of usage behind a recommendation without which it is not applied. A
            recommendation that does not state them is never applied.
    """

    labels: tuple[str, ...] = (MANAGED_LABEL,)
    id_labels: tuple[str, ...] = (pods.ID_LABEL,)
    check_namespaces: bool = True
    dry_run: bool = False
    frozen: frozenset[str] = frozenset()
    cpu_limit: LimitRule = "none"
    memory_limit: LimitRule = "request"
    cpu_factor: float = 1.0
    memory_factor: float = 1.0
    keep_guaranteed: bool = False
    pod_level: bool = False
    cpu_least_m: int = 10
    cpu_most_m: int | None = None
    memory_least_bytes: int = 32 * 2**20
    memory_most_bytes: int | None = None
    min_change: float = 0.0
    max_age_s: float = 3600.0
    min_evidence: int = MIN_EVIDENCE

    def __post_init__(self) -> None:
        for name in ("cpu_factor", "memory_factor"):
            if not getattr(self, name) >= 1.0:
                raise errors.InputError(name, f"{getattr(self, name)}: must be >= 1")
        if self.min_evidence < 0:
            raise errors.InputError("min_evidence", f"{self.min_evidence}: must be >= 0")
        for resource, (least, most) in self.bounds().items():
            if least < 0 or (most is not None and most < least):
                raise errors.InputError(resource, f"from {least} to {most}: expected 0 <= a <= b")

    def bounds(self) -> dict[str, tuple[int, int | None]]:
        """Return minimum and maximum request by resource."""
        return {
            resources.CPU: (self.cpu_least_m, self.cpu_most_m),
            resources.MEMORY: (self.memory_least_bytes, self.memory_most_bytes),
        }

    def limit_rule(self, resource: str) -> LimitRule:
        """Return the rule for limits of a resource."""
        return self.cpu_limit if resource == resources.CPU else self.memory_limit

    def limit_factor(self, resource: str) -> float:
        """Return the factor for limits of a resource."""
        return self.cpu_factor if resource == resources.CPU else self.memory_factor

    def describe(self) -> str:
        """Return the rules as a short text."""
        return f"cpu limit {self.cpu_limit}, memory limit {self.memory_limit}"

    def as_json(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, as plain values."""
        defaults = asdict(AdmissionPolicy())
        current = asdict(self)
        changed = {name: value for name, value in current.items() if value != defaults[name]}
        return changed | ({"frozen": sorted(self.frozen)} if self.frozen else {})


Labels = Mapping[str, str]


def why_not(policy: AdmissionPolicy, pod: pods.Pod, namespace: NamespaceFacts | None) -> str:
    """Return why a pod is not changed: ``no-label`` or ``frozen``; empty if it may be changed.

    Args:
        policy: The admission policy.
        pod: The pod.
        namespace: Its namespace; ``None`` if that is not known, e.g. just after its creation.
    """
    if not _is_true(pod.labels, policy.labels):
        return "no-label"
    if policy.check_namespaces and namespace and not _is_true(namespace.labels, policy.labels):
        return "no-label"
    marks = [pod.labels, pod.annotations]
    marks += [namespace.labels, namespace.annotations] if namespace else []
    if any(_is_true(mark, (FREEZE,)) for mark in marks) or _mode(pod, namespace) == "off":
        return "frozen"
    return ""


def is_dry(policy: AdmissionPolicy, pod: pods.Pod, namespace: NamespaceFacts | None) -> bool:
    """Return whether changes are only reported."""
    return policy.dry_run or _mode(pod, namespace) == "dry-run"


def is_named(policy: AdmissionPolicy, pod_labels: Labels) -> bool:
    """Return whether a label names the workload."""
    return any(pod_labels.get(each) for each in policy.id_labels)


def named(policy: AdmissionPolicy, pod_labels: Labels) -> dict[str, str]:
    """Return labels with the workload's name under the model's label ``ID_LABEL``."""
    name = next((pod_labels[each] for each in policy.id_labels if pod_labels.get(each)), "")
    return {**pod_labels, pods.ID_LABEL: name} if name else dict(pod_labels)


def _mode(pod: pods.Pod, namespace: NamespaceFacts | None) -> str:
    """Return the pod's mode, or else that of its namespace."""
    return pod.annotations.get(MODE) or (namespace.annotations.get(MODE, "") if namespace else "")


def _is_true(labels: Labels, names: tuple[str, ...]) -> bool:
    return any(labels.get(name) == "true" for name in names)
