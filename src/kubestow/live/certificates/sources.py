"""Sources of a server's certificate: a Secret that replicas share, or mounted files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kubestow.live.api import CONFLICT, NOT_FOUND, ApiError
from kubestow.live.certificates import bundles, materials, pairs, plans
from kubestow.live.certificates.clients import CertificateClient
from kubestow.live.certificates.materials import Materials
from kubestow.live.certificates.pairs import KeyPair
from kubestow.model import errors

_ATTEMPTS = 10  # in each round of conflicts one replica succeeds
_MOST_BYTES = 1 << 20  # per file; Kubernetes allows no larger Secret


class CertificateSource(Protocol):
    """Provides the certificate that a server should use now."""

    async def current(self, now_s: float) -> KeyPair:
        """Return the certificate.

        Raises:
            InputError: If the certificate is malformed.
            ApiError: If the API server fails.
            RenewalError: If there is a valid one that could not be renewed or published.
        """


class RenewalError(RuntimeError):
    """A valid certificate could not be renewed or published.

    Attributes:
        pair: The certificate.
    """

    def __init__(self, pair: KeyPair, cause: ApiError) -> None:
        super().__init__(f"cannot renew or publish certificates: {cause}")
        self.pair = pair


@dataclass(frozen=True, slots=True)
class ManagedCertificate:
    """Creates and renews certificates in a Secret.

    Attributes:
        client: Client of the API server.
        namespace: Namespace of the Secret.
        name: Name of the Secret.
        names: Host names and addresses of the servers.
        targets: Objects whose ``caBundle`` is kept up to date.
        rules: Validity periods and renewal times.
    """

    client: CertificateClient
    namespace: str
    name: str
    names: Collection[str]
    targets: Sequence[bundles.BundleTarget] = ()
    rules: plans.RenewalRules = field(default_factory=plans.RenewalRules)

    async def current(self, now_s: float) -> KeyPair:
        """Return the certificate of the Secret; create or renew it if that is due.

        A CA is published to the API server before it signs: a bundle that cannot be written blocks
        new certificates, but not the present one.
        """
        held = await self._renew(now_s, announced=False)
        try:
            await self._announce(held)
            renewed = await self._renew(now_s, announced=True)
            if renewed.bundle != held.bundle:
                await self._announce(renewed)
        except ApiError as err:
            raise RenewalError(held.serving, err) from err
        return renewed.serving

    async def _announce(self, held: Materials) -> None:
        for target in self.targets:
            await bundles.announce(self.client, target, held.bundle)

    async def _renew(self, now_s: float, *, announced: bool) -> Materials:
        """Read the Secret, and carry out the renewals that are due."""
        for _ in range(_ATTEMPTS):
            secret = await self._read()
            held = materials.read(self._place, secret.get("data") if secret else None)
            facts = materials.facts(held) if held else None
            plan = plans.plan(facts, self.names, self.rules, now_s, announced=announced)
            if held is not None and plan.empty:
                return held
            made = materials.carry_out(plan, held, self.names, self.rules, now_s)
            if await self._write(secret, made):
                return made
        raise ApiError(CONFLICT, "Conflict", f"{self._place}: too many concurrent changes")

    @property
    def _place(self) -> str:
        return f"Secret {self.namespace}/{self.name}"

    @property
    def _folder(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    async def _read(self) -> dict[str, Any] | None:
        try:
            return await self.client.get(f"{self._folder}/{self.name}")
        except ApiError as err:
            if err.status != NOT_FOUND:
                raise
            return None

    async def _write(self, secret: dict[str, Any] | None, made: Materials) -> bool:
        """Write the Secret; return whether no other replica changed it first."""
        try:
            if secret is None:
                await self.client.post(
                    self._folder, materials.secret(self.name, self.namespace, made)
                )
            else:
                # Its resourceVersion makes the request fail if it changed since it was read.
                data = {**(secret.get("data") or {}), **materials.write(made)}
                await self.client.put(f"{self._folder}/{self.name}", {**secret, "data": data})
        except ApiError as err:
            gone = err.status == NOT_FOUND and secret is not None  # deleted since it was read
            if err.status != CONFLICT and not gone:
                raise
            return False
        return True


@dataclass(frozen=True, slots=True)
class MountedCertificate:
    """Reads files that another program renews, e.g. cert-manager; writes no caBundle.

    Attributes:
        certificate: File with the certificate and its chain.
        key: File with its key.
    """

    certificate: Path
    key: Path

    async def current(self, now_s: float) -> KeyPair:  # noqa: ARG002 - another program renews the files
        """Return the content of the files, if certificate and key match."""
        pair = KeyPair(_read_file(self.certificate), _read_file(self.key))
        pairs.check(str(self.certificate), pair)
        return pair


def mounted_folder(folder: Path) -> MountedCertificate:
    """Return the files of a mounted Secret of type ``kubernetes.io/tls``."""
    return MountedCertificate(folder / "tls.crt", folder / "tls.key")


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as err:
        raise errors.InputError(str(path), f"cannot be read: {err.strerror}") from err
    if len(content) > _MOST_BYTES:
        raise errors.InputError(str(path), f"expected at most {_MOST_BYTES} bytes")
    return content


def secret_rules(secret: str) -> list[dict[str, Any]]:
    """Return RBAC rules for a server's namespace: create, read and update one Secret."""
    return [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [secret],
            "verbs": ["get", "update"],
        },
    ]
