"""A container of a pod as capping sees it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kubestow.policies.sizing import protocols


@dataclass(frozen=True, slots=True)
class PodContainer:
    """A container of a pod.

    Attributes:
        name: Its name.
        resources: Requests and limits the node reports as set, else those of the specification.
    """

    name: str
    resources: protocols.ContainerResources = field(default_factory=protocols.ContainerResources)
