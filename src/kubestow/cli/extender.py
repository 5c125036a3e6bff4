"""``kubestow extender``: a placing term for a real kube-scheduler, over HTTP."""

from __future__ import annotations

import contextlib
import signal
from typing import Annotated, Any

import msgspec
import typer
import yaml

from kubestow.cli import options, outputs, serving
from kubestow.live import api, servers, stores
from kubestow.live.extender import COMPONENT, ExtenderHost, ExtenderOptions
from kubestow.model import errors
from kubestow.policies.placing import extender_configuration, profiles, terms

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)
_BODY_BYTES = 64 * servers.MIB  # 5000 whole nodes are about 12 MiB; names are far less


@app.command()
def extender(
    term: Annotated[
        str, typer.Option(help=f"What filters and scores: {', '.join(terms.TERMS)}.")
    ] = "load-aware",
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the term; several times."),
    ] = None,
    paths: serving.PathsArgument = None,
    listen: serving.ListenOption = "127.0.0.1:8888",
    certificates: serving.CertificatesOption = serving.Certificates.NONE,
    namespace: serving.NamespaceOption = None,
    service: Annotated[str, typer.Option(help="Service that leads here.")] = "kubestow-extender",
    secret: serving.SecretOption = "kubestow-extender-certificates",  # noqa: S107 - its name
    host_names: serving.HostsOption = None,
    client_ca: serving.ClientsOption = None,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="KUBESTOW_STORE", help="Store that decisions go to."),
    ] = None,
    loads_every: Annotated[
        str, typer.Option(help="Pause between two looks at metrics.k8s.io; 0s counts requests.")
    ] = "15s",
    decision: Annotated[
        str,
        typer.Option(
            help="How clbp and load-aware take part. shortlist: they leave the few nodes they find "
            "best, and kube-scheduler's own scores choose between these. alone: they leave one. "
            "weighted: they give points beside its scores, which takes two questions a pod. "
            "Packing terms always decide alone.",
            metavar="|".join(profiles.DECISIONS),
        ),
    ] = profiles.SHORTLIST,
    bind: Annotated[
        bool, typer.Option("--bind", help="Answer /bind, too: bind pods here.")
    ] = False,
    taint: Annotated[
        bool,
        typer.Option("--taint-high-load", help="Taint nodes under high load, with hysteresis."),
    ] = False,
    version: Annotated[str, typer.Option(help="Kubernetes release.")] = profiles.DEFAULT_VERSION,
    drain: Annotated[str, typer.Option(help="Answer on for so long when told to end.")] = "5s",
    print_config: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Print the KubeSchedulerConfiguration for this address, and leave."
        ),
    ] = None,
    log_level: serving.LogOption = "info",
) -> int:
    """Serve /filter and /prioritize to kube-scheduler, which asks for every pod.

    Only names of nodes are sent; what is known of them comes from watches. A fault here lets all
    nodes pass, so that scheduling goes on as without an extender.

    Example:
      kubestow extender --term clbp --print-config http://127.0.0.1:8888 > scheduler.yaml
      kubestow extender --term clbp --store sqlite:///kubestow.db
      kubestow extender --term load-aware --set cpu=0.7 --listen 0.0.0.0:8888 --certificates managed
    """
    if print_config is not None:
        written = _configuration(term, print_config, decision)
        typer.echo(yaml.safe_dump(written, sort_keys=False), nl=False)
        return 0
    serving.prepare_logs(log_level)
    host, port = servers.read_address("--listen", listen)
    every_s = 0.0 if loads_every == "0s" else options.read_duration("--loads-every", loads_every)
    chosen = ExtenderOptions(
        term=term,
        parameters=_parameters(parameters),
        version=version,
        loads_every_s=every_s,
        decision=decision,
        bind=bind,
        taint=terms.HighLoadParameters() if taint else None,
    )
    terms.make_term(chosen.term, chosen.parameters)  # refused now rather than behind the door
    profiles.profile_of_term(term, decision)
    wanted = serving.Wanted(
        kind=certificates,
        paths=paths or (),
        client_authorities=client_ca,
        namespace=namespace,
        service=service,
        secret=secret,
        hosts=host_names or (),
    )
    listening = servers.ServerSettings(
        host=host,
        port=port,
        most_body_bytes=_BODY_BYTES,
        drain_s=options.read_duration("--drain", drain),
    )
    kept = None if store is None else stores.DeferredStore(store)
    if kept is not None:
        stores.try_opening(kept, serving.warn)
    return serving.exit_code(
        servers.run(_serve(chosen, listening, wanted, kept, (kubeconfig, context)))
    )


async def _serve(
    chosen: ExtenderOptions,
    listening: servers.ServerSettings,
    wanted: serving.Wanted,
    store: stores.DeferredStore | None,
    cluster: tuple[str | None, str | None],
) -> signal.Signals | None:
    client = await api.connect(*cluster)
    metrics = servers.Telemetry(COMPONENT)
    tls, source = serving.make_context(wanted), serving.make_source(wanted, client)
    keeper = await serving.keep_certificates(tls, source, metrics)
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: None if store is None else store.close())
        journal = None if store is None else stores.Journal(store.write, metrics)
        if journal is not None:
            journal.start()
            stack.callback(journal.stop)

        def record(make: Any) -> None:
            if journal is not None:
                journal.put(make)

        host = ExtenderHost(client, chosen, record, metrics)

        def ready() -> str:
            if keeper is not None and not keeper.ready:
                return "there is no certificate yet"
            return host.ready()

        server = servers.Server(
            host.edge.routes(), listening, metrics, ready, tls, quick=host.edge.handlers()
        )
        stack.callback(server.close)
        beside = host.background()
        if keeper is not None:
            beside.append(keeper.keep)
        return await servers.serve(server, *beside)


def _configuration(term: str, url: str, decision: str) -> dict[str, Any]:
    tls = extender_configuration.Tls() if url.startswith("https://") else None
    return extender_configuration.write_extender_configuration(
        profiles.profile_of_term(term, decision), url, tls=tls
    )


def _parameters(given: list[str] | None) -> dict[str, Any]:
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise errors.InputError("--set", f"{text!r}: expected NAME=VALUE")
        try:
            found[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            found[name] = value
    return found
