"""Where a server's certificate comes from: a Secret that replicas share, or mounted files."""

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

_ATTEMPTS = 10  # one of those who conflict succeeds each time
_MOST_BYTES = 1 << 20  # of a file; Kubernetes allows no larger Secret


class CertificateSource(Protocol):
    """Gives the certificate a server should have now."""

    async def current(self, now_s: float) -> KeyPair:
        """Return the certificate.

        Raises:
            InputError: If there is something that is none.
            ApiError: If the API server does not give it.
            RenewalError: If there is one, but not all about it is as it should be.
        """


class RenewalError(RuntimeError):
    """There is a good certificate, but it could not be renewed or made known.

    Attributes:
        pair: The certificate.
    """

    def __init__(self, pair: KeyPair, cause: ApiError) -> None:
        super().__init__(f"certificates were not renewed or made known: {cause}")
        self.pair = pair


@dataclass(frozen=True, slots=True)
class ManagedCertificate:
    """Makes and renews certificates of its own, in a Secret.

    Attributes:
        client: Asks the API server.
        namespace: Namespace of the Secret.
        name: Name of the Secret.
        names: Host names and addresses of the servers.
        targets: What has to know the authorities.
        rules: How long things hold.
    """

    client: CertificateClient
    namespace: str
    name: str
    names: Collection[str]
    targets: Sequence[bundles.BundleTarget] = ()
    rules: plans.RenewalRules = field(default_factory=plans.RenewalRules)

    async def current(self, now_s: float) -> KeyPair:
        """Return the certificate of the Secret, made or renewed where that is due.

        The API server hears of an authority before it signs: a bundle that cannot be written
        holds back new certificates, but not the one there is.
        """
        held = await self._settle(now_s, announced=False)
        try:
            await self._announce(held)
            renewed = await self._settle(now_s, announced=True)
            if renewed.bundle != held.bundle:
                await self._announce(renewed)
        except ApiError as err:
            raise RenewalError(held.serving, err) from err
        return renewed.serving

    async def _announce(self, held: Materials) -> None:
        for target in self.targets:
            await bundles.announce(self.client, target, held.bundle)

    async def _settle(self, now_s: float, *, announced: bool) -> Materials:
        """Read what there is, and bring it to what it should be."""
        for _ in range(_ATTEMPTS):
            found = await self._read()
            held = materials.read(self._place, found.get("data") if found else None)
            facts = materials.facts(held) if held else None
            plan = plans.plan(facts, self.names, self.rules, now_s, announced=announced)
            if held is not None and plan.empty:
                return held
            made = materials.carry_out(plan, held, self.names, self.rules, now_s)
            if await self._write(found, made):
                return made
        raise ApiError(CONFLICT, "Conflict", f"{self._place}: others change it all the time")

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

    async def _write(self, found: dict[str, Any] | None, made: Materials) -> bool:
        """Write unless another one was faster; then its authority counts, not ours."""
        try:
            if found is None:
                await self.client.post(
                    self._folder, materials.secret(self.name, self.namespace, made)
                )
            else:
                # The resourceVersion inside makes it fail if it changed since it was read.
                data = {**(found.get("data") or {}), **materials.write(made)}
                await self.client.put(f"{self._folder}/{self.name}", {**found, "data": data})
        except ApiError as err:
            gone = err.status == NOT_FOUND and found is not None  # deleted since it was read
            if err.status != CONFLICT and not gone:
                raise
            return False
        return True


@dataclass(frozen=True, slots=True)
class MountedCertificate:
    """Reads files that someone else renews, such as cert-manager; no caBundle is written.

    Attributes:
        certificate: File with the certificate and the chain behind it.
        key: File with its key.
    """

    certificate: Path
    key: Path

    async def current(self, now_s: float) -> KeyPair:  # noqa: ARG002 - others watch the time
        """Return what the files hold now, if both belong together."""
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
    """Return rights in a server's own namespace: make one Secret, and read and change that one."""
    return [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [secret],
            "verbs": ["get", "update"],
        },
    ]
