"""Batch scheduling: the same choices as ``scheduler.Scheduler``, thousands of times faster.

Pods are grouped into classes, the classes become tables, and a compiled kernel places the pods in
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays, pods, quantities, requests, resources, states
from kubestow.model.arrays import Floats
from kubestow.policies.placing import profiles, scheduler
from kubestow.policies.placing.batch import kernels
from kubestow.policies.placing.batch import resources as batch_resources
from kubestow.policies.placing.batch.groups import TallyRegistry
from kubestow.policies.placing.batch.links import Linker
from kubestow.policies.placing.batch.tables import (
    BatchNodes,
    BatchRules,
    Cache,
    Classes,
    Links,
    Statics,
    Tallies,
)
from kubestow.policies.placing.scheduler import Conflict, Cycle

_STRATEGIES = {
    profiles.LEAST: batch_resources.LEAST,
    profiles.MOST: batch_resources.MOST,
    profiles.RATIO: batch_resources.RATIO,
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
# The kernel divides 100 times an amount in floating point: exact below 2**53.
_LARGEST_EXACT = 2**53 // 100
_CACHE_CELLS = 64_000_000  # class slots x nodes: about 0.6 GB of cached scores at most


def place_batch(
    pending: Sequence[pods.Pod],
    state: states.ClusterState,
    profile: profiles.Profile,
    features: profiles.SchedulerFeatures,
    rng: np.random.Generator | None = None,
) -> arrays.Ints:
    """Place pods in the given order and add them to the state.

    Args:
        pending: The pods.
        state: The cluster; updated.
        profile: The profile; the pods' ``schedulerName`` is ignored.
        features: The release.
        rng: Breaks ties at random; without it the first name wins.

    Returns:
        The node's row for every pod, -1 where no node is feasible.
    """
    chosen = np.full(len(pending), batch_resources.UNPLACED, dtype=np.int64)
    if not len(state) or not pending:
        return chosen
    chances = _chances(len(pending), rng)
    singly = not can_compile(state, profile)
    for first, last, compiled in _runs(pending):
        if compiled and not singly:
            chosen[first:last] = _place_compiled(
                pending[first:last], state, profile, features, chances[first:last]
            )
        else:
            one = scheduler.Scheduler(profile, features)
            chosen[first:last] = _place_one_by_one(
                pending[first:last], state, one, chances[first:last]
            )
    return chosen


def _runs(pending: Sequence[pods.Pod]) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of pods, first and last + 1, and whether the kernel can place them.

    It cannot place pods with volumes: what one of them binds changes what the next one finds.
    """
    edges = [i for i, pod in enumerate(pending) if pod.volumes]
    if not edges:
        yield 0, len(pending), True
        return
    first = 0
    for position in (*edges, len(pending)):
        if position > first:
            yield first, position, True
        if position < len(pending):
            yield position, position + 1, False
        first = position + 1


def _place_compiled(
    pending: Sequence[pods.Pod],
    state: states.ClusterState,
    profile: profiles.Profile,
    features: profiles.SchedulerFeatures,
    chances: Floats,
) -> arrays.Ints:
    """Place pods without volumes with the kernel, and add them to the state."""
    batch = prepare_batch(pending, state, profile, features)
    nodes = batch.nodes
    chosen = np.full(len(pending), batch_resources.UNPLACED, dtype=np.int64)
    _run(batch, batch.rules(profile), nodes, batch.tallies, chances, chosen)
    state.requested[:] = nodes.used[:-2].T
    state.nonzero[:] = nodes.used[-2:].T
    for pod, row in zip(pending, chosen.tolist(), strict=True):
        if row >= 0:
            state.note(pod, row)
    return chosen


def _chances(count: int, rng: np.random.Generator | None) -> Floats:
    """Return a number per pod that breaks its ties; negative takes the first name."""
    return np.full(count, -1.0) if rng is None else rng.random(count)


def can_compile(state: states.ClusterState, profile: profiles.Profile) -> bool:
    """Return whether the kernel can place pods: it has no extensions and no very large amounts."""
    return profile.extension is None and int(state.allocatable.max(initial=0)) < _LARGEST_EXACT


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Pods and nodes as tables, prepared once and placed under many profiles.

    Attributes:
        state: The cluster before the pods.
        profile: The profile whose plugins and resources the tables are made for.
        features: The release.
        class_of_pod: Class of every pod.
        classes: Requests of the classes.
        balance_sets: Sets of resources whose balance is scored.
        statics: Static tables.
        tallies: Pod counts by group and domain.
        links: Which tallies concern which kind of class.
        nodes: State of the nodes.
    """

    state: states.ClusterState
    profile: profiles.Profile
    features: profiles.SchedulerFeatures
    class_of_pod: arrays.Ints
    classes: Classes
    balance_sets: Floats
    statics: Statics
    tallies: Tallies
    links: Links
    nodes: BatchNodes

    def place(
        self, profile: profiles.Profile, rng: np.random.Generator | None = None
    ) -> arrays.Ints:
        """Return the node of every pod under a profile; the batch stays as it is.

        Args:
            profile: A profile that differs from the batch's own in weights, strategy and shape, or
                leaves out score plugins.
            rng: Breaks ties at random; without it the first name wins.
        """
        chosen = np.full(len(self.class_of_pod), batch_resources.UNPLACED, dtype=np.int64)
        used, evenness = self.nodes.used.copy(), self.nodes.evenness.copy()
        nodes = self.nodes._replace(used=used, evenness=evenness)
        chances = _chances(len(chosen), rng)
        _run(self, self.rules(profile), nodes, self.fresh_tallies(), chances, chosen)
        return chosen

    def fresh_tallies(self) -> Tallies:
        """Return a copy of the tallies that may be counted up."""
        tallies = self.tallies
        return tallies._replace(
            totals=tallies.totals.copy(), sums=tallies.sums.copy(), counts=tallies.counts.copy()
        )

    def rules(self, profile: profiles.Profile) -> BatchRules:
        """Return a profile in the form of the kernel.

        Raises:
            ValueError: If the profile scores other resources than the batch was made for.
        """
        for ours, theirs in (
            (self.profile.fit.resources, profile.fit.resources),
            (self.profile.balanced.resources, profile.balanced.resources),
        ):
            if [w.name for w in ours] != [w.name for w in theirs]:
                raise ValueError(f"scores {theirs}, but the batch was prepared for {ours}")
        return _rules(self.state, profile, self.features, self.balance_sets)


def prepare_batch(
    pending: Sequence[pods.Pod],
    state: states.ClusterState,
    profile: profiles.Profile,
    features: profiles.SchedulerFeatures,
) -> Batch:
    """Turn pods and nodes into tables; the state is not changed.

    Volumes are not in the tables.

    Args:
        pending: The pods, at least one.
        state: The cluster, with at least one node.
        profile: The profile.
        features: The release.
    """
    class_of_pod, cycles = _classify(pending, state, profile, features)
    registry = TallyRegistry(state)
    link_of_class, linked = _kinds(cycles, _link_kind)
    links = Linker(linked, registry).links()
    static_of_class, static_cycles = _kinds(cycles, _static_kind)
    statics = _statics(static_cycles)
    classes, balance_sets = _classes(cycles)
    sizes = Counter(class_of_pod.tolist())
    classes = classes._replace(
        static=static_of_class, link=link_of_class, slot=_slots(sizes, len(cycles), len(state))
    )
    names = [node.name for node in state.nodes]
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    nodes = BatchNodes(
        offered=_by_resource(state.allocatable),
        used=_by_resource(np.hstack([state.requested, state.nonzero])),
        evenness=np.zeros((len(balance_sets), len(state))),
        by_name=by_name,
    )
    return Batch(
        state, profile, features, class_of_pod, classes, balance_sets, statics, registry.tables(),
        links, nodes,
    )  # fmt: skip


def _run(
    batch: Batch,
    rules: BatchRules,
    nodes: BatchNodes,
    tallies: Tallies,
    chances: Floats,
    chosen: arrays.Ints,
) -> None:
    """Place the pods of a batch; updates nodes and tallies, and fills ``chosen``."""
    classes, statics = batch.classes, batch.statics
    statics.kept_for[:] = -1.0  # the weights may be others than last time
    kernels.place_classes(
        batch.class_of_pod,
        chances,
        rules,
        nodes,
        classes,
        statics,
        tallies,
        batch.links,
        _cache(int(classes.slot.max(initial=-1)) + 1, len(batch.state)),
        chosen,
    )


def _place_one_by_one(
    pending: Sequence[pods.Pod],
    state: states.ClusterState,
    scheduler: scheduler.Scheduler,
    chances: Floats,
) -> arrays.Ints:
    """Place pods with ``scheduler``: the kernel has no extensions, volumes and large amounts."""
    rows = np.full(len(pending), batch_resources.UNPLACED, dtype=np.int64)
    for position, pod in enumerate(pending):
        top = scheduler.place(pod, state).top
        if len(top):
            # One random number per pod, placed or not, drawn in advance as for the kernel.
            rows[position] = top[int(max(chances[position], 0.0) * len(top))]
            scheduler.bind(pod, state, int(rows[position]))
    return rows


def _by_resource(table: arrays.Ints) -> Floats:
    return np.ascontiguousarray(table.T, dtype=np.float64)


def _classify(
    pending: Sequence[pods.Pod],
    state: states.ClusterState,
    profile: profiles.Profile,
    features: profiles.SchedulerFeatures,
) -> tuple[arrays.Ints, list[Cycle]]:
    """Group pods into classes; the first pod of a class represents it."""
    known: dict[object, int] = {}
    cycles: list[Cycle] = []
    indices = np.empty(len(pending), dtype=np.int64)
    for position, pod in enumerate(pending):
        key = (id(pod.spec), pod.namespace, pod.owner, tuple(pod.labels.items()))
        index = known.get(key)
        if index is None:
            index = known[key] = len(cycles)
            cycles.append(Cycle(pod, state, profile, features))
        indices[position] = index
    return indices, cycles


def _kinds(
    cycles: list[Cycle], kind_of: Callable[[pods.Pod], Hashable]
) -> tuple[arrays.Ints, list[Cycle]]:
    """Group classes into kinds by a key; the first class of a kind represents it."""
    known: dict[Hashable, int] = {}
    first: list[Cycle] = []
    indices = np.empty(len(cycles), dtype=np.int64)
    for position, cycle in enumerate(cycles):
        kind = kind_of(cycle.pod)
        if kind not in known:
            known[kind] = len(first)
            first.append(cycle)
        indices[position] = known[kind]
    return indices, first


def _node_kind(spec: pods.PodSpec) -> Hashable:
    selector = tuple(sorted(spec.node_selector.items()))
    return spec.tolerations, selector, spec.required_nodes


def _static_kind(pod: pods.Pod) -> Hashable:
    """Return the key that the static tables depend on."""
    spec = pod.spec
    images = tuple(c.image for c in spec.containers)
    init_images = tuple(c.image for c in spec.init_containers)
    return _node_kind(spec), spec.preferred_nodes, images, init_images, spec.image_volumes


def _link_kind(pod: pods.Pod) -> Hashable:
    """Return the key that the links to other pods depend on."""
    spec = pod.spec
    itself = pod.namespace, tuple(pod.labels.items()), pod.owner
    near = spec.required_near, spec.preferred_near
    apart = spec.required_apart, spec.preferred_apart
    return itself, _node_kind(spec), spec.spread, near, apart, spec.host_ports


def _statics(cycles: list[Cycle]) -> Statics:
    rows = []
    for cycle in cycles:
        preferred = scheduler.node_preference(cycle)
        nothing = np.zeros(len(cycle.state), dtype=np.int64)
        rows.append(
            (
                _admitted(cycle),
                scheduler.prefer_no_schedule_count(cycle),
                nothing if preferred is None else preferred,
                scheduler.image_locality_score(cycle),
            )
        )
    admitted, disliked, preferences, images = zip(*rows, strict=True)
    return Statics(
        np.array(admitted),
        np.array(disliked, dtype=np.float64),
        np.array(preferences, dtype=np.float64),
        np.array(images, dtype=np.float64),
        kept=np.zeros((len(cycles), len(cycles[0].state))),
        kept_for=np.full((len(cycles), 2), -1.0),
    )


def _admitted(cycle: Cycle) -> arrays.Bools:
    """Run the filters that depend on node and pod specification alone."""
    enabled = cycle.profile.filters
    passes = np.ones(len(cycle.state), dtype=np.bool_)
    if profiles.NODE_AFFINITY in cycle.profile.prefilters:
        try:
            named = scheduler.named_nodes(cycle.pod.spec)
        except Conflict:
            return np.zeros(len(cycle.state), dtype=np.bool_)
        if named is not None:
            passes &= np.array([node.name in named for node in cycle.state.nodes])
    for name, plugin in (
        (profiles.UNSCHEDULABLE, scheduler.unschedulable),
        (profiles.TAINTS, scheduler.untolerated),
        (profiles.NODE_AFFINITY, scheduler.admitted_nodes),
    ):
        verdict = plugin(cycle) if name in enabled else None
        if verdict is not None:
            passes &= verdict.passes
    return passes


def _classes(cycles: list[Cycle]) -> tuple[Classes, Floats]:
    """Return the requests of all classes, and the sets of resources whose balance is scored."""
    state, profile, features = cycles[0].state, cycles[0].profile, cycles[0].features
    count, width = len(cycles), len(state.columns)
    fit, balanced = profile.fit.resources, profile.balanced.resources
    nowhere = np.zeros(count, dtype=np.int64)
    table = Classes(
        requested=np.zeros((count, width)),
        possible=np.ones(count, dtype=np.bool_),
        taken=np.zeros((count, width + 2)),
        fit_amount=np.zeros((count, len(fit))),
        balanced_amount=np.zeros((count, len(balanced))),
        balanced=np.ones(count, dtype=np.bool_),
        balance_set=nowhere,
        static=nowhere,
        link=nowhere,
        slot=nowhere,
    )
    for c, cycle in enumerate(cycles):
        counted = _requests(cycle)
        requested = {
            name: amount
            for name, amount in counted.filtered.items()
            if amount > 0 and not scheduler.is_ignored(name, profile.fit)
        }
        table.possible[c] = all(name in state.columns for name in requested)
        table.requested[c] = state.vector({**requested, resources.PODS: 1})
        table.taken[c, :width] = state.occupied(counted.taken)
        table.taken[c, width:] = counted.taken.nonzero_cpu_m, counted.taken.nonzero_memory_bytes
        table.fit_amount[c] = _amounts(fit, counted.scored)
        table.balanced_amount[c] = _amounts(balanced, counted.balanced)
        table.balanced[c] = not features.best_effort_unbalanced or any(
            amount > 0 for amount in table.balanced_amount[c]
        )
    sets, which = np.unique(
        np.where(table.balanced_amount < 0, -1.0, 0.0), axis=0, return_inverse=True
    )
    return table._replace(balance_set=which.reshape(-1)), sets


@dataclass(frozen=True, slots=True)
class _Requests:
    """A pod's requests as counted by the filter, the node, the fit score and the balance score."""

    filtered: dict[str, int]
    taken: requests.Occupancy
    scored: dict[str, quantities.Quantity]
    balanced: dict[str, quantities.Quantity]


_SCORE_RULES = requests.RequestRules(pod_level=False, assumed=requests.ASSUMED)


def _requests(cycle: Cycle) -> _Requests:
    pod, features = cycle.pod, cycle.features
    scored = requests.pod_requests(pod, _SCORE_RULES)
    if requests.is_plain(pod):  # most pods: all four are the same
        own = requests.pod_requests(pod)
        return _Requests(resources.amounts(own), requests.make_occupancy(own, scored), scored, own)
    use_status, pod_level = features.resized_pods, features.pod_level
    return _Requests(
        filtered=scheduler.filter_requests(cycle),
        taken=requests.occupancy(pod, use_status=use_status, pod_level=pod_level),
        scored=scored,
        balanced=requests.pod_requests(pod, requests.RequestRules(use_status, pod_level)),
    )


def _amounts(
    weighted: tuple[profiles.ResourceWeight, ...], requested: dict[str, quantities.Quantity]
) -> list[int]:
    """Return the amount of each resource that a score counts; -1 omits the resource."""
    amounts = []
    for resource in weighted:
        quantity = requested.get(resource.name, quantities.Quantity(0))
        amount = resources.amount(resource.name, quantity)
        omitted = (amount == 0 and resources.is_scalar(resource.name)) or not (
            resources.is_counted(resource.name)
        )
        amounts.append(-1 if omitted else amount)
    return amounts


def _slots(sizes: Counter[int], count: int, node_count: int) -> arrays.Ints:
    """Assign cache slots to the largest classes; a class of one pod needs none."""
    slots = np.full(count, -1, dtype=np.int64)
    most = max(1, _CACHE_CELLS // max(node_count, 1))
    largest = [c for c, size in sizes.most_common(most) if size > 1]
    slots[largest] = np.arange(len(largest))
    return slots


def _cache(slots: int, node_count: int) -> Cache:
    rows = slots + 1  # the last one is scratch
    return Cache(
        fits=np.zeros((rows, node_count), dtype=np.bool_),
        score=np.zeros((rows, node_count)),
        read_until=np.full(rows, -1, dtype=np.int64),
    )


def _rules(
    state: states.ClusterState,
    profile: profiles.Profile,
    features: profiles.SchedulerFeatures,
    balance_sets: Floats,
) -> BatchRules:
    weights = dict(profile.scores)
    fit, balanced = profile.fit.resources, profile.balanced.resources
    width = len(state.columns)
    sources = {**state.columns, resources.CPU: width, resources.MEMORY: width + 1}

    def ints(values: Sequence[int]) -> arrays.Ints:
        return np.array(values, dtype=np.int64)

    return BatchRules(
        strategy=_STRATEGIES[profile.fit.strategy],
        shape_x=ints([point.utilization for point in profile.fit.shape] or [0]),
        shape_y=ints([point.score * 10 for point in profile.fit.shape] or [0]),
        fit_column=ints([state.columns.get(w.name, -1) for w in fit]),
        fit_source=ints([sources.get(w.name, -1) for w in fit]),
        fit_weight=ints([w.weight for w in fit]),
        balanced_column=ints([state.columns.get(w.name, -1) for w in balanced]),
        balance_sets=balance_sets,
        balance_change=features.balance_change,
        filter_fit=profiles.FIT in profile.filters,
        weights=ints([weights.get(name, 0) for name in _SCORED]),
    )
