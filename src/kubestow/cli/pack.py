"""``kubestow pack``: how few nodes do these pods need, and how do we know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import manifest_options, outputs
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.model import clusters
    from kubestow.policies.placing import repacking
    from kubestow.workflows import packing as workflows_packing
    from kubestow.workflows import repacking as workflows_repacking

app = outputs.make_app()

_SHOWN = 15  # heuristics in the table; all of them are in the JSON
_SHOWN_PODS = 10  # pods in a list


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
    nodes: manifest_options.NodesOption = None,
    kinds: manifest_options.KindsOption = None,
    strict: manifest_options.StrictOption = False,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Pack items onto as few nodes as possible, and show the gap to a lower bound.

    For a cluster, all pods are placed anew on its nodes, only where kube-scheduler's filters admit
    them; pods of DaemonSets stay on theirs. Every packing is verified, and every scheduler
    configuration is played by the exact scheduler before it is shown.

    Example:
      kubestow pack examples/first-steps/cluster.yaml
      kubestow pack workloads/ --nodes 10x8cpu-32Gi --scheduler-config packing.yaml
      kubestow pack pods.csv --capacity cpu=16,memory=64Gi --exact 10
    """
    from kubestow.policies.placing import repacking
    from kubestow.workflows import packing as workflows_packing

    if exact is not None and not 0 < exact <= 86_400:
        raise errors.InputError("--exact", f"{exact:g}: expected seconds between 0 and 86400")
    names = workflows_packing.names(heuristic)
    tables = [name for name in sources if Path(name).suffix in (".vbp", ".csv")]
    if scheduler_config is not None and (tables or capacity is not None):
        raise errors.InputError(
            "--scheduler-config", "needs a cluster with its nodes as input, without --capacity"
        )
    with outputs.progress_console().status("packing ...") as status:

        def watch(doing: str) -> None:
            status.update(f"packing: {doing}")

        if tables:
            packed = None
            comparison = _pack_items(sources, tables[0], capacity, names, exact, seed, watch)
        else:
            cluster = manifest_options.read_cluster(sources, nodes, kinds, strict=strict)
            try:
                packed = _pack_cluster(cluster, sources[0], capacity, names, exact, seed, watch)
            except repacking.NothingFitsError as error:
                return _print_nothing(error, cluster, output)
            comparison = packed.comparison
    if assignments is not None:
        _write_assignments(assignments, comparison)
    if scheduler_config is not None and packed is not None and packed.configuration is not None:
        _write_configuration(scheduler_config, packed.configuration)
    if output is outputs.Output.JSON:
        outputs.print_json((packed or comparison).as_json())
    else:
        _print(comparison, packed)
    return 0


def _pack_items(
    sources: list[str],
    table: str,
    capacity: str | None,
    names: list[str],
    exact: float | None,
    seed: int,
    watch: Callable[[str], None],
) -> workflows_packing.PackingComparison:
    """Pack the items of a CSV or ``.vbp`` file."""
    from kubestow.sources import packing as packing_source
    from kubestow.workflows import packing as workflows_packing

    if len(sources) > 1:
        raise errors.InputError(table, "expected it alone; only manifests can be combined")
    node = None if capacity is None else packing_source.parse_capacity(capacity)
    if Path(table).suffix == ".vbp" and node is not None:
        raise errors.InputError("--capacity", "a .vbp instance brings its own capacity")
    if Path(table).suffix == ".csv" and node is None:
        problem = "CSV needs the capacity of a node, e.g. --capacity cpu=16,memory=64Gi"
        raise errors.InputError(table, problem)
    items = packing_source.read_packing(Path(table), node)
    return workflows_packing.compare(
        workflows_packing.instance_of(items),
        names,
        exact_seconds=exact,
        seed=seed,
        relief=items.relief,
        watch=watch,
    )


def _pack_cluster(
    cluster: clusters.Cluster,
    source: str,
    capacity: str | None,
    names: list[str],
    exact: float | None,
    seed: int,
    watch: Callable[[str], None],
) -> workflows_repacking.ClusterPacking:
    """Pack the pods of a cluster."""
    from kubestow.model import quantities
    from kubestow.sources import packing as packing_source
    from kubestow.workflows import repacking as workflows_repacking

    offered = None
    if capacity is not None:
        given = packing_source.parse_capacity(capacity)
        offered = {resource: quantities.parse(text) for resource, text in given.items()}
    name = "stdin" if source == "-" else Path(source).name
    return workflows_repacking.pack_cluster(
        cluster, name, names, capacity=offered, exact_seconds=exact, seed=seed, watch=watch
    )


def _print_nothing(
    error: repacking.NothingFitsError, cluster: clusters.Cluster, output: outputs.Output
) -> int:
    """Print why no pod can be packed."""
    if output is outputs.Output.JSON:
        listed = [{"pod": one.pod, "reason": one.reason} for one in error.left_out]
        report = cluster.report.as_json()
        answer = {"instance": error.place, "items": 0, "results": [], "left_out": listed}
        outputs.print_json({**answer, "input": report})
    else:
        outputs.console().print(f"{error.place}: no pod fits on any node.", markup=False)
        _print_pods("Left out", error.left_out)
        manifest_options.print_report(cluster.report)
    return 1


def _write_assignments(path: Path, comparison: workflows_packing.PackingComparison) -> None:
    from kubestow.sources import packing as packing_source

    count = len(comparison.instance.demands)
    items = comparison.instance.items or tuple(str(index) for index in range(count))
    packing_source.write_assignments(
        path, ((result.heuristic, items, result.nodes_of_items()) for result in comparison.results)
    )


def _write_configuration(path: Path, configuration: workflows_repacking.Configuration) -> None:
    import yaml

    from kubestow.workflows import files

    files.write_text(path, yaml.safe_dump(configuration.document, sort_keys=False))


def _print(
    comparison: workflows_packing.PackingComparison,
    packed: workflows_repacking.ClusterPacking | None,
) -> None:
    from rich.table import Table

    console = outputs.console()
    instance, best = comparison.instance, comparison.best
    proof = "proven optimal" if comparison.optimal else f"bound by {comparison.method}"
    what = "items" if packed is None else "pods"
    proven = f"{proof}; lower bound {comparison.lower_bound}"
    if best.unplaced:
        proven = f"{best.unplaced} more have no node"
    console.print(
        f"{instance.name}: {len(instance.demands) - best.unplaced} {what} on {best.nodes} "
        f"node{'' if best.nodes == 1 else 's'} ({proven}), by {best.heuristic}."
    )
    if packed is not None:
        _print_cluster(packed)
        manifest_options.print_report(packed.report)
    ranked = sorted(comparison.results, key=lambda r: (r.unplaced, r.nodes))
    table = Table("HEURISTIC", "NODES", "OVER BOUND", "SECONDS")
    if any(result.unplaced for result in ranked):
        table.add_column("UNPLACED")
    for result in ranked[:_SHOWN]:
        gap = "-" if result.unplaced else f"{100 * comparison.gap(result):.2f} %"
        row = [result.heuristic, str(result.nodes), gap, f"{result.seconds:.3f}"]
        table.add_row(*row, *([str(result.unplaced)] if len(table.columns) > 4 else []))
    console.print(table)
    if len(ranked) > _SHOWN:
        console.print(f"... and {len(ranked) - _SHOWN} more; -o json lists all of them.")
    for note in comparison.notes:
        console.print(f"Note: {note}.")


def _print_cluster(packed: workflows_repacking.ClusterPacking) -> None:
    """Print what configuration reaches, and what was left out."""
    console = outputs.console()
    if packed.configuration is not None:
        console.print(packed.configuration.sentence())
        if packed.configuration.changes:
            console.print("--scheduler-config FILE writes this configuration.")
    _print_pods("Left out", packed.problem.left_out)
    lost = "Packed without constraints that only existing nodes can satisfy"
    _print_pods(lost, packed.not_honoured)


def _print_pods(title: str, pods: Sequence[repacking.LeftOut]) -> None:
    """Print some of the pods that are treated specially, with reasons."""
    console = outputs.console()
    if pods:
        console.print(f"{title}: {len(pods)} pods")
    for one in pods[:_SHOWN_PODS]:
        console.print(f"  {one.pod}: {one.reason}", markup=False, soft_wrap=True)
    if len(pods) > _SHOWN_PODS:
        console.print(f"  ... and {len(pods) - _SHOWN_PODS} more; -o json lists all of them.")
