"""The recommender ``auto``: per container and resource, the candidate with the best back-test.

All candidates are back-tested on the last windows; their mean cost (``arena``) decides, for CPU and
memory separately. A few windows of one container are little evidence, so its own cost is mixed with
the mean over all containers, which weighs as much as ``trust`` windows. Each estimate is made
before the window it is tested on.
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
    """Parameters of the comparison of candidates.

    Attributes:
        window_s: Length of a test window in seconds: as long as a recommendation should hold.
        windows: Largest number of past windows tested.
        trust: Weight of the mean over all containers, in windows.
        prices: Prices of misses.
    """

    window_s: Annotated[float, decoding.ValueBounds(above=0.0)] = 86400.0
    windows: Annotated[int, decoding.ValueBounds(least=1)] = 4
    trust: Annotated[float, decoding.ValueBounds(least=0.0)] = 4.0
    prices: arena.Prices = field(default_factory=arena.Prices)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Costs by candidate and container, and the winners.

    Attributes:
        names: Names of the candidates.
        cpu: Mean cost of CPU; NaN if nothing was tested.
        memory: Mean cost of memory.
        cpu_winner: Index of the winner for CPU, by container.
        memory_winner: Index of the winner for memory, by container.
        windows: Number of windows tested, by container.
        cpu_over: Mean share of CPU samples above the estimate, by candidate and container.
        memory_missed: Share of windows above the estimate, by candidate and container.
    """

    names: tuple[str, ...]
    cpu: Floats
    memory: Floats
    cpu_winner: Ints
    memory_winner: Ints
    windows: Ints
    cpu_over: Floats
    memory_missed: Floats


@dataclass(frozen=True, slots=True)
class Tournament:
    """Selects among candidates by their back-tests.

    Attributes:
        candidates: Estimators; the first one is used where nothing can be tested.
        parameters: How they are compared.
        mapper: Runs the candidates; by default one after the other. The ``map`` of a thread pool
            runs them in parallel, with the same results.
    """

    candidates: tuple[estimates.Estimator, ...]
    parameters: TournamentParameters = TournamentParameters()
    name: str = AUTO
    mapper: Mapper = map

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the winners' estimates; the reason names them, the numbers give their costs."""
        return self.estimate_at(usage, [usage.points])[0]

    def estimate_at(self, usage: Usage, at: Sequence[int]) -> list[estimates.Estimates]:
        """Return the winners' estimates at several times; windows are sized by the whole usage."""
        asked = self._ask(usage, at)
        return [_combine(*self._compete(usage, points, asked)) for points in at]

    def compete(self, usage: Usage) -> tuple[list[estimates.Estimates], Scores]:
        """Return the current estimates of all candidates, and their back-tests."""
        return self._compete(usage, usage.points, self._ask(usage, [usage.points]))

    def _origins(self, usage: Usage, points: int) -> list[int]:
        window = arena_window(usage, self.parameters)
        return arena.origins(points, window, self.parameters.windows, window)

    def _ask(self, usage: Usage, at: Sequence[int]) -> list[Answers]:
        """Run every candidate once for all times that any tournament needs."""
        needed = sorted({*at, *(one for points in at for one in self._origins(usage, points))})

        def ask(candidate: estimates.Estimator) -> Answers:
            return dict(zip(needed, estimates.estimate_at(candidate, usage, needed), strict=True))

        return list(self.mapper(ask, self.candidates))

    def _compete(
        self, usage: Usage, points: int, asked: Sequence[Answers]
    ) -> tuple[list[estimates.Estimates], Scores]:
        window, at = arena_window(usage, self.parameters), self._origins(usage, points)
        cpu, memory, over, missed = [], [], [], []
        windows = np.zeros(len(usage.containers), dtype=np.int64)
        for answers in asked:
            result = arena.backtest_all(usage, window, at, [answers[origin] for origin in at])
            cpu_cost, memory_cost = arena.costs(result, self.parameters.prices)
            cpu.append(cpu_cost)
            memory.append(memory_cost)
            over.append(arena.mean(result.cpu_over))
            missed.append(arena.mean(result.memory_missed))
            windows = np.maximum(windows, np.isfinite(result.memory_missed).sum(axis=1))
        scores = Scores(
            names=tuple(candidate.name for candidate in self.candidates),
            cpu=np.array(cpu),
            memory=np.array(memory),
            cpu_winner=_winners(np.array(cpu), windows, self.parameters.trust),
            memory_winner=_winners(np.array(memory), windows, self.parameters.trust),
            windows=windows,
            cpu_over=np.array(over),
            memory_missed=np.array(missed),
        )
        return [answers[points] for answers in asked], scores


def arena_window(usage: Usage, parameters: TournamentParameters) -> int:
    """Return the points of a test window: as configured, shorter with a short history."""
    asked = max(round(parameters.window_s / usage.step_s), 1)
    # At least half of the history comes before the first test window.
    return max(min(asked, usage.points // (2 * parameters.windows)), 1)


def _winners(costs: Floats, windows: Ints, trust: float) -> Ints:
    """Return the candidate with the least cost, by container; 0 where nothing was tested."""
    if not costs.shape[1]:
        return np.zeros(0, dtype=np.int64)
    fleet = arena.mean(costs)[:, np.newaxis]
    weight = windows / np.maximum(windows + trust, 1e-9)
    mixed = weight * np.where(np.isnan(costs), fleet, costs) + (1.0 - weight) * fleet
    known = np.isfinite(mixed)
    best: Ints = np.argmin(np.where(known, mixed, np.inf), axis=0)
    return np.where(known.any(axis=0), best, 0)


def _combine(current: Sequence[estimates.Estimates], scores: Scores) -> estimates.Estimates:
    columns = np.arange(len(scores.windows))

    def pick(part: str, winner: Ints) -> Floats:
        values: Floats = np.array([getattr(one, part) for one in current])[winner, columns]
        if not np.isnan(values).any():
            return values
        # A winner without a current estimate is replaced by the first candidate with one.
        for one in current:
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
    if not scores.windows[place]:
        return f"{scores.names[0]}: nothing to judge by yet"
    cpu, memory = (
        scores.names[int(winner[place])] for winner in (scores.cpu_winner, scores.memory_winner)
    )
    who = cpu if cpu == memory else f"{cpu} for CPU, {memory} for memory"
    return f"{who}: least cost in {int(scores.windows[place])} past windows"


def _numbers(scores: Scores) -> Mapping[str, Floats]:
    numbers: dict[str, Floats] = {"judged": scores.windows.astype(np.float64)}
    for (place, name), (kind, costs) in itertools.product(
        enumerate(scores.names), (("cpu", scores.cpu), ("memory", scores.memory))
    ):
        numbers[f"{kind}_cost/{name}"] = costs[place]
    columns = np.arange(len(scores.windows))
    if len(columns):
        numbers["cpu_over"] = scores.cpu_over[scores.cpu_winner, columns]
        numbers["memory_missed"] = scores.memory_missed[scores.memory_winner, columns]
    return numbers
