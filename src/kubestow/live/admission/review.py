"""AdmissionReview v1: decoding of requests and encoding of responses.

Only needed fields are decoded; unknown fields of newer API servers are skipped.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
_SHOWN: Final = 80  # characters of input quoted in a message
_MOST_WARNING: Final = 120  # characters that API servers do not truncate


class ReviewError(ValueError):
    """A body that is not an AdmissionReview v1; the response is 400."""


class Resource(msgspec.Struct, frozen=True):
    """The kind of object of a request."""

    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """A request to admit an object.

    Attributes:
        uid: Repeated in the response.
        operation: ``CREATE``, ``UPDATE``, ...
        resource: The kind of object.
        sub_resource: Such as ``resize``; empty for the object itself.
        namespace: Authoritative namespace; the object's own may be empty.
        name: Name of the object, if it has one yet.
        dry_run: Whether the request will not be persisted.
        object: The object, not decoded.
    """

    uid: str
    operation: str = ""
    resource: Resource = Resource()
    sub_resource: str = ""
    namespace: str = ""
    name: str = ""
    dry_run: bool | None = None
    object: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def creates_pod(self) -> bool:
        """Return whether a pod is about to be created."""
        kind = (self.resource.group, self.resource.version, self.resource.resource)
        return self.operation == "CREATE" and kind == ("", "v1", "pods") and not self.sub_resource


class _Review(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    request: AdmissionRequest | None = None


class _Response(msgspec.Struct, rename="camel", omit_defaults=True):
    uid: str
    allowed: bool
    patch_type: str | None = None
    patch: str | None = None
    warnings: Sequence[str] = ()
    audit_annotations: Mapping[str, str] | None = None


class _ReviewResponse(msgspec.Struct, rename="camel"):
    response: _Response
    kind: str = KIND
    api_version: str = VERSION


_DECODER: Final = msgspec.json.Decoder(_Review)
_ENCODER: Final = msgspec.json.Encoder()


def read(body: bytes) -> AdmissionRequest:
    """Read the body of a request.

    Raises:
        ReviewError: If it is not an AdmissionReview v1.
    """
    try:
        review = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise ReviewError(f"not an {KIND}: {err}") from None
    if (review.kind, review.api_version) != (KIND, VERSION):
        kind = f"{review.kind[:_SHOWN]!r} of {review.api_version[:_SHOWN]!r}"
        raise ReviewError(f"{kind}: expected {KIND} of {VERSION}")
    if review.request is None or not review.request.uid:
        raise ReviewError("request.uid: is missing")
    return review.request


def encode_response(
    uid: str,
    patch: Sequence[Mapping[str, Any]] = (),
    warnings: Sequence[str] = (),
    notes: Mapping[str, str] | None = None,
) -> bytes:
    """Return the response that admits an object.

    Args:
        uid: UID of the request.
        patch: Operations of a JSON patch.
        warnings: Shown to the client that sent the object.
        notes: Kept in the API server's audit log.
    """
    response = _Response(
        uid=uid,
        allowed=True,
        patch_type="JSONPatch" if patch else None,
        patch=base64.b64encode(_ENCODER.encode(patch)).decode() if patch else None,
        warnings=tuple(text[:_MOST_WARNING] for text in warnings),
        audit_annotations=notes or None,
    )
    return _ENCODER.encode(_ReviewResponse(response))
