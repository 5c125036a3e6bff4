"""``kubestow admission``: the webhook that sets requests of new pods."""

from __future__ import annotations

import contextlib
import enum
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import names, options, outputs, serving
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.live import api, caches, stores
    from kubestow.live.admission import AdmissionOptions, LimitRule

app = outputs.make_app()


class LimitMode(enum.StrEnum):
    """How limits follow requests."""

    DEFAULT = "default"
    KEEP = "keep"
    SCALE = "scale"
    REQUESTS_ONLY = "requests-only"
    FACTOR = "factor"


# CPU, memory.
_RULES: dict[LimitMode, tuple[LimitRule, LimitRule]] = {
    LimitMode.DEFAULT: ("none", "request"),
    LimitMode.KEEP: ("keep", "keep"),
    LimitMode.SCALE: ("scale", "scale"),
    LimitMode.REQUESTS_ONLY: ("untouched", "untouched"),
    LimitMode.FACTOR: ("factor", "factor"),
}


@app.command()
def admission(
    store: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="KUBESTOW_STORE",
            help="Read recommendations from this store and record decisions in it.",
        ),
    ],
    paths: serving.PathsArgument = None,
    listen: serving.ListenOption = "127.0.0.1:9443",
    certificates: serving.CertificatesOption = serving.Certificates.MANAGED,
    webhook: Annotated[
        str | None,
        typer.Option(
            help="Keep the caBundle of this MutatingWebhookConfiguration up to date (managed)."
        ),
    ] = None,
    namespace: serving.NamespaceOption = None,
    service: Annotated[
        str, typer.Option(help="Name of the Service in front of this server.")
    ] = "kubestow-admission",
    secret: serving.SecretOption = "kubestow-admission-certificates",  # noqa: S107 - its name
    host_names: serving.HostsOption = None,
    client_ca: serving.ClientsOption = None,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    cluster: Annotated[
        bool,
        typer.Option(help="Read namespaces, LimitRanges, quotas and nodes from the cluster."),
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do not change pods; annotate what would change.")
    ] = False,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            help=f"Manage pods with this label as well as {names.MANAGED_LABEL}. Repeatable.",
        ),
    ] = None,
    id_labels: Annotated[
        list[str] | None,
        typer.Option(
            "--id-label",
            help=f"Identify workloads by this label as well as {names.ID_LABEL}. Repeatable.",
        ),
    ] = None,
    freeze: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMESPACE/KIND/NAME", help="Do not change this workload. Repeatable."
        ),
    ] = None,
    limits: Annotated[
        LimitMode,
        typer.Option(
            help="Set limits like this. default: memory limit equals request, no CPU limit. keep: "
            "raise only if below the request. scale: keep the ratio to the request. requests-only: "
            "leave limits unchanged. factor: multiply the request by --limit-factor."
        ),
    ] = LimitMode.DEFAULT,
    limit_factor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RESOURCE=NUMBER",
            help="Ratio of limit to request, e.g. cpu=2,memory=1.2; default: 1.",
        ),
    ] = None,
    keep_guaranteed: Annotated[
        bool,
        typer.Option("--keep-guaranteed", help="Keep pods of QoS class Guaranteed in that class."),
    ] = False,
    pod_level: Annotated[
        bool, typer.Option("--pod-level", help="Change pods with pod-level resources as well.")
    ] = False,
    least: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="RESOURCE=QUANTITY",
            help="Smallest request; default: cpu=10m,memory=32Mi.",
        ),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="RESOURCE=QUANTITY", help="Largest request; default: none."),
    ] = None,
    max_age: Annotated[
        str, typer.Option(help="Use recommendations up to this age while the store is unavailable.")
    ] = "1h",
    min_evidence: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="WINDOWS",
            help="Apply only recommendations from at least this many days (--hold) of usage.",
        ),
    ] = names.MIN_EVIDENCE,
    refresh: Annotated[str, typer.Option(help="Poll the store this often.")] = "5s",
    deadline: Annotated[
        str,
        typer.Option(help="Respond within this time; keep it below the webhook's timeoutSeconds."),
    ] = names.ADMISSION_DEADLINE,
    drain: Annotated[str, typer.Option(help="Keep serving for this long after SIGTERM.")] = "5s",
    log_level: serving.LogOption = "info",
) -> int:
    """Serve the admission webhook /mutate-v1-pod, which sets the recommended requests of new pods.

    Only pods labelled kubestow.io/managed=true are changed. On any failure a pod is admitted
    unchanged, within the deadline. Recommendations are cached in memory, so no admission waits
    for the store. On SIGTERM, open requests are answered before the server stops.

    Example:
      kubestow admission --store sqlite:///kubestow.db --certificates none --no-cluster --dry-run
      kubestow admission --store $URL --listen 0.0.0.0:9443 --webhook kubestow
      kubestow admission --store $URL --listen 0.0.0.0:9443 --certificates mounted /certificates
    """
    from kubestow.live import servers, stores
    from kubestow.live.admission import MANAGED_LABEL, AdmissionOptions, AdmissionPolicy
    from kubestow.live.certificates import Webhooks
    from kubestow.model import pods, resources

    serving.prepare_logs(log_level)
    host, port = servers.read_address("--listen", listen)
    floors, caps = _amounts("--min", least), _amounts("--max", most)
    factors, plain = _numbers(limit_factor), AdmissionPolicy()
    policy = AdmissionPolicy(
        labels=(MANAGED_LABEL, *(labels or ())),
        id_labels=(pods.ID_LABEL, *(id_labels or ())),
        dry_run=dry_run,
        frozen=frozenset(_workload(each) for each in freeze or ()),
        cpu_limit=_RULES[limits][0],
        memory_limit=_RULES[limits][1],
        cpu_factor=factors.get(resources.CPU, 1.0),
        memory_factor=factors.get(resources.MEMORY, 1.0),
        keep_guaranteed=keep_guaranteed,
        pod_level=pod_level,
        cpu_least_m=floors.get(resources.CPU, plain.cpu_least_m),
        cpu_most_m=caps.get(resources.CPU),
        memory_least_bytes=floors.get(resources.MEMORY, plain.memory_least_bytes),
        memory_most_bytes=caps.get(resources.MEMORY),
        max_age_s=options.read_duration("--max-age", max_age),
        min_evidence=min_evidence,
    )
    deadline_s = options.read_duration("--deadline", deadline)
    chosen = AdmissionOptions(
        policy=policy,
        settings=servers.ServerSettings(
            host=host,
            port=port,
            # A slow sender must not use up the time that is left for the response.
            read_s=deadline_s,
            request_s=2.0 * deadline_s + 1.0,
            drain_s=options.read_duration("--drain", drain),
        ),
        deadline_s=deadline_s,
        every_s=options.read_duration("--refresh", refresh),
    )
    certificate_options = serving.CertificateOptions(
        kind=certificates,
        paths=paths or (),
        client_authorities=client_ca,
        namespace=namespace,
        service=service,
        secret=secret,
        hosts=host_names or (),
        targets=(Webhooks(webhook),) if webhook else (),
    )
    late = stores.DeferredStore(store)
    stores.try_opening(late, serving.warn)
    access = (kubeconfig, context) if cluster else None
    return serving.exit_code(servers.run(_serve(late, chosen, certificate_options, access)))


async def _serve(
    store: stores.DeferredStore,
    chosen: AdmissionOptions,
    certificate_options: serving.CertificateOptions,
    cluster: tuple[str | None, str | None] | None,
) -> signal.Signals | None:
    from kubestow.live import api

    async with contextlib.AsyncExitStack() as stack:
        client = None
        if cluster is not None:
            client = await stack.enter_async_context(await api.connect(*cluster))
        return await _serve_with(client, store, chosen, certificate_options)


async def _serve_with(
    client: api.ApiClient | None,
    store: stores.DeferredStore,
    chosen: AdmissionOptions,
    certificate_options: serving.CertificateOptions,
) -> signal.Signals | None:
    from kubestow.live import caches, servers
    from kubestow.live.admission import COMPONENT, assemble_admission

    metrics = servers.Telemetry(COMPONENT)
    tls, source = (
        serving.make_context(certificate_options),
        serving.make_source(certificate_options, client),
    )
    keeper = await serving.keep_certificates(tls, source, metrics)
    background: list[serving.Background] = []
    watcher: caches.BoundsWatcher | None = None
    if keeper is not None:
        background.append(keeper.keep)
    if client is not None:
        reads = metrics.counter("cluster_reads", "Reads of bounds from the cluster.", ("result",))
        watcher = caches.BoundsWatcher(client, lambda result: reads.labels(result).inc())
        background.append(watcher.keep)

    def bounds() -> caches.NamespaceBounds:
        return caches.unknown_bounds() if watcher is None else watcher.current

    def ready() -> str:
        return "" if keeper is None or keeper.ready else "no certificate yet"

    with assemble_admission(store, chosen, tls, bounds, ready, metrics) as webhook:
        return await servers.serve(webhook.server, *background)


def _workload(text: str) -> str:
    if len(text.split("/")) < 3 or not all(text.split("/")):
        raise errors.InputError("--freeze", f"{text!r}: expected NAMESPACE/KIND/NAME")
    return text


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    from kubestow.model import resources

    values = {}
    for text in given or ():
        for part in text.split(","):
            name, equals, value = part.partition("=")
            if not equals or name not in (resources.CPU, resources.MEMORY):
                expected = "expected cpu=VALUE or memory=VALUE"
                raise errors.InputError(option, f"{part!r}: {expected}")
            values[name] = value
    return values


def _amounts(option: str, given: list[str] | None) -> dict[str, int]:
    from kubestow.model import quantities, resources

    amounts = {}
    for name, text in _pairs(option, given).items():
        try:
            amounts[name] = resources.amount(name, quantities.parse(text))
        except ValueError as err:
            raise errors.InputError(f"{option} {name}", str(err)) from None
    return amounts


def _numbers(given: list[str] | None) -> dict[str, float]:
    factors = {}
    for name, text in _pairs("--limit-factor", given).items():
        try:
            factors[name] = float(text)
        except ValueError:
            problem = f"{text!r}: expected a number, 1 or more"
            raise errors.InputError(f"--limit-factor {name}", problem) from None
    return factors
