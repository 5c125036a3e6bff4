"""``kubestow metrics-api``: custom and external metrics for autoscalers, forecasts among them."""

from __future__ import annotations

import logging
import signal
from pathlib import Path
from typing import Annotated

import typer

from kubestow.cli import options, outputs, serving
from kubestow.live import api, servers
from kubestow.live.api import ApiError
from kubestow.live.certificates import ApiService, CertificateKeeper
from kubestow.live.metrics_api import (
    COMPONENT,
    GROUPS,
    ClientCertificateContext,
    MetricRules,
    MetricsApiHost,
    MetricsApiOptions,
    read_rules,
)
from kubestow.model import errors
from kubestow.sources import prometheus

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)
_BODY_BYTES = 64 * 1024  # a value is a few bytes
_LOG = logging.getLogger(__name__)


@app.command()
def metrics_api(
    paths: serving.PathsArgument = None,
    listen: serving.ListenOption = "127.0.0.1:6443",
    certificates: serving.CertificatesOption = serving.Certificates.MANAGED,
    rules_file: Annotated[
        str | None,
        typer.Option("--rules", metavar="FILE", help="What to ask of a Prometheus, and forecasts."),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="The Prometheus that the rules ask.")
    ] = None,
    prometheus_token: Annotated[
        Path | None,
        typer.Option("--prometheus-token", metavar="FILE", help="File with a bearer token for it."),
    ] = None,
    prometheus_ca: Annotated[
        Path | None,
        typer.Option("--prometheus-ca", metavar="FILE", help="Authorities that vouch for it."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write/--no-write", help="Take values at /write-metrics.")
    ] = True,
    max_age: Annotated[str, typer.Option(help="Values older than this are not served.")] = "5m",
    most: Annotated[
        int, typer.Option("--max-series", min=1, help="Most series to keep.")
    ] = 100_000,
    api_services: Annotated[
        list[str] | None,
        typer.Option(
            "--api-service",
            metavar="NAME",
            help="APIService whose caBundle is kept (managed); several times; "
            f"by default {', '.join(GROUPS)}.",
        ),
    ] = None,
    namespace: serving.NamespaceOption = None,
    service: Annotated[str, typer.Option(help="Service that leads here.")] = "kubestow-metrics-api",
    secret: serving.SecretOption = "kubestow-metrics-api-certificates",  # noqa: S107 - its name
    host_names: serving.HostsOption = None,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    drain: Annotated[str, typer.Option(help="Answer on for so long when told to end.")] = "5s",
    log_level: serving.LogOption = "info",
) -> int:
    """Serve custom.metrics.k8s.io and external.metrics.k8s.io to the API server's aggregator.

    Values are written here by those who may, or asked of a Prometheus; rules make forecasts of
    them, which a HorizontalPodAutoscaler reads like any metric. Requests are answered only for
    users whom the front proxy or a token vouches for, and who have the right to ask.

    Example:
      kubestow metrics-api --listen 0.0.0.0:6443 --namespace kubestow
      kubestow metrics-api --listen 0.0.0.0:6443 --rules metrics.yaml --prometheus http://prom:9090
      kubestow metrics-api --certificates files tls.crt tls.key --no-write
    """
    serving.prepare_logs(log_level)
    host, port = servers.read_address("--listen", listen)
    chosen = MetricsApiOptions(
        rules=MetricRules() if rules_file is None else read_rules(rules_file),
        prometheus=_prometheus(prometheus, prometheus_token, prometheus_ca),
        writing=write,
        ttl_s=options.read_duration("--max-age", max_age),
        most=most,
    )
    if chosen.rules.polls and chosen.prometheus is None:
        raise errors.InputError("--prometheus", "is missing; the rules ask for metrics of one")
    wanted = serving.Wanted(
        kind=certificates,
        paths=paths or (),
        namespace=namespace,
        service=service,
        secret=secret,
        hosts=host_names or (),
        targets=tuple(map(ApiService, api_services or GROUPS)),
    )
    listening = servers.ServerSettings(
        host=host,
        port=port,
        most_body_bytes=_BODY_BYTES,
        drain_s=options.read_duration("--drain", drain),
    )
    return serving.exit_code(servers.run(_serve(chosen, listening, wanted, (kubeconfig, context))))


def _prometheus(
    url: str | None, token: Path | None, authorities: Path | None
) -> prometheus.PrometheusSettings | None:
    if url is None:
        return None
    return prometheus.PrometheusSettings(url, bearer_token_file=token, ca_file=authorities)


async def _serve(
    chosen: MetricsApiOptions,
    listening: servers.ServerSettings,
    wanted: serving.Wanted,
    cluster: tuple[str | None, str | None],
) -> signal.Signals | None:
    async with await api.connect(*cluster) as client:
        metrics = servers.Telemetry(COMPONENT)
        door = ClientCertificateContext()
        keeper = await _keep_certificates(door, wanted, client, metrics)
        host = MetricsApiHost(client, chosen, door.trust, metrics)

        def ready() -> str:
            if keeper is not None and not keeper.ready:
                return "there is no certificate yet"
            return host.ready()

        tls = None if keeper is None else door.context
        server = servers.Server(host.edge.routes(), listening, metrics, ready, tls)
        try:
            beside = host.background()
            if keeper is not None:
                beside.append(keeper.keep)
            return await servers.serve(server, *beside)
        finally:
            server.close()


async def _keep_certificates(
    door: ClientCertificateContext,
    wanted: serving.Wanted,
    client: api.ApiClient,
    metrics: servers.Telemetry,
) -> CertificateKeeper | None:
    source = serving.make_source(wanted, client)
    if source is None:
        return None
    keeper = CertificateKeeper(source, door.install, metrics)
    try:
        await keeper.look()
    except ApiError as err:
        _LOG.warning("no certificate yet: %s", err)
    return keeper
