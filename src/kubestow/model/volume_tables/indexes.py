"""Free volumes of a storage class, ranked by size."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kubestow.model.arrays import Bools, Ints
from kubestow.model.volumes import PersistentVolume, Terms


@dataclass(frozen=True, slots=True, eq=False)
class ClassIndex:
    """The volumes of one class that no claim is bound or reserved to, the smallest first.

    Attributes:
        volumes: The volumes; a volume's rank is its position.
        ranks: Rank by name.
        capacities: Their capacities in nano-units, ascending.
        sizes: The same in bytes.
        free: Which of them are still free.
        group: Index of each volume's affinity.
        affinities: The distinct affinities.
        kind: Index of each volume's properties other than size, class, labels and affinity.
        samples: A volume for each distinct set of such properties.
    """

    volumes: tuple[PersistentVolume, ...]
    ranks: Mapping[str, int]
    capacities: list[int]
    sizes: Ints
    free: Bools
    group: Ints
    affinities: tuple[Terms | None, ...]
    kind: Ints
    samples: tuple[PersistentVolume, ...]


def make_index(volumes: Iterable[PersistentVolume]) -> ClassIndex:
    """Return the index of free volumes of one class."""
    ordered = tuple(sorted(volumes, key=lambda v: (v.capacity.nano, v.name)))
    group, firsts = _distinct(ordered, lambda v: v.affinity)
    kind, samples = _distinct(
        ordered, lambda v: (v.mode, v.attributes_class, v.access_modes, v.phase, v.terminating)
    )
    return ClassIndex(
        volumes=ordered,
        ranks={volume.name: rank for rank, volume in enumerate(ordered)},
        capacities=[volume.capacity.nano for volume in ordered],
        sizes=np.array([volume.capacity.value() for volume in ordered], dtype=np.int64),
        free=np.ones(len(ordered), dtype=np.bool_),
        group=group,
        affinities=tuple(volume.affinity for volume in firsts),
        kind=kind,
        samples=samples,
    )


def _distinct(
    volumes: Iterable[PersistentVolume], key: Callable[[PersistentVolume], Hashable]
) -> tuple[Ints, tuple[PersistentVolume, ...]]:
    """Return the index of each volume's key, and the first volume with each key."""
    first: dict[Hashable, tuple[int, PersistentVolume]] = {}
    codes = [first.setdefault(key(volume), (len(first), volume))[0] for volume in volumes]
    return np.array(codes, dtype=np.int64), tuple(volume for _, volume in first.values())
