"""``kubestow extender``: a placing term for a real kube-scheduler, over HTTP."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import names, options, outputs, serving

if TYPE_CHECKING:
    from kubestow.live import servers, stores
    from kubestow.live.extender import ExtenderOptions

app = outputs.make_app()
_BODY_BYTES = 64 * 2**20  # 5000 whole nodes are about 12 MiB; names are far less


@app.command()
def extender(
    term: Annotated[
        str,
        typer.Option(
            help=f"Filter and score by this term: {names.listed(names.TERMS, plugins=True)}."
        ),
    ] = "load-aware",
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Set a parameter of the term. Repeatable."
        ),
    ] = None,
    paths: serving.PathsArgument = None,
    listen: serving.ListenOption = "127.0.0.1:8888",
    certificates: serving.CertificatesOption = serving.Certificates.NONE,
    namespace: serving.NamespaceOption = None,
    service: Annotated[
        str, typer.Option(help="Name of the Service in front of this server.")
    ] = "kubestow-extender",
    secret: serving.SecretOption = "kubestow-extender-certificates",  # noqa: S107 - its name
    host_names: serving.HostsOption = None,
    client_ca: serving.ClientsOption = None,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="KUBESTOW_STORE", help="Record decisions in this store."
        ),
    ] = None,
    loads_every: Annotated[
        str, typer.Option(help="Poll metrics.k8s.io this often; 0s uses requests instead of usage.")
    ] = "15s",
    decision: Annotated[
        str,
        typer.Option(
            help="Combine clbp and load-aware with kube-scheduler's scores like this. shortlist: "
            "keep the few best nodes, among which kube-scheduler chooses. alone: keep one node. "
            "weighted: add a score to kube-scheduler's, which takes two calls per pod. Packing "
            "terms always decide alone.",
            metavar="|".join(names.DECISIONS),
        ),
    ] = names.DECISIONS[0],
    bind: Annotated[
        bool, typer.Option("--bind", help="Serve /bind as well, and bind pods from here.")
    ] = False,
    taint: Annotated[
        bool,
        typer.Option("--taint-high-load", help="Taint nodes under high load, with hysteresis."),
    ] = False,
    version: Annotated[
        str, typer.Option(help="Behave like this Kubernetes release.")
    ] = names.VERSION,
    drain: Annotated[str, typer.Option(help="Keep serving for this long after SIGTERM.")] = "5s",
    print_config: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Print the KubeSchedulerConfiguration for this URL and exit."
        ),
    ] = None,
    log_level: serving.LogOption = "info",
) -> int:
    """Serve /filter and /prioritize to kube-scheduler, which calls them for every pod.

    kube-scheduler sends node names only; the extender knows nodes and pods from watches. If it
    fails, all nodes pass, and scheduling continues as without an extender.

    Example:
      kubestow extender --term clbp --print-config http://127.0.0.1:8888 > scheduler.yaml
      kubestow extender --term clbp --store sqlite:///kubestow.db
      kubestow extender --term load-aware --set thresholds.cpu=0.7 --listen 0.0.0.0:8888
    """
    import yaml

    from kubestow.live import servers, stores
    from kubestow.live.extender import ExtenderOptions
    from kubestow.policies.placing import profiles, terms

    if print_config is not None:
        written = _configuration(term, print_config, decision)
        typer.echo(yaml.safe_dump(written, sort_keys=False), nl=False)
        return 0
    serving.prepare_logs(log_level)
    host, port = servers.read_address("--listen", listen)
    every_s = 0.0 if loads_every == "0s" else options.read_duration("--loads-every", loads_every)
    chosen = ExtenderOptions(
        term=term,
        parameters=options.read_parameters(parameters or ()),
        version=version,
        loads_every_s=every_s,
        decision=decision,
        bind=bind,
        taint=terms.HighLoadParameters() if taint else None,
    )
    terms.make_term(chosen.term, chosen.parameters)  # refuse bad parameters before serving
    profiles.profile_of_term(term, decision)
    certificate_options = serving.CertificateOptions(
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
        servers.run(_serve(chosen, listening, certificate_options, kept, (kubeconfig, context)))
    )


async def _serve(
    chosen: ExtenderOptions,
    listening: servers.ServerSettings,
    certificate_options: serving.CertificateOptions,
    store: stores.DeferredStore | None,
    cluster: tuple[str | None, str | None],
) -> signal.Signals | None:
    from kubestow.live import api, servers, stores
    from kubestow.live.extender import COMPONENT, ExtenderHost

    client = await api.connect(*cluster)
    metrics = servers.Telemetry(COMPONENT)
    tls, source = (
        serving.make_context(certificate_options),
        serving.make_source(certificate_options, client),
    )
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
                return "no certificate yet"
            return host.ready()

        server = servers.Server(
            host.edge.routes(), listening, metrics, ready, tls, quick=host.edge.handlers()
        )
        stack.callback(server.close)
        background = host.background()
        if keeper is not None:
            background.append(keeper.keep)
        return await servers.serve(server, *background)


def _configuration(term: str, url: str, decision: str) -> dict[str, Any]:
    from kubestow.policies.placing import extender_configuration, profiles

    tls = extender_configuration.Tls() if url.startswith("https://") else None
    return extender_configuration.write_extender_configuration(
        profiles.profile_of_term(term, decision), url, tls=tls
    )
