"""``kubestow compare``: variants of a scenario side by side, seed by seed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import names, outputs
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.workflows import comparing

app = outputs.make_app()

_STAR, _ALIKE, _FRONT = "*", "=", "P"


@app.command()
def compare(
    scenario: Annotated[
        str,
        typer.Argument(metavar="SCENARIO", help="Scenario file (YAML), or - for standard input."),
    ],
    varied: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="PATH=V1,V2,...",
            help="Try these values at this path of the scenario. Repeatable.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(help="Run each variant with this many seeds, counted from the scenario's."),
    ] = 5,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Set this path in all variants. Repeatable."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Compare with the variant of this label; default: the first one."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help=f"Run simulations on this engine: {names.listed(names.ENGINES)}.")
    ] = names.ENGINES[0],
    jobs: Annotated[
        int | None,
        typer.Option(help="Run this many simulations in parallel; default: one per core."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write results, report and finished runs to this folder.")
    ] = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Compare variants of a scenario: every combination of values, all with the same seeds.

    Paths and values are those of 'simulate --set'. Values are YAML; commas inside brackets do not
    split them. The label of a variant lists its values. Differences from the baseline are paired
    by seed, tested, and corrected for multiple tests (Holm).

    With --out, finished runs stay in DIR/cells: after an interruption, or with more values or
    seeds, the same command computes only what is missing. Neither the number of jobs nor the
    engine changes the results.

    Example:
      kubestow compare examples/shop-day.yaml --vary policies.scaling.target.cpu=0.5,0.6,0.8
      kubestow compare examples/shop-day.yaml --vary step=5s,15s --seeds 3 --out day
    """
    from kubestow.reports import comparison_page
    from kubestow.workflows import comparing, files

    chosen = comparing.get_engine(engine)
    for name, value in (("--seeds", seeds), ("--jobs", jobs)):
        if value is not None and value < 1:
            raise errors.InputError(name, f"{value}: must be >= 1")
    sweep = comparing.plan_grid(
        scenario, varied or (), changes=changes or (), seeds=seeds, baseline=baseline
    )
    comparison = _run(sweep, out, chosen, jobs or os.cpu_count() or 1)
    if out is not None:
        files.write_json(out / "results.json", comparison.as_json())
        files.write_text(out / "comparison.csv", comparison.as_csv())
        files.write_text(out / "report.html", comparison_page.make_page(comparison))
    if output is outputs.Output.JSON:
        outputs.print_json(comparison.as_json())
    else:
        _print(comparison)
        console = outputs.console()
        if out is not None:
            console.print(f"written to {out}: report.html, results.json, comparison.csv, cells/")
        console.print(comparing.conclude(comparison), markup=False, highlight=False)
    return 0


def _run(
    sweep: comparing.ComparisonGrid, out: Path | None, engine: comparing.Engine, jobs: int
) -> comparing.Comparison:
    from rich import progress

    from kubestow.workflows import comparing

    columns = (progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
    tasks = comparing.make_tasks(sweep)
    with outputs.progress_bar(*columns) as bar:
        task = bar.add_task(f"comparing {sweep.name}", total=len(tasks))

        def watch(done: float, total: float, label: str) -> None:
            bar.update(task, completed=done, total=total, description=label or sweep.name)

        cells = None if out is None else out / "cells"
        records = comparing.run_cells(tasks, cells, engine, jobs, watch)
    return comparing.make_comparison(sweep, records)


def _print(comparison: comparing.Comparison) -> None:
    from rich import markup
    from rich.table import Column, Table

    from kubestow.workflows import comparing

    console = outputs.console()
    seeds = (
        f"seeds {comparison.seeds[0]} to {comparison.seeds[-1]}"
        if len(comparison.seeds) > 1
        else "one seed"
    )
    console.print(
        f"[bold]{markup.escape(comparison.scenario)}[/bold]: {len(comparison.results)} variants, "
        f"{seeds}; baseline {markup.escape(comparison.baseline)}"
    )
    headline = comparing.in_currency(comparing.HEADLINE, comparison.currency)
    varying = [
        measure
        for measure in headline
        if len({_cell(one, measure) for one in comparison.results}) > 1
    ]
    table = Table(Column("variant", overflow="fold"), box=None, pad_edge=False)
    for measure in varying:
        unit = f"\n({measure.unit})" if measure.unit else ""
        table.add_column(
            f"{measure.short or measure.title}{unit}", justify="right", overflow="fold"
        )
    table.add_column("front")
    for one in comparison.results:
        cells = [_cell(one, measure) for measure in varying]
        table.add_row(markup.escape(one.label), *cells, _FRONT if one.pareto else "")
    console.print(table)
    constant = [_constant(comparison, measure) for measure in headline if measure not in varying]
    shown = [text for text in constant if text]
    if shown:
        console.print(f"same in all variants: {', '.join(shown)}")
    console.print(_legend(comparison))


def _constant(comparison: comparing.Comparison, measure: comparing.RunMeasure) -> str:
    summary = comparison.results[0].summary.get(measure.path)
    return "" if summary is None else f"{measure.title} {measure.text(summary.mean)}"


def _cell(one: comparing.ComparisonResult, measure: comparing.RunMeasure) -> str:
    from kubestow.workflows import comparing

    summary = one.summary.get(measure.path)
    if summary is None:
        return "-"
    text = measure.interval(summary.mean, summary.half_width)
    entry = one.against.get(measure.path)
    if comparing.differs_from_baseline(entry):
        return f"{text}{_STAR}"
    return f"{text}{_ALIKE}" if entry and entry["verdict"] == comparing.ALIKE else text


def _legend(comparison: comparing.Comparison) -> str:
    cost, quality = comparison.axes
    front = f"{_FRONT}: on the Pareto front of {cost.title} and {quality.title}"
    if len(comparison.seeds) == 1:
        return f"{front}. One seed gives no intervals and no tests; try --seeds 5."
    return (
        f"± 95 % interval; {_STAR} differs from the baseline (paired t-test, Holm, 5 %); "
        f"{_ALIKE} differs by the same amount in every seed; {front}."
    )
