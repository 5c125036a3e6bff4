"""Which cgroup files a change of limits touches, in which order.

Theses/003 3.6 writes a container's quota into its cgroup. What it leaves out: pods that are not
Guaranteed live below a folder of their class, the systemd driver writes ``_`` for ``-`` in a pod's
uid, and the pod's own cgroup caps its containers, so a parent is raised before its children and
lowered after them. Values are as the kernel reads them; paths are relative to the cgroup root.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from kubestow.model import cgroups
from kubestow.model.qos import QosClass

Driver = Literal["systemd", "cgroupfs"]
Runtime = Literal["cri-containerd", "crio", "docker"]

_UNLIMITED_V1: Final = -1
_LEAST_QUOTA_US: Final = 1000  # the kernel accepts no less


class Limits(NamedTuple):
    """Limits of one cgroup; ``None`` for no limit."""

    cpu_m: int | None = None
    memory_bytes: int | None = None


class Write(NamedTuple):
    """One file and what is written into it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class PodPlace:
    """Where the cgroups of a pod are.

    Attributes:
        uid: The pod's uid, with hyphens.
        quality: Its quality-of-service class.
        containers: Container ids by name.
        version: Of the cgroup file system, 1 or 2.
        driver: Who makes the cgroups.
        runtime: What the runtime calls its scopes under systemd.
    """

    uid: str
    quality: QosClass
    containers: Mapping[str, str]
    version: Literal[1, 2] = 2
    driver: Driver = "systemd"
    runtime: Runtime = "cri-containerd"

    @property
    def folder(self) -> str:
        """The pod's folder."""
        word = {QosClass.BURSTABLE: "burstable", QosClass.BEST_EFFORT: "besteffort"}
        group = word.get(self.quality, "")
        if self.driver == "cgroupfs":
            return "/".join(filter(None, ("kubepods", group, f"pod{self.uid}")))
        prefix = f"kubepods-{group}" if group else "kubepods"
        own = f"{prefix}-pod{self.uid.replace('-', '_')}.slice"
        return "/".join(filter(None, ("kubepods.slice", f"{prefix}.slice" if group else "", own)))

    def container_folder(self, name: str) -> str:
        """Return a container's folder."""
        number = self.containers[name]
        own = number if self.driver == "cgroupfs" else f"{self.runtime}-{number}.scope"
        return f"{self.folder}/{own}"


def plan(place: PodPlace, before: Mapping[str, Limits], after: Mapping[str, Limits]) -> list[Write]:
    """Return the writes that bring a pod from some limits to others.

    Args:
        place: Where the pod's cgroups are.
        before: Limits of all of its containers as they are.
        after: Limits as they are to be; containers that are not named keep theirs.
    """
    whole = {name: after.get(name, limits) for name, limits in before.items()}
    parent_before, parent_after = _sum(before.values()), _sum(whole.values())
    writes: list[Write] = []
    for part in ("cpu_m", "memory_bytes"):
        child = [
            _write(place, place.container_folder(name), part, getattr(whole[name], part))
            for name in before
            if getattr(whole[name], part) != getattr(before[name], part)
        ]
        was, wanted = getattr(parent_before, part), getattr(parent_after, part)
        parent = [] if was == wanted else [_write(place, place.folder, part, wanted)]
        rises = wanted is None or (was is not None and wanted > was)
        writes += [*parent, *child] if rises else [*child, *parent]
    return writes


def _sum(limits: Iterable[Limits]) -> Limits:
    """Return the limits of a pod: sums, and none where one container has none."""
    listed = list(limits)
    cpu = [one.cpu_m for one in listed if one.cpu_m is not None]
    memory = [one.memory_bytes for one in listed if one.memory_bytes is not None]
    return Limits(
        sum(cpu) if len(cpu) == len(listed) else None,
        sum(memory) if len(memory) == len(listed) else None,
    )


def _write(place: PodPlace, folder: str, part: str, amount: int | None) -> Write:
    if part == "cpu_m":
        quota = None
        if amount is not None:
            quota = max(amount * cgroups.PERIOD_US // 1000, _LEAST_QUOTA_US)
        if place.version == 2:
            text = f"{'max' if quota is None else quota} {cgroups.PERIOD_US}"
            return Write(f"{folder}/cpu.max", text)
        return Write(
            f"cpu/{folder}/cpu.cfs_quota_us", str(_UNLIMITED_V1 if quota is None else quota)
        )
    if place.version == 2:
        return Write(f"{folder}/memory.max", "max" if amount is None else str(amount))
    text = str(_UNLIMITED_V1 if amount is None else amount)
    return Write(f"memory/{folder}/memory.limit_in_bytes", text)
