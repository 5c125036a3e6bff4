"""``kubestow study``: reproduce an experiment."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import outputs
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.studies import options, registry

app = outputs.make_app()


@app.command()
def study(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Study to run; --list shows all.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List all studies and exit.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a small sample, to check that everything works.")
    ] = False,
    lists: Annotated[
        int | None, typer.Option(help="Samples per cell; default: the study's own number.")
    ] = None,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="Write all files to this folder; default: out/NAME.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(help="Run this many threads in parallel; default: one per core.")
    ] = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Run an experiment and write its results.json and a report.

    Finished parts stay in the folder: after an interruption, the same command resumes. Results
    depend on the seed and the sample size, not on the number of threads.

    Example:
      kubestow study --list
      kubestow study schubert-packing --quick
    """
    from kubestow.studies import options, registry

    if listing:
        _print_list(output)
        return 0
    if name is None:
        raise errors.InputError("study", "name is missing; 'kubestow study --list' shows all")
    chosen = registry.get(name)
    settings = options.StudyOptions(
        out=out or registry.default_folder(name),
        seed=seed,
        jobs=jobs if jobs is not None else os.cpu_count() or 1,
        quick=quick,
        lists=lists,
    )
    report = _run(chosen, settings)
    if output is outputs.Output.JSON:
        outputs.print_json(report)
    else:
        _print_summary(report)
        if quick:
            outputs.console().print("Quick run: the samples are too small for valid verdicts.")
        written = sorted(path.name for path in settings.out.iterdir() if path.is_file())
        outputs.console().print(f"Wrote to {settings.out}: {', '.join(written)}")
    return 0


def _run(chosen: registry.Study, settings: options.StudyOptions) -> dict[str, Any]:
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=outputs.progress_console()) as bar:
        task = bar.add_task(chosen.name, total=None)

        def watch(done: float, total: float, label: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{chosen.name}: {label}")

        return chosen.run(settings, watch)


def _print_list(output: outputs.Output) -> None:
    from rich.table import Table

    from kubestow.studies import registry

    if output is outputs.Output.JSON:
        outputs.print_json(
            [{"name": one.name, "summary": one.summary} for one in registry.REGISTRY.values()]
        )
        return
    table = Table("study", "question", box=None)
    for one in registry.REGISTRY.values():
        table.add_row(one.name, one.summary)
    outputs.console().print(table)


def _print_summary(report: dict[str, Any]) -> None:
    from rich.table import Table

    for statement in report.get("statements", ()):
        outputs.console().print(f"{statement['verdict']:>15}  {statement['statement']}")
    if "tables" in report:
        table = Table("table", "cells", "rms z", "max |z|")
        for one in report["tables"]:
            where = f"{one['table']} {one['generator']} d={one['dimensions']}"
            table.add_row(
                where, str(one["cells"]), f"{one['rms_z']:.2f}", f"{one['max_abs_z']:.2f}"
            )
        outputs.console().print(table)
    if "summary" in report:
        table = Table("heuristic", "mean excess", "worst cell")
        for name, one in report["summary"]["excess"].items():
            table.add_row(name, f"{100 * one['mean']:+.3f} %", f"{100 * one['worst']:+.2f} %")
        outputs.console().print(table)
