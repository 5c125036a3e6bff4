"""Certificates of the test cluster: two authorities and what they sign."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = dt.timedelta(days=2)
_SKEW = dt.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Pair:
    """Files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that writes its files into a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name, ())
        limits = x509.BasicConstraints(ca=True, path_length=None)
        made = _builder(self._name, self._name, self._key).add_extension(limits, critical=True)
        self._certificate = made.sign(self._key, hashes.SHA256())
        self.pair = _write(folder, name, self._certificate, self._key)

    def server(self, name: str, names: tuple[str, ...]) -> Pair:
        """Return a pair for a server with these names and addresses."""
        return self._issue(name, (), names, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, file: str, user: str, groups: tuple[str, ...] = ()) -> Pair:
        """Return a pair for a client with this user name and these groups."""
        return self._issue(user, groups, (), ExtendedKeyUsageOID.CLIENT_AUTH, file)

    def bundle(self) -> str:
        """Return its own certificate as a ``caBundle``."""
        return base64.b64encode(self.pair.certificate.read_bytes()).decode()

    def _issue(
        self,
        common_name: str,
        groups: tuple[str, ...],
        names: tuple[str, ...],
        purpose: x509.ObjectIdentifier,
        file: str | None = None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(_name(common_name, groups), self._name, key)
        made = made.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        if names:
            made = made.add_extension(
                x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False
            )
        return _write(self._folder, file or common_name, made.sign(self._key, hashes.SHA256()), key)


def _name(common_name: str, groups: tuple[str, ...]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFE)
    )


def _write(
    folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> Pair:
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    pair.key.chmod(0o600)
    return pair
