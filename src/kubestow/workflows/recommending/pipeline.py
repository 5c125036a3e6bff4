"""From usage to advice: what ``kubestow recommend`` does, wherever usage comes from.

An estimator answers for all containers at once, a walk through the past says
how often the answer would have been too small and how much too large, the guards make it fit the
cluster, and the screen says whether the past is a guide at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent import futures
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from kubestow.live import caches
from kubestow.model import arrays, decisions, decoding, errors, requests, resources, usage
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.model.resources import ContainerResources
from kubestow.model.usage import Usage
from kubestow.policies.sizing import (
    conformal,
    estimates,
    guards,
    judging,
    keep,
    registry,
)
from kubestow.workflows.recommending import advice as recommending_advice

CPU, MEMORY = resources.CPU, resources.MEMORY
AUTO: Final = judging.AUTO
# Compiled loops run side by side; more than two gain little for five candidates.
_WORKERS: Final = 2
Watch = Callable[[str, float], None]
_ANYTHING: Final[Mapping[str, caches.PodBounds]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RecommendRequest:
    """What is asked for.

    Attributes:
        strategy: Name of a recommender.
        parameters: Its parameters, as a scenario would write them.
        miss_probability: Stated probability of being too small; for those that can state one.
        window_s: For how long a recommendation is to hold.
        windows: How many windows of the past it is judged by.
        guards: What the guards go by.
        screen: Where suitable ends.
    """

    strategy: str = AUTO
    parameters: Mapping[str, Any] = field(default_factory=dict)
    miss_probability: float | None = None
    window_s: float = 86400.0
    windows: int = 4
    guards: guards.GuardParameters = field(default_factory=guards.GuardParameters)
    screen: judging.ScreenParameters = field(default_factory=judging.ScreenParameters)


@dataclass(frozen=True, slots=True, eq=False)
class RecommendResult:
    """All advice, in the order of the containers.

    Attributes:
        strategy: Who was asked.
        advices: One per container.
        notes: What had to be left out or mended.
        records: Why, one per workload.
        inventory: What else is known.
        table: The usage it is made of.
        places: Place of each advice's container in the usage.
    """

    strategy: str
    advices: tuple[recommending_advice.Advice, ...]
    notes: tuple[str, ...]
    records: tuple[decisions.DecisionRecord, ...]
    inventory: usage.Inventory
    table: Usage
    places: tuple[int, ...] = ()


def recommend(
    table: Usage,
    inventory: usage.Inventory,
    request: RecommendRequest,
    watch: Watch = lambda *_: None,
    bounds: Mapping[str, caches.PodBounds] = _ANYTHING,
) -> RecommendResult:
    """Work out advice for every container.

    Args:
        table: What was used.
        inventory: What else is known.
        request: What is asked for.
        watch: Is told what is being done and the share that is done.
        bounds: What namespaces allow, where that is known.

    Raises:
        InputError: If the strategy or its parameters are not what they should be.
    """
    table = find_oom_killed(table, inventory)
    watch("estimating", 0.1)
    answers, judged = _estimate(table, inventory, request)
    watch("screening", 0.8)
    window = _window(table, request)
    java = tuple(_heap(inventory, key) for key in table.keys)
    screen = judging.screen_container(table, window, request.screen, java)
    watch("guarding", 0.9)
    made = _advise(table, inventory, request, answers, judged, screen, bounds)
    watch("done", 1.0)
    records = tuple(_record(advice, request, table.end_s) for advice in made)
    places = tuple(range(len(made)))
    notes = (*table.notes, *_unmeasured(table, inventory))
    return RecommendResult(request.strategy, made, notes, records, inventory, table, places)


def _unmeasured(table: Usage, inventory: usage.Inventory) -> list[str]:
    """Return a note on containers that request something, but whose usage is not known."""
    measured = set(table.keys)
    spaces = {key.namespace for key in measured}
    missing = sorted(
        key for key in inventory.containers if key not in measured and key.namespace in spaces
    )
    if not missing:
        return []
    return [f"{len(missing)} containers without usage got no advice, such as {missing[0]}"]


def find_oom_killed(table: Usage, inventory: usage.Inventory) -> Usage:
    """Return usage with the amounts that containers were OOM-killed at: the limits that held."""
    keys = table.keys
    killed = np.zeros(len(table.containers))
    for place in np.flatnonzero(table.oom_kills > 0.0).tolist():
        facts = inventory.containers.get(keys[place])
        rows = table.owners == place
        peak = np.nanmax(table.memory_bytes[rows], initial=0.0)
        limit = _amount(facts.limits, MEMORY) or _amount(facts.requests, MEMORY) if facts else 0
        killed[place] = max(float(limit), float(peak))
    return replace(table, oom_killed_bytes=killed)


def make_estimator(request: RecommendRequest) -> estimates.Estimator:
    """Return the estimator that is asked for.

    Raises:
        InputError: If there is none of that name, or its parameters are not what they should be.
    """
    entry = registry.RECOMMENDERS.get(request.strategy)
    given = _merge(_defaults(request), request.parameters)
    raw = decoding.Field(given, f"strategy {request.strategy}", "parameters")
    parameters: Any = decoding.read_structure(entry.parameters, raw)
    return entry.make_estimator(parameters)


def _defaults(request: RecommendRequest) -> dict[str, Any]:
    """Return what the command's own options say about a strategy's parameters."""
    promised = request.miss_probability
    window = {"windowS": request.window_s}
    stated = dict(window)
    if promised is not None:
        stated |= {"cpuMissProbability": promised, "memoryMissProbability": promised}
    if request.strategy == AUTO:
        return {"tournament": {**window, "windows": request.windows}, "conformal": stated}
    if request.strategy == conformal.CONFORMAL:
        return stated
    if promised is not None:
        raise errors.InputError(
            "--miss-probability", f"{request.strategy} states none; conformal and auto do"
        )
    return {}


def _merge(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return mappings laid over each other, what is given on top."""
    found = dict(defaults)
    for name, value in given.items():
        below = found.get(name)
        nested = isinstance(below, dict) and isinstance(value, dict)
        found[name] = _merge(dict(below or {}), value) if nested else value
    return found


def _window(table: Usage, request: RecommendRequest) -> int:
    return judging.arena_window(
        table,
        judging.TournamentParameters(window_s=request.window_s, windows=request.windows),
    )


def _estimate(
    table: Usage,
    inventory: usage.Inventory,
    request: RecommendRequest,
) -> tuple[estimates.Estimates, judging.BacktestScores]:
    window = _window(table, request)
    at = judging.origins(table.points, window, request.windows, window)
    if request.strategy == keep.NAME:
        now = [_kept(table, inventory)] * (len(at) + 1)
    else:
        with futures.ThreadPoolExecutor(_WORKERS) as pool:
            estimator = make_estimator(request)
            if isinstance(estimator, judging.Tournament):
                estimator = replace(estimator, mapper=pool.map)
            now = estimates.estimate_at(estimator, table, [*at, table.points])
    return now[-1], judging.backtest_all(table, window, at, now[:-1])


def _kept(table: Usage, inventory: usage.Inventory) -> estimates.Estimates:
    def amounts(resource: str, unit: float) -> arrays.Floats:
        found = [
            _amount(facts.requests, resource) if facts else 0
            for facts in (inventory.containers.get(key) for key in table.keys)
        ]
        return np.array([amount / unit if amount else np.nan for amount in found])

    return estimates.exact(amounts(CPU, 1000.0), amounts(MEMORY, 1.0))


def _heap(inventory: usage.Inventory, key: ContainerKey) -> guards.JavaHeap | None:
    facts = inventory.containers.get(key)
    return _heap_of(facts) if facts else None


def _heap_of(facts: usage.ContainerFacts) -> guards.JavaHeap | None:
    if facts.heap_bytes is not None:
        return guards.JavaHeap(facts.heap_bytes, None, "JVM")
    return guards.find_java_heap(facts.image, facts.command, facts.variables)


def _amount(stated: resources.ResourceList, resource: str) -> int:
    return int(resources.amount(resource, stated[resource])) if resource in stated else 0


def _advise(
    table: Usage,
    inventory: usage.Inventory,
    request: RecommendRequest,
    found: estimates.Estimates,
    judged: judging.BacktestScores,
    screen: judging.Screen,
    bounds: Mapping[str, caches.PodBounds],
) -> tuple[recommending_advice.Advice, ...]:
    by_workload: dict[WorkloadKey, list[int]] = {}
    keys = table.keys
    for place, key in enumerate(keys):
        by_workload.setdefault(key.of, []).append(place)
    known: dict[WorkloadKey, dict[str, usage.ContainerFacts]] = {}
    for key, facts in inventory.containers.items():
        known.setdefault(key.of, {})[key.container] = facts
    rows = _rows_of(table)
    made: dict[int, recommending_advice.Advice] = {}
    node = largest_node(inventory)
    for workload, places in by_workload.items():
        stated = known.get(workload, {})
        if request.strategy == keep.NAME:
            pod = tuple(_untouched(keys[place], stated) for place in places)
        else:
            allowed = bounds.get(workload.namespace, caches.PodBounds())
            pod = _guarded(table, keys, inventory, request, found, places, stated, node, allowed)
        for place, sized in zip(places, pod, strict=True):
            made[place] = _advice(
                table, keys[place], inventory, found, judged, screen, place, sized, rows[place]
            )
    return tuple(made[place] for place in range(len(table.containers)))


def _rows_of(table: Usage) -> list[slice]:
    edges = np.searchsorted(table.owners, np.arange(len(table.containers) + 1))
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def largest_node(inventory: usage.Inventory) -> dict[str, int] | None:
    """Return the largest allocatable CPU and memory any node has; ``None`` without nodes."""
    if not inventory.nodes:
        return None
    return {
        name: max(_amount(stated, name) for stated in inventory.nodes.values())
        for name in (CPU, MEMORY)
    }


def _untouched(
    key: ContainerKey, known: Mapping[str, usage.ContainerFacts]
) -> guards.SizedContainer:
    """Return what a container has; who keeps everything asks no guard."""
    facts = known.get(key.container, usage.ContainerFacts())
    requests, limits = (
        {name: _amount(stated, name) for name in (CPU, MEMORY) if name in stated}
        for stated in (facts.requests, facts.limits)
    )
    return guards.SizedContainer(key.container, requests, limits)


def _guarded(
    table: Usage,
    keys: Sequence[ContainerKey],
    inventory: usage.Inventory,
    request: RecommendRequest,
    found: estimates.Estimates,
    places: Sequence[int],
    known: Mapping[str, usage.ContainerFacts],
    node: dict[str, int] | None,
    allowed: caches.PodBounds,
) -> guards.GuardedPod:
    workload = keys[places[0]].of
    current = {
        name: ContainerResources(facts.requests, facts.limits) for name, facts in known.items()
    }
    java = {name: heap for name, facts in known.items() if (heap := _heap_of(facts)) is not None}
    facts = guards.GuardContext(
        current=current,
        replicas=inventory.replicas.get(workload, 1),
        oom_killed_bytes={
            keys[place].container: _killed_at(inventory.containers.get(keys[place]))
            for place in places
            if table.oom_kills[place] > 0.0
        },
        node=node,
        ranges=allowed.ranges,
        quota=allowed.quota,
        autoscaled=inventory.autoscaled.get(workload, {}),
        heaps=java,
        quality=_quality(current, {keys[place].container for place in places}),
    )
    pod = tuple(
        guards.SizedContainer(keys[place].container, recommending_advice.amounts_of(found, place))
        for place in places
    )
    return guards.guard(pod, facts, request.guards)


def _killed_at(facts: usage.ContainerFacts | None) -> int:
    if facts is None:
        return 0
    return _amount(facts.limits, MEMORY) or _amount(facts.requests, MEMORY)


def _quality(current: Mapping[str, ContainerResources], measured: Set[str]) -> requests.QosClass:
    """Return the class of a pod; one with a container nothing is known of is not Guaranteed."""
    if not current or not measured <= set(current):
        return requests.QosClass.BURSTABLE
    both = (CPU, MEMORY)
    if all(
        name in one.limits and one.limits[name] == one.requests.get(name, one.limits[name])
        for one in current.values()
        for name in both
    ):
        return requests.QosClass.GUARANTEED
    return requests.QosClass.BURSTABLE


def _advice(
    table: Usage,
    key: ContainerKey,
    inventory: usage.Inventory,
    found: estimates.Estimates,
    judged: judging.BacktestScores,
    screen: judging.Screen,
    place: int,
    sized: guards.SizedContainer,
    rows: slice,
) -> recommending_advice.Advice:
    cpu, memory = table.cpu_cores[rows], table.memory_bytes[rows]
    known_cpu, known_memory = cpu[~np.isnan(cpu)], memory[~np.isnan(memory)]
    reasons = [found.reasons[place] if found.reasons else "", *sized.notes]
    if not screen.suitable[place]:
        reasons.append(f"not suitable: {screen.reasons[place]}")
    throttled = float(table.throttled[place])
    return recommending_advice.Advice(
        key=key,
        current=inventory.containers.get(key, usage.ContainerFacts()),
        requests=sized.requests,
        limits=sized.limits,
        lower=recommending_advice.amounts_of(found, place, "lower_"),
        upper=recommending_advice.amounts_of(found, place, "upper_"),
        replicas=inventory.replicas.get(key.of, max(_living(cpu, memory), 1)),
        samples=max(len(known_cpu), len(known_memory)),
        peak_bytes=float(known_memory.max(initial=0.0)),
        cpu_p95_cores=float(np.quantile(known_cpu, 0.95)) if len(known_cpu) else 0.0,
        cpu_mean_cores=float(known_cpu.mean()) if len(known_cpu) else 0.0,
        memory_mean_bytes=float(known_memory.mean()) if len(known_memory) else 0.0,
        suitable=bool(screen.suitable[place]),
        autocorrelated=float(np.nan_to_num(screen.dependent[place])),
        why="; ".join(reason for reason in reasons if reason),
        backtest=_backtest(judged, place),
        killed=int(table.oom_kills[place]),
        throttled=None if np.isnan(throttled) else throttled,
    )


def _living(cpu: arrays.Floats, memory: arrays.Floats) -> int:
    """Return how many pods were measured in the last step: those that live."""
    if not cpu.shape[1]:
        return 0
    return int(np.count_nonzero(~(np.isnan(cpu[:, -1]) & np.isnan(memory[:, -1]))))


def _backtest(judged: judging.BacktestScores, place: int) -> recommending_advice.AdviceBacktest:
    missed, over = judged.memory_missed[place], judged.cpu_over[place]
    memory, peak = judged.memory_bytes[place], judged.memory_peak_bytes[place]
    cpu, used = judged.cpu_cores[place], judged.cpu_mean_cores[place]
    return recommending_advice.AdviceBacktest(
        windows=int(np.count_nonzero(np.isfinite(missed) | np.isfinite(over))),
        miss_rate=_mean(missed),
        cpu_over=_mean(over),
        slack=_mean(np.maximum(1.0 - peak / np.where(memory > 0.0, memory, np.nan), 0.0)),
        cpu_slack=_mean(np.maximum(1.0 - used / np.where(cpu > 0.0, cpu, np.nan), 0.0)),
    )


def _mean(values: arrays.Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _record(
    advice: recommending_advice.Advice, request: RecommendRequest, time_s: float
) -> decisions.DecisionRecord:
    numbers = {"samples": float(advice.samples), "peak_bytes": advice.peak_bytes}
    numbers |= {f"requests/{name}": float(amount) for name, amount in advice.requests.items()}
    backtest = {
        name: value
        for name, value in (
            ("miss_rate", advice.backtest.miss_rate),
            ("cpu_over", advice.backtest.cpu_over),
            ("slack", advice.backtest.slack),
        )
        if value is not None
    }
    return decisions.DecisionRecord(
        kind="sizing",
        subject=f"container/{advice.key}",
        policy=request.strategy,
        outcome=", ".join(
            f"{n} {a}" for n, a in recommending_advice.format_amount(advice.requests).items()
        )
        or None,
        parameters=dict(request.parameters),
        time=time_s,
        rejected={} if advice.suitable else {"suitable": advice.why},
        numbers=numbers,
        backtest=backtest,
    )
