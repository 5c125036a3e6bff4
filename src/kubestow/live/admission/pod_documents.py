"""The parts of a pod's JSON that a patch touches, and that distinguish pods from each other.

A JSON patch depends on which keys exist, which ``model.pods`` does not record: it adds parents
that are missing or null. ``sources.manifests.PodReader`` parses the amounts.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubestow.model import errors

Amounts = dict[str, str | int | float]


class Owner(msgspec.Struct, frozen=True, rename="camel"):
    """An owner reference."""

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
    """The containers, and resources of the pod as a whole."""

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
    """Decode a pod; unknown fields are skipped.

    Raises:
        InputError: If it is not a pod.
    """
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise errors.InputError("pod", f"expected a pod: {err}") from None
