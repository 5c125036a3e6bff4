"""Groups of pods that affect other pods, and the tallies that count them per domain.

A group is a predicate on a pod ("does it match this selector in this namespace?"). It is
evaluated once for each group of pods already on nodes and once for each class of pending pods.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kubestow.model import arrays, pods, states
from kubestow.policies.placing.batch.tables import Tallies

ITSELF = ""  # not a label: the topology in which each node is its own domain

# How often a pod counts in a group.
Multiplicity = Callable[[states.PodGroup], int]
Hint = tuple[str, str, str]  # namespace, label, value


@dataclass(slots=True)
class TallyRegistry:
    """Collects groups, topology keys, node masks and tallies while classes are built."""

    state: states.ClusterState
    _groups: dict[Hashable, int] = field(default_factory=dict)
    _open: list[int] = field(default_factory=list)
    _hinted: dict[Hint, list[int]] = field(default_factory=dict)
    _counts: list[arrays.Ints] = field(default_factory=list)
    _multiplicities: list[Multiplicity] = field(default_factory=list)
    _keys: dict[str, int] = field(default_factory=dict)
    _masks: dict[bytes, int] = field(default_factory=dict)
    _mask_rows: list[arrays.Bools] = field(default_factory=list)
    _tallies: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mask(np.ones(len(self.state), dtype=np.bool_))  # row 0: all nodes

    def group(
        self,
        name: Hashable,
        multiplicity: Multiplicity,
        counts: arrays.Ints | None = None,
        hint: Hint | None = None,
    ) -> int:
        """Return the index of a group; a new one is counted on the nodes.

        Args:
            name: Key that identifies the group.
            multiplicity: Returns how often a pod counts in it.
            counts: Pods per node, if known.
            hint: Namespace and label that every pod of the group has, to limit the candidates.
        """
        if name not in self._groups:
            index = self._groups[name] = len(self._counts)
            (self._open if hint is None else self._hinted.setdefault(hint, [])).append(index)
            if counts is None:
                counts = np.zeros(len(self.state), dtype=np.int64)
                for existing in self.state.groups:
                    counts += multiplicity(existing) * existing.counts
            self._counts.append(counts)
            self._multiplicities.append(multiplicity)
        return self._groups[name]

    def mask(self, nodes: arrays.Bools) -> int:
        """Return the row of a mask of nodes."""
        name = np.packbits(nodes).tobytes()
        if name not in self._masks:
            self._masks[name] = len(self._mask_rows)
            self._mask_rows.append(nodes)
        return self._masks[name]

    def tally(self, group: int, topology_key: str, mask: int = 0) -> int:
        """Return the tally of a group by topology over the nodes of a mask."""
        key = self._keys.setdefault(topology_key, len(self._keys))
        return self._tallies.setdefault((group, key, mask), len(self._tallies))

    def joined(self, representative: states.PodGroup) -> list[int]:
        """Return the groups that a pod belongs to, each as often as the pod counts in it."""
        candidates = list(self._open)
        for key, value in representative.labels.items():
            candidates += self._hinted.get((representative.namespace, key, value), ())
        return [
            index
            for index in candidates
            for _ in range(self._multiplicities[index](representative))
        ]

    def tables(self) -> Tallies:
        """Return the collected tallies as arrays."""
        codes, sizes = self._codes()
        triples = list(self._tallies)
        size = np.array([sizes[key] for _, key, _ in triples], dtype=np.int64)
        offset = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64)[: len(size)]
        totals = np.zeros(int(size.sum()), dtype=np.int64)
        exists = np.zeros(len(totals), dtype=np.bool_)
        masks = np.array(self._mask_rows)
        domains: dict[tuple[int, int], tuple[arrays.Bools, arrays.Bools]] = {}
        for index, (group, key, mask) in enumerate(triples):
            if (key, mask) not in domains:
                counted = masks[mask] & (codes[key] >= 0)
                present = np.bincount(codes[key][counted], minlength=sizes[key]) > 0
                domains[key, mask] = counted, present
            counted, present = domains[key, mask]
            domains_of_tally = slice(int(offset[index]), int(offset[index] + size[index]))
            exists[domains_of_tally] = present
            if self._counts[group].any():
                np.add.at(
                    totals[domains_of_tally], codes[key][counted], self._counts[group][counted]
                )
        by_group = flatten(
            [[t for t, (g, _, _) in enumerate(triples) if g == group]
             for group in range(len(self._counts))]
        )  # fmt: skip
        sums = [int(totals[o : o + s].sum()) for o, s in zip(offset, size, strict=True)]
        empty = np.zeros((0, len(self.state)), dtype=np.int64)
        return Tallies(
            codes=codes,
            group=np.array([group for group, _, _ in triples], dtype=np.int64),
            key=np.array([key for _, key, _ in triples], dtype=np.int64),
            mask=np.array([mask for _, _, mask in triples], dtype=np.int64),
            offset=offset,
            size=size,
            totals=totals,
            exists=exists,
            sums=np.array(sums, dtype=np.int64),
            masks=masks,
            counts=np.array(self._counts, dtype=np.int64) if self._counts else empty,
            first=by_group[0],
            of_group=by_group[1],
        )

    def _codes(self) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int32]], list[int]]:
        count = len(self.state)
        codes = np.zeros((len(self._keys), count), dtype=np.int32)
        sizes = []
        for name, key in self._keys.items():
            if name == ITSELF:
                codes[key] = np.arange(count)
                sizes.append(count)
            else:
                column = self.state.label(name)
                codes[key] = column.codes
                sizes.append(len(column.values))
        return codes, sizes


def flatten(lists: Sequence[Sequence[int]]) -> tuple[arrays.Ints, arrays.Ints]:
    """Return lists as one array, preceded by the start position of each."""
    first = np.concatenate([[0], np.cumsum([len(part) for part in lists])]).astype(np.int64)
    flat = np.array([value for part in lists for value in part], dtype=np.int64)
    return first, flat


def representative(pod: pods.Pod) -> states.PodGroup:
    """Return a pod in the form that groups are evaluated on."""
    return states.PodGroup(
        pod.namespace,
        pod.labels,
        pod.terminating,
        pod.spec if pod.spec.has_pod_affinity else None,
        np.zeros(0, dtype=np.int64),
    )
