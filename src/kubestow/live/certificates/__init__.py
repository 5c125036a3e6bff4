"""Certificates of the live servers: issued, shared, renewed, and published to the API server."""

from kubestow.live.certificates.bundles import ApiService, BundleTarget, Webhooks
from kubestow.live.certificates.pairs import KeyPair
from kubestow.live.certificates.renewals import CertificateKeeper
from kubestow.live.certificates.sources import (
    CertificateSource,
    ManagedCertificate,
    MountedCertificate,
    mounted_folder,
    secret_rules,
)
from kubestow.live.certificates.tls_contexts import load_certificate, make_tls_context

__all__ = [
    "ApiService",
    "BundleTarget",
    "CertificateKeeper",
    "CertificateSource",
    "KeyPair",
    "ManagedCertificate",
    "MountedCertificate",
    "Webhooks",
    "load_certificate",
    "make_tls_context",
    "mounted_folder",
    "secret_rules",
]
