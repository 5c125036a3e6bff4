"""What replicas share: authorities, the key of the newest, and the servers' certificate.

It lies in one Secret under the usual names: ``ca.crt`` (all authorities that are believed, the one
that signs first), ``ca.key`` (the key of the first), ``tls.crt`` and ``tls.key``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography import x509

from kubestow.live.certificates import authorities, pairs, plans
from kubestow.live.certificates.pairs import KeyPair
from kubestow.model import errors

KIND: Final = "kubestow.io/certificates"
"""Type of the Secret."""

_BUNDLE, _SIGNER_KEY, _CERTIFICATE, _KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
_NAMES: Final = (_BUNDLE, _SIGNER_KEY, _CERTIFICATE, _KEY)


@dataclass(frozen=True, slots=True)
class Materials:
    """Authorities and the servers' certificate.

    Attributes:
        bundle: Certificates of all authorities that are believed, as PEM.
        signer_key: Key of the first of them, as PEM.
        serving: Certificate and key of the servers.
    """

    bundle: bytes
    signer_key: bytes = field(repr=False)
    serving: KeyPair

    def signer(self) -> KeyPair:
        """Return the authority that signs."""
        first = pairs.read_certificates(_BUNDLE, self.bundle)[0]
        return KeyPair(pairs.write_certificates([first]), self.signer_key)


def read(place: str, data: Mapping[str, str] | None) -> Materials | None:
    """Read the data of a Secret.

    Args:
        place: Which Secret, for messages.
        data: Its ``data``, in base64.

    Returns:
        What it holds; ``None`` if it holds nothing of ours yet.

    Raises:
        InputError: If it holds something that is not understood. It is not overwritten, since
            whoever wrote it had something in mind.
    """
    given = {name: data[name] for name in _NAMES if data and data.get(name)}
    if not given:
        return None
    if len(given) < len(_NAMES):
        missing = ", ".join(sorted(set(_NAMES) - set(given)))
        raise errors.InputError(place, f"lacks {missing}; delete it to have all made anew")
    try:
        plain = {name: base64.b64decode(text, validate=True) for name, text in given.items()}
    except (binascii.Error, ValueError):
        raise errors.InputError(place, "expected data in base64") from None
    found = Materials(plain[_BUNDLE], plain[_SIGNER_KEY], KeyPair(plain[_CERTIFICATE], plain[_KEY]))
    pairs.check(f"{place}: {_CERTIFICATE}", found.serving)
    pairs.check(f"{place}: {_BUNDLE}", KeyPair(found.bundle, found.signer_key))
    return found


def write(held: Materials) -> dict[str, str]:
    """Return the data of the Secret."""
    parts = (held.bundle, held.signer_key, held.serving.certificate, held.serving.key)
    return {n: base64.b64encode(p).decode() for n, p in zip(_NAMES, parts, strict=True)}


def facts(held: Materials) -> plans.Held:
    """Return what plans go by."""
    believed = pairs.read_certificates(_BUNDLE, held.bundle)
    serving = pairs.read_certificates(_CERTIFICATE, held.serving.certificate)[0]
    signers = [i for i, each in enumerate(believed) if pairs.is_signed_by(serving, each)]
    return plans.Held(
        authorities=tuple(life_of(each) for each in believed),
        serving=life_of(serving),
        names=pairs.names_of(serving),
        signed_by=signers[0] if signers else None,
    )


def carry_out(
    plan: plans.RenewalPlan,
    held: Materials | None,
    names: Collection[str],
    rules: plans.RenewalRules,
    now_s: float,
) -> Materials:
    """Make what a plan says."""
    believed: list[x509.Certificate] = []
    if held is not None:
        present = pairs.read_certificates(_BUNDLE, held.bundle)
        believed = [each for i, each in enumerate(present) if i not in plan.drop]
    if plan.new_authority or held is None:
        signer = authorities.make_authority(now_s, rules.authority_s)
        believed = [*pairs.read_certificates(_BUNDLE, signer.certificate), *believed]
    else:
        signer = held.signer()
    serving = None if held is None or plan.new_serving else held.serving
    if serving is None:
        serving = authorities.make_serving(signer, names, now_s, rules.serving_s)
    return Materials(pairs.write_certificates(believed), signer.key, serving)


def life_of(certificate: x509.Certificate) -> plans.Life:
    """Return from when to when a certificate holds."""
    return plans.Life(
        certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()
    )


def secret(name: str, namespace: str, held: Materials) -> dict[str, Any]:
    """Return a new Secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": KIND,
        "data": write(held),
    }
