"""Decodes the JSON of a pod for ``pods.PodReader``: types, and the text of a specification."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated

import msgspec

from kubestow.model import decoding, errors, pods

PLACE = "Pod"
# The volume of the service account's token has a random name in every pod. Nothing else that could
# matter is spelled like this: maps of text hold neither objects nor true.
_TOKEN = re.compile(
    rb'\{"name":"kube-api-access-[a-z0-9]+",(?="projected":\{|"readOnly":true,"mountPath":)'
)
# Kinds of volumes that affect placement; most pods have none.
_ATTACHED = re.compile(
    rb'"(persistentVolumeClaim|ephemeral|csi|gcePersistentDisk|awsElasticBlockStore|azureDisk'
    rb'|cinder|portworxVolume|iscsi|rbd)"'
)
_NOTHING = msgspec.Raw()
# What the decoder raises for malformed text, including text that is nested too deeply.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Owner(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    name: str
    controller: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    creation_timestamp: Annotated[dt.datetime, msgspec.Meta(tz=True)] | None = None
    deletion_timestamp: str | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    """All that ``pods.PodReader`` reads of a specification, most of it not decoded."""

    node_name: str = ""
    volumes: msgspec.Raw = _NOTHING
    containers: msgspec.Raw = _NOTHING
    init_containers: msgspec.Raw = _NOTHING
    affinity: msgspec.Raw = _NOTHING
    topology_spread_constraints: msgspec.Raw = _NOTHING
    host_network: msgspec.Raw = _NOTHING
    overhead: msgspec.Raw = _NOTHING
    node_selector: msgspec.Raw = _NOTHING
    tolerations: msgspec.Raw = _NOTHING
    priority: msgspec.Raw = _NOTHING
    priority_class_name: msgspec.Raw = _NOTHING
    scheduler_name: msgspec.Raw = _NOTHING
    scheduling_gates: msgspec.Raw = _NOTHING
    preemption_policy: msgspec.Raw = _NOTHING
    resource_claims: msgspec.Raw = _NOTHING
    workload_ref: msgspec.Raw = _NOTHING
    scheduling_group: msgspec.Raw = _NOTHING
    resources: msgspec.Raw = _NOTHING

    @property
    def beyond(self) -> tuple[msgspec.Raw, ...]:
        """Fields that are not modelled; only whether they are there matters."""
        return self.resource_claims, self.workload_ref, self.scheduling_group


class _Status(msgspec.Struct, rename="camel"):
    phase: str = "Pending"
    container_statuses: msgspec.Raw = _NOTHING
    init_container_statuses: msgspec.Raw = _NOTHING
    conditions: msgspec.Raw = _NOTHING
    start_time: Annotated[dt.datetime, msgspec.Meta(tz=True)] | None = None
    nominated_node_name: str = ""
    allocated_resources: msgspec.Raw = _NOTHING
    resources: msgspec.Raw = _NOTHING


class PodText(msgspec.Struct):
    """A pod as far as ``pods.PodReader`` reads it."""

    metadata: _Metadata
    spec: _PodSpec
    status: _Status = msgspec.field(default_factory=_Status)


class _Named(msgspec.Struct):
    metadata: _Metadata


decode_pod = msgspec.json.Decoder(PodText).decode
_decode_named = msgspec.json.Decoder(_Named).decode


def read_uid(text: bytes) -> str:
    """Return the uid of any object; empty if it has none.

    Raises:
        InputError: If it is not an object.
    """
    try:
        return _decode_named(text).metadata.uid
    except UNREADABLE as err:
        raise errors.InputError(PLACE, f"expected an object: {err}") from err


def decode_document(text: bytes) -> decoding.Field:
    """Decode all of a pod.

    Raises:
        InputError: If the text is not JSON.
    """
    try:
        return decoding.Field(msgspec.json.decode(text), PLACE)
    except UNREADABLE as err:
        raise errors.InputError(PLACE, f"expected JSON: {err}") from err


def spec_text(spec: _PodSpec, labels: dict[str, str]) -> bytes:
    """Return the text that determines the ``PodSpec``."""
    volumes = bytes(spec.volumes)
    apart = bytes(spec.affinity) + bytes(spec.topology_spread_constraints)
    parts = (
        _TOKEN.sub(b"{", bytes(spec.containers)),
        _TOKEN.sub(b"{", bytes(spec.init_containers)),
        volumes if b'"image"' in volumes else b"",  # other volumes are not in the specification
        apart,
        # matchLabelKeys are filled in from the labels of the pod.
        msgspec.json.encode(labels, order="sorted") if b"abelKeys" in apart else b"",
        bytes(spec.host_network),
        bytes(spec.overhead),
        bytes(spec.node_selector),
        bytes(spec.tolerations),
        bytes(spec.priority),
        bytes(spec.priority_class_name),
        bytes(spec.scheduler_name),
        bytes(spec.scheduling_gates),
        bytes(spec.preemption_policy),
        *(b"x" if bytes(f) else b"" for f in spec.beyond),
        bytes(spec.resources),
    )
    return b"\n".join(parts)


def volumes_field(spec: _PodSpec) -> decoding.Field:
    """Return the volumes of a pod; nothing if none of them affects placement."""
    volumes = bytes(spec.volumes)
    value = msgspec.json.decode(volumes) if _ATTACHED.search(volumes) else None
    return decoding.Field(value, PLACE, "spec.volumes")


def controller_of(metadata: _Metadata) -> pods.OwnerReference | None:
    """Return the controlling owner."""
    for owner in metadata.owner_references or ():
        if owner.controller:
            return pods.OwnerReference(owner.api_version, owner.kind, owner.name)
    return None


def plain_status(status: _Status) -> pods.PodStatus:
    """Return a status that says nothing of resources."""
    started = status.start_time
    return pods.PodStatus(
        phase=status.phase,
        started=None if started is None else started.timestamp(),
        nominated=status.nominated_node_name,
    )


def has_resources(status: _Status) -> bool:
    """Return whether the status says more of resources than the phase."""
    containers = (bytes(status.container_statuses), bytes(status.init_container_statuses))
    return (
        any(b'esources"' in each for each in containers)  # resources, allocatedResources
        or b'"PodResizePending"' in bytes(status.conditions)
        or bool(bytes(status.allocated_resources))
        or bool(bytes(status.resources))
    )
