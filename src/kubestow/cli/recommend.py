"""``kubestow recommend``: requests and limits that fit, with a stated risk."""

from __future__ import annotations

import enum
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import names, options, outputs, prometheus_options, serving
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.live import workloads
    from kubestow.model import usage
    from kubestow.model.limit_ranges import PodBounds
    from kubestow.model.selectors import LabelSelector
    from kubestow.sources import prometheus
    from kubestow.sources.usage import UsageQuery
    from kubestow.workflows import recommending

app = outputs.make_app()

_GIB = float(2**30)
_NO_ACCESS = prometheus_options.PrometheusAccess()


class RecommendFormat(enum.StrEnum):
    """Output format of the command."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    PATCH = "patch"


@app.command()
@prometheus_options.takes_prometheus
def recommend(
    folder: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="DIR|FILE",
            help="Read usage.csv or usage.parquet from this folder, or this file.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="URL|auto",
            help="Read usage from this Prometheus; auto: from the one found in the cluster.",
        ),
    ] = None,
    access: prometheus_options.PrometheusAccess = _NO_ACCESS,
    cluster: Annotated[
        bool,
        typer.Option(
            "--cluster",
            help="Read workloads from the cluster, and usage unless --prometheus is given.",
        ),
    ] = False,
    kubeconfig: serving.KubeconfigOption = None,
    contexts: Annotated[
        list[str] | None,
        typer.Option("--context", help="Kubeconfig context; default: the current one. Repeatable."),
    ] = None,
    sample: Annotated[
        str,
        typer.Option(help="Sample metrics.k8s.io for this long (--cluster without --prometheus)."),
    ] = "5m",
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Apply after showing a diff and asking for confirmation."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Apply without asking for confirmation.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="With --apply: have the API server validate; change nothing."
        ),
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="KUBESTOW_STORE",
            help="Write recommendations and decisions to this store, for admission.",
        ),
    ] = None,
    unsuitable: Annotated[
        bool,
        typer.Option(
            "--unsuitable",
            help="Apply and store recommendations for unsuitable containers as well.",
        ),
    ] = False,
    min_evidence: Annotated[
        int,
        typer.Option(
            min=0, metavar="WINDOWS", help="Apply only if usage covers this many days (--hold)."
        ),
    ] = names.MIN_EVIDENCE,
    strategy: Annotated[
        str,
        typer.Option(
            help=f"Recommend with this strategy: {names.listed(names.RECOMMENDERS, plugins=True)}."
        ),
    ] = "auto",
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Set a parameter of the strategy. Repeatable."
        ),
    ] = None,
    miss_probability: Annotated[
        float | None,
        typer.Option(help="Accept this share of days that need more (conformal, auto), e.g. 0.01."),
    ] = None,
    limits: Annotated[
        names.Limits,
        typer.Option(
            help="Keep limits that exist in proportion, match memory limits to requests, or remove "
            "all limits."
        ),
    ] = names.Limits.KEEP,
    memory_headroom: Annotated[
        str, typer.Option(metavar="SHARE", help="Keep memory this far above its peak.")
    ] = names.MEMORY_HEADROOM,
    memory_min: Annotated[
        str, typer.Option(metavar="QUANTITY", help="Request at least this memory.")
    ] = names.MEMORY_MIN,
    cpu_min: Annotated[
        str, typer.Option(metavar="QUANTITY", help="Request at least this CPU.")
    ] = names.CPU_MIN,
    history: Annotated[
        str | None,
        typer.Option(help="Use this much history; default: 8d, of krr-simple 14d."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="Step between samples; default: 5m, of krr-simple 75s, or the file's usual step."
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="End the history of --prometheus then (ISO 8601); default: now."
        ),
    ] = None,
    hold: Annotated[str, typer.Option(help="Recommend for this long.")] = "1d",
    namespaces: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace", "-n", help="Include only this namespace, or 'team-*'. Repeatable."
        ),
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(
            "--selector", "-l", help="Include only pods with these labels: a=b,c in (d,e),!f."
        ),
    ] = None,
    severity: Annotated[
        names.Severity, typer.Option(help="Show recommendations of this severity or higher.")
    ] = names.Severity.NONE,
    out: Annotated[
        Path | None, typer.Option(help="Write report, results and decisions to this folder.")
    ] = None,
    output: Annotated[
        RecommendFormat, typer.Option("--output", "-o", help="Output format.", case_sensitive=False)
    ] = RecommendFormat.TABLE,
) -> int:
    """Recommend requests and limits from container usage, and show how often they would fail.

    Usage comes from files (--csv), from a Prometheus that scrapes cAdvisor and
    kube-state-metrics, or from samples of the resource metrics API (--cluster). Every
    recommendation is back-tested: "missed" counts the past days that needed more memory, and says
    what their share is at most (90 % confidence), "over" is the share of CPU samples above the
    request. Guards respect node sizes, QoS classes, autoscalers, LimitRanges, quotas, past OOM
    kills and the headroom of memory; the line below a container gives the reason.

    Example:
      kubestow recommend --csv usage/ --out report
      kubestow recommend --prometheus http://localhost:9090 -n shop --severity medium
      kubestow recommend --prometheus https://thanos.example.org --prometheus-label cluster=prod
      kubestow recommend --csv usage/ --strategy conformal --miss-probability 0.01 -o patch
      kubestow recommend --cluster --prometheus http://localhost:9090 -n shop --apply
      kubestow recommend --prometheus http://localhost:9090 --store sqlite:///kubestow.db
    """
    from kubestow.policies.sizing import registry
    from kubestow.sources import usage as sources
    from kubestow.workflows import recommending

    request = recommending.RecommendRequest(
        strategy=registry.RECOMMENDERS.get(strategy).name,
        parameters=options.read_parameters(changes or ()),
        miss_probability=_share(miss_probability),
        window_s=options.read_duration("--hold", hold),
        guards=recommending.make_guards(limits.value, memory_headroom, memory_min, cpu_min),
    )
    if request.strategy != "keep":
        recommending.make_estimator(request)  # before anything long is read
    as_krr = request.strategy == "krr-simple"
    usual_s = sources.KRR_HISTORY_S if as_krr else sources.HISTORY_S
    history_s = usual_s if history is None else options.read_duration("--history", history)
    step_s = _step(step)
    labels = _read_selector(selector)
    end_s = None if end is None else options.read_time("--end", end)
    if [folder is not None, server is not None or cluster].count(True) != 1:
        raise errors.InputError("recommend", "expected --csv DIR, --prometheus URL or --cluster")
    if apply and not cluster:
        raise errors.InputError("--apply", "needs --cluster")
    if end_s is not None and server is None:
        raise errors.InputError("--end", "needs --prometheus")
    several = tuple(contexts or ())[1:] != ()
    if several and (apply or store is not None or output is RecommendFormat.PATCH):
        raise errors.InputError("--context", "--apply, --store and -o patch take one context")
    reading = _Reading(
        folder=folder, server=server, access=access, cluster=cluster, kubeconfig=kubeconfig,
        sample_s=options.read_duration("--sample", sample), history_s=history_s, step_s=step_s,
        end_s=end_s, only=tuple(namespaces or ()), labels=labels, as_krr=as_krr, several=several,
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    for context in contexts or (None,):
        read = reading.read(context)
        result, more = _show(
            read, request, recommending.Severity(severity.value), context if several else None,
            out, output,
        )  # fmt: skip
        rows += more
    _answer(result, rows, output)
    wanted = result if unsuitable else recommending.only_suitable(result)
    if store is not None:
        kept = recommending.store_recommendations(store, wanted)
        outputs.progress_console().print(f"stored recommendations for {kept} containers")
    if read.live is not None and apply:
        return read.live.apply(wanted, min_evidence, yes=yes, dry_run=dry_run)
    return 0


@dataclass(frozen=True, slots=True)
class _ReadUsage:
    """What was read of one cluster."""

    table: usage.Usage
    inventory: usage.Inventory
    bounds: Mapping[str, PodBounds]
    live: _Live | None
    asked: _Asked | None


@dataclass(frozen=True, slots=True)
class _Reading:
    """Where usage and workloads come from."""

    folder: Path | None
    server: str | None
    access: prometheus_options.PrometheusAccess
    cluster: bool
    kubeconfig: str | None
    sample_s: float
    history_s: float
    step_s: float | None
    end_s: float | None
    only: tuple[str, ...]
    labels: LabelSelector
    as_krr: bool
    several: bool

    def read(self, context: str | None) -> _ReadUsage:
        """Read the usage of one cluster, and its workloads."""
        from kubestow.workflows import recommending

        reached = (self.kubeconfig, context)
        live = _Live(reached, self.only) if self.cluster else None
        asked = None
        if self.folder is not None:
            table, inventory = _read(self.folder, self.history_s, self.step_s)
        elif self.server is not None:
            settings = self.access.settings(self.server)
            table, inventory, asked = _ask(settings, self._question(context), reached)
        elif live is not None:
            table = live.sample(self.sample_s, self.step_s)
        if live is not None:
            inventory = live.cluster_inventory.inventory
        table = recommending.select_usage(table, inventory, self.only, self.labels)
        bounds = {} if live is None else live.cluster_inventory.bounds
        return _ReadUsage(table, inventory, bounds, live, asked)

    def _question(self, context: str | None) -> UsageQuery:
        from kubestow.sources import usage as sources

        usual_s = sources.KRR_STEP_S if self.as_krr else sources.USAGE_STEP_S
        return sources.UsageQuery(
            end_s=time.time() if self.end_s is None else self.end_s,
            history_s=self.history_s,
            step_s=self.step_s or usual_s,
            namespaces=self.only,
            with_labels=not self.labels.empty,
            as_krr=self.as_krr,
            origin=self._origin(context),
        )

    def _origin(self, context: str | None) -> tuple[prometheus.Matcher, ...]:
        """Return the conditions on labels of this cluster."""
        stated = self.access.matchers()
        if context is None:
            return stated
        own = tuple(replace(one, value=one.value.replace("{context}", context)) for one in stated)
        if self.several and self.server != "auto" and own == stated:
            raise errors.InputError(
                "--context",
                "several clusters share this Prometheus; expected a label that differs, such as "
                "--prometheus-label cluster={context}, or --prometheus auto",
            )
        return own


def _show(
    read: _ReadUsage,
    request: recommending.RecommendRequest,
    severity: recommending.Severity,
    context: str | None,
    out: Path | None,
    output: RecommendFormat,
) -> tuple[recommending.RecommendResult, list[dict[str, Any]]]:
    """Recommend for one cluster, write and print; return what was shown, and as plain values.

    Args:
        read: Usage and workloads.
        request: What to recommend.
        severity: The least severity to show.
        context: The context, if there are several.
        out: Folder to write to.
        output: Output format.
    """
    from kubestow.workflows import recommending

    everything = _run(read.table, read.inventory, request, read.bounds)
    result = recommending.filter_by_severity(everything, severity)
    shown = set(result.places)
    others = [
        everything.recommendations[place] for place in everything.places if place not in shown
    ]
    totals = recommending.add_up(result.recommendations, read.inventory, others)
    place = out / context if context is not None and out is not None else out
    if place is not None:
        _write(result, totals, place, read.asked)
    if output is RecommendFormat.TABLE:
        if context is not None:
            outputs.console().print(f"context {context}", style="bold", markup=False)
        _print(result, totals, place)
    if read.asked is not None:
        outputs.progress_console().print(str(read.asked))
    named = {} if context is None else {"context": context}
    return result, [{**named, **row} for row in recommending.recommendations_as_json(result)]


class _Live:
    """A cluster, reached through a module that needs the extra ``live``."""

    def __init__(self, access: tuple[str | None, str | None], namespaces: tuple[str, ...]) -> None:
        from kubestow.cli import recommend_cluster

        self._module = recommend_cluster
        namespaces = recommend_cluster.expand_namespaces(access, namespaces)
        self._access, self._namespaces = access, namespaces
        self.cluster_inventory: workloads.ClusterInventory = self._module.read_inventory(
            access, namespaces
        )

    def sample(self, seconds: float, step_s: float | None) -> usage.Usage:
        """Sample usage now."""
        return self._module.sample_usage(
            self._access, self._namespaces, self.cluster_inventory, seconds, step_s
        )

    def apply(
        self,
        result: recommending.RecommendResult,
        min_evidence: int,
        *,
        yes: bool,
        dry_run: bool,
    ) -> int:
        """Change workloads after asking for confirmation; return the exit code."""
        return self._module.apply(self._access, result, min_evidence, yes=yes, dry_run=dry_run)


def _step(text: str | None) -> float | None:
    return None if text is None else options.read_duration("--step", text)


def _share(value: float | None) -> float | None:
    if value is not None and not 0.0 < value < 0.5:
        raise errors.InputError(
            "--miss-probability", f"{value:g}: expected more than 0 and less than 0.5"
        )
    return value


def _read_selector(text: str | None) -> LabelSelector:
    from kubestow.model import decoding

    try:
        return decoding.parse_selector(text or "")
    except ValueError as err:
        raise errors.InputError("--selector", str(err)) from err


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a read from Prometheus took."""

    queries: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.queries} queries to Prometheus in {self.seconds:.1f} s"


def _read(
    folder: Path, history_s: float, step_s: float | None
) -> tuple[usage.Usage, usage.Inventory]:
    from kubestow.sources.usage import read_inventory, read_usage_files

    with outputs.progress_bar() as bar:
        bar.add_task(f"reading {folder}", total=None)
        return read_usage_files(folder, step_s, history_s), read_inventory(folder)


def _ask(
    settings: prometheus.PrometheusSettings,
    question: UsageQuery,
    access: tuple[str | None, str | None],
) -> tuple[usage.Usage, usage.Inventory, _Asked]:
    from kubestow.sources.usage import read_prometheus_usage

    began_s = time.monotonic()
    with (
        prometheus_options.explaining_clusters(),
        prometheus_options.connect(settings, *access) as client,
        outputs.progress_bar() as bar,
    ):
        task = bar.add_task("reading", total=1.0)

        def watch(what: str, done: float) -> None:
            bar.update(task, completed=done, description=f"reading {what}")

        table, inventory = read_prometheus_usage(client, question, watch)
        return table, inventory, _Asked(client.queries_sent, time.monotonic() - began_s)


def _run(
    table: usage.Usage,
    inventory: usage.Inventory,
    request: recommending.RecommendRequest,
    bounds: Mapping[str, PodBounds],
) -> recommending.RecommendResult:
    from kubestow.workflows import recommending

    with outputs.progress_bar() as bar:
        task = bar.add_task("estimating", total=1.0)
        return recommending.recommend(
            table,
            inventory,
            request,
            lambda what, done: bar.update(task, completed=done, description=what),
            bounds,
        )


def _write(
    result: recommending.RecommendResult,
    totals: recommending.Totals,
    out: Path,
    asked: _Asked | None,
) -> None:
    import msgspec

    from kubestow.reports import recommendation_page
    from kubestow.workflows import files, recommending

    files.write_json(out / "results.json", recommending.recommendations_as_json(result))
    took = {} if asked is None else {"prometheus": asdict(asked)}
    concluded = {"conclusion": recommending.conclude_recommendations(result.recommendations)}
    files.write_json(
        out / "totals.json", {**concluded, **recommending.totals_as_json(totals), **took}
    )
    lines = [msgspec.json.encode(record.as_json()).decode() for record in result.records]
    files.write_text(out / "decisions.jsonl", "\n".join([*lines, ""]))
    files.write_text(out / "report.html", recommendation_page.make_page(result, totals))


def _answer(
    result: recommending.RecommendResult, rows: list[dict[str, Any]], output: RecommendFormat
) -> None:
    """Print everything but the table."""
    import yaml

    from kubestow.workflows import recommending

    match output:
        case RecommendFormat.JSON:
            outputs.print_json(rows)
        case RecommendFormat.YAML:
            sys.stdout.write(yaml.safe_dump(rows, sort_keys=False))
        case RecommendFormat.PATCH:
            sys.stdout.write(recommending.recommendations_as_patches(result))
        case RecommendFormat.TABLE:
            pass


def _print(
    result: recommending.RecommendResult, totals: recommending.Totals, out: Path | None
) -> None:
    from rich import markup

    from kubestow.reports import recommendation_lines
    from kubestow.workflows import recommending

    console = outputs.console()
    console.print(recommendation_lines.make_table(result, console.width))
    more = len(result.recommendations) - recommendation_lines.LISTED
    if more > 0:
        console.print(f"{more} more: -o json lists all, --severity filters")
    console.print(
        f"being safe costs {totals.cpu_safety_m / 1000:.1f} cores beyond the 95th percentiles of "
        f"{totals.cpu_bare_m / 1000:.1f} and {totals.memory_safety_bytes / _GIB:.1f} GiB beyond "
        f"the peaks of {totals.memory_bare_bytes / _GIB:.1f} (margins, headroom, floors)"
    )
    if totals.nodes_now is not None:
        console.print(
            f"packed onto nodes of the most common size: {totals.nodes_now} now, "
            f"{totals.nodes_then} after"
        )
    if totals.unknown:
        console.print(f"{totals.unknown} have no CPU request and do not count as freed")
    for note in result.notes:
        console.print(markup.escape(f"note: {note}"))
    if out is not None:
        console.print(f"written to {out}: report.html, results.json, totals.json, decisions.jsonl")
    console.print(
        recommending.conclude_recommendations(result.recommendations), markup=False, highlight=False
    )
