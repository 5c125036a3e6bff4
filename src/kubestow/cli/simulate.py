"""``kubestow simulate``: a cluster on a virtual clock, with every control loop inside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import outputs

if TYPE_CHECKING:
    from rich.table import Table

app = outputs.make_app()


@app.command()
def simulate(
    scenario: Annotated[
        str,
        typer.Argument(metavar="SCENARIO", help="Scenario file (YAML), or - for standard input."),
    ],
    seed: Annotated[
        int | None, typer.Option(min=0, help="Use this seed instead of the scenario's.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Set this path of the scenario. Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write results, time lines, decisions and report to this folder."),
    ] = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Simulate a scenario: placing, scaling, sizing and failures on a virtual clock.

    Policies are the same code that runs in a cluster. The same seed gives the same result, byte
    for byte. With --out, DIR/report.html shows the time lines and DIR/*.parquet holds them.

    Example:
      kubestow simulate examples/shop-day.yaml
      kubestow simulate examples/shop-day.yaml --set policies.scaling.target.cpu=0.8 --out day
    """
    from kubestow.reports import simulation_page
    from kubestow.simulation import run
    from kubestow.workflows import files, scenario_files, simulating

    loaded = scenario_files.load(scenario, changes or ())
    begun = time.perf_counter()
    with outputs.progress_bar() as bar:
        task = bar.add_task(f"simulating {loaded.scenario.metadata.name}", total=1.0)
        outcome = run.run(
            loaded.scenario,
            loaded.inputs,
            seed,
            lambda done: bar.update(task, completed=done),
        )
    wall_s = time.perf_counter() - begun
    if out is not None:
        simulating.write(outcome, out)
        files.write_text(out / "report.html", simulation_page.make_page(outcome))
    if output is outputs.Output.JSON:
        kept = None if out is None else simulating.DECISIONS
        measures = {**outcome.measures, "decisions": kept, "wall_seconds": round(wall_s, 3)}
        outputs.print_json(measures)
    else:
        _print(outcome.measures, wall_s, out)
    return 0


def _print(measures: Any, wall_s: float, out: Path | None) -> None:
    from rich.table import Table

    from kubestow.model import decoding

    console = outputs.console()
    simulated_s = measures["simulated_seconds"]
    console.print(
        f"[bold]{measures['scenario']}[/bold], seed {measures['seed']}: "
        f"{decoding.format_duration(simulated_s)} in {wall_s:.1f} s "
        f"({simulated_s / wall_s:,.0f} x real time)"
    )
    table = Table("measure", "value", box=None, pad_edge=False)
    for name, value in summary(measures):
        table.add_row(name, value)
    console.print(table)
    services = {k: w for k, w in measures["workloads"].items() if "response" in w}
    if services:
        console.print(_service_table(services))
    if out is not None:
        console.print(f"written to {out}: report.html, results.json, timeline.parquet, ...")


def summary(measures: Any) -> list[tuple[str, str]]:
    """Return the headline measures as text."""
    share, plain = "{:.1%}", "{:,.1f}"
    return [
        ("nodes, peak", str(measures["nodes_peak"])),
        ("node hours", plain.format(measures["node_hours"])),
        ("cost", " ".join((plain.format(measures["cost"]), measures.get("currency", ""))).strip()),
        ("pod hours", plain.format(measures["pod_hours"])),
        ("CPU requested, of allocatable", _text(share, measures["requested"]["cpu"])),
        ("CPU used, of requested", _text(share, measures["eru"]["cpu"])),
        ("memory used, of requested", _text(share, measures["eru"]["memory"])),
        ("response time, mean", _millis(measures["response"]["mean"])),
        ("response time, p95", _millis(measures["response"]["p95"])),
        ("response time, p99", _millis(measures["response"]["p99"])),
        ("requests late or lost", _text("{:.3%}", measures["slo_violation_ratio"])),
        ("pods pending", f"{measures['pending_pod_seconds'] / 60:,.1f} pod minutes"),
        ("OOM kills / evictions", f"{measures['oom_kills']} / {measures['evictions']}"),
        ("CPU throttled, of quota periods", _text("{:.2%}", measures["throttled_ratio"])),
        ("scale actions", str(measures["scale_actions"])),
    ]


def _text(shape: str, value: float | None) -> str:
    return "-" if value is None else shape.format(value)


def _millis(value: float | None) -> str:
    return "-" if value is None else f"{value * 1000:,.1f} ms"


def _service_table(services: Any) -> Table:
    from rich.table import Table

    table = Table("service", "replicas", "mean", "p95", "late or lost", "CPU used", box=None)
    for name, measures in services.items():
        table.add_row(
            name,
            f"{measures['replicas_mean']:.1f} (peak {measures['replicas_peak']})",
            _millis(measures["response"]["mean"]),
            _millis(measures["response"]["p95"]),
            _text("{:.3%}", measures["slo_violation_ratio"]),
            _text("{:.0%}", measures["eru"]["cpu"]),
        )
    return table
