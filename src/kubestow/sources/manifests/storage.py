"""Reads storage objects: volumes, claims, classes, CSI nodes, drivers, capacities, attachments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubestow.model import affinities, decoding, selectors, volumes

_CLASS = "volume.beta.kubernetes.io/storage-class"
_BOUND = "pv.kubernetes.io/bind-completed"
_SELECTED = "volume.kubernetes.io/selected-node"
_DEFAULTS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
_MODES = ("Filesystem", "Block")
# Field that names an in-tree disk.
_DISK_NAMES = {
    "awsElasticBlockStore": "volumeID",
    "gcePersistentDisk": "pdName",
    "azureDisk": "diskURI",
    "cinder": "volumeID",
    "portworxVolume": "volumeID",
}


@dataclass(slots=True)
class StorageReader:
    """Collects the storage objects of a cluster.

    Attributes:
        stored: Keys of claims that an API server has stored, so that controllers have seen them.
    """

    claims: dict[str, volumes.VolumeClaim] = field(default_factory=dict)
    persistent: dict[str, volumes.PersistentVolume] = field(default_factory=dict)
    classes: dict[str, volumes.StorageClass] = field(default_factory=dict)
    csi_nodes: dict[str, volumes.CsiNode] = field(default_factory=dict)
    drivers: dict[str, volumes.CsiDriver] = field(default_factory=dict)
    capacities: dict[str, volumes.StorageCapacity] = field(default_factory=dict)
    attachments: list[volumes.Attachment] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)

    def readers(self) -> dict[str, Callable[[decoding.Field], None]]:
        """Return the reader of each kind."""
        return {
            "PersistentVolume": lambda f: _keep(self.persistent, read_volume(f), f),
            "PersistentVolumeClaim": self._read_claim,
            "StorageClass": lambda f: _keep(self.classes, read_class(f), f),
            "CSINode": lambda f: _keep(self.csi_nodes, read_csi_node(f), f),
            "CSIDriver": lambda f: _keep(self.drivers, read_driver(f), f),
            "CSIStorageCapacity": lambda f: _keep(self.capacities, read_capacity(f), f),
            "VolumeAttachment": self._read_attachment,
        }

    def _read_claim(self, entry: decoding.Field) -> None:
        claim = read_claim(entry)
        if claim.key in self.claims:
            raise entry["metadata"]["name"].refuse("duplicate PersistentVolumeClaim")
        self.claims[claim.key] = claim
        if not entry["status"]["phase"].missing:
            self.stored.add(claim.key)

    def _read_attachment(self, entry: decoding.Field) -> None:
        spec = entry["spec"]
        volume = spec["source"]["persistentVolumeName"].text("")
        if volume:
            attacher, node = spec["attacher"].text(""), spec["nodeName"].text("")
            self.attachments.append(volumes.Attachment(node, attacher, volume))


def _keep(known: dict[str, Any], value: Any, entry: decoding.Field) -> None:
    if value.name in known:
        raise entry["metadata"]["name"].refuse(f"duplicate {entry['kind'].text()}")
    known[value.name] = value


def read_claim_spec(
    spec: decoding.Field, annotations: Mapping[str, str] | None = None
) -> volumes.ClaimSpec:
    """Read what a claim, or a claim template, asks for."""
    request = spec["resources"]["requests"]["storage"]
    named = spec["storageClassName"]
    kind = None if named.missing else named.text("")
    return volumes.ClaimSpec(
        storage_class=(annotations or {}).get(_CLASS, kind),
        request=None if request.missing else request.quantity(),
        access_modes=frozenset(spec["accessModes"].texts()),
        mode=spec["volumeMode"].choice(_MODES, volumes.FILESYSTEM),
        attributes_class=spec["volumeAttributesClassName"].text(""),
        selector=affinities.label_selector(spec["selector"]),
    )


def read_claim(entry: decoding.Field) -> volumes.VolumeClaim:
    """Read a PersistentVolumeClaim from its document."""
    metadata, spec = entry["metadata"], entry["spec"]
    annotations = metadata["annotations"].labels()
    phase = entry["status"]["phase"].text(volumes.PENDING)
    volume = spec["volumeName"].text("")
    return volumes.VolumeClaim(
        name=metadata["name"].text(),
        namespace=metadata["namespace"].text("") or "default",
        spec=read_claim_spec(spec, annotations),
        uid=metadata["uid"].text(""),
        volume=volume,
        bound=bool(volume) and (_BOUND in annotations or phase == volumes.BOUND),
        phase=phase,
        terminating=not metadata["deletionTimestamp"].missing,
        selected_node=annotations.get(_SELECTED),
        owner=_owner(metadata),
    )


def _owner(metadata: decoding.Field) -> tuple[str, str] | None:
    for owner in metadata["ownerReferences"].items():
        if owner["controller"].truth():
            return owner["name"].text(), owner["uid"].text("")
    return None


def read_templates(spec: decoding.Field) -> dict[str, volumes.ClaimSpec]:
    """Read the claim templates of a StatefulSet, by the name of the volume."""
    return {
        template["metadata"]["name"].text(): read_claim_spec(
            template["spec"], template["metadata"]["annotations"].labels()
        )
        for template in spec["volumeClaimTemplates"].items()
    }


def read_volume(entry: decoding.Field) -> volumes.PersistentVolume:
    """Read a PersistentVolume from its document.

    A volume without a phase is one that an API server has not stored: it becomes available.
    """
    metadata, spec = entry["metadata"], entry["spec"]
    labels = metadata["labels"].labels()
    capacity = spec["capacity"]["storage"]
    required = spec["nodeAffinity"]["required"]
    terms = None if required.missing else affinities.node_terms(required)
    source = next((name for name in _DISK_NAMES if not spec[name].missing), "")
    migration = volumes.MIGRATIONS.get(source)
    csi = spec["csi"]
    return volumes.PersistentVolume(
        name=metadata["name"].text(),
        capacity=volumes.NOTHING if capacity.missing else capacity.quantity(),
        storage_class=metadata["annotations"].labels().get(_CLASS)
        or spec["storageClassName"].text(""),
        labels=labels,
        access_modes=frozenset(spec["accessModes"].texts()),
        mode=spec["volumeMode"].choice(_MODES, volumes.FILESYSTEM),
        attributes_class=spec["volumeAttributesClassName"].text(""),
        claim=_reference(spec["claimRef"]),
        phase=entry["status"]["phase"].text(volumes.AVAILABLE),
        terminating=not metadata["deletionTimestamp"].missing,
        affinity=terms,
        driver=csi["driver"].text("") if migration is None else migration.driver,
        handle=csi["volumeHandle"].text("")
        if migration is None
        else volumes.migrated_handle(source, _disk_name(spec, source), labels),
        plugin="" if migration is None else migration.plugin,
        migrated=None
        if migration is None
        else volumes.migrated_affinity(terms, labels, migration.topology_key),
    )


def _disk_name(spec: decoding.Field, source: str) -> str:
    return spec[source][_DISK_NAMES[source]].text("")


def _reference(entry: decoding.Field) -> volumes.ClaimReference | None:
    if entry.missing:
        return None
    return volumes.ClaimReference(
        entry["namespace"].text("") or "default", entry["name"].text(""), entry["uid"].text("")
    )


def read_class(entry: decoding.Field) -> volumes.StorageClass:
    """Read a StorageClass from its document."""
    metadata, allowed = entry["metadata"], entry["allowedTopologies"]
    annotations = metadata["annotations"].labels()
    topologies = tuple(_topology(term) for term in allowed.items())
    created = metadata["creationTimestamp"].value
    return volumes.StorageClass(
        name=metadata["name"].text(),
        provisioner=entry["provisioner"].text(""),
        mode=entry["volumeBindingMode"].choice(
            (volumes.IMMEDIATE, volumes.WAIT), volumes.IMMEDIATE
        ),
        topologies=topologies or None,
        default=any(annotations.get(key) == "true" for key in _DEFAULTS),
        created="" if created is None else str(created),
    )


def _topology(term: decoding.Field) -> selectors.NodeSelectorTerm:
    requirements = tuple(
        selectors.Requirement(item["key"].text(), selectors.IN, item["values"].texts())
        for item in term["matchLabelExpressions"].items()
    )
    valid = all(r.values and all(map(selectors.is_label_value, r.values)) for r in requirements)
    return selectors.NodeSelectorTerm(requirements, valid=valid)


def read_csi_node(entry: decoding.Field) -> volumes.CsiNode:
    """Read a CSINode from its document."""
    limits: dict[str, int | None] = {}
    keys: dict[str, tuple[str, ...]] = {}
    for driver in entry["spec"]["drivers"].items():
        name, count = driver["name"].text(), driver["allocatable"]["count"]
        limits[name] = None if count.missing else count.integer(least=0)
        keys[name] = driver["topologyKeys"].texts()
    migrated = entry["metadata"]["annotations"].labels().get(_MIGRATED, "")
    return volumes.CsiNode(
        name=entry["metadata"]["name"].text(),
        limits=limits,
        topology_keys=keys,
        migrated=frozenset(filter(None, migrated.split(","))),
    )


def read_driver(entry: decoding.Field) -> volumes.CsiDriver:
    """Read a CSIDriver from its document."""
    return volumes.CsiDriver(
        name=entry["metadata"]["name"].text(),
        tracks_capacity=entry["spec"]["storageCapacity"].truth(),
        must_run=entry["spec"]["preventPodSchedulingIfMissing"].truth(),
    )


def read_capacity(entry: decoding.Field) -> volumes.StorageCapacity:
    """Read a CSIStorageCapacity from its document."""
    metadata, free, largest = entry["metadata"], entry["capacity"], entry["maximumVolumeSize"]
    return volumes.StorageCapacity(
        name=f"{metadata['namespace'].text('') or 'default'}/{metadata['name'].text()}",
        storage_class=entry["storageClassName"].text(),
        nodes=affinities.label_selector(entry["nodeTopology"]),
        capacity=None if free.missing else free.quantity(),
        largest=None if largest.missing else largest.quantity(),
    )


def read_pod_volumes(field: decoding.Field) -> tuple[volumes.PodVolume, ...]:
    """Read those volumes of a pod that affect its placement."""
    read = (_pod_volume(volume) for volume in field.items())
    return tuple(volume for volume in read if volume is not None)


def _pod_volume(volume: decoding.Field) -> volumes.PodVolume | None:
    name = volume["name"].text("")
    claim, ephemeral = volume["persistentVolumeClaim"], volume["ephemeral"]
    if not claim.missing:
        return volumes.PodVolume(name, claim=claim["claimName"].text())
    if not ephemeral.missing:
        template = ephemeral["volumeClaimTemplate"]
        annotations = template["metadata"]["annotations"].labels()
        return volumes.PodVolume(name, template=read_claim_spec(template["spec"], annotations))
    if not volume["csi"].missing:
        return volumes.PodVolume(name, driver=volume["csi"]["driver"].text())
    return _inline_disk(name, volume)


def _inline_disk(name: str, volume: decoding.Field) -> volumes.PodVolume | None:
    source = next((known for known in _DISK_NAMES if not volume[known].missing), "")
    if source:
        disk_name = _disk_name(volume, source)
        driver = volumes.MIGRATIONS[source].driver
        kind = {"gcePersistentDisk": "gce", "awsElasticBlockStore": "ebs"}.get(source)
        read_only = volume[source]["readOnly"].truth()
        return volumes.PodVolume(
            name,
            disk=None if kind is None else volumes.Disk(kind, (disk_name,), read_only=read_only),
            attached=(driver, volumes.inline_handle(source, disk_name)),
        )
    iscsi, rbd = volume["iscsi"], volume["rbd"]
    if not iscsi.missing:
        disk = volumes.Disk("iscsi", (iscsi["iqn"].text(),), read_only=iscsi["readOnly"].truth())
        return volumes.PodVolume(name, disk=disk)
    if not rbd.missing:
        disk = volumes.Disk(
            "rbd",
            (rbd["pool"].text("") or "rbd", rbd["image"].text()),
            frozenset(rbd["monitors"].texts()),
            rbd["readOnly"].truth(),
        )
        return volumes.PodVolume(name, disk=disk)
    return None
