"""What admission goes by: whom it changes, how limits follow, which bounds hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from kubestow.live.caches import NamespaceFacts
from kubestow.model import errors, pods, resources

MANAGED_LABEL: Final = "kubestow.io/managed"
FREEZE: Final = "kubestow.io/freeze"
MODE: Final = "kubestow.io/mode"
CHANGED: Final = "kubestow.io/changed"
WOULD_CHANGE: Final = "kubestow.io/would-change"

LimitRule = Literal["none", "request", "keep", "scale", "untouched", "factor"]
"""``none``: no limit. ``request``: that of the request. ``keep``: as it is, raised where the
request goes beyond. ``scale``: in the same proportion to the request as before. ``untouched``: as
it is, and the request stays below. ``factor``: so many times the request."""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """What admission goes by.

    Attributes:
        labels: A pod, and its namespace, must have one of these with the value ``true``.
        id_labels: Labels that name a workload, the first one found counts.
        check_namespaces: Ask for the label on the namespace, too, where that is known. The API
            server's namespaceSelector does the same.
        dry_run: Change nothing; say what would be changed.
        frozen: Workloads that are left alone, as ``namespace/kind/name``.
        cpu_limit: Rule for CPU limits; without one containers use what is idle (Böttcher 2023,
            3.11).
        memory_limit: Rule for memory limits; the request's, so that nothing is reclaimed later.
        cpu_factor: For the rule ``factor``.
        memory_factor: For the rule ``factor``.
        keep_guaranteed: Give pods of class Guaranteed limits equal to their requests, whatever
            the rules say, so that they stay in their class.
        pod_level: Change containers of pods with resources of their own (``spec.resources``), too.
        cpu_least_m: Least CPU request, millicores.
        cpu_most_m: Largest CPU request; ``None`` for any.
        memory_least_bytes: Least memory request.
        memory_most_bytes: Largest memory request; ``None`` for any.
        min_change: Changes below this share of a request are not made.
        max_age_s: How old the table of learned values may be.
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

    def __post_init__(self) -> None:
        for name in ("cpu_factor", "memory_factor"):
            if not getattr(self, name) >= 1.0:
                raise errors.InputError(name, f"{getattr(self, name)}: must be >= 1")
        for resource, (least, most) in self.bounds().items():
            if least < 0 or (most is not None and most < least):
                raise errors.InputError(resource, f"from {least} to {most}: expected 0 <= a <= b")

    def bounds(self) -> dict[str, tuple[int, int | None]]:
        """Return least and largest request by resource."""
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
        """Return the rules in a few words."""
        return f"cpu limit {self.cpu_limit}, memory limit {self.memory_limit}"

    def as_json(self) -> dict[str, Any]:
        """Return what is not as it is by default, as plain values."""
        plain = asdict(AdmissionPolicy())
        mine = asdict(self)
        found = {name: value for name, value in mine.items() if value != plain[name]}
        return found | ({"frozen": sorted(self.frozen)} if self.frozen else {})


Labels = Mapping[str, str]


def why_not(policy: AdmissionPolicy, pod: pods.Pod, around: NamespaceFacts | None) -> str:
    """Return why a pod is left alone: ``no-label`` or ``frozen``; empty if it is not.

    Args:
        policy: What admission goes by.
        pod: The pod.
        around: Its namespace; ``None`` if that is not known, as right after it was made.
    """
    if not _is_true(pod.labels, policy.labels):
        return "no-label"
    if policy.check_namespaces and around and not _is_true(around.labels, policy.labels):
        return "no-label"
    marks = [pod.labels, pod.annotations]
    marks += [around.labels, around.annotations] if around else []
    if any(_is_true(found, (FREEZE,)) for found in marks) or _mode(pod, around) == "off":
        return "frozen"
    return ""


def is_dry(policy: AdmissionPolicy, pod: pods.Pod, around: NamespaceFacts | None) -> bool:
    """Return whether it is only to be said what would be changed."""
    return policy.dry_run or _mode(pod, around) == "dry-run"


def is_named(policy: AdmissionPolicy, pod_labels: Labels) -> bool:
    """Return whether a label names the workload."""
    return any(pod_labels.get(each) for each in policy.id_labels)


def named(policy: AdmissionPolicy, pod_labels: Labels) -> dict[str, str]:
    """Return labels with the workload's name under the one label the model knows."""
    given = next((pod_labels[each] for each in policy.id_labels if pod_labels.get(each)), "")
    return {**pod_labels, pods.ID_LABEL: given} if given else dict(pod_labels)


def _mode(pod: pods.Pod, around: NamespaceFacts | None) -> str:
    """Return the pod's own mode, or else its namespace's."""
    return pod.annotations.get(MODE) or (around.annotations.get(MODE, "") if around else "")


def _is_true(found: Labels, names: tuple[str, ...]) -> bool:
    return any(found.get(name) == "true" for name in names)
