"""``kubestow place``: where would each pending pod go, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import names, outputs
from kubestow.model import errors

if TYPE_CHECKING:
    from rich.table import Table

    from kubestow.model import clusters
    from kubestow.policies.placing import profiles, scheduler
    from kubestow.workflows.not_modelled import NotModelled

app = outputs.make_app()

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
    check: Annotated[bool, typer.Option(help="Exit with 1 if a pod fits nowhere.")] = False,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Show where kube-scheduler would place each pending pod, and why.

    Pods are placed one by one in queue order; each occupies its node before the next is placed.
    Nodes, bound pods, namespaces, services, controllers, images, volumes, claims, storage classes
    and disruption budgets are taken into account.

    Example:
      kubestow place examples/first-steps/cluster.yaml
      kubestow place nodes.yaml workloads/
      kubectl get nodes,pods,ns,svc,rs,sts,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,pdb \
        -A -o yaml | kubestow place -
    """
    from rich import progress

    from kubestow.sources import manifests
    from kubestow.workflows import not_modelled, placing

    profiles_used = _profiles(config, profile)
    cluster = manifests.read_cluster(*sources)
    if not cluster.nodes:
        raise errors.InputError(" ".join(sources), "no Node in the input; expected at least one")
    plain = (
        output is outputs.Output.TABLE and pod is None and seed is None and len(profiles_used) == 1
    )
    if plain and placing.is_large(cluster):
        return _assign(cluster, profiles_used[0], version, check=check)
    placements = list(
        progress.track(
            placing.place(cluster, profiles_used, version, seed, preemption=preemption),
            description="placing",
            total=len(cluster.pending),
            console=outputs.progress_console(),
            transient=True,
            disable=len(cluster.pending) < _MANY,
        )
    )
    chosen = [p for p in placements if pod in (None, p.pod.key)]
    if pod is not None and not chosen:
        raise errors.InputError("--pod", f"{pod!r}: no such pending pod in the input")
    missing = not_modelled.find_not_modelled(cluster, [p.name for p in profiles_used], version)
    if output is outputs.Output.JSON:
        listed = [placement.as_json() for placement in chosen]
        outputs.print_json({"pods": listed, "not_modelled": missing.as_json()})
    else:
        _print(chosen, detailed=pod is not None)
        _print_not_modelled(missing)
        if not cluster.storage.claims and any(p.row is None and p.pod.volumes for p in chosen):
            outputs.console().print(_NO_CLAIMS)
    return 1 if check and any(p.row is None for p in placements) else 0


def _assign(
    cluster: clusters.Cluster, profile: profiles.Profile, version: str, *, check: bool
) -> int:
    """Print where the pods of a large cluster go, without scores."""
    from rich.table import Table

    from kubestow.workflows import not_modelled, placing

    with outputs.progress_console().status("placing ..."):
        placed = placing.assign(cluster, profile, version)
    pending = sum(node is None for _, node in placed)
    console = outputs.console()
    console.print(f"{len(placed) - pending} of {len(placed)} pending pods get a node.")
    table = Table("POD", "NODE")
    for pod, node in placed:
        table.add_row(pod.key, node or "-")
    console.print(table)
    console.print("--pod NAMESPACE/NAME shows the scores of one pod, -o json those of all.")
    if pending:
        console.print("Preemption was not tried for so many pods; -o json tries it.")
    _print_not_modelled(not_modelled.find_not_modelled(cluster, [profile.name], version))
    return 1 if check and pending else 0


def _profiles(config: str | None, profile: str | None) -> tuple[profiles.Profile, ...]:
    from kubestow.policies.placing import profiles
    from kubestow.workflows import placing

    if config is not None and profile is not None:
        raise errors.InputError("--profile", "cannot be used together with --config")
    if config is None:
        return (profiles.make_profile(profile or placing.STOCK),)
    return placing.read_profiles(config)


def _print(placements: list[scheduler.Placement], *, detailed: bool) -> None:
    from rich.table import Table

    console = outputs.console()
    if not placements:
        console.print("No pending pod in the input.")
        return
    table = Table("POD", "NODE", "FEASIBLE", "SCORE", "WHY")
    for placement in placements:
        feasible = f"{len(placement.feasible)}/{len(placement.nodes)}"
        score = str(int(placement.final.max())) if placement.scores else "-"
        table.add_row(placement.pod.key, placement.node or "-", feasible, score, _why(placement))
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
