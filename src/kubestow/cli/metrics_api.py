"""``kubestow metrics-api``: custom and external metrics for autoscalers, forecasts among them."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import names, options, outputs, prometheus_options, serving
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.live import api, servers
    from kubestow.live.certificates import CertificateKeeper
    from kubestow.live.metrics_api import ClientCertificateContext, MetricsApiOptions

app = outputs.make_app()
_NO_ACCESS = prometheus_options.PrometheusAccess()
_BODY_BYTES = 64 * 1024  # a value is a few bytes
_LOG = logging.getLogger(__name__)


@app.command()
@prometheus_options.takes_prometheus
def metrics_api(
    paths: serving.PathsArgument = None,
    listen: serving.ListenOption = "127.0.0.1:6443",
    certificates: serving.CertificatesOption = serving.Certificates.MANAGED,
    rules_file: Annotated[
        str | None,
        typer.Option(
            "--rules", metavar="FILE", help="Read Prometheus queries and forecasts from this file."
        ),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="Prometheus that the rules query.")
    ] = None,
    access: prometheus_options.PrometheusAccess = _NO_ACCESS,
    write: Annotated[
        bool, typer.Option("--write/--no-write", help="Accept values at /write-metrics.")
    ] = True,
    max_age: Annotated[str, typer.Option(help="Do not serve values older than this.")] = "5m",
    most: Annotated[
        int, typer.Option("--max-series", min=1, help="Keep at most this many series.")
    ] = 100_000,
    api_services: Annotated[
        list[str] | None,
        typer.Option(
            "--api-service",
            metavar="NAME",
            help="Keep the caBundle of this APIService up to date (managed). Repeatable; default: "
            f"{names.listed(names.API_SERVICES)}.",
        ),
    ] = None,
    namespace: serving.NamespaceOption = None,
    service: Annotated[
        str, typer.Option(help="Name of the Service in front of this server.")
    ] = "kubestow-metrics-api",
    secret: serving.SecretOption = "kubestow-metrics-api-certificates",  # noqa: S107 - its name
    host_names: serving.HostsOption = None,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    drain: Annotated[str, typer.Option(help="Keep serving for this long after SIGTERM.")] = "5s",
    log_level: serving.LogOption = "info",
) -> int:
    """Serve custom.metrics.k8s.io and external.metrics.k8s.io to the API server's aggregator.

    Values come from authorised writers or from Prometheus. Rules turn them into forecasts, which
    a HorizontalPodAutoscaler reads like any other metric. Every request needs a user that the
    front proxy or a token authenticates and that RBAC authorises.

    Example:
      kubestow metrics-api --listen 0.0.0.0:6443 --namespace kubestow
      kubestow metrics-api --listen 0.0.0.0:6443 --rules metrics.yaml --prometheus http://prom:9090
      kubestow metrics-api --certificates files tls.crt tls.key --no-write
    """
    from kubestow.live import servers
    from kubestow.live.certificates import ApiService
    from kubestow.live.metrics_api import GROUPS, MetricRules, MetricsApiOptions, read_rules

    serving.prepare_logs(log_level)
    host, port = servers.read_address("--listen", listen)
    chosen = MetricsApiOptions(
        rules=MetricRules() if rules_file is None else read_rules(rules_file),
        prometheus=None if prometheus is None else access.settings(prometheus),
        writing=write,
        ttl_s=options.read_duration("--max-age", max_age),
        most=most,
    )
    if access.labels:
        raise errors.InputError(
            "--prometheus-label", "write matchers into the queries of the rules"
        )
    if chosen.rules.polls and chosen.prometheus is None:
        raise errors.InputError("--prometheus", "is missing; the rules query Prometheus")
    certificate_options = serving.CertificateOptions(
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
    return serving.exit_code(
        servers.run(_serve(chosen, listening, certificate_options, (kubeconfig, context)))
    )


async def _serve(
    chosen: MetricsApiOptions,
    listening: servers.ServerSettings,
    certificate_options: serving.CertificateOptions,
    cluster: tuple[str | None, str | None],
) -> signal.Signals | None:
    from kubestow.live import api, servers
    from kubestow.live.metrics_api import COMPONENT, ClientCertificateContext, MetricsApiHost

    async with await api.connect(*cluster) as client:
        metrics = servers.Telemetry(COMPONENT)
        handshake = ClientCertificateContext()
        keeper = await _keep_certificates(handshake, certificate_options, client, metrics)
        host = MetricsApiHost(client, chosen, handshake.trust, metrics)

        def ready() -> str:
            if keeper is not None and not keeper.ready:
                return "no certificate yet"
            return host.ready()

        tls = None if keeper is None else handshake.context
        server = servers.Server(host.edge.routes(), listening, metrics, ready, tls)
        try:
            background = host.background()
            if keeper is not None:
                background.append(keeper.keep)
            return await servers.serve(server, *background)
        finally:
            server.close()


async def _keep_certificates(
    handshake: ClientCertificateContext,
    certificate_options: serving.CertificateOptions,
    client: api.ApiClient,
    metrics: servers.Telemetry,
) -> CertificateKeeper | None:
    from kubestow.live.api import ApiError
    from kubestow.live.certificates import CertificateKeeper

    source = serving.make_source(certificate_options, client)
    if source is None:
        return None
    keeper = CertificateKeeper(source, handshake.install, metrics)
    try:
        await keeper.refresh()
    except ApiError as err:
        _LOG.warning("no certificate yet: %s", err)
    return keeper
