"""``kubestow recommend``: requests and limits that fit, with a stated risk."""

from __future__ import annotations

import enum
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
import yaml
from rich import markup, progress
from rich.table import Column, Table

from kubestow.cli import options, outputs
from kubestow.model import errors, usages
from kubestow.policies.sizing import registry
from kubestow.reports import files
from kubestow.sources import (
    prometheus,
    prometheus_settings,
    usage_files,
    usage_inventories,
    usage_prometheus,
)
from kubestow.studies import (
    advices,
    recommendation_pages,
    recommendation_texts,
    recommendation_totals,
    recommendations,
    scenario_files,
)
from kubestow.studies.recommendation_totals import Severity

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)

_GIB = float(2**30)
_LISTED = 40
_NAMES = ", ".join(registry.REGISTRY)


class Format(enum.StrEnum):
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
        Format, typer.Option("--output", "-o", help="How to answer.", case_sensitive=False)
    ] = Format.TABLE,
) -> int:
    """Recommend requests and limits from what containers used, and say how often that would fail.

    Usage comes from files (--csv) or a Prometheus with cAdvisor and kube-state-metrics. Every
    recommendation was tried on the past: "missed" is the share of past days that needed more
    memory, "over" the share of CPU samples beyond. Guards keep pods fitting nodes, quality classes,
    autoscalers and what was killed before; the line below a container says why.

    Example:
      kubestow recommend --csv usage/ --out report
      kubestow recommend --prometheus http://localhost:9090 -n shop --severity medium
      kubestow recommend --csv usage/ --strategy conformal --miss-probability 0.01 -o patch
    """
    request = recommendations.Request(
        strategy=registry.get(strategy).name,
        parameters=_parameters(changes or []),
        miss_probability=_share(miss_probability),
        window_s=options.read_duration("--hold", hold),
    )
    if request.strategy != "keep":
        recommendations.make_estimator(request)  # before anything long is read
    history_s, step_s = options.read_duration("--history", history), _step(step)
    labels = _labels(selector)
    if (folder is None) == (server is None):
        raise errors.InputError("recommend", "expected --csv DIR or --prometheus URL")
    asked = None
    if folder is not None:
        table, inventory = _read(folder, history_s, step_s)
    else:
        settings = prometheus_settings.Settings(
            server or "", bearer_token_file=token, ca_file=authority
        )
        question = usage_prometheus.Question(
            end_s=time.time(),
            history_s=history_s,
            step_s=step_s or usage_prometheus.STEP_S,
            namespaces=tuple(namespaces or ()),
            with_labels=bool(labels),
        )
        table, inventory, asked = _ask(settings, question)
    table = recommendation_texts.select(table, inventory, tuple(namespaces or ()), labels)
    everything = _run(table, inventory, request)
    result = recommendation_texts.filter_by_severity(everything, severity)
    shown = set(result.places)
    others = [everything.advices[place] for place in everything.places if place not in shown]
    totals = recommendation_totals.add_up(result.advices, inventory, others)
    if out is not None:
        _write(result, totals, out)
    _answer(result, totals, output, out, asked)
    return 0


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


def _bar() -> progress.Progress:
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
    )
    console = outputs.progress_console()
    return progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    )


def _read(
    folder: Path, history_s: float, step_s: float | None
) -> tuple[usages.UsageTable, usages.Inventory]:
    with _bar() as bar:
        bar.add_task(f"reading {folder}", total=None)
        return usage_files.read(folder, step_s, history_s), usage_inventories.read(folder)


def _ask(
    settings: prometheus_settings.Settings, question: usage_prometheus.Question
) -> tuple[usages.UsageTable, usages.Inventory, int]:
    with prometheus.Client(settings) as client, _bar() as bar:
        task = bar.add_task("reading", total=1.0)

        def watch(what: str, done: float) -> None:
            bar.update(task, completed=done, description=f"reading {what}")

        table, inventory = usage_prometheus.read(client, question, watch)
        return table, inventory, client.asked


def _run(
    table: usages.UsageTable, inventory: usages.Inventory, request: recommendations.Request
) -> recommendations.Result:
    with _bar() as bar:
        task = bar.add_task("estimating", total=1.0)
        return recommendations.run(
            table,
            inventory,
            request,
            lambda what, done: bar.update(task, completed=done, description=what),
        )


def _write(result: recommendations.Result, totals: recommendation_totals.Totals, out: Path) -> None:
    files.write_json(out / "results.json", recommendation_texts.as_json(result))
    files.write_json(out / "totals.json", recommendation_texts.totals_as_json(totals))
    lines = [msgspec.json.encode(record.as_json()).decode() for record in result.records]
    files.write_text(out / "decisions.jsonl", "\n".join([*lines, ""]))
    files.write_text(out / "report.html", recommendation_pages.make_page(result, totals))


def _answer(
    result: recommendations.Result,
    totals: recommendation_totals.Totals,
    output: Format,
    out: Path | None,
    asked: int | None,
) -> None:
    match output:
        case Format.JSON:
            outputs.print_json(recommendation_texts.as_json(result))
        case Format.YAML:
            rows = recommendation_texts.as_json(result)
            sys.stdout.write(yaml.safe_dump(rows, sort_keys=False))
        case Format.PATCH:
            sys.stdout.write(recommendation_texts.as_patches(result))
        case Format.TABLE:
            _print(result, totals, out)
    if asked is not None:
        outputs.progress_console().print(f"{asked} questions to Prometheus")


def _print(
    result: recommendations.Result, totals: recommendation_totals.Totals, out: Path | None
) -> None:
    console = outputs.console()
    console.print(_table(result))
    if len(result.advices) > _LISTED:
        console.print(
            f"{len(result.advices) - _LISTED} more: -o json lists all, --severity shortens"
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


def _table(result: recommendations.Result) -> Table:
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
    for place in recommendation_pages.most_urgent(result.advices, _LISTED):
        one = result.advices[place]
        now, then = recommendation_pages.texts(one)
        key = one.key
        over, missed = one.backtest.cpu_over, one.backtest.miss_rate
        shown.add_row(
            f"{markup.escape(f'{key.namespace}/{key.workload}/{key.container}')}\n"
            f"[dim]{markup.escape(one.why)}[/dim]",
            f"{now[advices.CPU]} -> {then[advices.CPU]}\n"
            f"{now[advices.MEMORY]} -> {then[advices.MEMORY]}",
            f"{one.freed(advices.CPU) / 1000:+.2f} cores\n"
            f"{one.freed(advices.MEMORY) / _GIB:+.2f} GiB",
            f"over {recommendation_pages.percent(over)}\n"
            f"missed {recommendation_pages.percent(missed)}",
            f"{recommendation_totals.severity(one).value}\n"
            f"{'suitable' if one.suitable else 'unsuitable'}",
        )
    return shown
