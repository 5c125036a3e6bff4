"""The recommender ``auto``: the cheapest of several recommenders that keep the stated risk.

The first candidate, ``conformal``, states a share of windows that may need more and keeps it. The
others state nothing: each gets the margin with which it would have been too small in no more than
that share of past windows, over all containers (the conformal calibration of any estimator: Vovk,
Gammerman, Shafer 2005, section 4). Only then costs count. The choice is made once for the fleet and
per resource, not per container: a few windows of one container cannot show a risk of 5 %. The share
that margins aim at is smaller than the stated one, because the choice is made by the same windows
(``conformal.tighten``). Without enough windows, and where no other candidate is clearly cheaper,
``conformal`` stays.

The cost is what is reserved, in units of the container's need, or of the smallest request where the
need is below it: idle containers do not decide for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kubestow.model import decoding
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import conformal, estimates, reasons, window_statistics
from kubestow.policies.sizing.judging import arena

AUTO = "auto"

Answers = Mapping[int, estimates.Estimates]
Ask = Callable[[estimates.Estimator], Answers]
Mapper = Callable[[Ask, Iterable[estimates.Estimator]], Iterable[Answers]]
_PARTS = ("", "lower_", "upper_")


@dataclass(frozen=True, slots=True)
class TournamentParameters:
    """Parameters of the comparison of candidates.

    Attributes:
        window_s: Length of a test window in seconds: as long as a recommendation should hold.
        windows: Largest number of past windows tested.
        enough: Windows of all containers needed to calibrate a candidate; more if the stated share
            is small (``misses``).
        misses: Expected misses among them.
        lead: A candidate replaces the first one if it reserves less by this share.
    """

    window_s: Annotated[float, decoding.ValueBounds(above=0.0)] = 86400.0
    windows: Annotated[int, decoding.ValueBounds(least=1)] = 4
    enough: Annotated[int, decoding.ValueBounds(least=1)] = 200
    misses: Annotated[float, decoding.ValueBounds(least=0.0)] = 10.0
    lead: Annotated[float, decoding.ValueBounds(least=0.0, below=1.0)] = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The choice for one resource.

    Attributes:
        names: Names of the candidates.
        winner: Index of the chosen one.
        costs: Mean reserved amount per need, by candidate at equal risk; NaN if not calibrated.
        margins: Logarithms of the factors of the winner, for target, lower and upper bound.
        tested: Windows of all containers that were tested.
        missed: The stated share.
    """

    names: tuple[str, ...]
    winner: int
    costs: tuple[float, ...]
    margins: tuple[float, ...]
    tested: int
    missed: float

    @property
    def name(self) -> str:
        """Name of the chosen candidate."""
        return self.names[self.winner]

    def explain(self) -> str:
        """Return why it was chosen."""
        known = {
            name: cost
            for name, cost in zip(self.names[1:], self.costs[1:], strict=True)
            if np.isfinite(cost)
        }
        if not known:
            return f"{self.name} ({self.tested} windows of the fleet compare no other)"
        if self.winner:
            saved = 1.0 - self.costs[self.winner] / self.costs[0]
            return (
                f"{self.name} x {np.exp(self.margins[0]):.2f}: "
                f"{reasons.percent(saved)} less than {self.names[0]} at a risk of "
                f"{reasons.percent(self.missed)} in {self.tested} windows"
            )
        best = min(known, key=lambda name: known[name])
        more = known[best] / self.costs[0] - 1.0
        return (
            f"{self.name}: at a risk of {reasons.percent(self.missed)} in {self.tested} windows "
            f"{best} needs {100.0 * more:+.0f} %"
        )


@dataclass(frozen=True, slots=True)
class _Resource:
    """How one resource is measured and judged."""

    memory: bool
    stated: conformal.ConformalParameters

    @property
    def part(self) -> str:
        return "memory_bytes" if self.memory else "cpu_cores"

    @property
    def missed(self) -> float:
        p = self.stated
        return p.memory_miss_probability if self.memory else p.cpu_miss_probability

    @property
    def grain(self) -> float:
        return self.stated.memory_grain_bytes if self.memory else self.stated.cpu_grain_cores

    @property
    def least(self) -> float:
        return self.stated.memory_least_bytes if self.memory else self.stated.cpu_least_cores

    def needs(self, after: Usage) -> Floats:
        """Return what a window needed, by container."""
        if self.memory:
            return after.largest(window_statistics.largest(after.memory_bytes))
        return after.largest(window_statistics.quantiles(after.cpu_cores, self.stated.cpu_quantile))

    def scale(self, amounts: Floats, margin: float) -> Floats:
        """Return amounts with a margin, not below the smallest request."""
        scaled: Floats = (amounts + self.grain) * np.exp(margin) - self.grain
        return np.maximum(scaled, self.least)


@dataclass(frozen=True, slots=True)
class Tournament:
    """Selects among candidates that keep the stated risk.

    Attributes:
        candidates: Estimators; the first one keeps the stated risk by itself.
        parameters: How they are compared.
        stated: The stated risk, and what a window needs.
        name: The registered name.
        mapper: Runs the candidates; by default one after the other. The ``map`` of a thread pool
            runs them in parallel, with the same results.
    """

    candidates: tuple[estimates.Estimator, ...]
    parameters: TournamentParameters = TournamentParameters()
    stated: conformal.ConformalParameters = field(default_factory=conformal.ConformalParameters)
    name: str = AUTO
    mapper: Mapper = map

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the chosen estimates; the reason names the choice and its numbers."""
        return self.estimate_at(usage, [usage.points])[0]

    def estimate_at(self, usage: Usage, at: Sequence[int]) -> list[estimates.Estimates]:
        """Return the chosen estimates at several times; windows are sized by the whole usage."""
        asked = self._ask(usage, at)
        return [self._combine(usage, points, asked) for points in at]

    def choose(self, usage: Usage) -> tuple[Choice, Choice]:
        """Return the choices for CPU and for memory at the end of the usage."""
        asked = self._ask(usage, [usage.points])
        cpu, memory = (
            self._choose(usage, usage.points, asked, _Resource(memory, self.stated))
            for memory in (False, True)
        )
        return cpu, memory

    def _origins(self, usage: Usage, points: int) -> list[int]:
        window = arena_window(usage, self.parameters)
        if usage.runs or window < _asked_window(usage, self.parameters):
            # Shorter windows need less: margins from them would not hold for whole ones.
            return []
        return arena.origins(points, window, self.parameters.windows, window)

    def _ask(self, usage: Usage, at: Sequence[int]) -> list[Answers]:
        """Run every candidate once for all times that any choice needs."""
        needed = sorted({*at, *(one for points in at for one in self._origins(usage, points))})

        def ask(candidate: estimates.Estimator) -> Answers:
            return dict(zip(needed, estimates.estimate_at(candidate, usage, needed), strict=True))

        return list(self.mapper(ask, self.candidates))

    def _choose(
        self, usage: Usage, points: int, asked: Sequence[Answers], resource: _Resource
    ) -> Choice:
        names = tuple(candidate.name for candidate in self.candidates)
        window, at = arena_window(usage, self.parameters), self._origins(usage, points)
        shape = (len(usage.containers), len(at))
        needs, judged = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
        for place, origin in enumerate(at):
            needs[:, place] = resource.needs(usage.between(origin, origin + window))
            judged[:, place] = _is_known(usage, resource, origin, window)
        given = [
            np.stack([getattr(answers[origin], resource.part) for origin in at], axis=1)
            if at
            else np.empty(shape)
            for answers in asked
        ]
        return self._compare(names, needs, given, judged & ~np.isnan(needs), resource)

    def _compare(
        self,
        names: tuple[str, ...],
        needs: Floats,
        given: Sequence[Floats],
        judged: NDArray[np.bool_],
        resource: _Resource,
    ) -> Choice:
        p = self.parameters
        count = int(judged.sum())
        enough = max(p.enough, p.misses / resource.missed)
        costs: list[float] = []
        margins: list[tuple[float, ...]] = []
        sizes = _sizes(needs, resource.least)
        for amounts in given:
            known = judged & ~np.isnan(amounts)
            # A candidate that is silent on some containers cannot be compared.
            if known.sum() < max(count, enough):
                costs.append(np.nan)
                margins.append((0.0, 0.0, 0.0))
                continue
            margins.append(_calibrate(needs[known], amounts[known], resource))
            reserved = resource.scale(amounts, margins[-1][0]) / sizes
            costs.append(float(reserved[known].mean()))
        winner = 0
        if np.isfinite(costs[0]):
            best = int(np.nanargmin(costs))
            winner = best if costs[best] < (1.0 - p.lead) * costs[0] else 0
        # The first candidate keeps the risk by itself.
        chosen = margins[winner] if winner else (0.0, 0.0, 0.0)
        return Choice(names, winner, tuple(costs), chosen, count, resource.missed)

    def _combine(self, usage: Usage, points: int, asked: Sequence[Answers]) -> estimates.Estimates:
        first = asked[0][points]
        chosen_margins: dict[str, Floats] = {}
        choices = []
        for memory in (False, True):
            resource = _Resource(memory, self.stated)
            choice = self._choose(usage, points, asked, resource)
            choices.append(choice)
            window = arena_window(usage, self.parameters)
            used = _is_known(usage, resource, points, window)
            for place, part in enumerate(_PARTS):
                own: Floats = getattr(first, part + resource.part)
                chosen_margins[part + resource.part] = own
                if choice.winner:
                    base: Floats = getattr(asked[choice.winner][points], resource.part)
                    other = resource.scale(base, choice.margins[place])
                    if memory:
                        floors = conformal.find_floors(usage.until(points), self.stated)
                        other = np.maximum(other, floors)
                    chosen_margins[part + resource.part] = np.where(
                        used & ~np.isnan(base), other, own
                    )
        cpu, memory_choice = choices
        return estimates.Estimates(
            **chosen_margins,
            reasons=_explain(first, cpu, memory_choice),
            numbers=_numbers(len(usage.containers), cpu, memory_choice),
        )


def arena_window(usage: Usage, parameters: TournamentParameters) -> int:
    """Return the points of a test window: as configured, shorter with a short history."""
    # At least half of the history comes before the first test window.
    most = max(usage.points // (2 * parameters.windows), 1)
    return min(_asked_window(usage, parameters), most)


def _asked_window(usage: Usage, parameters: TournamentParameters) -> int:
    return max(round(parameters.window_s / usage.step_s), 1)


# Containers with fewer windows are left to the first candidate, which has classes for them.
_LEAST_WINDOWS = 4


def _is_known(usage: Usage, resource: _Resource, points: int, window: int) -> NDArray[np.bool_]:
    """Return whether the past of each container is long enough to be judged like the others'."""
    values = getattr(usage, resource.part)[:, :points]
    known = ~np.isnan(values)
    first = np.where(known.any(axis=1), np.argmax(known, axis=1) if points else 0, points)
    age = usage.largest((points - first).astype(np.float64))
    return np.nan_to_num(age) >= min(_LEAST_WINDOWS * window, points)


def _sizes(needs: Floats, least: float) -> Floats:
    """Return the median need of each container, at least the smallest request."""
    medians = window_statistics.quantiles(needs, 0.5)[:, np.newaxis]
    return np.maximum(np.nan_to_num(medians), least)


def _calibrate(needs: Floats, given: Floats, resource: _Resource) -> tuple[float, ...]:
    """Return the margins with which a stated share of windows needs more."""
    scores = np.log((needs + resource.grain) / (given + resource.grain))
    scores = np.sort(np.where(needs <= resource.least, -np.inf, scores))
    count = len(scores)
    margins = []
    for missed in (resource.missed, min(2.0 * resource.missed, 0.5), resource.missed / 4.0):
        # The finite-sample quantile: one more window counts as needing more.
        rank = int(np.ceil((count + 1) * (1.0 - conformal.tighten(missed, count))))
        margins.append(float(scores[min(rank, count) - 1]))
    return tuple(max(margin, 0.0) if np.isneginf(margin) else margin for margin in margins)


def _explain(first: estimates.Estimates, cpu: Choice, memory: Choice) -> tuple[str, ...]:
    by_cpu, by_memory = cpu.explain(), memory.explain()
    chosen = by_memory if by_cpu == by_memory else f"CPU: {by_cpu}; memory: {by_memory}"
    return tuple(f"{chosen}; {reason}" if reason else chosen for reason in first.reasons)


def _numbers(containers: int, cpu: Choice, memory: Choice) -> Mapping[str, Floats]:
    numbers: dict[str, Floats] = {"judged": np.full(containers, float(memory.tested))}
    for kind, choice in (("cpu", cpu), ("memory", memory)):
        for name, cost in zip(choice.names, choice.costs, strict=True):
            numbers[f"{kind}_cost/{name}"] = np.full(containers, cost)
    return numbers
