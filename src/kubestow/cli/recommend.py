"""``kubestow recommend``: requests and limits that fit, with a stated risk."""

from __future__ import annotations

import enum
import importlib
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
import yaml
from rich import markup
from rich.table import Column, Table

from kubestow.cli import options, outputs
from kubestow.live import caches
from kubestow.model import errors, usage
from kubestow.model.usage import Usage
from kubestow.policies.sizing import registry
from kubestow.reports import recommendation_page
from kubestow.sources import prometheus
from kubestow.sources.usage import (
    USAGE_STEP_S,
    UsageQuery,
    read_inventory,
    read_prometheus_usage,
    read_usage_files,
)
from kubestow.workflows import files, recommending, scenario_files
from kubestow.workflows.recommending import Severity

if TYPE_CHECKING:
    from kubestow.live import workloads

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)

_GIB = float(2**30)
_LISTED = 40
_NAMES = ", ".join(registry.RECOMMENDERS)


class RecommendFormat(enum.StrEnum):
    """How the command answers."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    PATCH = "patch"


@app.command()
def recommend(
    folder: Annotated[
        Path | None, typer.Option("--csv", metavar="DIR", help="Folder with usage.csv or .parquet.")
    ] = None,
    server: Annotated[
        str | None, typer.Option("--prometheus", metavar="URL", help="Ask a Prometheus.")
    ] = None,
    token: Annotated[
        Path | None, typer.Option("--token-file", help="File with a bearer token for it.")
    ] = None,
    authority: Annotated[
        Path | None, typer.Option("--ca-file", help="Certificates that may vouch for it.")
    ] = None,
    cluster: Annotated[
        bool,
        typer.Option(
            "--cluster",
            help="Ask the cluster what there is; and what it uses, unless --prometheus is given.",
        ),
    ] = False,
    kubeconfig: Annotated[
        str | None, typer.Option(help="How to reach the cluster; by default the usual ways.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    sample: Annotated[
        str, typer.Option(help="For how long to sample metrics.k8s.io (--cluster alone).")
    ] = "5m",
    apply: Annotated[
        bool, typer.Option("--apply", help="Change the workloads, after a look and a question.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --apply.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --apply: let the API server check, no more.")
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Keep advice and decisions there, for admission."),
    ] = None,
    unsuitable: Annotated[
        bool,
        typer.Option("--unsuitable", help="Apply and keep advice on unsuitable containers, too."),
    ] = False,
    strategy: Annotated[str, typer.Option(help=f"Who recommends: {_NAMES}.")] = "auto",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Change a parameter of the strategy."),
    ] = None,
    miss_probability: Annotated[
        float | None,
        typer.Option(help="Stated share of days that may need more (conformal, auto)."),
    ] = None,
    history: Annotated[str, typer.Option(help="How far to look back.")] = "8d",
    step: Annotated[
        str | None, typer.Option(help="Distance of two points; 5m, or the usual one of a file.")
    ] = None,
    hold: Annotated[str, typer.Option(help="For how long a recommendation is to hold.")] = "1d",
    namespaces: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Only this one; several times.")
    ] = None,
    selector: Annotated[
        str | None, typer.Option("--selector", "-l", help="Only pods with labels a=b,c=d.")
    ] = None,
    severity: Annotated[
        Severity, typer.Option(help="Only what is at least so urgent.")
    ] = Severity.NONE,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report, results and decisions.")
    ] = None,
    output: Annotated[
        RecommendFormat, typer.Option("--output", "-o", help="How to answer.", case_sensitive=False)
    ] = RecommendFormat.TABLE,
) -> int:
    """Recommend requests and limits from what containers used, and say how often that would fail.

    Usage comes from files (--csv), a Prometheus with cAdvisor and kube-state-metrics, or samples of
    the resource metrics API (--cluster). Every recommendation was tried on the past: "missed" is
    the share of past days that needed more memory, "over" the share of CPU samples beyond. Guards
    keep pods fitting nodes, quality classes, autoscalers, LimitRanges, quotas and what was killed
    before; the line below a container says why.

    Example:
      kubestow recommend --csv usage/ --out report
      kubestow recommend --prometheus http://localhost:9090 -n shop --severity medium
      kubestow recommend --csv usage/ --strategy conformal --miss-probability 0.01 -o patch
      kubestow recommend --cluster --prometheus http://localhost:9090 -n shop --apply
      kubestow recommend --prometheus http://localhost:9090 --store sqlite:///kubestow.db
    """
    request = recommending.RecommendRequest(
        strategy=registry.RECOMMENDERS.get(strategy).name,
        parameters=_parameters(changes or []),
        miss_probability=_share(miss_probability),
        window_s=options.read_duration("--hold", hold),
    )
    if request.strategy != "keep":
        recommending.make_estimator(request)  # before anything long is read
    history_s, step_s = options.read_duration("--history", history), _step(step)
    labels = _labels(selector)
    if [folder is not None, server is not None or cluster].count(True) != 1:
        raise errors.InputError("recommend", "expected --csv DIR, --prometheus URL or --cluster")
    if apply and not cluster:
        raise errors.InputError("--apply", "needs --cluster, which says what there is now")
    only = tuple(namespaces or ())
    live = _Live((kubeconfig, context), only) if cluster else None
    asked = None
    if folder is not None:
        table, inventory = _read(folder, history_s, step_s)
    elif server is not None:
        settings = prometheus.PrometheusSettings(server, bearer_token_file=token, ca_file=authority)
        question = UsageQuery(
            end_s=time.time(),
            history_s=history_s,
            step_s=step_s or USAGE_STEP_S,
            namespaces=only,
            with_labels=bool(labels),
        )
        table, inventory, asked = _ask(settings, question)
    elif live is not None:
        table = live.sample(options.read_duration("--sample", sample), step_s)
    if live is not None:
        inventory = live.found.inventory
    table = recommending.select_usage(table, inventory, only, labels)
    everything = _run(table, inventory, request, {} if live is None else live.found.bounds)
    result = recommending.filter_by_severity(everything, severity)
    shown = set(result.places)
    others = [
        everything.recommendations[place] for place in everything.places if place not in shown
    ]
    totals = recommending.add_up(result.recommendations, inventory, others)
    if out is not None:
        _write(result, totals, out)
    _answer(result, totals, output, out, asked)
    wanted = result if unsuitable else recommending.only_suitable(result)
    if store is not None:
        kept = recommending.store_recommendations(store, wanted)
        outputs.progress_console().print(f"kept advice on {kept} containers")
    if live is not None and apply:
        return live.apply(wanted, yes=yes, dry_run=dry_run)
    return 0


class _Live:
    """A cluster, asked through a module that needs an extra of the package."""

    def __init__(self, access: tuple[str | None, str | None], namespaces: tuple[str, ...]) -> None:
        try:
            self._module = importlib.import_module("kubestow.cli.recommend_cluster")
        except ModuleNotFoundError as err:
            raise errors.InputError(
                "--cluster", f"{err.name} is not installed: expected pip install kubestow[live]"
            ) from err
        self._access, self._namespaces = access, namespaces
        self.found: workloads.ClusterInventory = self._module.read_inventory(access, namespaces)

    def sample(self, seconds: float, step_s: float | None) -> Usage:
        """Return usage that is sampled now."""
        table: Usage = self._module.sample_usage(
            self._access, self._namespaces, self.found, seconds, step_s
        )
        return table

    def apply(self, result: recommending.RecommendResult, *, yes: bool, dry_run: bool) -> int:
        """Change workloads after a question; return the exit code."""
        return int(self._module.apply(self._access, result, yes=yes, dry_run=dry_run))


def _parameters(changes: list[str]) -> dict[str, Any]:
    """Return parameters as documents have them, with mappings made on the way."""
    found: dict[str, Any] = {}
    for change in changes:
        path, text = scenario_files.split_change(change)
        here = found
        *steps, last = path.split(".")
        for step in steps:
            here = here.setdefault(step, {})
            if not isinstance(here, dict):
                raise errors.InputError(f"--set {path}", f"{step!r} is not a mapping")
        here[last] = scenario_files.parse_value(text, path)
    return found


def _step(text: str | None) -> float | None:
    return None if text is None else options.read_duration("--step", text)


def _share(value: float | None) -> float | None:
    if value is not None and not 0.0 < value < 0.5:
        raise errors.InputError(
            "--miss-probability", f"{value:g}: expected more than 0 and less than 0.5"
        )
    return value


def _labels(selector: str | None) -> dict[str, str]:
    found = {}
    for pair in (selector or "").split(","):
        if not pair:
            continue
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise errors.InputError("--selector", f"{pair!r}: expected key=value")
        found[key.strip()] = value.lstrip("=").strip()
    return found


def _read(folder: Path, history_s: float, step_s: float | None) -> tuple[Usage, usage.Inventory]:
    with outputs.progress_bar() as bar:
        bar.add_task(f"reading {folder}", total=None)
        return read_usage_files(folder, step_s, history_s), read_inventory(folder)


def _ask(
    settings: prometheus.PrometheusSettings, question: UsageQuery
) -> tuple[Usage, usage.Inventory, int]:
    with prometheus.PrometheusClient(settings) as client, outputs.progress_bar() as bar:
        task = bar.add_task("reading", total=1.0)

        def watch(what: str, done: float) -> None:
            bar.update(task, completed=done, description=f"reading {what}")

        table, inventory = read_prometheus_usage(client, question, watch)
        return table, inventory, client.asked


def _run(
    table: Usage,
    inventory: usage.Inventory,
    request: recommending.RecommendRequest,
    bounds: Mapping[str, caches.PodBounds],
) -> recommending.RecommendResult:
    with outputs.progress_bar() as bar:
        task = bar.add_task("estimating", total=1.0)
        return recommending.recommend(
            table,
            inventory,
            request,
            lambda what, done: bar.update(task, completed=done, description=what),
            bounds,
        )


def _write(result: recommending.RecommendResult, totals: recommending.Totals, out: Path) -> None:
    files.write_json(out / "results.json", recommending.recommendations_as_json(result))
    files.write_json(out / "totals.json", recommending.totals_as_json(totals))
    lines = [msgspec.json.encode(record.as_json()).decode() for record in result.records]
    files.write_text(out / "decisions.jsonl", "\n".join([*lines, ""]))
    files.write_text(out / "report.html", recommendation_page.make_page(result, totals))


def _answer(
    result: recommending.RecommendResult,
    totals: recommending.Totals,
    output: RecommendFormat,
    out: Path | None,
    asked: int | None,
) -> None:
    match output:
        case RecommendFormat.JSON:
            outputs.print_json(recommending.recommendations_as_json(result))
        case RecommendFormat.YAML:
            rows = recommending.recommendations_as_json(result)
            sys.stdout.write(yaml.safe_dump(rows, sort_keys=False))
        case RecommendFormat.PATCH:
            sys.stdout.write(recommending.recommendations_as_patches(result))
        case RecommendFormat.TABLE:
            _print(result, totals, out)
    if asked is not None:
        outputs.progress_console().print(f"{asked} questions to Prometheus")


def _print(
    result: recommending.RecommendResult, totals: recommending.Totals, out: Path | None
) -> None:
    console = outputs.console()
    console.print(_table(result))
    if len(result.recommendations) > _LISTED:
        console.print(
            f"{len(result.recommendations) - _LISTED} more: -o json lists all, --severity shortens"
        )
    console.print(
        f"{totals.containers} containers, {totals.suitable} suitable; freed "
        f"{totals.cpu_freed_m / 1000:.1f} of {totals.cpu_now_m / 1000:.1f} cores and "
        f"{totals.memory_freed_bytes / _GIB:.1f} of {totals.memory_now_bytes / _GIB:.1f} GiB"
    )
    if totals.nodes_now is not None:
        console.print(
            f"packed on nodes of the most usual shape: {totals.nodes_now} now, "
            f"{totals.nodes_then} then"
        )
    if totals.unknown:
        console.print(f"{totals.unknown} of them request no CPU now and do not count as freed")
    for note in result.notes:
        console.print(markup.escape(f"note: {note}"))
    if out is not None:
        console.print(f"written to {out}: report.html, results.json, totals.json, decisions.jsonl")


def _table(result: recommending.RecommendResult) -> Table:
    """Return two lines per container: CPU above, memory below; the reason under the name."""
    shown = Table(
        Column("CONTAINER", overflow="fold"),
        Column("CPU, MEMORY", no_wrap=True),
        Column("FREED", justify="right", no_wrap=True),
        Column("RISK", justify="right", no_wrap=True),
        Column("SEVERITY", no_wrap=True),
        box=None,
        pad_edge=False,
    )
    for place in recommendation_page.most_urgent(result.recommendations, _LISTED):
        one = result.recommendations[place]
        now, then = recommendation_page.texts(one)
        key = one.key
        over, missed = one.backtest.cpu_over, one.backtest.miss_rate
        shown.add_row(
            f"{markup.escape(f'{key.namespace}/{key.workload}/{key.container}')}\n"
            f"[dim]{markup.escape(one.why)}[/dim]",
            f"{now[recommending.CPU]} -> {then[recommending.CPU]}\n"
            f"{now[recommending.MEMORY]} -> {then[recommending.MEMORY]}",
            f"{one.freed(recommending.CPU) / 1000:+.2f} cores\n"
            f"{one.freed(recommending.MEMORY) / _GIB:+.2f} GiB",
            f"over {recommendation_page.percent(over)}\n"
            f"missed {recommendation_page.percent(missed)}",
            f"{recommending.severity(one).value}\n{'suitable' if one.suitable else 'unsuitable'}",
        )
    return shown
