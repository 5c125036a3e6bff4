"""The recommender ``conformal``: requests with a stated probability of being too small.

It answers one question: which amount does the next window (a day by default) exceed only with
probability ``p``? A window needs its memory peak and its 95th percentile of CPU, because CPU beyond
the request only slows a container down. Of several pods of a container the largest counts, so that
a miss is a window in which any of them needed more.

Flow: ``window_statistics`` -> ``features`` (what was known before each window) -> ``scores``
(margins from the outcomes of earlier windows of all containers) -> floors for start-up peaks and
OOM kills. Runs of jobs have no windows and use ``runs``. Böttcher 2023 8.3 (2) asks for such an
estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kubestow.model import decoding
from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, reasons, window_statistics
from kubestow.policies.sizing.conformal import features as conformal_features
from kubestow.policies.sizing.conformal import priors, runs, scores


def find_startup_peaks(usage: Usage, points: int, recent: int) -> Floats:
    """Return the peak memory during start-up of pods whose start was observed.

    A pod that exists at the first point may have started long before, so its first points are not
    a start.

    Args:
        usage: Usage of many containers.
        points: Length of a start-up in points.
        recent: Ignore starts further back than this many points.

    Returns:
        Bytes by container; 0 where no start was observed.
    """
    if not usage.points:
        return np.zeros(len(usage.containers))
    memory = usage.memory_bytes
    known = ~np.isnan(memory)
    first = np.argmax(known, axis=1)
    started = np.flatnonzero(known.any(axis=1) & (first > max(usage.points - recent - 1, 0)))
    columns = first[started, np.newaxis] + np.arange(points)
    inside = columns < usage.points
    taken = memory[started[:, np.newaxis], np.minimum(columns, usage.points - 1)]
    peaks = np.full(len(memory), np.nan)
    peaks[started] = window_statistics.largest(np.where(inside, taken, np.nan))
    largest = usage.largest(peaks)
    return np.where(np.isnan(largest), 0.0, largest)


def raise_killed(oom_killed_bytes: Floats, ratio: float, least_bytes: float) -> Floats:
    """Return the smallest memory allowed after an OOM kill; 0 where there was none."""
    return np.where(
        oom_killed_bytes > 0.0,
        np.maximum(oom_killed_bytes * ratio, oom_killed_bytes + least_bytes),
        0.0,
    )


CONFORMAL = "conformal"
# As ``percentile`` keeps requests of up to one and a half times its target.
_MOST_KEPT = 1.5

Share = Annotated[float, decoding.ValueBounds(above=0.0, below=0.5)]
Positive = Annotated[float, decoding.ValueBounds(above=0.0)]
Amount = Annotated[float, decoding.ValueBounds(least=0.0)]
Factor = Annotated[float, decoding.ValueBounds(least=1.0)]
Count = Annotated[int, decoding.ValueBounds(least=1)]


@dataclass(frozen=True, slots=True)
class ConformalParameters:
    """Guaranteed probabilities, and how past windows are used.

    Attributes:
        cpu_miss_probability: Share of windows whose CPU may exceed the request.
        memory_miss_probability: Share of windows whose memory may exceed the request.
        window_s: Seconds for which a recommendation should hold.
        cpu_quantile: Quantile of a window's CPU samples to cover; 1 for the peak.
        history_windows: Number of past windows used; eight weeks of days.
        half_life_windows: Age in windows at which a window counts half in the recent level (4:
            chosen on the halves of public traces that are kept for tuning).
        shift_factor: Levels that differ by less are the same level (as above).
        shift_steps: Levels that differ by fewer usual steps are the same level.
        prior_weight: Weight of the built-in scores, in windows of the fleet (as above).
        thrift: Margins shrink with the size of a container to this power, so that the sum of
            requests is smaller: the probability then holds over all containers, large ones miss
            more often and small ones less. 0 treats all alike.
        enough_scores: Windows of all containers needed to choose a rule.
        most_factor: Upper bound of the amount, as a multiple of the largest of the last windows,
            whatever the scores of a few containers say.
        cpu_grain_cores: Differences of this size are noise (first bucket of VPA's histogram).
        memory_grain_bytes: The same for memory.
        cpu_least_cores: Smallest request (krr's floor).
        memory_least_bytes: The same for memory.
        startup_s: Length of a pod's start-up in seconds; its memory peak is a floor.
        startup_recent_s: Starts longer ago than this do not count.
        oom_ratio: Growth after an OOM kill (VPA's ``oom-bump-up-ratio``).
        oom_least_bytes: Smallest growth after an OOM kill (VPA's ``oom-min-bump-up-bytes``).
        run_memory_miss_probability: Share of runs whose memory may exceed the request, if smaller
            than ``memory_miss_probability``. An OOM-killed run starts over with all its containers,
            so that a miss costs more than the headroom of many runs.
        run_history: Number of past runs of a job used.
        run_most_factor: Largest factor over the mean of runs; bounds the margin of few runs.
        keep_change: Requests that are too large by less than this share are kept (VPA's updater
            acts from 10 % on).
    """

    cpu_miss_probability: Share = 0.05
    memory_miss_probability: Share = 0.05
    window_s: Annotated[decoding.Seconds, decoding.ValueBounds(above=0.0)] = 86_400.0
    cpu_quantile: Annotated[float, decoding.ValueBounds(above=0.0, most=1.0)] = 0.95
    history_windows: Count = 56
    half_life_windows: Positive = 4.0
    shift_factor: Factor = 1.5
    shift_steps: Amount = 4.0
    prior_weight: Amount = 60.0
    thrift: Annotated[float, decoding.ValueBounds(least=0.0, most=1.0)] = 0.0
    enough_scores: Count = 200
    most_factor: Factor = 5.0
    cpu_grain_cores: Positive = 0.01
    memory_grain_bytes: Positive = 1e7
    cpu_least_cores: Amount = 0.01
    memory_least_bytes: Amount = 1e8
    startup_s: Annotated[decoding.Seconds, decoding.ValueBounds(least=0.0)] = 600.0
    startup_recent_s: Annotated[decoding.Seconds, decoding.ValueBounds(least=0.0)] = 28 * 86_400.0
    oom_ratio: Factor = 1.2
    oom_least_bytes: Amount = 100.0 * 2**20
    run_memory_miss_probability: Share = 0.001
    run_history: Count = 20
    run_most_factor: Factor = 1.75
    keep_change: Amount = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class _Sized:
    """Amounts of one resource by container, with their inputs."""

    target: Floats
    lower: Floats
    upper: Floats
    level: Floats
    counts: Floats
    scores: Floats
    shifted: Floats


@dataclass(frozen=True, slots=True)
class Conformal:
    """Estimates with a stated probability of being too small.

    Attributes:
        parameters: Stated probabilities, and how past windows are used.
        name: The registered name.
        prior: Scores of other fleets by class, rule and level (``priors``).
    """

    parameters: ConformalParameters = ConformalParameters()
    name: str = CONFORMAL
    prior: Floats = field(default_factory=lambda: priors.SCORES, compare=False)

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return amounts for the next window, or for the next run where rows are runs."""
        p = self.parameters
        if usage.runs:
            cpu = size_runs(usage, measure_cpu(usage, p), p, memory=False)
            memory = size_runs(usage, measure_memory(usage, p), p, memory=True)
        else:
            cpu = size_windows(usage, p, self.prior, memory=False)
            memory = size_windows(usage, p, self.prior, memory=True)
        memory = _raise(memory, usage, p)
        return estimates.Estimates(
            cpu.target, memory.target, cpu.lower, memory.lower, cpu.upper, memory.upper,
            explain(cpu, memory, p, runs=usage.runs),
            {
                "cpuLevel": cpu.level, "memoryLevel": memory.level,
                "cpuWindows": cpu.counts, "memoryWindows": memory.counts,
                "cpuScores": cpu.scores, "memoryScores": memory.scores,
            },
        )  # fmt: skip


def measure_cpu(usage: Usage, p: ConformalParameters) -> Floats:
    """Return the CPU each window needed, by row and window; a run is one window."""
    points = _window_points(usage, p)
    if p.cpu_quantile == 1.0:
        return window_statistics.peaks(usage.cpu_cores, points)
    return window_statistics.window_quantiles(usage.cpu_cores, points, p.cpu_quantile)


def measure_memory(usage: Usage, p: ConformalParameters) -> Floats:
    """Return the memory each window needed, by row and window; a run is one window."""
    return window_statistics.peaks(usage.memory_bytes, _window_points(usage, p))


def _window_points(usage: Usage, p: ConformalParameters) -> int:
    whole = max(usage.points, 1)
    # A history shorter than a window counts as one: better than no result.
    return whole if usage.runs else min(max(round(p.window_s / usage.step_s), 1), whole)


def measure_parts(usage: Usage, p: ConformalParameters, *, memory: bool) -> Floats:
    """Return what the parts of each window needed, by row, window and part."""
    points = _window_points(usage, p)
    parts = min(conformal_features.PARTS, points)
    each = points // parts
    values = usage.memory_bytes if memory else usage.cpu_cores
    shaped = window_statistics.windows(values, points)[:, :, points - parts * each :]
    rows, windows, _ = shaped.shape
    flat = np.ascontiguousarray(shaped).reshape(rows, windows * parts * each)
    if memory or p.cpu_quantile == 1.0:
        needed = window_statistics.peaks(flat, each)
    else:
        needed = window_statistics.window_quantiles(flat, each, p.cpu_quantile)
    return needed.reshape(rows, windows, parts)


def find_past(usage: Usage, p: ConformalParameters, prior: Floats, *, memory: bool) -> scores.Past:
    """Return the past windows of one resource with what was known before each of them."""
    grain = p.memory_grain_bytes if memory else p.cpu_grain_cores
    least = p.memory_least_bytes if memory else p.cpu_least_cores
    needed = measure_memory(usage, p) if memory else measure_cpu(usage, p)
    logs = np.log(join_pods(usage, needed) + grain)
    parts = measure_parts(usage, p, memory=memory)
    flat = parts.reshape(len(parts), parts.shape[1] * parts.shape[2])
    joined = join_pods(usage, flat)
    within = conformal_features.part_steps(
        np.log(joined + grain).reshape(len(logs), *parts.shape[1:])
    )
    rules = conformal_features.FeatureRules(
        p.history_windows, p.half_life_windows, p.shift_factor, p.shift_steps
    )
    return scores.Past(
        logs,
        conformal_features.window_features(logs, within, rules),
        float(np.log(least + grain)),
        p.prior_weight,
        p.enough_scores,
        float(np.log(p.most_factor)),
        p.thrift,
        prior,
    )


def score_last_windows(
    usage: Usage, p: ConformalParameters, *, memory: bool
) -> tuple[Ints, Floats]:
    """Return how the last window of each container compares with what was known before it.

    Returns:
        Class of each container by the windows before the last one (-1 if none), and its scores by
        rule; NaN where not known.
    """
    past = find_past(usage, p, priors.SCORES, memory=memory)
    classes = scores.find_classes(past.features[:, -2, conformal_features.COUNT])
    return classes, np.stack([scores.score_last(past, rule) for rule in scores.RULES])


def size_windows(usage: Usage, p: ConformalParameters, prior: Floats, *, memory: bool) -> _Sized:
    """Return amounts for the next window."""
    grain = p.memory_grain_bytes if memory else p.cpu_grain_cores
    missed = _risk(p, memory=memory, runs=False)
    past = find_past(usage, p, prior, memory=memory)
    answers = scores.answer(past, _shares(missed))
    amounts = np.exp(answers.amounts) - grain
    now = past.features[:, -1]
    target, upper = amounts[:, 0], amounts[:, 2]
    few = now[:, conformal_features.COUNT] < scores.CLASSES[-1]
    # Few windows do not prove a quarter of the risk: requests far above the target are not kept.
    upper = np.where(few, np.minimum(upper, _MOST_KEPT * target), upper)
    return _Sized(
        target,
        amounts[:, 1],
        np.maximum(upper, target * (1.0 + p.keep_change)),
        np.exp(answers.levels) - grain,
        np.nan_to_num(now[:, conformal_features.COUNT]),
        answers.scores.astype(np.float64),
        np.nan_to_num(now[:, conformal_features.SHIFTED]),
    )


def _risk(p: ConformalParameters, *, memory: bool, runs: bool) -> float:
    """Return the stated probability of being too small."""
    if not memory:
        return p.cpu_miss_probability
    allowed = p.memory_miss_probability
    return min(allowed, p.run_memory_miss_probability) if runs else allowed


def _shares(missed: float) -> tuple[float, float, float]:
    # A request is kept while its miss probability is between a quarter and twice the target.
    return missed, min(2.0 * missed, 0.5), missed / 4.0


def join_pods(usage: Usage, needed: Floats) -> Floats:
    """Return the largest pod's need by container and window; NaN where none was measured."""
    needs = np.full((len(usage.containers), needed.shape[1]), np.nan)
    present, starts = np.unique(usage.owners, return_index=True)
    if len(present):
        needs[present] = np.fmax.reduceat(needed, starts, axis=0)
    return needs


def size_runs(usage: Usage, needed: Floats, p: ConformalParameters, *, memory: bool) -> _Sized:
    """Return amounts for the next run."""
    grain = p.memory_grain_bytes if memory else p.cpu_grain_cores
    least = p.memory_least_bytes if memory else p.cpu_least_cores
    missed = _risk(p, memory=memory, runs=True)
    rows = latest_runs(usage, p.run_history)
    logs = np.log(needed[rows, 0] + grain) if needed.shape[1] else np.full(len(rows), np.nan)
    sample = runs.collect(logs, usage.owners[rows], len(usage.containers))
    spread = runs.find_spread(sample)
    # Memory that a recent run needed may be needed again, however rare that was.
    observed = sample.largest if memory else np.full(len(usage.containers), -np.inf)
    amounts = []
    for share in _shares(missed):
        margin = runs.reach(sample, spread, share)
        bound = sample.means + np.minimum(margin, np.log(p.run_most_factor))
        amounts.append(np.maximum(np.exp(np.maximum(bound, observed)) - grain, least))
    target, lower, upper = (np.where(sample.counts > 0, part, np.nan) for part in amounts)
    counts = sample.counts.astype(np.float64)
    return _Sized(
        target,
        lower,
        np.maximum(upper, target * (1.0 + p.keep_change)),
        np.exp(sample.means) - grain,
        counts,
        np.full(len(counts), counts.sum()),
        np.zeros(len(counts)),
    )


def latest_runs(usage: Usage, count: int) -> NDArray[np.int64]:
    """Return the rows of the latest runs of every container, by start."""
    known = ~(np.isnan(usage.cpu_cores) & np.isnan(usage.memory_bytes))
    began = np.argmax(known, axis=1) if usage.points else np.zeros(len(known), dtype=np.int64)
    order = np.lexsort((began, usage.owners))
    ends = np.searchsorted(usage.owners, usage.owners, side="right")
    kept: NDArray[np.int64] = order[ends - np.arange(len(order)) <= count]
    return kept


def find_floors(usage: Usage, p: ConformalParameters) -> Floats:
    """Return the memory below which no container goes: OOM kills and start-ups; 0 for none."""
    floors = raise_killed(usage.oom_killed_bytes, p.oom_ratio, p.oom_least_bytes)
    if not usage.runs and p.startup_s > 0.0:
        points = max(round(p.startup_s / usage.step_s), 1)
        recent = round(p.startup_recent_s / usage.step_s)
        floors = np.maximum(floors, find_startup_peaks(usage, points, recent))
    return floors


def _raise(sized: _Sized, usage: Usage, p: ConformalParameters) -> _Sized:
    """Return amounts that stay above start-up peaks and OOM kills."""
    floors = find_floors(usage, p)
    # Of a container with only an OOM kill, all that is known is that it needs more.
    target, lower, upper = (
        np.where(floors > 0.0, np.fmax(part, floors), part)
        for part in (sized.target, sized.lower, sized.upper)
    )
    upper = np.maximum(upper, target * (1.0 + p.keep_change))
    return _Sized(target, lower, upper, sized.level, sized.counts, sized.scores, sized.shifted)


# With fewer than eight windows a stated 5 % held on all public sets, but 1 % was missed up to three
# times as often (``sizing-risks``).
_PROVEN = 0.02
_DOUBT = {
    "windows": " (not proven with so few windows: up to three times that)",
    "runs": " (not proven with so few runs)",
}


def explain(cpu: _Sized, memory: _Sized, p: ConformalParameters, *, runs: bool) -> tuple[str, ...]:
    """Return one sentence on each container: stated risk, margins and evidence."""
    what = "runs" if runs else "windows"
    sides = (
        ("CPU", cpu, _risk(p, memory=False, runs=runs), reasons.cores),
        ("memory", memory, _risk(p, memory=True, runs=runs), reasons.mebibytes),
    )
    texts = []
    for place in range(len(memory.target)):
        amounts: dict[str, list[str]] = {}
        for name, sized, missed, text in sides:
            if sized.counts[place]:
                factor = sized.target[place] / max(sized.level[place], 1e-12)
                amount = f"{name} {factor:.2f} x {text(sized.level[place])}"
                amounts.setdefault(_evidence(sized, place, missed, what), []).append(amount)
            elif np.isfinite(sized.target[place]):
                amounts.setdefault(f"0 {what} are known", []).append(f"{name} above its OOM kill")
        said = [f"{', '.join(parts)}: {evidence}" for evidence, parts in amounts.items()]
        texts.append("; ".join(said) or "nothing was measured")
    return tuple(texts)


def _evidence(sized: _Sized, place: int, missed: float, what: str) -> str:
    count = sized.counts[place]
    doubt = _DOUBT[what] if missed < _PROVEN and count < scores.CLASSES[-1] else ""
    since = " since its level moved" if sized.shifted[place] else ""
    return (
        f"risk of {reasons.percent(missed)}{doubt} from {count:.0f} {what}{since} and "
        f"{sized.scores[place]:.0f} of the fleet"
    )


def hold_requests(present: Floats, target: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return what to request: the current amount while it lies between the bounds.

    This prevents oscillation between two neighbouring amounts.
    """
    return np.where((present >= lower) & (present <= upper), present, target)
