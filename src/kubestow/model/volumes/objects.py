"""Storage objects as far as kube-scheduler looks at them: volumes, claims, classes, drivers.

Source: ``pkg/scheduler/framework/plugins/{volumebinding,volumezone,volumerestrictions,
nodevolumelimits}`` and ``k8s.io/component-helpers/storage/volume`` (1.37).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubestow.model import quantities, selectors

IMMEDIATE, WAIT = "Immediate", "WaitForFirstConsumer"
ONE_POD = "ReadWriteOncePod"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
AVAILABLE, BOUND, LOST, PENDING = "Available", "Bound", "Lost", "Pending"
FILESYSTEM = "Filesystem"
NOTHING = quantities.Quantity(0)

Terms = tuple[selectors.NodeSelectorTerm, ...]
Identity = tuple[str, str]
"""A volume as a CSI driver attaches it: driver and handle."""


@dataclass(frozen=True, slots=True)
class Disk:
    """An inline disk of a kind that VolumeRestrictions compares.

    Attributes:
        kind: ``gce``, ``ebs``, ``iscsi`` or ``rbd``.
        name: What makes two disks the same: disk, volume, IQN, or pool and image.
        monitors: Ceph monitors; two RBD images are the same only if they share one.
        read_only: Whether the pod mounts it read-only.
    """

    kind: str
    name: tuple[str, ...]
    monitors: frozenset[str] = frozenset()
    read_only: bool = False

    def conflicts_with(self, other: Disk) -> bool:
        """Return whether two pods on one node cannot both mount these disks."""
        if (self.kind, self.name) != (other.kind, other.name):
            return False
        if self.kind == "ebs":
            return True
        if self.kind == "rbd" and not self.monitors & other.monitors:
            return False
        return not (self.read_only and other.read_only)


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """What a claim asks for.

    Attributes:
        storage_class: Name of the class; ``None`` takes the default class, empty text no class.
        request: Requested capacity; ``None`` if it states none.
        attributes_class: Name of its VolumeAttributesClass.
    """

    storage_class: str | None = None
    request: quantities.Quantity | None = None
    access_modes: frozenset[str] = frozenset()
    mode: str = FILESYSTEM
    attributes_class: str = ""
    selector: selectors.LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class PodVolume:
    """A volume of a pod that affects its placement.

    Attributes:
        name: Name in the pod.
        claim: Name of its claim; empty for other kinds.
        template: Claim template of a generic ephemeral volume.
        disk: An inline disk that must not be mounted twice on a node.
        attached: An inline disk as the CSI driver that replaced its in-tree plugin attaches it.
        driver: Driver of an inline CSI volume; it has no limit on a node.
    """

    name: str
    claim: str = ""
    template: ClaimSpec | None = None
    disk: Disk | None = None
    attached: Identity | None = None
    driver: str = ""

    def claim_of(self, pod: str) -> str:
        """Return the name of the claim for a pod of this name; empty if it has none."""
        return self.claim if self.template is None else f"{pod}-{self.name}"


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """The claim that a volume is bound or reserved to."""

    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    """A volume of the cluster.

    Attributes:
        affinity: Required node affinity; ``None`` for a volume that every node can reach.
        driver: CSI driver; for an in-tree volume the driver that replaced its plugin.
        handle: Name of the volume for the driver.
        plugin: In-tree plugin, if that has been replaced by a CSI driver; empty otherwise.
        migrated: The affinity on nodes where the plugin has been replaced.
    """

    name: str
    capacity: quantities.Quantity = NOTHING
    storage_class: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    access_modes: frozenset[str] = frozenset()
    mode: str = FILESYSTEM
    attributes_class: str = ""
    claim: ClaimReference | None = None
    phase: str = AVAILABLE
    terminating: bool = False
    affinity: Terms | None = None
    driver: str = ""
    handle: str = ""
    plugin: str = ""
    migrated: Terms | None = None


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """A PersistentVolumeClaim.

    Attributes:
        volume: Name of its volume; empty while it is unbound.
        bound: Whether binding is complete.
        selected_node: Node for which a volume is to be provisioned, once the scheduler chose one.
        owner: Name and uid of the pod that owns the claim of an ephemeral volume.
        unknown: No volume and no class that would provision one is in the input, and no API server
            has stored the claim: it restricts nothing, and the answer says so.
    """

    name: str
    namespace: str
    spec: ClaimSpec
    uid: str = ""
    volume: str = ""
    bound: bool = False
    phase: str = PENDING
    terminating: bool = False
    selected_node: str | None = None
    owner: tuple[str, str] | None = None
    unknown: bool = False

    @property
    def key(self) -> str:
        """The claim's name as ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def storage_class(self) -> str:
        """Name of its class; empty without one."""
        return self.spec.storage_class or ""

    def is_reserved(self, volume: PersistentVolume) -> bool:
        """Return whether a volume is bound or reserved to this claim (IsVolumeBoundToClaim)."""
        reference = volume.claim
        if reference is None or (reference.namespace, reference.name) != (
            self.namespace,
            self.name,
        ):
            return False
        return not (reference.uid and self.uid) or reference.uid == self.uid

    def can_bind(self, volume: PersistentVolume, *, attributes: bool) -> bool:
        """Return whether a volume suits the claim, wherever it is (FindMatchingVolume).

        Args:
            volume: The volume.
            attributes: Whether VolumeAttributesClasses count (from 1.34).
        """
        spec, reserved = self.spec, self.is_reserved(volume)
        if volume.claim is not None and not reserved:
            return False
        if spec.request is not None and volume.capacity < spec.request:
            return False
        if reserved:
            return self._same_kind(volume, attributes)
        return (
            self.suits(volume, attributes=attributes)
            and (spec.selector is None or spec.selector.matches(volume.labels))
            and volume.storage_class == self.storage_class
        )

    def suits(self, volume: PersistentVolume, *, attributes: bool) -> bool:
        """Return whether a volume suits the claim but for its size, class and labels."""
        return (
            self._same_kind(volume, attributes)
            and volume.phase == AVAILABLE
            and self.spec.access_modes <= volume.access_modes
        )

    def _same_kind(self, volume: PersistentVolume, attributes: bool) -> bool:
        spec = self.spec
        if volume.mode != spec.mode or volume.terminating:
            return False
        return not attributes or spec.attributes_class == volume.attributes_class


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A class of volumes, and who provisions them.

    Attributes:
        topologies: Labels of nodes for which volumes can be provisioned, as alternatives; ``None``
            for all nodes.
        default: Whether claims without a class get this one.
        created: Creation time as text; the newest default class counts.
    """

    name: str
    provisioner: str = ""
    mode: str = IMMEDIATE
    topologies: Terms | None = None
    default: bool = False
    created: str = ""

    @property
    def waits(self) -> bool:
        """Whether volumes are bound and provisioned only once a pod is placed."""
        return self.mode == WAIT

    @property
    def provisions(self) -> bool:
        """Whether volumes of this class can be provisioned."""
        return self.provisioner not in ("", NO_PROVISIONER)


@dataclass(frozen=True, slots=True)
class CsiNode:
    """The CSI drivers on a node.

    Attributes:
        limits: How many volumes of each driver can be attached; ``None`` without a limit.
        topology_keys: Labels by which each driver tells where volumes can be reached.
        migrated: In-tree plugins that drivers have replaced on this node.
    """

    name: str
    limits: Mapping[str, int | None] = field(default_factory=dict, hash=False)
    topology_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    migrated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CsiDriver:
    """A CSI driver.

    Attributes:
        tracks_capacity: Whether the scheduler compares claims with CSIStorageCapacity objects.
        must_run: Whether pods stay away from nodes without the driver (from 1.37).
    """

    name: str
    tracks_capacity: bool = False
    must_run: bool = False


@dataclass(frozen=True, slots=True)
class StorageCapacity:
    """Free capacity for one class on the nodes that a selector names."""

    name: str
    storage_class: str
    nodes: selectors.LabelSelector | None = None
    capacity: quantities.Quantity | None = None
    largest: quantities.Quantity | None = None

    @property
    def limit(self) -> quantities.Quantity | None:
        """The largest volume that can be provisioned."""
        return self.capacity if self.largest is None else self.largest


@dataclass(frozen=True, slots=True)
class Attachment:
    """A VolumeAttachment: a volume that is attached to a node, used or not."""

    node: str
    driver: str
    volume: str


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """All storage objects of a cluster; claims are by ``namespace/name``, the others by name."""

    claims: Mapping[str, VolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CsiNode] = field(default_factory=dict)
    drivers: Mapping[str, CsiDriver] = field(default_factory=dict)
    capacities: tuple[StorageCapacity, ...] = ()
    attachments: tuple[Attachment, ...] = ()


def smallest_match(
    claim: VolumeClaim, volumes: Iterable[PersistentVolume], *, attributes: bool = True
) -> PersistentVolume | None:
    """Return the volume to which the volume controller binds a claim, wherever it is."""
    suitable = [v for v in volumes if claim.can_bind(v, attributes=attributes)]
    return min(
        suitable,
        key=lambda v: (not claim.is_reserved(v), v.capacity.nano, v.name),
        default=None,
    )
