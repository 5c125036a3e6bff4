"""``kubestow.place`` and ``kubestow.pack``: where pods go, and how few nodes they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kubestow.library import inputs, reading, results
from kubestow.model import clusters, errors, quantities
from kubestow.policies.placing import packing as policy
from kubestow.policies.placing import profiles, scheduler
from kubestow.sources import packing as source
from kubestow.workflows import not_modelled, packing, placing, repacking


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PlacementTable(results.Result):
    """Where pending pods would go.

    Attributes:
        placements: One per pending pod, in queue order, with scores and rejections.
        not_modelled: What pods use that placement does not model.
        input: What of the input was left out.
    """

    placements: tuple[scheduler.Placement, ...]
    not_modelled: not_modelled.NotModelled
    input: clusters.InputReport

    def __len__(self) -> int:
        return len(self.placements)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per pod: node, feasible nodes, final score."""
        rows = [
            {
                "pod": one.pod.key,
                "node": one.node,
                "feasible": len(one.feasible),
                "score": int(one.final.max()) if one.scores else None,
                "tie": one.tie,
            }
            for one in self.placements
        ]
        return pl.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the placements with the keys of ``place -o json``."""
        return {
            "pods": [one.as_json() for one in self.placements],
            "not_modelled": self.not_modelled.as_json(),
            "input": self.input.as_json(),
        }

    def summary(self) -> str:
        """Return how many pods fit, in one sentence."""
        placed = sum(one.row is not None for one in self.placements)
        return f"{placed} of {len(self)} pending pods get a node"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PackingReport(results.Result):
    """How few nodes each heuristic needs, and a lower bound.

    Attributes:
        comparison: Results of all heuristics, each packing checked.
        cluster: What applies to a cluster only: the scheduler configuration that packs best, as
            played, and pods that were left out.
    """

    comparison: packing.PackingComparison
    cluster: repacking.ClusterPacking | None = None

    def to_polars(self) -> pl.DataFrame:
        """Return one row per heuristic: nodes, gap to the lower bound, seconds."""
        return pl.DataFrame(self.comparison.as_json()["results"])

    def to_dict(self) -> dict[str, Any]:
        """Return the packings with the keys of ``pack -o json``."""
        return (self.cluster or self.comparison).as_json()

    def summary(self) -> str:
        """Return the best packing and the bound, in one sentence."""
        best = self.comparison.best
        proof = "proven optimal" if self.comparison.optimal else "not proven optimal"
        bound = self.comparison.lower_bound
        return f"{best.nodes} nodes by {best.heuristic}, at least {bound} ({proof})"


def place(
    *cluster: reading.ManifestSource | reading.ClusterData,
    profile: str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    version: str = profiles.DEFAULT_VERSION,
    seed: int | None = None,
    preemption: bool = True,
) -> PlacementTable:
    """Return where kube-scheduler would put each pending pod, and why.

    Args:
        cluster: What ``read_cluster`` takes or returns.
        profile: Name of a profile, e.g. ``most-allocated``; default: stock kube-scheduler.
        config: A KubeSchedulerConfiguration instead of a profile: a file or the document.
        version: Kubernetes release.
        seed: Break ties at random with this seed; default: the first name wins.
        preemption: Whether a pod that fits nowhere may preempt pods of lower priority.

    Raises:
        InputError: If there is no node, or an object is malformed.

    Examples:
        >>> from kubestow import testing
        >>> placed = place(testing.node("n1"), testing.node("n2", cpu="1"), testing.pod("web"))
        >>> placed.to_polars()["node"].to_list()
        ['n1']
    """
    if config is not None and profile is not None:
        raise errors.InputError("profile", "cannot be used together with config")
    data = reading.read_cluster(*cluster)
    if not data.cluster.nodes:
        raise errors.InputError(data.name, "no Node in the input; expected at least one")
    if config is None:
        chosen: tuple[profiles.Profile, ...] = (profiles.make_profile(profile or placing.STOCK),)
    else:
        given = str(config) if isinstance(config, str | Path) else config
        chosen = placing.read_profiles(given)
    names = [profile.name for profile in chosen]
    return PlacementTable(
        tuple(placing.place(data.cluster, chosen, version, seed, preemption=preemption)),
        not_modelled.find_not_modelled(data.cluster, names, version),
        data.cluster.report,
    )


def pack(
    items: str | Path | inputs.Frame | reading.ClusterData | np.ndarray,
    *,
    capacity: Mapping[str, Any] | Sequence[float] | None = None,
    heuristic: str = "all",
    exact: float | None = None,
    seed: int = 0,
) -> PackingReport:
    """Pack items onto as few nodes as possible.

    Args:
        items: Manifests, a CSV or ``.vbp`` file, a cluster, a frame with ``name``, one column per
            resource and optionally ``count``, or an array of demands by item and resource.
        capacity: Capacity of a node: quantities by resource, or numbers for an array.
        heuristic: A name, several separated by commas, ``online``, ``offline`` or ``all``.
        exact: Seconds to search for, and prove, the optimum.
        seed: Seed of the search.

    Raises:
        InputError: If an item, the capacity or a name is invalid.

    Examples:
        >>> import numpy as np
        >>> packed = pack(np.array([[6, 1], [5, 2], [4, 3]]), capacity=[10, 10], exact=1)
        >>> packed.comparison.best.nodes, packed.comparison.optimal
        (2, True)
    """
    if exact is not None and not 0 < exact <= 86_400:
        raise errors.InputError("exact", f"{exact:g}: must be > 0 and <= 86400 seconds")
    names = packing.names(heuristic)
    if isinstance(items, np.ndarray):
        if capacity is None or isinstance(capacity, Mapping):
            raise errors.InputError("capacity", "must be one number per resource of the array")
        instance = policy.make_instance(items, list(capacity))
        return PackingReport(packing.compare(instance, names, exact_seconds=exact, seed=seed))
    if capacity is not None and not isinstance(capacity, Mapping):
        raise errors.InputError("capacity", "must name resources, e.g. {'cpu': '16'}")
    texts = None if capacity is None else {k: str(v) for k, v in capacity.items()}
    is_table = inputs.is_path(items) and Path(str(items)).suffix in (".csv", ".vbp")
    if isinstance(items, reading.ClusterData) or (inputs.is_path(items) and not is_table):
        data = reading.read_cluster(items)
        offered = None
        if texts is not None:
            offered = {name: quantities.parse(text) for name, text in texts.items()}
        packed = repacking.pack_cluster(
            data.cluster, data.name, names, capacity=offered, exact_seconds=exact, seed=seed
        )
        return PackingReport(packed.comparison, packed)
    read = _read_items(items, texts)
    comparison = packing.compare(
        packing.instance_of(read), names, exact_seconds=exact, seed=seed, relief=read.relief
    )
    return PackingReport(comparison)


def _read_items(items: Any, capacity: Mapping[str, str] | None) -> source.PackingInput:
    if inputs.is_path(items):
        path = Path(str(items))
        if path.suffix == ".vbp" and capacity is not None:
            raise errors.InputError("capacity", "a .vbp instance brings its own capacity")
        return source.read_packing(path, capacity)
    if capacity is None:
        raise errors.InputError("capacity", "is missing; expected e.g. {'cpu': '16'}")
    return source.parse_csv(inputs.as_frame(items, "items").write_csv(), "items", capacity)
