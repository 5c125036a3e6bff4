"""``kubestow admission``: the webhook that gives new pods what was learned."""

from __future__ import annotations

import contextlib
import enum
import signal
from typing import Annotated

import typer

from kubestow.cli import options, outputs, serving
from kubestow.live import api, caches, servers, stores
from kubestow.live.admission import (
    COMPONENT,
    DEADLINE_S,
    MANAGED_LABEL,
    AdmissionOptions,
    AdmissionPolicy,
    LimitRule,
    assemble_admission,
)
from kubestow.live.certificates import Webhooks
from kubestow.model import errors, pods, quantities, resources

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)


class LimitMode(enum.StrEnum):
    """How limits follow requests."""

    DEFAULT = "default"
    KEEP = "keep"
    SCALE = "scale"
    REQUESTS_ONLY = "requests-only"
    FACTOR = "factor"


_PLAIN = AdmissionPolicy()
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
            help="Store with learned values; decisions go there.",
        ),
    ],
    paths: serving.PathsArgument = None,
    listen: serving.ListenOption = "127.0.0.1:9443",
    certificates: serving.CertificatesOption = serving.Certificates.MANAGED,
    webhook: Annotated[
        str | None,
        typer.Option(help="MutatingWebhookConfiguration whose caBundle is kept (managed)."),
    ] = None,
    namespace: serving.NamespaceOption = None,
    service: Annotated[str, typer.Option(help="Service that leads here.")] = "kubestow-admission",
    secret: serving.SecretOption = "kubestow-admission-certificates",  # noqa: S107 - its name
    host_names: serving.HostsOption = None,
    client_ca: serving.ClientsOption = None,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    cluster: Annotated[
        bool,
        typer.Option(help="Ask the cluster for namespaces, LimitRanges, quotas and nodes."),
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; annotate what would be changed.")
    ] = False,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", help=f"Understood beside {MANAGED_LABEL}; several times."),
    ] = None,
    id_labels: Annotated[
        list[str] | None,
        typer.Option("--id-label", help=f"Understood beside {pods.ID_LABEL}; several times."),
    ] = None,
    freeze: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMESPACE/KIND/NAME", help="Leave this workload; several times."),
    ] = None,
    limits: Annotated[
        LimitMode,
        typer.Option(
            help="default: memory limit equals request, no CPU limit; keep: raised only where "
            "needed; scale: in proportion; requests-only: not touched; factor: see --limit-factor."
        ),
    ] = LimitMode.DEFAULT,
    limit_factor: Annotated[
        list[str] | None, typer.Option(metavar="RESOURCE=NUMBER", help="E.g. cpu=2, memory=1.2.")
    ] = None,
    keep_guaranteed: Annotated[
        bool, typer.Option("--keep-guaranteed", help="Pods of class Guaranteed stay so.")
    ] = False,
    pod_level: Annotated[
        bool, typer.Option("--pod-level", help="Change pods with pod-level resources, too.")
    ] = False,
    least: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="RESOURCE=QUANTITY", help="Least request; 10m and 32Mi."),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="RESOURCE=QUANTITY", help="Largest request."),
    ] = None,
    max_age: Annotated[
        str, typer.Option(help="How old learned values may get while the store is away.")
    ] = "1h",
    refresh: Annotated[str, typer.Option(help="Pause between two looks into the store.")] = "5s",
    deadline: Annotated[
        str, typer.Option(help="Answer by then; less than the webhook's timeoutSeconds.")
    ] = f"{DEADLINE_S:g}s",
    drain: Annotated[str, typer.Option(help="Answer on for so long when told to end.")] = "5s",
    log_level: serving.LogOption = "info",
) -> int:
    """Serve the admission webhook /mutate-v1-pod: new pods get the requests that were learned.

    Only pods with the label kubestow.io/managed=true are looked at. Whatever goes wrong, a pod is
    let through unchanged, in time. Learned values are kept in memory, so that no admission waits
    for the store. SIGTERM ends it without a lost request.

    Example:
      kubestow admission --store sqlite:///kubestow.db --certificates none --no-cluster --dry-run
      kubestow admission --store $URL --listen 0.0.0.0:9443 --webhook kubestow
      kubestow admission --store $URL --listen 0.0.0.0:9443 --certificates mounted /certificates
    """
    serving.prepare_logs(log_level)
    host, port = servers.read_address("--listen", listen)
    floors, caps = _amounts("--min", least), _amounts("--max", most)
    factors = _numbers(limit_factor)
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
        cpu_least_m=floors.get(resources.CPU, _PLAIN.cpu_least_m),
        cpu_most_m=caps.get(resources.CPU),
        memory_least_bytes=floors.get(resources.MEMORY, _PLAIN.memory_least_bytes),
        memory_most_bytes=caps.get(resources.MEMORY),
        max_age_s=options.read_duration("--max-age", max_age),
    )
    deadline_s = options.read_duration("--deadline", deadline)
    chosen = AdmissionOptions(
        policy=policy,
        settings=servers.ServerSettings(
            host=host,
            port=port,
            # Whoever sends slowly must not use up the time that is left for the answer.
            read_s=deadline_s,
            request_s=2.0 * deadline_s + 1.0,
            drain_s=options.read_duration("--drain", drain),
        ),
        deadline_s=deadline_s,
        every_s=options.read_duration("--refresh", refresh),
    )
    wanted = serving.Wanted(
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
    asked = (kubeconfig, context) if cluster else None
    return serving.exit_code(servers.run(_serve(late, chosen, wanted, asked)))


async def _serve(
    store: stores.DeferredStore,
    chosen: AdmissionOptions,
    wanted: serving.Wanted,
    cluster: tuple[str | None, str | None] | None,
) -> signal.Signals | None:
    async with contextlib.AsyncExitStack() as stack:
        client = None
        if cluster is not None:
            client = await stack.enter_async_context(await api.connect(*cluster))
        return await _serve_with(client, store, chosen, wanted)


async def _serve_with(
    client: api.ApiClient | None,
    store: stores.DeferredStore,
    chosen: AdmissionOptions,
    wanted: serving.Wanted,
) -> signal.Signals | None:
    metrics = servers.Telemetry(COMPONENT)
    tls, source = serving.make_context(wanted), serving.make_source(wanted, client)
    keeper = await serving.keep_certificates(tls, source, metrics)
    background: list[serving.Background] = []
    watcher: caches.BoundsWatcher | None = None
    if keeper is not None:
        background.append(keeper.keep)
    if client is not None:
        looks = metrics.counter("surroundings_looks", "Looks at the cluster.", ("result",))
        watcher = caches.BoundsWatcher(client, lambda result: looks.labels(result).inc())
        background.append(watcher.keep)

    def around() -> caches.NamespaceBounds:
        return caches.unknown_bounds() if watcher is None else watcher.current

    def ready() -> str:
        return "" if keeper is None or keeper.ready else "there is no certificate yet"

    with assemble_admission(store, chosen, tls, around, ready, metrics) as webhook:
        return await servers.serve(webhook.server, *background)


def _workload(text: str) -> str:
    if len(text.split("/")) < 3 or not all(text.split("/")):
        raise errors.InputError("--freeze", f"{text!r}: expected NAMESPACE/KIND/NAME")
    return text


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    found = {}
    for text in given or ():
        for part in text.split(","):
            name, equals, value = part.partition("=")
            if not equals or name not in (resources.CPU, resources.MEMORY):
                expected = "expected cpu=VALUE or memory=VALUE"
                raise errors.InputError(option, f"{part!r}: {expected}")
            found[name] = value
    return found


def _amounts(option: str, given: list[str] | None) -> dict[str, int]:
    found = {}
    for name, text in _pairs(option, given).items():
        try:
            found[name] = resources.amount(name, quantities.parse(text))
        except ValueError as err:
            raise errors.InputError(f"{option} {name}", str(err)) from None
    return found


def _numbers(given: list[str] | None) -> dict[str, float]:
    found = {}
    for name, text in _pairs("--limit-factor", given).items():
        try:
            found[name] = float(text)
        except ValueError:
            problem = f"{text!r}: expected a number, 1 or more"
            raise errors.InputError(f"--limit-factor {name}", problem) from None
    return found
