"""VolumeTable: which volumes the pods on nodes use, and what claims are bound to by now.

Uses are kept sparse, by row, because a volume is on few nodes; the number of volumes of a driver on
each node is an array, because the filter compares it with limits everywhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kubestow.model import selectors
from kubestow.model.arrays import Ints
from kubestow.model.nodes import Node
from kubestow.model.pods import Pod
from kubestow.model.volume_tables.indexes import ClassIndex, make_index
from kubestow.model.volumes import (
    BOUND,
    MIGRATED_DRIVERS,
    NOTHING,
    UNCOUNTED_PLUGINS,
    ClaimReference,
    Disk,
    Identity,
    PersistentVolume,
    Storage,
    VolumeClaim,
)

_Rows = dict[int, int]  # number of users by row of their node


@dataclass(slots=True, eq=False)
class VolumeTable:
    """Claims, volumes and their users; ``use``, ``bind`` and ``provision`` keep it up to date.

    Attributes:
        storage: The objects that were read.
        claims: All claims as they are by now, by key.
        volumes: All volumes as they are by now, by name.
        references: Pods on nodes that use a claim by name, by key of the claim.
        derived: Results that depend on nodes and on the affinity of volumes, kept by policies.
    """

    storage: Storage
    nodes: tuple[Node, ...]
    claims: dict[str, VolumeClaim] = field(default_factory=dict)
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    references: Counter[str] = field(default_factory=Counter)
    derived: dict[Hashable, Any] = field(default_factory=dict)
    _reserved: dict[tuple[str, str], list[str]] | None = None
    _indexes: dict[str, ClassIndex] = field(default_factory=dict)
    _uses: dict[str, _Rows] = field(default_factory=dict)  # by key of the claim
    _disks: dict[tuple[str, tuple[str, ...]], dict[Disk, _Rows]] = field(default_factory=dict)
    _attached: dict[Identity, _Rows] = field(default_factory=dict)
    _counts: dict[str, Ints] = field(default_factory=dict)  # distinct volumes by driver
    _held: dict[str, Ints] = field(default_factory=dict)  # also attached, though no pod uses them
    _attachments: set[tuple[Identity, int]] = field(default_factory=set)

    def claims_of(self, pod: Pod) -> list[str]:
        """Return the keys of a pod's claims, in the order of its volumes."""
        names = (volume.claim_of(pod.name) for volume in pod.volumes)
        return [f"{pod.namespace}/{name}" for name in names if name]

    def use(self, pod: Pod, row: int, sign: int = 1) -> None:
        """Count the volumes of a pod on a node, or count them no longer."""
        for volume in pod.volumes:
            if volume.disk is not None:
                _count(self.users(volume.disk), row, sign)
            if volume.attached is not None:
                self.attach(volume.attached, row, sign)
            name = volume.claim_of(pod.name)
            if name:
                key = f"{pod.namespace}/{name}"
                self.references[key] += sign if volume.claim else 0
                _count(self._uses.setdefault(key, {}), row, sign)
                identity = self.identity(key)
                if identity is not None:
                    self.attach(identity, row, sign)

    def users(self, disk: Disk) -> _Rows:
        """Return how many pods use exactly this disk, by row."""
        return self._disks.setdefault((disk.kind, disk.name), {}).setdefault(disk, {})

    def conflicting(self, disk: Disk) -> list[int]:
        """Return the rows of nodes where a pod uses a disk in a way that excludes this use."""
        used = self._disks.get((disk.kind, disk.name), {})
        return [row for other, rows in used.items() if disk.conflicts_with(other) for row in rows]

    def attached(self, identity: Identity) -> list[int]:
        """Return the rows of nodes where a pod uses a volume."""
        return list(self._attached.get(identity, ()))

    def counts(self, driver: str, *, attachments: bool) -> Ints:
        """Return the number of volumes of a driver on every node.

        Args:
            driver: The driver.
            attachments: Whether volumes count that are attached and that no pod uses (from 1.32).
        """
        table = self._held if attachments else self._counts
        return table.get(driver, np.zeros(len(self.nodes), dtype=np.int64))

    def identity(self, key: str) -> Identity | None:
        """Return the volume of a claim as a driver attaches it; ``None`` if none attaches it.

        A claim without a volume counts by its class, under a handle of its own.
        """
        claim = self.claims.get(key)
        if claim is None:
            return None
        volume = self.volumes.get(claim.volume)
        if volume is not None:
            return (volume.driver, volume.handle) if volume.driver and volume.handle else None
        kind = self.storage.classes.get(claim.storage_class)
        if kind is None or kind.provisioner in UNCOUNTED_PLUGINS or not kind.provisioner:
            return None
        return MIGRATED_DRIVERS.get(kind.provisioner, kind.provisioner), f"claim {key}"

    def reserved(self, claim: VolumeClaim) -> list[PersistentVolume]:
        """Return the volumes that are bound or reserved to a claim."""
        if self._reserved is None:
            self._reserved = defaultdict(list)
            for volume in self.volumes.values():
                if volume.claim is not None:
                    key = (volume.claim.namespace, volume.claim.name)
                    self._reserved[key].append(volume.name)
        names = sorted(self._reserved.get((claim.namespace, claim.name), ()))
        present = (self.volumes[name] for name in names if name in self.volumes)
        return [volume for volume in present if claim.is_reserved(volume)]

    def index(self, name: str) -> ClassIndex:
        """Return the free volumes of a class."""
        known = self._indexes.get(name)
        if known is None:
            known = self._indexes[name] = make_index(
                v for v in self.volumes.values() if v.storage_class == name and v.claim is None
            )
        return known

    def bind(self, key: str, name: str) -> None:
        """Bind a claim to a volume, as the scheduler and the volume controller do together."""
        claim, volume = self.claims[key], self.volumes[name]
        index = self._indexes.get(volume.storage_class)
        if index is not None and name in index.ranks:
            index.free[index.ranks[name]] = False
        reference = ClaimReference(claim.namespace, claim.name, claim.uid)
        self.volumes[name] = replace(volume, claim=reference, phase=BOUND)
        if self._reserved is not None and volume.claim is None:
            self._reserved.setdefault((claim.namespace, claim.name), []).append(name)
        self._replace(replace(claim, volume=name, bound=True, phase=BOUND))

    def provision(self, key: str, row: int) -> None:
        """Provision a volume for a claim on behalf of a pod on a node.

        If the driver runs on the node, the volume can be reached from nodes with the same labels,
        as far as the driver names labels. Otherwise the claim stays as the scheduler leaves it:
        provisioned for this node.
        """
        claim, node = self.claims[key], self.nodes[row]
        kind = self.storage.classes[claim.storage_class]
        driver = MIGRATED_DRIVERS.get(kind.provisioner, kind.provisioner)
        csi_node = self.storage.csi_nodes.get(node.name)
        labels = csi_node.topology_keys.get(driver) if csi_node is not None else None
        if labels is None or not all(label in node.labels for label in labels):
            self._replace(replace(claim, selected_node=node.name))
            return
        term = selectors.NodeSelectorTerm(
            tuple(selectors.Requirement(k, selectors.IN, (node.labels[k],)) for k in labels)
        )
        made = PersistentVolume(
            name=f"pvc-{claim.namespace}-{claim.name}",
            capacity=claim.spec.request or NOTHING,
            storage_class=claim.storage_class,
            access_modes=claim.spec.access_modes,
            mode=claim.spec.mode,
            attributes_class=claim.spec.attributes_class,
            claim=ClaimReference(claim.namespace, claim.name, claim.uid),
            phase=BOUND,
            affinity=(term,) if labels else None,
            driver=driver,
            handle=f"pvc-{claim.namespace}-{claim.name}",
        )
        self.volumes[made.name] = made
        self._replace(replace(claim, volume=made.name, bound=True, phase=BOUND))

    def as_storage(self) -> Storage:
        """Return all objects as they are by now."""
        return replace(self.storage, claims=self.claims, volumes=self.volumes)

    def add_claims(self, claims: Iterable[VolumeClaim]) -> None:
        """Add claims that were created after the cluster was read."""
        for claim in claims:
            self.claims.setdefault(claim.key, claim)

    def drop_claim(self, key: str) -> None:
        """Delete a claim with its volume; no pod may use it any more."""
        claim = self.claims.pop(key, None)
        if claim is not None and claim.volume:
            self.volumes.pop(claim.volume, None)

    def moved(self, rows: Mapping[int, int], nodes: tuple[Node, ...], more: Storage) -> VolumeTable:
        """Return the table for other nodes; uses on nodes that stay are kept.

        Args:
            rows: New row by old row, for nodes that stay.
            nodes: The new nodes.
            more: Storage objects that are known from now on, e.g. drivers of new nodes.
        """
        table = replace(
            self,
            storage=replace(self.storage, csi_nodes={**self.storage.csi_nodes, **more.csi_nodes}),
            nodes=nodes,
            derived={},
            _uses={key: _shifted(used, rows) for key, used in self._uses.items()},
            _disks={
                key: {disk: _shifted(used, rows) for disk, used in by_disk.items()}
                for key, by_disk in self._disks.items()
            },
            _attached={},
            _counts={},
            _held={},
            _attachments=set(),
        )
        table.note_attachments()
        for identity, used in self._attached.items():
            for row, count in _shifted(used, rows).items():
                table.attach(identity, row, count)
        return table

    def _replace(self, claim: VolumeClaim) -> None:
        """Replace a claim; what its users attach changes with it."""
        self._attach_users(claim.key, -1)
        self.claims[claim.key] = claim
        self._attach_users(claim.key, 1)

    def _attach_users(self, key: str, sign: int) -> None:
        identity = self.identity(key)
        if identity is not None:
            for row, count in self._uses.get(key, {}).items():
                self.attach(identity, row, sign * count)

    def attach(self, identity: Identity, row: int, change: int) -> None:
        """Count users of a volume on a node, or count them no longer."""
        rows = self._attached.setdefault(identity, {})
        before = row in rows
        _count(rows, row, change)
        step = (row in rows) - before
        if step:
            self._column(self._counts, identity[0])[row] += step
            if (identity, row) not in self._attachments:
                self._column(self._held, identity[0])[row] += step

    def _column(self, table: dict[str, Ints], driver: str) -> Ints:
        if driver not in table:
            table[driver] = np.zeros(len(self.nodes), dtype=np.int64)
        return table[driver]

    def note_attachments(self) -> None:
        """Count the volumes that are attached according to VolumeAttachments."""
        rows = {node.name: row for row, node in enumerate(self.nodes)}
        for attachment in self.storage.attachments:
            row, volume = rows.get(attachment.node), self.volumes.get(attachment.volume)
            # An in-tree volume does not count here, even if a driver has replaced its plugin.
            if row is None or volume is None or not volume.driver or volume.plugin:
                continue
            identity = (attachment.driver, volume.handle)
            if (identity, row) not in self._attachments:
                self._attachments.add((identity, row))
                self._column(self._held, attachment.driver)[row] += 1


def from_storage(storage: Storage, nodes: tuple[Node, ...]) -> VolumeTable:
    """Return the table of a cluster before any pod is counted."""
    table = VolumeTable(storage, nodes, dict(storage.claims), dict(storage.volumes))
    table.note_attachments()
    return table


def _count(rows: _Rows, row: int, change: int) -> None:
    rows[row] = rows.get(row, 0) + change
    if rows[row] <= 0:
        del rows[row]


def _shifted(used: _Rows, rows: Mapping[int, int]) -> _Rows:
    return {rows[row]: count for row, count in used.items() if row in rows}
