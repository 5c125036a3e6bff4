"""``kubestow pack`` on a cluster: its pods onto its nodes, with every constraint.

Every packing holds under kube-scheduler's filters, every claim about a scheduler configuration is
the outcome of playing it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kubestow.model import clusters, errors, nodes, pods, quantities, resources
from kubestow.policies.placing import packing, profiles, repacking
from kubestow.workflows import packing as workflows_packing
from kubestow.workflows.packing import PackingComparison, PackingResult, Watch

SEARCH_SECONDS = 5.0  # for configurations
BOUND_SECONDS = 2.0  # for the lower bound without an exact search
RESTART_SECONDS = 1.0  # for other orders of the pods, together with offline heuristics
RESTARTS = "restarts"
SAMPLED_ABOVE = 100
"""Up to this many nodes kube-scheduler scores all of them (``minFeasibleNodesToFind``)."""


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """The best scheduler configuration, as it was played.

    Attributes:
        search: What was tried.
        document: The KubeSchedulerConfiguration.
    """

    search: repacking.Search
    document: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the configuration as plain values."""
        return {
            **_outcome(self.search.best),
            "stock": _outcome(self.search.stock),
            "tried": self.search.tried,
            "complete": self.search.complete,
            "document": self.document,
        }

    @property
    def changes(self) -> bool:
        """Whether it differs from stock kube-scheduler."""
        return self.search.best.profile != self.search.stock.profile

    def sentence(self) -> str:
        """Return what the configuration does, beside stock kube-scheduler."""
        best, stock = self.search.best, self.search.stock
        spans = any(played.least < played.most for played in (best, stock))
        ties = "; which one depends on how it breaks ties" if spans else ""
        if not self.changes:
            return f"kube-scheduler uses {_nodes(stock)}{ties}; no configuration of it uses fewer."
        usual, changed = _nodes(stock), _nodes(best)
        return f"kube-scheduler uses {usual} by default, {changed} with {_named(best)}{ties}."


@dataclass(frozen=True, slots=True, eq=False)
class ClusterPacking:
    """A packed cluster.

    Attributes:
        comparison: Packings with bounds.
        problem: What was packed.
        configuration: The best scheduler configuration; ``None`` for nodes that do not exist yet.
        constrained: Whether constraints other than requests were in force.
        not_honoured: Pods packed without their constraints on nodes that do not exist yet.
    """

    comparison: PackingComparison
    problem: repacking.Repacking
    configuration: Configuration | None
    constrained: bool
    not_honoured: tuple[repacking.LeftOut, ...] = ()

    @property
    def report(self) -> clusters.InputReport:
        """What of the input is not in the cluster."""
        return self.problem.state.cluster.report

    def as_json(self) -> dict[str, Any]:
        """Return the packing as plain values, with names that are a contract."""
        answer = self.comparison.as_json()
        answer["constrained"] = self.constrained
        answer["left_out"] = [_as_json(one) for one in self.problem.left_out]
        answer["not_honoured"] = [_as_json(one) for one in self.not_honoured]
        answer["input"] = self.report.as_json()
        if self.configuration is not None:
            answer["configuration"] = self.configuration.as_json()
        return answer


def pack_cluster(
    cluster: clusters.Cluster,
    name: str,
    heuristics: Iterable[str],
    *,
    capacity: resources.ResourceList | None = None,
    exact_seconds: float | None = None,
    seed: int = 0,
    watch: Watch = lambda _: None,
) -> ClusterPacking:
    """Pack the pods of a cluster onto its nodes, or onto new nodes of a given capacity.

    Args:
        cluster: The cluster.
        name: Its name in reports.
        heuristics: Names of heuristics.
        capacity: Capacity of new nodes to use instead of the cluster's.
        exact_seconds: How long to search for a better packing and a proof; ``None`` for no search.
        seed: Seed of the search.
        watch: Called with the name of the current step.

    Raises:
        InputError: If there is nothing to pack, or nothing to pack on.
    """
    not_honoured: tuple[repacking.LeftOut, ...] = ()
    if capacity is not None:
        cluster, not_honoured = _on_new_nodes(cluster, capacity)
    watch("reading constraints")
    problem = repacking.make_repacking(cluster, name)
    constrained = problem.constrained
    pack = _pack_constrained if constrained else _pack_freely
    comparison = pack(problem, list(heuristics), exact_seconds, seed, watch)
    if not_honoured:
        comparison = replace(comparison, optimal=False)
    configuration = None
    if capacity is None:
        watch("scheduler configurations")
        configuration = search_configuration(problem, comparison.lower_bound)
    return ClusterPacking(comparison, problem, configuration, constrained, not_honoured)


def search_configuration(problem: repacking.Repacking, lower: int) -> Configuration:
    """Return the scheduler configuration with the fewest nodes, played."""
    names = sorted({pod.spec.scheduler_name for pod in problem.items})
    searched = repacking.search(problem, _budget(SEARCH_SECONDS), lower, names[0])
    document = profiles.write_configuration(
        [replace(searched.best.profile, name=name) for name in names]
    )
    if len(problem.state) > SAMPLED_ABOVE:
        # Otherwise it scores a sample, and may miss the node that packs best.
        document["percentageOfNodesToScore"] = 100
    return Configuration(searched, document)


def _pack_freely(
    problem: repacking.Repacking,
    heuristics: list[str],
    exact_seconds: float | None,
    seed: int,
    watch: Watch,
) -> PackingComparison:
    """Pack by requests alone; nodes of one size are interchangeable."""
    comparison = workflows_packing.compare(
        problem.instance(), heuristics, exact_seconds=exact_seconds, seed=seed, watch=watch
    )
    named = [replace(r, node_names=_names_by_shape(problem, r.packing)) for r in comparison.results]
    return replace(comparison, results=tuple(named))


def _names_by_shape(problem: repacking.Repacking, packed: packing.Packing) -> tuple[str, ...]:
    """Return a node of the right size for each node of a packing."""
    _, shape = np.unique(problem.capacity[problem.usable], axis=0, return_inverse=True)
    waiting: dict[int, list[int]] = {}
    for row, one in zip(problem.usable.tolist(), shape.reshape(-1).tolist(), strict=True):
        waiting.setdefault(one, []).insert(0, row)
    rows = [waiting[one].pop() for one in packed.shape_of_node.tolist()]
    return tuple(problem.state.names[row] for row in rows)


def _pack_constrained(
    problem: repacking.Repacking,
    heuristics: list[str],
    exact_seconds: float | None,
    seed: int,
    watch: Watch,
) -> PackingComparison:
    """Pack with constraints: list heuristics, then bound or search."""
    results: list[PackingResult] = []
    fillings: list[repacking.Filling] = []
    skipped: list[str] = []
    for name in heuristics:
        run = _filler(problem, name)
        if run is None:
            skipped.append(name)
            continue
        watch(name)
        if not fillings and not problem.has_volumes:
            # Compiling and loading compiled code are not the heuristic's time.
            repacking.fill(problem, packing.HEURISTICS.get("first-fit"), np.arange(0))
        start = time.perf_counter()
        fillings.append(run())
        spent = time.perf_counter() - start
        results.append(_result(problem, name, fillings[-1], spent))
    if not fillings:
        raise errors.InputError(
            "heuristic", f"{', '.join(skipped)}: cannot honour the constraints of these pods"
        )
    best = min(fillings, key=lambda filling: filling.cost)
    if any(name in packing.OFFLINE_HEURISTICS for name in heuristics):
        watch(RESTARTS)
        start, rng = time.perf_counter(), np.random.default_rng(seed)
        best = repacking.restart(problem, best, _budget(RESTART_SECONDS), rng)
        results.append(_result(problem, RESTARTS, best, time.perf_counter() - start))
    if exact_seconds is None:
        watch("lower bound")
        solution = repacking.bound(problem, best, _budget(BOUND_SECONDS))
    else:
        watch(workflows_packing.EXACT)
        packing.compile_solver()
        start = time.perf_counter()
        rng = np.random.default_rng(seed)
        solution = repacking.solve(problem, best, _budget(exact_seconds), rng)
        spent = time.perf_counter() - start
        results.append(_result(problem, workflows_packing.EXACT, solution.filling, spent))
    notes = []
    if solution.impossible:
        notes.append("no placement holds all pods at once; this is proven")
    if skipped:
        notes.append(
            f"{len(skipped)} heuristics cannot honour constraints of pods and were skipped"
        )
    return PackingComparison(
        problem.instance(),
        tuple(results),
        solution.bound.value,
        solution.bound.method,
        solution.optimal,
        tuple(notes),
    )


def _filler(problem: repacking.Repacking, name: str) -> Callable[[], repacking.Filling] | None:
    """Return how a heuristic packs with constraints; ``None`` if it cannot."""
    if name in packing.HEURISTICS:
        return lambda: repacking.fill(problem, packing.HEURISTICS.get(name))
    offline = packing.OFFLINE_HEURISTICS.get(name)
    rule, measure = offline.rule, offline.measure
    if rule is None or measure is None:
        return None
    order = packing.decreasing(problem.instance(), measure)
    return lambda: repacking.fill(problem, rule, order)


def _result(
    problem: repacking.Repacking, name: str, filling: repacking.Filling, seconds: float
) -> PackingResult:
    """Return a filling as a result; verified independently by its sums."""
    used = filling.used
    position = np.full(len(problem.state) + 1, packing.UNPLACED, dtype=np.int64)
    position[used] = np.arange(len(used))
    instance = problem.instance()
    _, shapes = np.unique(problem.capacity[problem.usable], axis=0, return_inverse=True)
    shape_of_row = dict(zip(problem.usable.tolist(), shapes.reshape(-1).tolist(), strict=True))
    packed = packing.Packing(
        position[filling.rows],
        np.array([shape_of_row[row] for row in used.tolist()], dtype=np.int64),
        len(used),
    )
    packing.verify(instance, packed, allow_unplaced=True)
    if repacking.replay(problem, filling.rows).unplaced != filling.unplaced:
        raise packing.PackingError(f"{name}: a pod is on a node that does not admit it")
    names = tuple(problem.state.names[row] for row in used.tolist())
    return PackingResult(name, packed, seconds, names)


def _on_new_nodes(
    cluster: clusters.Cluster, capacity: resources.ResourceList
) -> tuple[clusters.Cluster, tuple[repacking.LeftOut, ...]]:
    """Return the cluster with new nodes, and the pods that lose constraints on existing ones."""
    kept: list[pods.Pod] = []
    lost: list[repacking.LeftOut] = []
    bare: dict[int, tuple[pods.PodSpec, str]] = {}
    for pod in cluster.pods:
        if id(pod.spec) not in bare:
            bare[id(pod.spec)] = _without_node_constraints(pod.spec)
        spec, what = bare[id(pod.spec)]
        kept.append(replace(pod, spec=spec, node_name=""))
        if what and not repacking.is_tied(pod):
            lost.append(repacking.LeftOut(pod.key, what))
    items = sum(not repacking.is_tied(pod) for pod in kept)
    unlimited = {resources.PODS: quantities.Quantity(len(kept) * quantities.NANO)}
    made = repacking.make_nodes({**unlimited, **capacity}, max(1, items))
    return replace(cluster, nodes=made, pods=tuple(kept)), tuple(lost)


def _without_node_constraints(spec: pods.PodSpec) -> tuple[pods.PodSpec, str]:
    """Return a specification without what only real nodes can satisfy, and what that was."""
    bare = replace(
        spec,
        node_selector={},
        required_nodes=None,
        spread=tuple(one for one in spec.spread if not one.hard),
        required_near=_on_hosts(spec.required_near),
        required_apart=_on_hosts(spec.required_apart),
    )
    kinds = {
        "node selector": bool(spec.node_selector),
        "node affinity": spec.required_nodes is not None,
        "topology spread": len(bare.spread) < len(spec.spread),
        "pod affinity": len(bare.required_near) < len(spec.required_near),
        "pod anti-affinity": len(bare.required_apart) < len(spec.required_apart),
    }
    return bare, ", ".join(kind for kind, present in kinds.items() if present)


def _on_hosts(terms: tuple[pods.PodAffinityTerm, ...]) -> tuple[pods.PodAffinityTerm, ...]:
    return tuple(term for term in terms if term.topology_key == nodes.HOSTNAME_LABEL)


def _budget(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def _as_json(one: repacking.LeftOut) -> dict[str, str]:
    return {"pod": one.pod, "reason": one.reason}


def _outcome(played: repacking.Played) -> dict[str, int]:
    return {
        "nodes": played.nodes,
        "nodes_least": played.least,
        "nodes_most": played.most,
        "unplaced": played.unplaced,
    }


def _nodes(played: repacking.Played) -> str:
    if played.least == played.most:
        text = f"{played.most} node{'' if played.most == 1 else 's'}"
    else:
        text = f"{played.least} to {played.most} nodes"
    if played.unplaced:
        text += f" ({played.unplaced} pods Pending)"
    return text


def _named(played: repacking.Played) -> str:
    """Return what a configuration changes, in words of its file."""
    stock = repacking.Setting().profile(played.profile.name)
    weights, usual = dict(played.profile.scores), dict(stock.scores)
    parts = []
    fit = played.profile.fit
    if fit.strategy != stock.fit.strategy:
        parts.append(fit.strategy)
    if fit.resources != stock.fit.resources:
        parts.append(" and ".join(f"{w.name} weight {w.weight}" for w in fit.resources))
    for plugin, weight in usual.items():
        if weights.get(plugin, 0) != weight:
            now = f"{plugin} weight {weights[plugin]}" if plugin in weights else f"no {plugin}"
            parts.append(now)
    return ", ".join(parts)
