"""Options of commands that read manifests, and the report of what was left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import outputs

if TYPE_CHECKING:
    from kubestow.model import clusters

NodesOption = Annotated[
    str | None,
    typer.Option(
        "--nodes",
        metavar="COUNTxSHAPE,...",
        help="Add nodes: 3x8cpu-32Gi, or an instance type such as 3xm5.xlarge.",
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Refuse files and custom kinds that would otherwise be skipped."),
]
KindsOption = Annotated[
    Path | None,
    typer.Option(
        "--kinds", help="Read rules for custom kinds with pods from this file, before ours."
    ),
]


def read_cluster(
    sources: list[str], nodes: str | None, kinds: Path | None, *, strict: bool
) -> clusters.Cluster:
    """Read a cluster, with nodes and rules given by options."""
    from kubestow.model import decoding
    from kubestow.sources import manifests

    added = () if nodes is None else manifests.parse_nodes(nodes)
    rules: tuple[manifests.KindRule, ...] = ()
    if kinds is not None:
        values = [document.value for document in manifests.read_documents(str(kinds))]
        lists = values[0] if len(values) == 1 else values
        rules = manifests.read_rules(decoding.Field(lists, str(kinds)))
    return manifests.read_cluster(*sources, strict=strict, rules=rules, nodes=added)


def print_report(report: clusters.InputReport) -> None:
    """Print what of the input was left out."""
    console = outputs.console()
    for line in report.lines():
        console.print(line, markup=False, soft_wrap=True)
