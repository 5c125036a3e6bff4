"""Storage classes of a scenario, and the volumes of its pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kubestow.model import decoding, quantities, volumes
from kubestow.model.decoding import OneOf

ZONE, HOST, ANYWHERE = "zone", "host", "anywhere"


@dataclass(frozen=True, slots=True)
class ScenarioStorageClass:
    """A class of volumes, which are provisioned on demand.

    Attributes:
        name: Its name.
        reach: Nodes that can reach a volume: those of its ``zone``, its ``host`` alone (a local
            volume), or ``anywhere``.
        binding: ``WaitForFirstConsumer`` provisions a volume where its pod is placed; ``Immediate``
            provisions it for a random node, before the pod is placed.
        zones: Zones in which volumes can be provisioned; all if omitted.
    """

    name: str
    reach: Annotated[str, OneOf((ZONE, HOST, ANYWHERE))] = ZONE
    binding: Annotated[str, OneOf((volumes.WAIT, volumes.IMMEDIATE))] = volumes.WAIT
    zones: tuple[str, ...] = ()

    def check(self, place: decoding.Field) -> None:
        """Refuse a class without a name."""
        if not self.name:
            raise place["name"].refuse("expected a name")


@dataclass(frozen=True, slots=True)
class ScenarioVolume:
    """A volume of every pod of a workload.

    Pods of a StatefulSet find their volumes again when they are replaced; those of other workloads
    get new ones.

    Attributes:
        name: Its name in the pod.
        storage_class: Name of its class.
        size: Its capacity.
    """

    name: str
    storage_class: str
    size: quantities.Quantity
