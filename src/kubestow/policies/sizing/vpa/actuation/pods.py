"""Running pods as inputs of the updater."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kubestow.policies.sizing.vpa.capping import PodContainer

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")  # RFC 1123 label
_LONGEST_NAME = 63

Resize = Literal["None", "Deferred", "Infeasible", "InProgress", "Error", "Unknown"]


@dataclass(frozen=True, slots=True)
class Termination:
    """The last termination of a container."""

    reason: str
    started_s: float
    finished_s: float


@dataclass(frozen=True, slots=True)
class ResizeCondition:
    """A condition of a pod about in-place resize.

    Attributes:
        kind: ``PodResizePending`` or ``PodResizeInProgress``.
        active: Whether its status is true.
        reason: ``Deferred``, ``Infeasible``, ``Error`` or another reason.
        message: The node's message.
    """

    kind: Literal["PodResizePending", "PodResizeInProgress"]
    active: bool = True
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class UpdaterPod:
    """A pod that is bound, not finished and not being deleted.

    Attributes:
        name: Its name, unique within the workload.
        containers: Its containers.
        creator: Key of the controller that owns it; empty if none does.
        pending: Whether its phase is Pending.
        started_s: When it started; ``None`` if not known yet.
        observed: Containers observed at admission; ``None`` if the pod has no annotation.
        terminations: Last terminations by container.
        conditions: Conditions about a resize, from the node.
        restarts_on_resize: Whether a container must restart for a resize.
    """

    name: str
    containers: tuple[PodContainer, ...]
    creator: str = ""
    pending: bool = False
    started_s: float | None = None
    observed: frozenset[str] | None = None
    terminations: Mapping[str, Termination] = field(default_factory=dict)
    conditions: tuple[ResizeCondition, ...] = ()
    restarts_on_resize: bool = False

    @property
    def resizing(self) -> bool:
        """Whether a resize is in progress, by the first condition."""
        return self.conditions[0].active if self.conditions else False

    def condition(self, kind: str) -> ResizeCondition | None:
        """Return the first condition of a kind."""
        return next((c for c in self.conditions if c.kind == kind), None)

    def has_observed(self, container: str) -> bool:
        """Return whether a container was observed at admission."""
        return self.observed is None or container in self.observed


def read_observed(annotation: str | None) -> frozenset[str] | None:
    """Read the annotation ``vpaObservedContainers``; a malformed one is ignored.

    >>> sorted(read_observed("web, proxy") or ()), read_observed("a;b"), read_observed("")
    (['proxy', 'web'], None, frozenset())
    """
    if annotation is None:
        return None
    names = annotation.split(", ") if annotation else []
    if any(len(name) > _LONGEST_NAME or not _NAME.fullmatch(name) for name in names):
        return None
    return frozenset(names)


def resize_state(pod: UpdaterPod) -> Resize:
    """Return the state of a resize (``getResizeStatus``)."""
    if not pod.resizing:
        return "None"
    pending = pod.condition("PodResizePending")
    if pending is not None:
        if pending.reason == "Deferred":
            return "Deferred"
        return "Infeasible" if pending.reason == "Infeasible" else "Unknown"
    progress = pod.condition("PodResizeInProgress")
    if progress is not None and not progress.reason and not progress.message:
        return "InProgress"
    if progress is not None and progress.reason == "Error":
        return "Error"
    return "Unknown"
