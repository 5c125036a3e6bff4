"""``kubestow demo``: stock Kubernetes against kubestow on a bundled scenario."""

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

_COLOURS = {"good": "green", "bad": "red"}
_CAPTION = "A day of a web shop with a flash crowd, builds and a maintenance window."


@app.command()
def demo(
    out: Annotated[
        Path,
        typer.Option(help="Write report.html, day.png, results.json and cells/ to this folder."),
    ] = Path("out/demo"),
    seeds: Annotated[int, typer.Option(help="Run each variant with this many seeds.")] = (
        names.DEMO_SEEDS
    ),
    jobs: Annotated[
        int | None,
        typer.Option(help="Run this many simulations in parallel; default: one per core."),
    ] = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Simulate a day of a web shop in four variants, from stock Kubernetes to all of kubestow.

    The variants add up: stock, nodes packed, requests sized, replicas scaled ahead of demand. The
    first line is the verdict, and it says what is worse. Finished runs stay in DIR/cells, so an
    interrupted demo resumes.

    Example:
      kubestow demo --out out/demo
    """
    from kubestow.reports import demonstration_page, figures
    from kubestow.workflows import demonstrating, files

    for name, value in (("--seeds", seeds), ("--jobs", jobs)):
        if value is not None and value < 1:
            raise errors.InputError(name, f"{value}: must be >= 1")
    comparison = _run(out, seeds, jobs or os.cpu_count() or 1)
    files.write_text(out / "report.html", demonstration_page.report(comparison))
    answer = demonstrating.as_json(comparison)
    files.write_json(out / "results.json", answer)
    picture = figures.render_png(demonstration_page.chart(comparison).to_dict())
    files.write_bytes(out / "day.png", picture)
    if output is outputs.Output.JSON:
        outputs.print_json(answer)
        return 0
    _print(comparison)
    outputs.console().print(f"Report: {out / 'report.html'}")
    return 0


def _run(out: Path, seeds: int, jobs: int) -> comparing.Comparison:
    from rich import progress

    from kubestow.workflows import demonstrating

    sweep = demonstrating.plan(seeds)
    columns = (progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
    with outputs.progress_bar(*columns) as bar:
        task = bar.add_task("simulating a day of a web shop", total=None)

        def watch(done: float, total: float, label: str) -> None:
            what = f"finished: {label}" if label else "simulating a day of a web shop"
            bar.update(task, completed=done, total=total, description=what)

        return demonstrating.run(sweep, out / "cells", jobs, watch)


def _print(comparison: comparing.Comparison) -> None:
    from rich.table import Column, Table

    from kubestow.workflows import demonstrating

    console = outputs.console()
    console.print(demonstrating.verdict(comparison), style="bold", highlight=False)
    console.print(f"\n{_CAPTION} {demonstrating.describe_used(comparison)}", highlight=False)
    names = (Column(variant.name, justify="right") for variant in demonstrating.VARIANTS)
    table = Table(f"mean of {len(comparison.seeds)} seeds", *names, box=None, pad_edge=False)
    for title, cells in demonstrating.table(comparison):
        shown = [
            f"[{_COLOURS[cell.verdict]}]{cell.text}[/]" if cell.verdict else cell.text
            for cell in cells
        ]
        table.add_row(title, *shown)
    console.print(table)
    console.print("Green: clearly better than stock, in every seed. Red: clearly worse.")
    for step in demonstrating.steps(comparison):
        console.print(step, highlight=False)
