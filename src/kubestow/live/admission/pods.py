"""Pods as an API server shows them at admission: the few fields that matter here.

At this moment defaults are filled in already, by the API server and by LimitRanges; a name may
still be missing. ``sources.pods`` reads whole manifests; this reads less, faster, and refuses less.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubestow.model import errors, pods, quantities, resources

Amounts = dict[str, str | int | float]


class Owner(msgspec.Struct, frozen=True, rename="camel"):
    """Who made a pod."""

    kind: str
    name: str
    api_version: str = ""
    controller: bool | None = None


class AdmittedMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """Names, labels, annotations and owners."""

    name: str = ""
    generate_name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[Owner] | None = None


class AdmittedResources(msgspec.Struct, frozen=True):
    """Requests and limits; ``None`` where the key is missing or null."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class AdmittedContainer(msgspec.Struct, frozen=True, rename="camel"):
    """A container."""

    name: str
    image: str = ""
    resources: AdmittedResources | None = None
    restart_policy: str = ""


class AdmittedSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What a pod consists of."""

    containers: list[AdmittedContainer]
    init_containers: list[AdmittedContainer] | None = None
    resources: AdmittedResources | None = None


class PodDocument(msgspec.Struct, frozen=True):
    """A pod."""

    spec: AdmittedSpec
    metadata: AdmittedMetadata = AdmittedMetadata()

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        return self.metadata.annotations or {}


_DECODER: Final = msgspec.json.Decoder(PodDocument)


def read(raw: bytes | msgspec.Raw) -> PodDocument:
    """Read a pod.

    Raises:
        InputError: If it is none.
    """
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise errors.InputError("pod", f"not understood: {err}") from None


def as_pod(document: PodDocument, namespace: str) -> pods.Pod:
    """Return a pod as the model knows it, as far as it is known here.

    Args:
        document: The pod.
        namespace: That of the request.

    Raises:
        InputError: If an amount is no quantity.
    """
    spec, metadata = document.spec, document.metadata
    level = spec.resources
    return pods.Pod(
        name=metadata.name,
        namespace=namespace,
        labels=document.labels,
        annotations=document.annotations,
        owner=_owner(metadata),
        spec=pods.PodSpec(
            containers=tuple(_container(each) for each in spec.containers),
            init_containers=tuple(_container(each) for each in spec.init_containers or ()),
            pod_requests=_amounts("spec", level.requests) if level else None,
            pod_limits=_amounts("spec", level.limits) if level else None,
        ),
    )


def _owner(metadata: AdmittedMetadata) -> pods.OwnerReference | None:
    for owner in metadata.owner_references or ():
        if owner.controller:
            return pods.OwnerReference(owner.api_version, owner.kind, owner.name)
    return None


def _container(found: AdmittedContainer) -> pods.Container:
    stated = found.resources or AdmittedResources()
    place = f"container {found.name}"
    return pods.Container(
        name=found.name,
        image=found.image,
        requests=_amounts(place, stated.requests),  # those of limits are filled in already
        limits=_amounts(place, stated.limits),
        sidecar=found.restart_policy == "Always",
    )


def _amounts(place: str, found: Amounts | None) -> dict[str, quantities.Quantity]:
    """Return CPU and memory; other resources are nobody's business here."""
    return {
        name: _quantity(f"{place}: {name}", found[name])
        for name in (resources.CPU, resources.MEMORY)
        if found and name in found
    }


def _quantity(place: str, value: str | int | float) -> quantities.Quantity:
    try:
        return quantities.parse(value if isinstance(value, str) else repr(value))
    except ValueError as err:
        raise errors.InputError(place, str(err)) from None
