"""Many pods at once: the same choices as ``schedulers.Scheduler``, thousands of times faster.

Pods are sorted into classes, the classes become tables, a compiled kernel places the pods in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kubestow.model import pods, quantities, requests, resources, states
from kubestow.policies.placing import (
    batch_kernels,
    image_scores,
    node_affinities,
    node_filters,
    profiles,
    resource_fits,
    versions,
)
from kubestow.policies.placing.batch_groups import Registry
from kubestow.policies.placing.batch_links import Linker
from kubestow.policies.placing.batch_tables import Cache, Classes, Floats, Nodes, Rules, Statics
from kubestow.policies.placing.cycles import Conflict, Cycle

_STRATEGIES = {
    profiles.LEAST: batch_kernels.LEAST,
    profiles.MOST: batch_kernels.MOST,
    profiles.RATIO: batch_kernels.RATIO,
}
_SCORED = (
    profiles.TAINTS,
    profiles.NODE_AFFINITY,
    profiles.FIT,
    profiles.SPREAD,
    profiles.POD_AFFINITY,
    profiles.BALANCED,
    profiles.IMAGES,
)
_CACHE_CELLS = 64_000_000  # class slots x nodes: about 0.6 GB of cached scores at most


def place(
    wanted: Sequence[pods.Pod],
    state: states.ClusterState,
    profile: profiles.Profile,
    features: versions.Features,
    rng: np.random.Generator | None = None,
) -> states.Ints:
    """Place pods in the given order; the state takes them up.

    Args:
        wanted: The pods.
        state: The cluster, changed.
        profile: The profile; the pods' own ``schedulerName`` is not looked at.
        features: The release.
        rng: Breaks ties at random; without it the first name wins.

    Returns:
        The node's row for every pod, -1 where no node is feasible.
    """
    chosen = np.full(len(wanted), batch_kernels.UNPLACED, dtype=np.int64)
    if not len(state) or not wanted:
        return chosen
    class_of_pod, cycles = _classify(wanted, state, profile, features)
    registry = Registry(state)
    links = Linker(cycles, registry).links()
    statics, kinds = _statics(cycles)
    classes = _classes(cycles, kinds, Counter(class_of_pod.tolist()), len(state))
    tallies = registry.tables()
    chances = np.full(len(wanted), -1.0) if rng is None else rng.random(len(wanted))
    names = [node.name for node in state.nodes]
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    nodes = Nodes(
        offered=_by_resource(state.allocatable),
        used=_by_resource(state.requested),
        nonzero=_by_resource(state.nonzero),
        by_name=by_name,
    )
    batch_kernels.place_classes(
        class_of_pod,
        chances,
        _rules(state, profile, features),
        nodes,
        classes,
        statics,
        tallies,
        links,
        _cache(int(classes.slot.max(initial=-1)) + 1, len(state)),
        chosen,
    )
    state.requested[:] = nodes.used.T
    state.nonzero[:] = nodes.nonzero.T
    for pod, row in zip(wanted, chosen.tolist(), strict=True):
        if row >= 0:
            state.note(pod, row)
    return chosen


def _by_resource(table: states.Ints) -> Floats:
    return np.ascontiguousarray(table.T, dtype=np.float64)


def _classify(
    wanted: Sequence[pods.Pod],
    state: states.ClusterState,
    profile: profiles.Profile,
    features: versions.Features,
) -> tuple[states.Ints, list[Cycle]]:
    """Sort pods into classes; every class is represented by its first pod."""
    known: dict[object, int] = {}
    cycles: list[Cycle] = []
    indices = np.empty(len(wanted), dtype=np.int64)
    for position, pod in enumerate(wanted):
        key = (id(pod.spec), pod.namespace, pod.owner, tuple(pod.labels.items()))
        index = known.get(key)
        if index is None:
            index = known[key] = len(cycles)
            cycles.append(Cycle(pod, state, profile, features))
        indices[position] = index
    return indices, cycles


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the static tables depend on."""

    tolerations: object
    node_selector: object
    required: object
    preferred: object
    images: object

    @staticmethod
    def of(spec: pods.PodSpec) -> _Kind:
        images = (
            tuple(c.image for c in spec.containers),
            tuple(c.image for c in spec.init_containers),
            spec.image_volumes,
        )
        selector = tuple(sorted(spec.node_selector.items()))
        return _Kind(spec.tolerations, selector, spec.required_nodes, spec.preferred_nodes, images)


def _statics(cycles: list[Cycle]) -> tuple[Statics, states.Ints]:
    known: dict[_Kind, int] = {}
    rows: list[tuple[states.Mask, states.Ints, states.Ints, states.Ints]] = []
    kinds = np.empty(len(cycles), dtype=np.int64)
    for index, cycle in enumerate(cycles):
        kind = _Kind.of(cycle.pod.spec)
        if kind not in known:
            known[kind] = len(rows)
            preferred = node_affinities.preference(cycle)
            nothing = np.zeros(len(cycle.state), dtype=np.int64)
            rows.append(
                (
                    _admitted(cycle),
                    node_filters.disliked(cycle),
                    nothing if preferred is None else preferred,
                    image_scores.locality(cycle),
                )
            )
        kinds[index] = known[kind]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Statics(columns[0], columns[1], columns[2], columns[3]), kinds


def _admitted(cycle: Cycle) -> states.Mask:
    """Run the filters that depend on node and specification alone."""
    enabled = cycle.profile.filters
    passes = np.ones(len(cycle.state), dtype=np.bool_)
    if profiles.NODE_AFFINITY in cycle.profile.prefilters:
        try:
            named = node_affinities.named_nodes(cycle.pod.spec)
        except Conflict:
            return np.zeros(len(cycle.state), dtype=np.bool_)
        if named is not None:
            passes &= np.array([node.name in named for node in cycle.state.nodes])
    for name, judge in (
        (profiles.UNSCHEDULABLE, node_filters.unschedulable),
        (profiles.TAINTS, node_filters.untolerated),
        (profiles.NODE_AFFINITY, node_affinities.admitted),
    ):
        verdict = judge(cycle) if name in enabled else None
        if verdict is not None:
            passes &= verdict.passes
    return passes


def _classes(
    cycles: list[Cycle], kinds: states.Ints, sizes: Counter[int], node_count: int
) -> Classes:
    state, profile, features = cycles[0].state, cycles[0].profile, cycles[0].features
    count, width = len(cycles), len(state.columns)
    fit, balanced = profile.fit.resources, profile.balanced.resources
    table = Classes(
        wanted=np.zeros((count, width)),
        possible=np.ones(count, dtype=np.bool_),
        taken=np.zeros((count, width)),
        taken_nonzero=np.zeros((count, 2)),
        fit_amount=np.zeros((count, len(fit))),
        balanced_amount=np.zeros((count, len(balanced))),
        balanced=np.ones(count, dtype=np.bool_),
        static=kinds,
        slot=_slots(sizes, count, node_count),
    )
    score_rules = requests.RequestRules(pod_level=False, assumed=requests.ASSUMED)
    balance_rules = requests.RequestRules(
        use_status=features.resized_pods, pod_level=features.pod_level
    )
    for c, cycle in enumerate(cycles):
        wanted = {
            name: amount
            for name, amount in resource_fits.filter_requests(cycle).items()
            if amount > 0 and not resource_fits.is_ignored(name, profile.fit)
        }
        table.possible[c] = all(name in state.columns for name in wanted)
        table.wanted[c] = state.vector({**wanted, resources.PODS: 1})
        taken = requests.occupancy(
            cycle.pod, use_status=features.resized_pods, pod_level=features.pod_level
        )
        table.taken[c] = state.occupied(taken)
        table.taken_nonzero[c] = taken.nonzero_cpu_m, taken.nonzero_memory_bytes
        table.fit_amount[c] = _amounts(fit, requests.pod_requests(cycle.pod, score_rules))
        own = requests.pod_requests(cycle.pod, balance_rules)
        table.balanced_amount[c] = _amounts(balanced, own)
        table.balanced[c] = not features.best_effort_unbalanced or any(
            amount > 0 for amount in table.balanced_amount[c]
        )
    return table


def _amounts(
    weighted: tuple[profiles.ResourceWeight, ...], found: dict[str, quantities.Quantity]
) -> list[int]:
    """Return what a score sees of each resource; -1 leaves it out."""
    amounts = []
    for resource in weighted:
        quantity = found.get(resource.name, quantities.Quantity(0))
        amount = resources.amount(resource.name, quantity)
        left_out = (amount == 0 and resources.is_scalar(resource.name)) or not (
            resources.is_counted(resource.name)
        )
        amounts.append(-1 if left_out else amount)
    return amounts


def _slots(sizes: Counter[int], count: int, node_count: int) -> states.Ints:
    """Give room in the score cache to the largest classes; a class of one needs none."""
    slots = np.full(count, -1, dtype=np.int64)
    room = max(1, _CACHE_CELLS // max(node_count, 1))
    largest = [c for c, size in sizes.most_common(room) if size > 1]
    slots[largest] = np.arange(len(largest))
    return slots


def _cache(slots: int, node_count: int) -> Cache:
    rows = slots + 1  # the last one is scratch
    return Cache(
        fits=np.zeros((rows, node_count), dtype=np.bool_),
        score=np.zeros((rows, node_count)),
        seen=np.full(rows, -1, dtype=np.int64),
    )


def _rules(
    state: states.ClusterState, profile: profiles.Profile, features: versions.Features
) -> Rules:
    weights = dict(profile.scores)
    fit, balanced = profile.fit.resources, profile.balanced.resources
    sides = {resources.CPU: 0, resources.MEMORY: 1}

    def ints(values: Sequence[int]) -> states.Ints:
        return np.array(values, dtype=np.int64)

    return Rules(
        strategy=_STRATEGIES[profile.fit.strategy],
        shape_x=ints([point.utilization for point in profile.fit.shape] or [0]),
        shape_y=ints([point.score * 10 for point in profile.fit.shape] or [0]),
        fit_column=ints([state.columns.get(w.name, -1) for w in fit]),
        fit_nonzero=ints([sides.get(w.name, -1) for w in fit]),
        fit_weight=ints([w.weight for w in fit]),
        balanced_column=ints([state.columns.get(w.name, -1) for w in balanced]),
        balance_change=features.balance_change,
        filter_fit=profiles.FIT in profile.filters,
        weights=ints([weights.get(name, 0) for name in _SCORED]),
    )
