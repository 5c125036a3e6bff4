"""``kubestow place``: where would each pending pod go, and why."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import manifest_options, names, outputs
from kubestow.model import errors

if TYPE_CHECKING:
    from rich.table import Table

    from kubestow.model import clusters
    from kubestow.policies.placing import profiles, scheduler
    from kubestow.workflows.not_modelled import NotModelled

app = outputs.make_app()


class PlaceOutput(enum.StrEnum):
    """Output format of ``place``."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


# Column titles that fit on a screen.
_SHORT = {
    "TaintToleration": "Taints",
    "NodeAffinity": "Affinity",
    "NodeResourcesFit": "Fit",
    "PodTopologySpread": "Spread",
    "InterPodAffinity": "Pods",
    "NodeResourcesBalancedAllocation": "Balanced",
    "ImageLocality": "Images",
}
_MANY = 200  # pending pods; placing more takes long enough for a progress bar
_NO_CLAIMS = (
    "Pods name claims, but no PersistentVolumeClaim is in the input. With kubectl get, add "
    "pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,volumeattachments."
)
_SHOWN_NODES = 20  # rows of a score table; the rest is in the JSON
_LISTED_NODES, _BEST = 50, 5  # JSON lists all of up to 50 nodes, the best 5 of more


@app.command()
def place(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...", help="Manifests: files, folders, or - for standard input."
        ),
    ],
    config: Annotated[
        str | None,
        typer.Option(help="Read the KubeSchedulerConfiguration from this file (YAML or JSON)."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help=f"Use a built-in profile: {names.listed(names.PROFILES)}.")
    ] = None,
    version: Annotated[
        str, typer.Option(help="Behave like this Kubernetes release.")
    ] = names.VERSION,
    seed: Annotated[
        int | None,
        typer.Option(help="Break ties at random with this seed; default: the first name wins."),
    ] = None,
    pod: Annotated[
        str | None, typer.Option(metavar="NAMESPACE/NAME", help="Show the scores of one pod.")
    ] = None,
    preemption: Annotated[
        bool,
        typer.Option(help="Show which pods of lower priority would be evicted for a pod."),
    ] = True,
    scores: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="List this many of the best nodes of a pod in JSON; default: all of up to "
            f"{_LISTED_NODES} nodes, else {_BEST}.",
        ),
    ] = "",
    nodes: manifest_options.NodesOption = None,
    kinds: manifest_options.KindsOption = None,
    strict: manifest_options.StrictOption = False,
    check: Annotated[bool, typer.Option(help="Exit with 1 if a pod fits nowhere.")] = False,
    output: Annotated[
        PlaceOutput,
        typer.Option(
            "--output", "-o", help="Output format; jsonl has a line per pod.", case_sensitive=False
        ),
    ] = PlaceOutput.TABLE,
) -> int:
    """Show where kube-scheduler would place each pending pod, and why.

    Pods are placed one by one in queue order; each occupies its node before the next is placed.
    Nodes, bound pods, namespaces, services, controllers, images, volumes, claims, storage classes
    and disruption budgets are taken into account.

    Example:
      kubestow place examples/first-steps/cluster.yaml
      kubestow place nodes.yaml workloads/
      kubestow place workloads/ --nodes 3x8cpu-32Gi
      kubectl get nodes,pods,ns,svc,rs,sts,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,pdb \
        -A -o yaml | kubestow place -
    """
    from kubestow.workflows import not_modelled, placing

    profiles_used = _profiles(config, profile)
    cluster = manifest_options.read_cluster(sources, nodes, kinds, strict=strict)
    if not cluster.nodes:
        raise errors.InputError(
            " ".join(sources), "no Node in the input; expected one, or --nodes 3x8cpu-32Gi"
        )
    most = _most(scores, len(cluster.nodes))
    plain = output is PlaceOutput.TABLE and pod is None and seed is None and len(profiles_used) == 1
    missing = not_modelled.find_not_modelled(cluster, [p.name for p in profiles_used], version)
    if plain and placing.is_large(cluster):
        unplaced = _assign(cluster, profiles_used[0], version)
    else:
        placements = placing.place(cluster, profiles_used, version, seed, preemption=preemption)
        unplaced = _show(_tracked(placements, cluster, pod), cluster, missing, most, pod, output)
    if output is PlaceOutput.TABLE:
        _print_not_modelled(missing)
        claimed = any(one.volumes for one in cluster.pending)
        if unplaced and claimed and not cluster.storage.claims:
            outputs.console().print(_NO_CLAIMS)
        manifest_options.print_report(cluster.report)
    return 1 if check and unplaced else 0


def _most(scores: str, node_count: int) -> int | None:
    """Return how many nodes to list per pod; ``None`` for all."""
    if scores == "all" or (not scores and node_count <= _LISTED_NODES):
        return None
    if not scores:
        return _BEST
    if not scores.isdecimal():
        raise errors.InputError("--scores", f"{scores!r}: expected a number or all")
    return int(scores)


def _tracked(
    placements: Iterator[scheduler.Placement], cluster: clusters.Cluster, pod: str | None
) -> Iterator[scheduler.Placement]:
    """Yield the placements that are asked for, with a progress bar if there are many."""
    from rich import progress

    known = False
    console = outputs.progress_console()
    for placement in progress.track(
        placements,
        description="placing",
        total=len(cluster.pending),
        console=console,
        transient=True,
        disable=len(cluster.pending) < _MANY or not console.is_terminal,
    ):
        if pod in (None, placement.pod.key):
            known = True
            yield placement
    if pod is not None and not known:
        raise errors.InputError("--pod", f"{pod!r}: no such pending pod in the input")


def _show(
    placements: Iterator[scheduler.Placement],
    cluster: clusters.Cluster,
    missing: NotModelled,
    most: int | None,
    pod: str | None,
    output: PlaceOutput,
) -> int:
    """Print placements; return how many pods got no node."""
    unplaced = 0
    if output is PlaceOutput.TABLE:
        chosen = list(placements)
        _print(chosen, detailed=pod is not None)
        return sum(placement.row is None for placement in chosen)
    listed = []
    for placement in placements:
        unplaced += placement.row is None
        answer = placement.as_json(most)
        if output is PlaceOutput.JSONL:
            outputs.print_json_line(answer)
        else:
            listed.append(answer)
    rest = {"not_modelled": missing.as_json(), "input": cluster.report.as_json()}
    if output is PlaceOutput.JSON:
        outputs.print_json({"pods": listed, **rest})
    return unplaced


def _assign(cluster: clusters.Cluster, profile: profiles.Profile, version: str) -> int:
    """Print where the pods of a large cluster go, without scores; return how many got no node."""
    from kubestow.workflows import placing

    with outputs.progress_console().status("placing ..."):
        placed = placing.assign(cluster, profile, version)
    pending = sum(node is None for _, node in placed)
    console = outputs.console()
    console.print(f"{len(placed) - pending} of {len(placed)} pending pods get a node.")
    outputs.print_columns(("POD", "NODE"), ((pod.key, node or "-") for pod, node in placed))
    console.print("--pod NAMESPACE/NAME shows the scores of one pod, -o jsonl those of all.")
    if pending:
        console.print("Preemption was not tried for so many pods; -o jsonl tries it.")
    return pending


def _profiles(config: str | None, profile: str | None) -> tuple[profiles.Profile, ...]:
    from kubestow.policies.placing import profiles
    from kubestow.workflows import placing

    if config is not None and profile is not None:
        raise errors.InputError("--profile", "cannot be used together with --config")
    if config is None:
        return (profiles.make_profile(profile or placing.STOCK),)
    return placing.read_profiles(config)


def _print(placements: list[scheduler.Placement], *, detailed: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = outputs.console()
    if not placements:
        console.print("No pending pod in the input.")
        return
    placed = sum(placement.row is not None for placement in placements)
    console.print(f"{placed} of {len(placements)} pending pods get a node.")
    titles = ("POD", "NODE", "FEASIBLE", "SCORE", "WHY")
    rows = [_row(placement) for placement in placements]
    if len(rows) > _MANY:
        outputs.print_columns(titles, rows)
    else:
        table = Table()
        for title in titles:
            table.add_column(title, overflow="fold")  # a name is never cut off
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
    if detailed:
        for placement in placements:
            console.print(_score_table(placement))
            for name, reason in placement.rejected().items():
                console.print(f"{name}: {reason}")


def _print_not_modelled(missing: NotModelled) -> None:
    from kubestow.workflows import not_modelled

    for kind, count in missing.counts.items():
        pods = "1 pod" if count == 1 else f"{count} pods"
        outputs.console().print(
            f"Not modelled: {kind} ({pods}): {not_modelled.EXPLANATIONS[kind]}."
        )


def _row(placement: scheduler.Placement) -> tuple[str, ...]:
    return (
        placement.pod.key,
        placement.node or "-",
        f"{len(placement.feasible)}/{len(placement.nodes)}",
        str(int(placement.final.max())) if placement.scores else "-",
        _why(placement),
    )


def _why(placement: scheduler.Placement) -> str:
    """Return what decided, in a few words."""
    import numpy as np

    if placement.row is None:
        reasons = Counter(placement.rejected().values())
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(4))
        nomination = placement.nomination
        if nomination is None:
            return why
        victims = ", ".join(victim.key for victim in nomination.victims)
        return f"would preempt {victims} on {nomination.node}; {why}"
    if len(placement.feasible) == 1:
        return "the only feasible node"
    if placement.tie:
        return f"tie of {len(placement.top)} nodes"
    order = np.argsort(-placement.final, kind="stable")
    best, second = int(order[0]), int(order[1])
    leads = {
        plugin: int(scores[best] - scores[second]) for plugin, scores in placement.scores.items()
    }
    plugin, lead = max(leads.items(), key=lambda item: item[1])
    return f"{plugin} +{lead} over {placement.nodes[placement.feasible[second]]}"


def _score_table(placement: scheduler.Placement) -> Table:
    import numpy as np
    from rich.table import Table

    shown = [name for name, scores in placement.scores.items() if scores.any()]
    titles = [_SHORT.get(name, name) for name in shown]
    table = Table("NODE", *titles, "FINAL", title=f"Scores of {placement.pod.key}")
    for position in np.argsort(-placement.final, kind="stable")[:_SHOWN_NODES]:
        scores = placement.scores_of(int(position))
        table.add_row(
            placement.nodes[placement.feasible[position]],
            *(str(scores[name]) for name in shown),
            str(int(placement.final[position])),
        )
    return table
