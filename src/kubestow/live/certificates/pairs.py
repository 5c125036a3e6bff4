"""Certificates with their keys, and functions to read certificates.

Keys never appear in a representation or a message.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from kubestow.model import errors


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate with its chain, and its private key, both as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def read_certificates(place: str, pem: bytes) -> tuple[x509.Certificate, ...]:
    """Read all certificates of a PEM file.

    Raises:
        InputError: If there is none, or one cannot be read.
    """
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        raise errors.InputError(place, "expected certificates in PEM") from None


def read_key(place: str, pem: bytes) -> PrivateKeyTypes:
    """Read a private key without password.

    Raises:
        InputError: If it is malformed; the message does not quote it.
    """
    try:
        return serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise errors.InputError(place, "expected a private key in PEM without password") from None


def check(place: str, pair: KeyPair) -> x509.Certificate:
    """Check that certificate and key match; return the certificate.

    Raises:
        InputError: If they do not match, or one of them cannot be read.
    """
    certificate = read_certificates(place, pair.certificate)[0]
    key = read_key(place, pair.key)
    if certificate.public_key() != key.public_key():
        raise errors.InputError(place, "the key does not match the certificate")
    return certificate


def names_of(certificate: x509.Certificate) -> frozenset[str]:
    """Return the host names and addresses a certificate is valid for."""
    try:
        alternatives = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = alternatives.get_values_for_type(x509.IPAddress)
    return frozenset((*alternatives.get_values_for_type(x509.DNSName), *map(str, addresses)))


def general_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """Return names in the form of a certificate: IP addresses, and host names."""
    return [_general_name(name) for name in sorted(names)]


def is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether a CA signed a certificate."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def write_certificates(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return certificates as PEM."""
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
