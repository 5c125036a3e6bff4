"""Pods out of JSON texts as an API server writes them, quickly.

A watch brings every pod several times, and replicas differ in little that matters here. So a
specification is read once and found again by its text; the rest is read by a compiled decoder that
skips what nobody asks for. A text that does not fit is read the long way (``pods``), which also
says what is wrong with it.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Annotated

import msgspec

from kubestow.model import decoding, errors, pods
from kubestow.sources.manifests import pods as pod_source

PLACE = "Pod"
_SPECS_MOST = 20_000  # distinct specifications that are remembered before all are forgotten
# The volume of the service account's token is named by chance in every pod. Nothing else that could
# matter is spelled like this: in maps of text no value is an object or true.
_TOKEN = re.compile(
    rb'\{"name":"kube-api-access-[a-z0-9]+",(?="projected":\{|"readOnly":true,"mountPath":)'
)
_NOTHING = msgspec.Raw()
# What a decoder raises at a text that is not what it should be, too deep included.
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
    """All of a specification that ``pods.PodReader`` looks at, most of it as text."""

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
    resources: msgspec.Raw = _NOTHING


class _Status(msgspec.Struct, rename="camel"):
    phase: str = "Pending"
    container_statuses: msgspec.Raw = _NOTHING
    init_container_statuses: msgspec.Raw = _NOTHING
    conditions: msgspec.Raw = _NOTHING
    allocated_resources: msgspec.Raw = _NOTHING
    resources: msgspec.Raw = _NOTHING


class _Text(msgspec.Struct):
    metadata: _Metadata
    spec: _PodSpec
    status: _Status = msgspec.field(default_factory=_Status)


class _Named(msgspec.Struct):
    metadata: _Metadata


_read_text = msgspec.json.Decoder(_Text).decode
_read_named = msgspec.json.Decoder(_Named).decode


@dataclass(frozen=True, slots=True)
class PodReading:
    """A pod, and what an API server knows it by."""

    uid: str
    version: str
    pod: pods.Pod


class PodJsonReader:
    """Reads pods and remembers their specifications."""

    def __init__(self) -> None:
        self.reader = pod_source.PodReader()
        self._specs: dict[bytes, pods.PodSpec] = {}

    def read(self, text: bytes) -> PodReading:
        """Read a pod.

        Raises:
            InputError: If it is none.
        """
        try:
            found = _read_text(text)
        except UNREADABLE:
            return self._read_slowly(text)
        metadata, labels = found.metadata, found.metadata.labels or {}
        key = _key(found.spec, labels)
        spec = self._specs.get(key)
        if spec is None:
            reading = self._read_slowly(text)
            self._remember(key, reading.pod.spec)
            return reading
        created = metadata.creation_timestamp
        pod = pods.Pod(
            name=metadata.name,
            namespace=metadata.namespace or "default",
            labels=labels,
            annotations=metadata.annotations or {},
            owner=_owner(metadata.owner_references or ()),
            created=None if created is None else created.timestamp(),
            node_name=found.spec.node_name,
            terminating=metadata.deletion_timestamp is not None,
            spec=spec,
            status=_status(found.status, text),
        )
        return PodReading(metadata.uid, metadata.resource_version, pod)

    def _read_slowly(self, text: bytes) -> PodReading:
        document = decoding.Field(_decode(text), PLACE)
        metadata = document["metadata"]
        return PodReading(
            metadata["uid"].text(""),
            metadata["resourceVersion"].text(""),
            self.reader.read(document),
        )

    def _remember(self, key: bytes, spec: pods.PodSpec) -> None:
        if len(self._specs) >= _SPECS_MOST:  # else those of pods long gone would stay for ever
            self.reader, self._specs = pod_source.PodReader(), {}
        self._specs[key] = spec


def read_uid(text: bytes) -> str:
    """Return the uid of any object; empty if it has none.

    Raises:
        InputError: If it is no object.
    """
    try:
        return _read_named(text).metadata.uid
    except UNREADABLE as err:
        raise errors.InputError(PLACE, f"expected an object: {err}") from err


def _decode(text: bytes) -> object:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE as err:
        raise errors.InputError(PLACE, f"expected JSON: {err}") from err


def _key(spec: _PodSpec, labels: dict[str, str]) -> bytes:
    """Return the text of all that a specification is made of."""
    volumes = bytes(spec.volumes)
    apart = bytes(spec.affinity) + bytes(spec.topology_spread_constraints)
    parts = (
        _TOKEN.sub(b"{", bytes(spec.containers)),
        _TOKEN.sub(b"{", bytes(spec.init_containers)),
        volumes if b'"image"' in volumes else b"",  # other volumes place nothing
        apart,
        # Such keys are filled in from the pod's own labels.
        msgspec.json.encode(labels, order="sorted") if b"abelKeys" in apart else b"",
        bytes(spec.host_network),
        bytes(spec.overhead),
        bytes(spec.node_selector),
        bytes(spec.tolerations),
        bytes(spec.priority),
        bytes(spec.priority_class_name),
        bytes(spec.scheduler_name),
        bytes(spec.scheduling_gates),
        bytes(spec.resources),
    )
    return b"\n".join(parts)


def _owner(references: list[_Owner] | tuple[()]) -> pods.OwnerReference | None:
    for owner in references:
        if owner.controller:
            return pods.OwnerReference(owner.api_version, owner.kind, owner.name)
    return None


def _status(status: _Status, text: bytes) -> pods.PodStatus:
    told = (bytes(status.container_statuses), bytes(status.init_container_statuses))
    if (
        any(b'esources"' in each for each in told)  # resources, allocatedResources
        or b'"PodResizePending"' in bytes(status.conditions)
        or bytes(status.allocated_resources)
        or bytes(status.resources)
    ):
        document = decoding.Field(_decode(text), PLACE)
        return pod_source.read_status(document["status"])
    return pods.PodStatus(phase=status.phase)
