"""Options of every command that reads from Prometheus: credentials, headers, labels, proxies.

``takes_prometheus`` adds them to a command, which gets them as one ``PrometheusAccess``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.sources import prometheus

AUTO = "auto"
BEARER_VARIABLE = "KUBESTOW_PROMETHEUS_TOKEN"
BASIC_VARIABLE = "KUBESTOW_PROMETHEUS_PASSWORD"

Command = Callable[..., int]


@dataclass(frozen=True, slots=True)
class PrometheusAccess:
    """Options for Prometheus, as given; each attribute is an option of the command."""

    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--prometheus-label",
            metavar="MATCHER",
            help="Read only series with LABEL=VALUE, such as cluster=prod. Repeatable.",
        ),
    ] = None
    headers: Annotated[
        list[str] | None,
        typer.Option(
            "--prometheus-header",
            metavar="'NAME: VALUE'",
            help="Send this header, such as 'X-Scope-OrgID: team'. Repeatable.",
        ),
    ] = None
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--prometheus-param",
            metavar="NAME=VALUE",
            help="Send this parameter with every query, such as dedup=true. Repeatable.",
        ),
    ] = None
    username: Annotated[
        str, typer.Option("--prometheus-user", help="User name for basic authentication.")
    ] = ""
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--prometheus-password-file",
            help=f"Read its password from this file; default: ${BASIC_VARIABLE}.",
        ),
    ] = None
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--prometheus-token-file",
            "--prometheus-token",
            "--token-file",
            help=f"Read its bearer token from this file; default: ${BEARER_VARIABLE}.",
        ),
    ] = None
    ca_file: Annotated[
        Path | None,
        typer.Option(
            "--prometheus-ca-file",
            "--prometheus-ca",
            "--ca-file",
            help="Trust the certificate authorities in this file for Prometheus.",
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--prometheus-cert", help="Present the client certificate in this file to Prometheus."
        ),
    ] = None
    key: Annotated[
        Path | None,
        typer.Option("--prometheus-key", help="Its key; default: the same file."),
    ] = None
    insecure: Annotated[
        bool,
        typer.Option("--prometheus-insecure", help="Do not verify the certificate of Prometheus."),
    ] = False
    proxy: Annotated[
        str,
        typer.Option(
            "--prometheus-proxy", metavar="URL", help="Use this proxy; default: $HTTPS_PROXY."
        ),
    ] = ""

    def settings(self, url: str) -> prometheus.PrometheusSettings:
        """Return the settings of a client.

        Raises:
            InputError: If a header or parameter is malformed.
        """
        import os

        from kubestow.sources import prometheus

        named = bool(self.username) or "@" in url.partition("/api/")[0]
        from_file = self.token_file is not None or self.password_file is not None
        headers = dict(_pairs("--prometheus-header", self.headers or (), ":", "NAME: VALUE"))
        own = any(name.lower() == "authorization" for name in headers)
        return prometheus.PrometheusSettings(
            url,
            bearer_token_file=self.token_file,
            bearer_token=""
            if named or from_file or own
            else os.environ.get(BEARER_VARIABLE, "").strip(),
            username=self.username,
            password_file=self.password_file,
            password=os.environ.get(BASIC_VARIABLE, "") if self.username and not from_file else "",
            ca_file=self.ca_file,
            certificate_file=self.certificate,
            key_file=self.key,
            insecure=self.insecure,
            headers=headers,
            parameters=dict(_pairs("--prometheus-param", self.parameters or (), "=", "NAME=VALUE")),
            proxy=self.proxy,
        )

    def matchers(self) -> tuple[prometheus.Matcher, ...]:
        """Return the conditions on labels.

        Raises:
            InputError: If one is malformed.
        """
        from kubestow.sources import prometheus

        try:
            return tuple(map(prometheus.parse_matcher, self.labels or ()))
        except errors.InputError as err:
            raise errors.InputError("--prometheus-label", err.problem) from err


@contextmanager
def connect(
    settings: prometheus.PrometheusSettings, kubeconfig: str | None, context: str | None
) -> Iterator[prometheus.PrometheusClient]:
    """Yield a client; with the address ``auto``, of the server found in the cluster.

    Raises:
        InputError: If there is none, or credentials are given that the API server would not pass.
    """
    from kubestow.sources import prometheus

    if settings.url != AUTO:
        with prometheus.PrometheusClient(settings) as client:
            yield client
        return
    from kubestow.cli import outputs
    from kubestow.live.api import ApiError
    from kubestow.live.workloads import ServiceProxy

    secrets = (settings.username, settings.bearer_token_file, settings.password_file)
    if any(secrets) or settings.proxy or settings.certificate_file is not None:
        raise errors.InputError(
            "--prometheus auto", "uses the credentials of the kubeconfig; expected no others"
        )
    with closing(ServiceProxy(kubeconfig, context)) as wire:
        try:
            service = wire.find()
        except ApiError as err:
            raise errors.InputError("--prometheus auto", str(err)) from err
        outputs.progress_console().print(f"using {service}", markup=False, soft_wrap=True)
        through = replace(settings, url=service.url, bearer_token="", only_get=True)
        with prometheus.PrometheusClient(through, wire=wire) as client:
            yield client


def takes_prometheus(command: Command) -> Command:
    """Add the options to a command that has a parameter ``access``."""
    own = inspect.signature(command, eval_str=True)
    hints = inspect.get_annotations(PrometheusAccess, eval_str=True)
    options = [
        inspect.Parameter(
            f"prometheus_{each.name}",
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(PrometheusAccess)
    ]

    @functools.wraps(command)
    def run(**given: Any) -> int:
        access = PrometheusAccess(
            **{each.name: given.pop(f"prometheus_{each.name}") for each in fields(PrometheusAccess)}
        )
        return command(**given, access=access)

    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == "access":
            parameters.extend(options)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(run)["__signature__"] = own.replace(parameters=parameters)
    return run


@contextmanager
def explaining_clusters(option: str = "--prometheus-label") -> Iterator[None]:
    """Add to an error about several clusters how one of them is chosen."""
    from kubestow.sources import prometheus

    try:
        yield
    except prometheus.SeveralClustersError as err:
        first = next((value for value in err.values if value), "")
        chosen = f"choose one, e.g. {option} {err.label}={first}"
        raise errors.InputError(err.place, f"{err.problem}; {chosen}") from err


def _pairs(
    option: str, texts: Iterable[str], separator: str, expected: str
) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, separated, value = text.partition(separator)
        if not separated or not name.strip():
            # The text may contain a secret.
            raise errors.InputError(option, f"expected {expected!r}")
        yield name.strip(), value.strip()
