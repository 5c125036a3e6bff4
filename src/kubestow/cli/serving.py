"""What commands that serve share: options, certificates, logs and exit codes."""

from __future__ import annotations

import enum
import logging
import signal
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.model import errors

if TYPE_CHECKING:
    import ssl

    from kubestow.live import api, certificates, servers

INTERRUPTED = 130
_LOG = logging.getLogger(__name__)


class Certificates(enum.StrEnum):
    """Where the server's certificate comes from."""

    MANAGED = "managed"
    MOUNTED = "mounted"
    FILES = "files"
    NONE = "none"


_PATHS = {Certificates.MOUNTED: ("DIR",), Certificates.FILES: ("CERT", "KEY")}

ListenOption = Annotated[str, typer.Option(metavar="HOST:PORT", help="Listen on this address.")]
CertificatesOption = Annotated[
    Certificates,
    typer.Option(
        help="Take the server certificate from here. managed: issued by kubestow, kept in a "
        "Secret. mounted DIR: tls.crt and tls.key in a folder, as cert-manager writes them. files "
        "CERT KEY: two files. none: plain HTTP, on loopback only.",
        case_sensitive=False,
    ),
]
PathsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[DIR | CERT KEY]", help="Paths for --certificates mounted or files."),
]
ClientsOption = Annotated[
    Path | None,
    typer.Option(
        "--client-ca", help="Require client certificates of the authorities in this file."
    ),
]
NamespaceOption = Annotated[
    str | None, typer.Option(help="Namespace of the Service; default: the namespace this runs in.")
]
SecretOption = Annotated[
    str, typer.Option(help="Share certificates between replicas in this Secret.")
]
HostsOption = Annotated[
    list[str] | None,
    typer.Option("--host-name", help="Add this DNS name to the certificate. Repeatable."),
]
KubeconfigOption = Annotated[
    str | None,
    typer.Option(
        help="Kubeconfig file; default: $KUBECONFIG, ~/.kube/config or the service account."
    ),
]
ContextOption = Annotated[
    str | None, typer.Option(help="Kubeconfig context; default: the current one.")
]
LogOption = Annotated[
    str, typer.Option(help="Log from this level on: debug, info, warning or error.")
]


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """Certificate settings of a command.

    Attributes:
        kind: Where they come from.
        paths: Files, where the kind needs some.
        client_authorities: File with the authorities of client certificates.
        namespace: Namespace of the service; that of the client if ``None``.
        service: Name of the service.
        secret: Secret that replicas share.
        hosts: Further names of the server.
        targets: Objects whose caBundle is kept up to date.
    """

    kind: Certificates
    paths: Sequence[Path] = ()
    client_authorities: Path | None = None
    namespace: str | None = None
    service: str = ""
    secret: str = ""
    hosts: Sequence[str] = ()
    targets: Sequence[certificates.BundleTarget] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        expected = _PATHS.get(self.kind, ())
        if len(self.paths) != len(expected):
            given = " ".join(map(str, self.paths)) or "nothing"
            needed = " ".join(expected) or "nothing"
            problem = f"{given} after {self.kind.value}: expected {needed}"
            raise errors.InputError("--certificates", problem)


def prepare_logs(level: str) -> None:
    """Send logs to standard error, one line each.

    Raises:
        InputError: If there is no such level.
    """
    known = {"debug", "info", "warning", "error"}
    if level.lower() not in known:
        raise errors.InputError("--log-level", f"{level!r}: expected debug, info, warning or error")
    layout = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=level.upper(), format=layout, force=True)
    for chatty in ("httpx", "httpcore", "uvicorn", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def warn(text: str) -> None:
    """Log a warning."""
    _LOG.warning("%s", text)


def make_context(certificate_options: CertificateOptions) -> ssl.SSLContext | None:
    """Return a TLS context that still needs a certificate; ``None`` for plain HTTP."""
    from kubestow.live import certificates

    if certificate_options.kind is Certificates.NONE:
        if certificate_options.client_authorities is not None:
            raise errors.InputError("--client-ca", "needs TLS; expected other --certificates")
        return None
    if certificate_options.client_authorities is None:
        return certificates.make_tls_context()
    try:
        given = certificate_options.client_authorities.read_bytes()
    except OSError as err:
        place = str(certificate_options.client_authorities)
        raise errors.InputError(place, f"cannot be read: {err.strerror}") from err
    return certificates.make_tls_context(given, required=True)


def make_source(
    certificate_options: CertificateOptions, client: api.ApiClient | None
) -> certificates.CertificateSource | None:
    """Return where certificates come from; ``None`` for plain HTTP."""
    from kubestow.live import certificates

    if certificate_options.kind is Certificates.NONE:
        return None
    if certificate_options.kind is Certificates.MOUNTED:
        return certificates.mounted_folder(certificate_options.paths[0])
    if certificate_options.kind is Certificates.FILES:
        return certificates.MountedCertificate(*certificate_options.paths)
    if client is None:
        problem = "managed: needs the cluster; expected mounted, files or none without it"
        raise errors.InputError("--certificates", problem)
    namespace = certificate_options.namespace or client.namespace
    names = [
        certificate_options.service,
        f"{certificate_options.service}.{namespace}",
        f"{certificate_options.service}.{namespace}.svc",
    ]
    names += [
        f"{certificate_options.service}.{namespace}.svc.cluster.local",
        *certificate_options.hosts,
    ]
    return certificates.ManagedCertificate(
        client,
        namespace,
        certificate_options.secret,
        tuple(names),
        tuple(certificate_options.targets),
    )


async def keep_certificates(
    context: ssl.SSLContext | None,
    source: certificates.CertificateSource | None,
    metrics: servers.Telemetry,
) -> certificates.CertificateKeeper | None:
    """Get a certificate for a context, and return what keeps it up to date.

    If the API server does not answer, it is asked again later; until then nothing is served.

    Raises:
        InputError: If a file is not a certificate.
    """
    from kubestow.live import certificates
    from kubestow.live.api import ApiError

    if context is None or source is None:
        return None
    keeper = certificates.CertificateKeeper(
        source, lambda pair: certificates.load_certificate(context, pair), metrics
    )
    try:
        await keeper.refresh()
    except ApiError as err:
        _LOG.warning("no certificate yet: %s", err)
    return keeper


def exit_code(came: signal.Signals | None) -> int:
    """Return the exit code after a signal: SIGTERM is the ordinary end."""
    return INTERRUPTED if came is signal.SIGINT else 0


Background = Callable[[], Coroutine[Any, Any, None]]
