"""The recommender ``auto``: per container and resource, who did best in the arena.

All candidates walk through the last windows of the past; their mean cost (``arenas``) decides, CPU
and memory apart. A few windows of one container say little, so its own cost is mixed with the mean
over all containers, which counts as much as ``trust`` windows. Nobody wins by what it is judged on:
each answer was given before the window it is judged by.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates
from kubestow.policies.sizing.judging import arena

AUTO = "auto"

Answers = Mapping[int, estimates.Estimates]
Ask = Callable[[estimates.Estimator], Answers]
Mapper = Callable[[Ask, Iterable[estimates.Estimator]], Iterable[Answers]]


@dataclass(frozen=True, slots=True)
class TournamentParameters:
    """How candidates are judged.

    Attributes:
        window_s: Length of the window a recommendation is judged by: as long as it should hold.
        windows: How many windows of the past are judged, at most.
        trust: As many windows the mean over all containers counts.
        prices: What mistakes cost.
    """

    window_s: Annotated[float, decoding.ValueBounds(above=0.0)] = 86400.0
    windows: Annotated[int, decoding.ValueBounds(least=1)] = 4
    trust: Annotated[float, decoding.ValueBounds(least=0.0)] = 4.0
    prices: arena.Prices = field(default_factory=arena.Prices)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Costs by candidate and container, and who won.

    Attributes:
        names: The candidates.
        cpu: Mean cost of CPU; NaN if nothing was judged.
        memory: Mean cost of memory.
        cpu_winner: Place of the winner, by container.
        memory_winner: Place of the winner, by container.
        judged: How many windows were judged, by container.
        cpu_over: Mean share of CPU samples beyond the estimate, by candidate and container.
        memory_missed: Share of windows beyond the estimate, by candidate and container.
    """

    names: tuple[str, ...]
    cpu: Floats
    memory: Floats
    cpu_winner: Ints
    memory_winner: Ints
    judged: Ints
    cpu_over: Floats
    memory_missed: Floats


@dataclass(frozen=True, slots=True)
class Tournament:
    """Lets candidates compete.

    Attributes:
        candidates: Estimators; the first one answers where nothing can be judged.
        parameters: How they are judged.
        mapper: Asks one candidate after the other; that of a pool of threads asks them side by
            side, with the same answers.
    """

    candidates: tuple[estimates.Estimator, ...]
    parameters: TournamentParameters = TournamentParameters()
    name: str = AUTO
    mapper: Mapper = map

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the winners' answers; the reason names them, the numbers their costs."""
        return self.estimate_at(usage, [usage.points])[0]

    def estimate_at(self, usage: Usage, at: Sequence[int]) -> list[estimates.Estimates]:
        """Return the winners' answers at several moments; the windows are those of the whole."""
        asked = self._ask(usage, at)
        return [_combine(*self._compete(usage, points, asked)) for points in at]

    def compete(self, usage: Usage) -> tuple[list[estimates.Estimates], Scores]:
        """Return the answers of all candidates for now, and how they did in the past."""
        return self._compete(usage, usage.points, self._ask(usage, [usage.points]))

    def _origins(self, usage: Usage, points: int) -> list[int]:
        window = arena_window(usage, self.parameters)
        return arena.origins(points, window, self.parameters.windows, window)

    def _ask(self, usage: Usage, at: Sequence[int]) -> list[Answers]:
        """Ask every candidate once for each moment that any tournament needs."""
        needed = sorted({*at, *(one for points in at for one in self._origins(usage, points))})

        def ask(candidate: estimates.Estimator) -> Answers:
            return dict(zip(needed, estimates.estimate_at(candidate, usage, needed), strict=True))

        return list(self.mapper(ask, self.candidates))

    def _compete(
        self, usage: Usage, points: int, asked: Sequence[Answers]
    ) -> tuple[list[estimates.Estimates], Scores]:
        window, at = arena_window(usage, self.parameters), self._origins(usage, points)
        cpu, memory, over, missed = [], [], [], []
        judged = np.zeros(len(usage.containers), dtype=np.int64)
        for answers in asked:
            result = arena.backtest_all(usage, window, at, [answers[origin] for origin in at])
            cpu_cost, memory_cost = arena.costs(result, self.parameters.prices)
            cpu.append(cpu_cost)
            memory.append(memory_cost)
            over.append(arena.mean(result.cpu_over))
            missed.append(arena.mean(result.memory_missed))
            judged = np.maximum(judged, np.isfinite(result.memory_missed).sum(axis=1))
        scores = Scores(
            names=tuple(candidate.name for candidate in self.candidates),
            cpu=np.array(cpu),
            memory=np.array(memory),
            cpu_winner=_winners(np.array(cpu), judged, self.parameters.trust),
            memory_winner=_winners(np.array(memory), judged, self.parameters.trust),
            judged=judged,
            cpu_over=np.array(over),
            memory_missed=np.array(missed),
        )
        return [answers[points] for answers in asked], scores


def arena_window(usage: Usage, parameters: TournamentParameters) -> int:
    """Return the points of a window: as asked for, shorter where the past is, at least one."""
    asked = max(round(parameters.window_s / usage.step_s), 1)
    # Half of the past is to learn from, else nobody has seen anything before the first window.
    return max(min(asked, usage.points // (2 * parameters.windows)), 1)


def _winners(costs: Floats, judged: Ints, trust: float) -> Ints:
    """Return who has the least cost, by container; 0 where nothing was judged."""
    if not costs.shape[1]:
        return np.zeros(0, dtype=np.int64)
    fleet = arena.mean(costs)[:, np.newaxis]
    weight = judged / np.maximum(judged + trust, 1e-9)
    mixed = weight * np.where(np.isnan(costs), fleet, costs) + (1.0 - weight) * fleet
    known = np.isfinite(mixed)
    found: Ints = np.argmin(np.where(known, mixed, np.inf), axis=0)
    return np.where(known.any(axis=0), found, 0)


def _combine(found: Sequence[estimates.Estimates], scores: Scores) -> estimates.Estimates:
    columns = np.arange(len(scores.judged))

    def pick(part: str, winner: Ints) -> Floats:
        values: Floats = np.array([getattr(one, part) for one in found])[winner, columns]
        if not np.isnan(values).any():
            return values
        # Who won may have no answer for now; then the first who has one.
        for one in found:
            other: Floats = getattr(one, part)
            values = np.where(np.isnan(values), other, values)
        return values

    cpu, memory = scores.cpu_winner, scores.memory_winner
    return estimates.Estimates(
        pick("cpu_cores", cpu), pick("memory_bytes", memory),
        pick("lower_cpu_cores", cpu), pick("lower_memory_bytes", memory),
        pick("upper_cpu_cores", cpu), pick("upper_memory_bytes", memory),
        reasons=tuple(_reason(scores, place) for place in columns.tolist()),
        numbers=_numbers(scores),
    )  # fmt: skip


def _reason(scores: Scores, place: int) -> str:
    if not scores.judged[place]:
        return f"{scores.names[0]}: nothing to judge by yet"
    cpu, memory = (
        scores.names[int(winner[place])] for winner in (scores.cpu_winner, scores.memory_winner)
    )
    who = cpu if cpu == memory else f"{cpu} for CPU, {memory} for memory"
    return f"{who}: least cost in {int(scores.judged[place])} past windows"


def _numbers(scores: Scores) -> Mapping[str, Floats]:
    found: dict[str, Floats] = {"judged": scores.judged.astype(np.float64)}
    for (place, name), (kind, costs) in itertools.product(
        enumerate(scores.names), (("cpu", scores.cpu), ("memory", scores.memory))
    ):
        found[f"{kind}_cost/{name}"] = costs[place]
    columns = np.arange(len(scores.judged))
    if len(columns):
        found["cpu_over"] = scores.cpu_over[scores.cpu_winner, columns]
        found["memory_missed"] = scores.memory_missed[scores.memory_winner, columns]
    return found
