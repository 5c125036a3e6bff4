"""Creates CAs and the serving certificates they sign: ECDSA on P-256, SHA-256."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubestow.live.certificates import pairs, plans
from kubestow.live.certificates.pairs import KeyPair
from kubestow.model import errors

_NAME = "kubestow"
# A common name has at most 64 characters; clients check the alternative names.
_MOST_NAME = 64


def make_authority(now_s: float, life_s: float) -> KeyPair:
    """Create a CA that may sign serving certificates, but no further CAs."""
    key = ec.generate_private_key(ec.SECP256R1())
    begins_s = now_s - plans.BACKDATED_S
    # The time in the name distinguishes CAs with overlapping validity.
    name = _name(f"{_NAME}-ca@{int(now_s)}")
    builder = (
        _begin(name, name, key.public_key(), begins_s, now_s + life_s)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(_key_name(key.public_key()), critical=False)
    )
    return _finish(builder, key, key)


def make_serving(
    authority: KeyPair, names: Collection[str], now_s: float, life_s: float
) -> KeyPair:
    """Create a serving certificate; it expires no later than the CA that signs it.

    Args:
        authority: The CA that signs.
        names: Host names and addresses it is valid for.
        now_s: Current time, seconds since the epoch.
        life_s: Validity, seconds.
    """
    if not names:
        raise errors.InputError("certificate", "no host name; expected at least one")
    issuer = pairs.read_certificates("authority", authority.certificate)[0]
    signer = pairs.read_key("authority", authority.key)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise errors.InputError("authority", "expected a key on an elliptic curve")
    key = ec.generate_private_key(ec.SECP256R1())
    ends_s = min(now_s + life_s, issuer.not_valid_after_utc.timestamp())
    subject = _name(sorted(names)[0][:_MOST_NAME])
    builder = (
        _begin(subject, issuer.subject, key.public_key(), now_s - plans.BACKDATED_S, ends_s)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_key_name(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(
            x509.SubjectAlternativeName(pairs.general_names(names)),
            critical=False,
        )
    )
    return _finish(builder, key, signer)


def _begin(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    begins_s: float,
    ends_s: float,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(dt.datetime.fromtimestamp(int(begins_s), dt.UTC))
        .not_valid_after(dt.datetime.fromtimestamp(int(ends_s), dt.UTC))
    )


def _finish(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    certificate = builder.sign(signer, hashes.SHA256())
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(pairs.write_certificates([certificate]), secret)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _key_name(key: ec.EllipticCurvePublicKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
