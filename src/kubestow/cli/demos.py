"""``kubestow demo``: stock Kubernetes against kubestow, on a bundled cluster, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kubestow.cli import outputs
from kubestow.reports import figures, files
from kubestow.studies import demonstrations

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)

_PLANNING_SECONDS = 6.0


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for report.html, nodes.png and results.json.")
    ] = Path("out/demo"),
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 1,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Compare stock Kubernetes with kubestow on a bundled synthetic cluster.

    Example:
      kubestow demo --out out/demo
    """
    with outputs.progress_console().status("getting ready ...") as status:
        found = demonstrations.run(
            seed, _PLANNING_SECONDS, lambda doing: status.update(f"packing: {doing}")
        )
        status.update("writing the report")
        files.write_text(out / "report.html", demonstrations.report(found))
        files.write_json(out / "results.json", found.as_json())
        picture = figures.render_png(demonstrations.chart(found).to_dict())
        (out / "nodes.png").write_bytes(picture)
    if output is outputs.Output.JSON:
        outputs.print_json(found.as_json())
        return 0
    _print(found)
    outputs.console().print(f"Report: {out / 'report.html'}")
    return 0


def _print(found: demonstrations.Demonstration) -> None:
    console = outputs.console()
    console.print(
        f"{found.pods} pods on nodes of 16 cores and 48 GiB, "
        f"{demonstrations.ORDERS} random orders of arrival"
    )
    table = Table("PLACED BY", "REACHED BY", "NODES (mean ± 95 %)", "SAVED AGAINST STOCK")
    for row in found.rows:
        saved = f"{100 * row.saving:.2f} % ± {100 * row.saving_half_width:.2f}"
        nodes = f"{row.nodes:.2f} ± {row.half_width:.2f}"
        stock = row.name == demonstrations.STOCK
        table.add_row(row.name, row.how, nodes, "" if stock else saved)
    table.add_section()
    proof = "proven optimal" if found.optimal else "planned, all pods known"
    table.add_row("all pods known", proof, str(found.planned), "")
    table.add_row("lower bound", "", str(found.lower_bound), "")
    console.print(table)
