"""The certificates that replicas share: CAs, key of the newest CA, and serving certificate.

They are in one Secret under the usual names: ``ca.crt`` (all trusted CAs, the signing one first),
``ca.key`` (key of the first CA), ``tls.crt`` and ``tls.key``.
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
    """CAs and the serving certificate.

    Attributes:
        bundle: Certificates of all trusted CAs, as PEM.
        signer_key: Key of the first CA, as PEM.
        serving: Certificate and key of the servers.
    """

    bundle: bytes
    signer_key: bytes = field(repr=False)
    serving: KeyPair

    def signer(self) -> KeyPair:
        """Return the CA that signs."""
        first = pairs.read_certificates(_BUNDLE, self.bundle)[0]
        return KeyPair(pairs.write_certificates([first]), self.signer_key)


def read(place: str, data: Mapping[str, str] | None) -> Materials | None:
    """Read the data of a Secret.

    Args:
        place: The Secret, for error messages.
        data: Its ``data``, in base64.

    Returns:
        Its content; ``None`` if it has none of the keys yet.

    Raises:
        InputError: If its content is incomplete or malformed. It is not overwritten, since somebody
            may have put it there on purpose.
    """
    given = {name: data[name] for name in _NAMES if data and data.get(name)}
    if not given:
        return None
    if len(given) < len(_NAMES):
        missing = ", ".join(sorted(set(_NAMES) - set(given)))
        raise errors.InputError(
            place, f"lacks {missing}; delete the Secret to have it created again"
        )
    try:
        plain = {name: base64.b64decode(text, validate=True) for name, text in given.items()}
    except (binascii.Error, ValueError):
        raise errors.InputError(place, "expected data in base64") from None
    result = Materials(
        plain[_BUNDLE], plain[_SIGNER_KEY], KeyPair(plain[_CERTIFICATE], plain[_KEY])
    )
    pairs.check(f"{place}: {_CERTIFICATE}", result.serving)
    pairs.check(f"{place}: {_BUNDLE}", KeyPair(result.bundle, result.signer_key))
    return result


def write(held: Materials) -> dict[str, str]:
    """Return the data of the Secret."""
    parts = (held.bundle, held.signer_key, held.serving.certificate, held.serving.key)
    return {n: base64.b64encode(p).decode() for n, p in zip(_NAMES, parts, strict=True)}


def facts(held: Materials) -> plans.Held:
    """Return the facts that a renewal plan depends on."""
    trusted = pairs.read_certificates(_BUNDLE, held.bundle)
    serving = pairs.read_certificates(_CERTIFICATE, held.serving.certificate)[0]
    signers = [i for i, each in enumerate(trusted) if pairs.is_signed_by(serving, each)]
    return plans.Held(
        authorities=tuple(life_of(each) for each in trusted),
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
    """Carry out a renewal plan."""
    trusted: list[x509.Certificate] = []
    if held is not None:
        present = pairs.read_certificates(_BUNDLE, held.bundle)
        trusted = [each for i, each in enumerate(present) if i not in plan.drop]
    if plan.new_authority or held is None:
        signer = authorities.make_authority(now_s, rules.authority_s)
        trusted = [*pairs.read_certificates(_BUNDLE, signer.certificate), *trusted]
    else:
        signer = held.signer()
    serving = None if held is None or plan.new_serving else held.serving
    if serving is None:
        serving = authorities.make_serving(signer, names, now_s, rules.serving_s)
    return Materials(pairs.write_certificates(trusted), signer.key, serving)


def life_of(certificate: x509.Certificate) -> plans.Life:
    """Return the validity period of a certificate."""
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
