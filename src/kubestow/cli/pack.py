"""``kubestow pack``: how few nodes do these pods need, and how do we know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import outputs
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.policies.placing import packing
    from kubestow.workflows import packing as workflows_packing

app = outputs.make_app()

Relief = tuple[float, ...]

_SHOWN = 15  # heuristics in the table; all of them are in the JSON


@app.command()
def pack(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Manifests (files, folders or -), a CSV of items, or a .vbp instance.",
        ),
    ],
    heuristic: Annotated[
        str,
        typer.Option(
            help="Run these heuristics: names separated by commas, online, offline or all."
        ),
    ] = "all",
    exact: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Search for the optimum, and prove it, for this many seconds."
        ),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            help="Pack onto nodes of this size, e.g. cpu=16,memory=64Gi. Required for CSV input."
        ),
    ] = None,
    assignments: Annotated[
        Path | None, typer.Option(help="Write columns heuristic,item,node to this CSV file.")
    ] = None,
    scheduler_config: Annotated[
        Path | None,
        typer.Option(help="Write the KubeSchedulerConfiguration that packs best to this file."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the randomised search.")] = 0,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Pack items onto as few nodes as possible, and show the gap to a lower bound.

    For a cluster, all pods are repacked onto nodes of the sizes it has; DaemonSet pods are
    subtracted from the capacity of every node. Every packing is verified before it is shown.

    Example:
      kubestow pack examples/first-steps/cluster.yaml
      kubestow pack pods.csv --capacity cpu=16,memory=64Gi --exact 10
    """
    from kubestow.workflows import packing as workflows_packing

    if exact is not None and not 0 < exact <= 86_400:
        raise errors.InputError("--exact", f"{exact:g}: expected seconds between 0 and 86400")
    names = workflows_packing.names(heuristic)
    instance, relief, is_cluster = _read(sources, capacity)
    with outputs.progress_console().status("packing ...") as status:
        comparison = workflows_packing.compare(
            instance,
            names,
            exact_seconds=exact,
            seed=seed,
            relief=relief,
            watch=lambda doing: status.update(f"packing: {doing}"),
        )
    configured = workflows_packing.best_configuration(comparison) if is_cluster else None
    if assignments is not None:
        _write_assignments(assignments, comparison)
    if scheduler_config is not None:
        _write_configuration(scheduler_config, configured)
    if output is outputs.Output.JSON:
        outputs.print_json(workflows_packing.report(comparison, configured))
    else:
        _print(comparison, configured)
    return 0


def _read(sources: list[str], capacity: str | None) -> tuple[packing.Instance, Relief, bool]:
    """Return the instance, what was rounded off it, and whether the input was a cluster."""
    from kubestow.model import quantities, resources
    from kubestow.policies.placing import packing
    from kubestow.sources import manifests
    from kubestow.sources import packing as packing_source
    from kubestow.workflows import packing as workflows_packing

    node = None if capacity is None else packing_source.parse_capacity(capacity)
    source, *others = sources
    tables = [name for name in sources if Path(name).suffix in (".vbp", ".csv")]
    if tables and others:
        raise errors.InputError(tables[0], "expected it alone; only manifests can be combined")
    if tables:
        if Path(source).suffix == ".vbp" and node is not None:
            raise errors.InputError("--capacity", "a .vbp instance brings its own capacity")
        if Path(source).suffix == ".csv" and node is None:
            problem = "CSV needs the capacity of a node, e.g. --capacity cpu=16,memory=64Gi"
            raise errors.InputError(source, problem)
        items = packing_source.read_packing(Path(source), node)
        return workflows_packing.instance_of(items), items.relief, False
    cluster = manifests.read_cluster(*sources)
    amounts = None
    if node is not None:
        amounts = {name: resources.amount(name, quantities.parse(q)) for name, q in node.items()}
    name = "stdin" if source == "-" else Path(source).name
    return packing.instance_from_cluster(cluster, name, amounts), (), True


def _write_assignments(path: Path, comparison: workflows_packing.PackingComparison) -> None:
    from kubestow.sources import packing as packing_source

    count = len(comparison.instance.demands)
    items = comparison.instance.items or tuple(str(index) for index in range(count))
    packing_source.write_assignments(
        path,
        ((r.heuristic, items, r.packing.node_of_item.tolist()) for r in comparison.results),
    )


def _write_configuration(
    path: Path, configured: tuple[workflows_packing.PackingResult, dict[str, Any]] | None
) -> None:
    import yaml

    from kubestow.workflows import files

    if configured is None:
        raise errors.InputError(
            "--scheduler-config", "needs a cluster as input and a k8s-... heuristic"
        )
    files.write_text(path, yaml.safe_dump(configured[1], sort_keys=False))


def _print(
    comparison: workflows_packing.PackingComparison,
    configured: tuple[workflows_packing.PackingResult, dict[str, Any]] | None,
) -> None:
    from rich.table import Table

    console = outputs.console()
    instance = comparison.instance
    console.print(
        f"{instance.name}: {len(instance.demands)} items, {instance.dimensions} resources "
        f"({', '.join(instance.resources)})"
    )
    ranked = sorted(comparison.results, key=lambda r: (r.unplaced, r.nodes))
    table = Table("HEURISTIC", "NODES", "OVER BOUND", "SECONDS")
    if any(result.unplaced for result in ranked):
        table.add_column("UNPLACED")
    for result in ranked[:_SHOWN]:
        row = [
            result.heuristic,
            str(result.nodes),
            f"{100 * comparison.gap(result):.2f} %",
            f"{result.seconds:.3f}",
        ]
        table.add_row(*row, *([str(result.unplaced)] if len(table.columns) > 4 else []))
    console.print(table)
    if len(ranked) > _SHOWN:
        console.print(f"... and {len(ranked) - _SHOWN} more; -o json lists all of them.")
    proof = "proven optimal" if comparison.optimal else f"bound by {comparison.method}"
    console.print(
        f"Lower bound {comparison.lower_bound}; best {comparison.best.nodes} by "
        f"{comparison.best.heuristic} ({proof})."
    )
    for note in comparison.notes:
        console.print(f"Note: {note}")
    if configured is not None:
        result, _ = configured
        console.print(
            f"By configuring kube-scheduler alone: {result.nodes} nodes, with "
            f"{result.heuristic}; --scheduler-config FILE writes the configuration."
        )
