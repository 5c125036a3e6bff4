"""``kubestow recommend``: from usage of any source to recommendations.

An estimator estimates requests for all containers at once, a back-test measures how often they
would have been too small and by how much too large, the guards fit them to the cluster, and the
screen decides whether the past of a container is a guide at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Set
from concurrent import futures
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from kubestow.model import arrays, decisions, decoding, errors, requests, resources, usage
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.model.limit_ranges import PodBounds
from kubestow.model.resources import ContainerResources
from kubestow.model.usage import Usage
from kubestow.policies.sizing import (
    conformal,
    estimates,
    guards,
    judging,
    keep,
    reasons,
    registry,
    window_statistics,
)
from kubestow.policies.sizing.recommendations import (
    Recommendation,
    SizingBacktest,
    UsageSummary,
    format_amounts,
    upper_rate,
)
from kubestow.workflows.recommending import runs, safety

CPU, MEMORY = resources.CPU, resources.MEMORY
AUTO: Final = judging.AUTO
# Compiled loops run in parallel; more than two gain little for five candidates.
_WORKERS: Final = 2
# Points from which threads are worth their memory.
_MANY: Final = 2_000_000
Watch = Callable[[str, float], None]
# Share of a window that may be missing at the beginning of the history.
_LACKING: Final = 0.1
_ANYTHING: Final[Mapping[str, PodBounds]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RecommendRequest:
    """What to recommend, and how.

    Attributes:
        strategy: Name of a recommender.
        parameters: Its parameters, with the keys of scenario files.
        miss_probability: Stated probability of being too small; ``conformal`` and ``auto`` only.
        window_s: How long a recommendation has to hold.
        windows: Number of past windows in the back-test.
        guards: Parameters of the guards.
        screen: Thresholds of suitability.
    """

    strategy: str = AUTO
    parameters: Mapping[str, Any] = field(default_factory=dict)
    miss_probability: float | None = None
    window_s: float = 86400.0
    windows: int = 4
    guards: guards.GuardParameters = field(default_factory=safety.make_guards)
    screen: judging.ScreenParameters = field(default_factory=judging.ScreenParameters)


@dataclass(frozen=True, slots=True, eq=False)
class RecommendResult:
    """All recommendations, in the order of the containers.

    Attributes:
        strategy: Name of the recommender.
        recommendations: One per container.
        notes: What was skipped or repaired in the input.
        records: One decision record per container.
        inventory: Requests, limits, nodes and autoscalers.
        table: The usage.
        places: Row of each recommendation's container in the usage.
    """

    strategy: str
    recommendations: tuple[Recommendation, ...]
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
    bounds: Mapping[str, PodBounds] = _ANYTHING,
) -> RecommendResult:
    """Recommend requests and limits for every container.

    Args:
        table: Usage.
        inventory: Requests, limits, nodes and autoscalers.
        request: What to recommend, and how.
        watch: Called with the current step and the share that is done.
        bounds: Bounds of namespaces, where known.

    Raises:
        InputError: If the strategy or its parameters are invalid.
    """
    table, inventory = runs.group(table, inventory)
    table = find_oom_killed(table, inventory)
    watch("estimating", 0.1)
    staying, of_runs = runs.split(table)
    sized: dict[ContainerKey, Recommendation] = {}
    for part in (staying, of_runs):
        if len(part.containers):
            made_now = _recommend_part(part, inventory, request, bounds)
            sized |= {one.key: one for one in made_now}
    made = tuple(sized[key] for key in table.keys)
    watch("done", 1.0)
    records = tuple(_record(one, request, table.end_s) for one in made)
    places = tuple(range(len(made)))
    notes = (*table.notes, *runs.note(table, of_runs), *_unmeasured(table, inventory))
    return RecommendResult(request.strategy, made, notes, records, inventory, table, places)


def _recommend_part(
    table: Usage,
    inventory: usage.Inventory,
    request: RecommendRequest,
    bounds: Mapping[str, PodBounds],
) -> tuple[Recommendation, ...]:
    """Return recommendations from usage that is all of runs, or all of pods that stay."""
    answers, scores = _estimate(table, inventory, request)
    java = tuple(_heap(inventory, key) for key in table.keys)
    screen = judging.screen_container(table, _window(table, request), request.screen, java)
    return _recommend_all(table, inventory, request, answers, scores, screen, bounds)


def _unmeasured(table: Usage, inventory: usage.Inventory) -> list[str]:
    """Return a note on containers with requests but without usage."""
    measured = set(table.keys)
    spaces = {key.namespace for key in measured}
    missing = sorted(
        key for key in inventory.containers if key not in measured and key.namespace in spaces
    )
    if not missing:
        return []
    return [f"{len(missing)} containers without usage got no recommendation, such as {missing[0]}"]


def find_oom_killed(table: Usage, inventory: usage.Inventory) -> Usage:
    """Return usage with the limits at which containers were OOM-killed."""
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
    """Return the estimator of the requested strategy.

    Raises:
        InputError: If there is no such strategy, or its parameters are invalid.
    """
    entry = registry.RECOMMENDERS.get(request.strategy)
    given = _merge(_defaults(request), request.parameters)
    raw = decoding.Field(given, f"strategy {request.strategy}", "parameters")
    parameters: Any = decoding.read_structure(entry.parameters, raw)
    return entry.make_estimator(parameters)


def _defaults(request: RecommendRequest) -> dict[str, Any]:
    """Return the parameters of a strategy that follow from the request."""
    promised = request.miss_probability
    window = {"windowS": request.window_s}
    stated = dict(window)
    if promised is not None:
        stated |= {
            "cpuMissProbability": promised,
            "memoryMissProbability": promised,
            "runMemoryMissProbability": promised,
        }
    if request.strategy == AUTO:
        return {"tournament": {**window, "windows": request.windows}, "conformal": stated}
    if request.strategy == conformal.CONFORMAL:
        return stated
    if promised is not None:
        raise errors.InputError(
            "miss_probability", f"{request.strategy} states none; conformal and auto do"
        )
    return {}


def _merge(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested mappings merged, given values first."""
    merged = dict(defaults)
    for name, value in given.items():
        below = merged.get(name)
        nested = isinstance(below, dict) and isinstance(value, dict)
        merged[name] = _merge(dict(below or {}), value) if nested else value
    return merged


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
    if table.runs:
        return _estimate_runs(table, inventory, request)
    if request.strategy == keep.NAME:
        now = [_kept(table, inventory)] * (len(at) + 1)
    else:
        with futures.ThreadPoolExecutor(_WORKERS) as pool:
            estimator = make_estimator(request)
            if isinstance(estimator, judging.Tournament) and table.cpu_cores.size > _MANY:
                estimator = replace(estimator, mapper=pool.map)
            now = estimates.estimate_at(estimator, table, [*at, table.points])
    return now[-1], judging.backtest_all(table, window, at, now[:-1])


def _estimate_runs(
    table: Usage, inventory: usage.Inventory, request: RecommendRequest
) -> tuple[estimates.Estimates, judging.BacktestScores]:
    """Return estimates from all runs, and the back-test run by run."""
    if request.strategy == keep.NAME:
        fixed = runs.FixedAmounts(_kept(table, inventory))
        return fixed.amounts, runs.backtest(table, fixed)
    estimator = make_estimator(request)
    return estimator.estimate(table), runs.backtest(table, estimator)


def _kept(table: Usage, inventory: usage.Inventory) -> estimates.Estimates:
    def amounts(resource: str, unit: float) -> arrays.Floats:
        requested = [
            _amount(facts.requests, resource) if facts else 0
            for facts in (inventory.containers.get(key) for key in table.keys)
        ]
        return np.array([amount / unit if amount else np.nan for amount in requested])

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


def _recommend_all(
    table: Usage,
    inventory: usage.Inventory,
    request: RecommendRequest,
    amounts: estimates.Estimates,
    scores: judging.BacktestScores,
    screen: judging.Screen,
    bounds: Mapping[str, PodBounds],
) -> tuple[Recommendation, ...]:
    keys = table.keys
    by_workload: dict[WorkloadKey, list[int]] = {}
    for place, key in enumerate(keys):
        by_workload.setdefault(key.of, []).append(place)
    known: dict[WorkloadKey, dict[str, usage.ContainerFacts]] = {}
    for key, facts in inventory.containers.items():
        known.setdefault(key.of, {})[key.container] = facts
    rows = _rows_of(table)
    evidence = _count_windows(table, request)
    peaks = np.nan_to_num(table.largest(window_statistics.largest(table.memory_bytes)))
    made: dict[int, Recommendation] = {}
    node = largest_node(inventory)
    window_s = _window(table, request) * table.step_s
    for workload, places in by_workload.items():
        stated = known.get(workload, {})
        pod = tuple(_begin(keys[place], request.strategy, amounts, place) for place in places)
        if request.strategy == keep.NAME:
            pod = tuple(_untouched(one, stated) for one in pod)
        else:
            allowed = bounds.get(workload.namespace, PodBounds())
            killed = {keys[place].container for place in places if table.oom_kills[place] > 0.0}
            facts_of_pod = replace(
                _guard_facts(inventory, workload, pod, killed, stated, node, allowed),
                peak_bytes={keys[k].container: float(peaks[k]) for k in places},
            )
            pod = guards.guard(pod, facts_of_pod, request.guards)
        for place, sized in zip(places, pod, strict=True):
            tested = replace(_backtest(scores, place, window_s), runs=table.runs)
            whole = _complete(table, inventory, tested, screen, place, sized, rows[place])
            made[place] = replace(whole, evidence=int(evidence[place]))
    return tuple(made[place] for place in range(len(keys)))


def _begin(
    key: ContainerKey, strategy: str, amounts: estimates.Estimates, place: int
) -> Recommendation:
    """Return the estimate for a container as a recommendation."""
    reason = amounts.reasons[place] if amounts.reasons else ""
    return Recommendation(
        key,
        amounts.amounts(place),
        lower=amounts.amounts(place, "lower_"),
        upper=amounts.amounts(place, "upper_"),
        reasons=(reason or _plain_reason(strategy, amounts, place),),
        strategy=strategy,
        estimate=amounts.amounts(place),
    )


def _count_windows(table: Usage, request: RecommendRequest) -> arrays.Ints:
    """Return in how many whole windows, or runs, each container was measured.

    A first window that lacks less than a tenth counts: a week of samples ends a step early.
    """
    if table.runs:
        known = ~(np.isnan(table.cpu_cores) & np.isnan(table.memory_bytes)).all(axis=1)
        finished: arrays.Ints = np.bincount(table.owners[known], minlength=len(table.containers))
        return finished
    points = max(round(request.window_s / table.step_s), 1)
    lacking = -table.points % points
    before = lacking if lacking <= _LACKING * points else 0
    counted = np.zeros((len(table.containers), (table.points + before) // points), dtype=np.bool_)
    for values in (table.cpu_cores, table.memory_bytes):
        padded = np.pad(values, ((0, 0), (before, 0)), constant_values=np.nan)
        measured = np.isfinite(window_statistics.peaks(padded, points))
        np.logical_or.at(counted, table.owners, measured)
    windows: arrays.Ints = counted.sum(axis=1)
    return windows


def _plain_reason(strategy: str, amounts: estimates.Estimates, place: int) -> str:
    """Return the reason of a recommender that gives none: its amounts."""
    cpu, memory = amounts.cpu_cores[place : place + 1], amounts.memory_bytes[place : place + 1]
    if strategy == keep.NAME and np.isnan([cpu, memory]).all():
        return "keep: 0 requests are set, none is recommended"
    return f"{strategy}: {reasons.by_container(cpu, memory, '{}', '{}')[0]}"


def _rows_of(table: Usage) -> list[slice]:
    edges = np.searchsorted(table.owners, np.arange(len(table.containers) + 1))
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def largest_node(inventory: usage.Inventory) -> dict[str, int] | None:
    """Return the largest allocatable CPU and memory of any node; ``None`` without nodes."""
    if not inventory.nodes:
        return None
    return {
        name: max(_amount(stated, name) for stated in inventory.nodes.values())
        for name in (CPU, MEMORY)
    }


def _untouched(sized: Recommendation, known: Mapping[str, usage.ContainerFacts]) -> Recommendation:
    """Return the current amounts of a container; ``keep`` needs no guards."""
    facts = known.get(sized.container, usage.ContainerFacts())
    requests, limits = (
        {name: _amount(stated, name) for name in (CPU, MEMORY) if name in stated}
        for stated in (facts.requests, facts.limits)
    )
    return replace(sized, requests=requests, limits=limits)


def _guard_facts(
    inventory: usage.Inventory,
    workload: WorkloadKey,
    pod: guards.GuardedPod,
    killed: Set[str],
    known: Mapping[str, usage.ContainerFacts],
    node: dict[str, int] | None,
    allowed: PodBounds,
) -> guards.GuardContext:
    current = {
        name: ContainerResources(facts.requests, facts.limits) for name, facts in known.items()
    }
    java = {name: heap for name, facts in known.items() if (heap := _heap_of(facts)) is not None}
    return guards.GuardContext(
        current=current,
        replicas=inventory.replicas.get(workload, 1),
        oom_killed_bytes={
            one.container: _killed_at(inventory.containers.get(one.key))
            for one in pod
            if one.container in killed
        },
        node=node,
        ranges=allowed.ranges,
        quota=allowed.quota,
        autoscaled=inventory.autoscaled.get(workload, {}),
        heaps=java,
        quality=_quality(current, {one.container for one in pod}),
    )


def _killed_at(facts: usage.ContainerFacts | None) -> int:
    if facts is None:
        return 0
    return _amount(facts.limits, MEMORY) or _amount(facts.requests, MEMORY)


def _quality(current: Mapping[str, ContainerResources], measured: Set[str]) -> requests.QosClass:
    """Return the QoS class of a pod; one with an unknown container is not Guaranteed."""
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


def _complete(
    table: Usage,
    inventory: usage.Inventory,
    tested: SizingBacktest,
    screen: judging.Screen,
    place: int,
    sized: Recommendation,
    rows: slice,
) -> Recommendation:
    """Return a guarded recommendation with its usage summary and back-test."""
    cpu, memory = table.cpu_cores[rows], table.memory_bytes[rows]
    known_cpu, known_memory = cpu[~np.isnan(cpu)], memory[~np.isnan(memory)]
    throttled = float(table.throttled[place])
    suitable = bool(screen.suitable[place])
    why_not = () if suitable else (f"not suitable: {screen.reasons[place]}",)
    evidence = (tested.describe(),) if tested.describe() else ()
    cache = None if table.cache_bytes is None else float(table.cache_bytes[place])
    return replace(
        sized,
        reasons=(*sized.reasons, *evidence, *why_not),
        suitable=suitable,
        backtest=tested,
        usage=UsageSummary(
            samples=max(len(known_cpu), len(known_memory)),
            peak_bytes=float(known_memory.max(initial=0.0)),
            cpu_p95_cores=float(np.quantile(known_cpu, 0.95)) if len(known_cpu) else 0.0,
            cpu_mean_cores=float(known_cpu.mean()) if len(known_cpu) else 0.0,
            memory_mean_bytes=float(known_memory.mean()) if len(known_memory) else 0.0,
            autocorrelated=float(np.nan_to_num(screen.dependent[place])),
            oom_kills=int(table.oom_kills[place]),
            throttled=None if np.isnan(throttled) else throttled,
            cache_bytes=None if cache is None or np.isnan(cache) else cache,
        ),
        current=inventory.containers.get(sized.key, usage.ContainerFacts()),
        replicas=inventory.replicas.get(sized.key.of, max(_living(cpu, memory), 1)),
    )


def _living(cpu: arrays.Floats, memory: arrays.Floats) -> int:
    """Return the number of pods measured in the last step."""
    if not cpu.shape[1]:
        return 0
    return int(np.count_nonzero(~(np.isnan(cpu[:, -1]) & np.isnan(memory[:, -1]))))


def _backtest(scores: judging.BacktestScores, place: int, window_s: float) -> SizingBacktest:
    missed, over = scores.memory_missed[place], scores.cpu_over[place]
    memory, peak = scores.memory_bytes[place], scores.memory_peak_bytes[place]
    cpu, used = scores.cpu_cores[place], scores.cpu_mean_cores[place]
    tested = int(np.count_nonzero(np.isfinite(missed)))
    misses = int(np.nansum(missed)) if tested else None
    return SizingBacktest(
        windows=tested or int(np.count_nonzero(np.isfinite(over))),
        misses=misses,
        miss_rate_upper=None if misses is None else upper_rate(misses, tested),
        window_s=window_s,
        miss_rate=_mean(missed),
        cpu_over=_mean(over),
        slack=_mean(np.maximum(1.0 - peak / np.where(memory > 0.0, memory, np.nan), 0.0)),
        cpu_slack=_mean(np.maximum(1.0 - used / np.where(cpu > 0.0, cpu, np.nan), 0.0)),
    )


def _mean(values: arrays.Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _record(
    one: Recommendation, request: RecommendRequest, time_s: float
) -> decisions.DecisionRecord:
    numbers = {"samples": float(one.usage.samples), "peak_bytes": one.usage.peak_bytes}
    parameters = dict(request.parameters)
    if one.backtest.runs:
        numbers |= {"runs": float(one.evidence), "runs_tested": float(one.backtest.windows)}
        numbers["runs_missed"] = float(one.backtest.misses or 0)
        parameters["why"] = "; ".join(one.reasons)
    numbers |= {f"requests/{name}": float(amount) for name, amount in one.requests.items()}
    backtest = {
        name: value
        for name, value in (
            ("miss_rate", one.backtest.miss_rate),
            ("cpu_over", one.backtest.cpu_over),
            ("slack", one.backtest.slack),
        )
        if value is not None
    }
    return decisions.DecisionRecord(
        kind="sizing",
        subject=f"container/{one.key}",
        policy=request.strategy,
        outcome=", ".join(f"{n} {a}" for n, a in format_amounts(one.requests).items()) or None,
        parameters=parameters,
        time=time_s,
        rejected={} if one.suitable else {"suitable": one.why},
        numbers=numbers,
        backtest=backtest,
    )
