"""The ways of sizing that the study compares: a table, one row each.

Estimators are asked after every run with all runs so far. What a way needs beyond its defaults
stands in its row: whether it sees samples or one point per run, and a grid to round up to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kubestow.policies.sizing import (
    closed_forms,
    conformals,
    estimates,
    krr,
    level_sigmas,
    percentiles,
    q_learning,
    q_memories,
    q_parameters,
    vpa_estimators,
)
from kubestow.studies import boettcher_tables as tables
from kubestow.studies.boettcher_runs import MB, Request, Scene, Sizer, make_batch

Floats = NDArray[np.float64]

THESIS, KEEP = "thesis value", "keep"
STRICT, CONVERGING = "q-learning, strict", "q-learning"
STRICT_FIVE: Final = "q-learning, strict, last 5 runs"
CLOSED, RULE = "closed form", "rule of the last 5 runs"
OURS, OURS_DEFAULT = "conformal", "conformal, defaults"


@dataclass(frozen=True, slots=True)
class Way:
    """A way of sizing.

    Attributes:
        name: What tables call it.
        setting: What was set, in words.
        make: Returns a sizer for a replay with some seed.
        keeps_limit: Whether memory limits stay as they were.
    """

    name: str
    setting: str
    make: Callable[[Scene, int], Sizer]
    keeps_limit: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Requests that do not depend on the runs; NaN leaves those that are."""

    wanted: Request

    def decide(self, scene: Scene, run: int, present: Request, killed_mb: Floats) -> Request:
        """Return always the same."""
        del scene, run, present, killed_mb
        return self.wanted


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """Requests of an estimator.

    Attributes:
        estimator: Who is asked.
        points: CPU and memory by container, run and point.
        step: Amounts are rounded up to multiples of it (megabytes, millicores); 0 leaves them.
    """

    estimator: estimates.Estimator
    points: tuple[Floats, Floats]
    step: float

    def decide(self, scene: Scene, run: int, present: Request, killed_mb: Floats) -> Request:
        """Return what is estimated from all runs so far."""
        del present
        found = self.estimator.estimate(make_batch(scene, self.points, run, killed_mb))
        cpu_m, memory_mb = found.cpu_cores * 1000.0, found.memory_bytes / MB
        if self.step:
            cpu_m = closed_forms.round_up(cpu_m, self.step)
            memory_mb = closed_forms.round_up(memory_mb, self.step)
        return Request(cpu_m, memory_mb)


@dataclass(slots=True, eq=False)
class Learned:
    """Requests of agents that see one run after the other."""

    learner: q_learning.QLearning
    memories: list[q_memories.QMemory]
    rng: np.random.Generator

    def decide(self, scene: Scene, run: int, present: Request, killed_mb: Floats) -> Request:
        """Return what the agents request; CPU has no limit, so that it is never short."""
        del present
        found = []
        for place, memory in enumerate(self.memories):
            peak = float(scene.memory_peak_mb[place, run])
            mean, most = float(scene.cpu_mean_m[place, run]), float(scene.cpu_peak_m[place, run])
            seen = q_memories.RunStatistics(
                q_memories.ResourceUse(mean, most),
                q_memories.ResourceUse(peak, peak, float(killed_mb[place])),
            )
            wanted, self.memories[place] = self.learner.evaluate(memory, seen, self.rng)
            found.append((wanted.cpu_m, wanted.memory_mb))
        cpu_m, memory_mb = np.array(found, dtype=np.float64).T
        return Request(cpu_m, memory_mb)


def _fix(cpu: str | None, memory: str | None) -> Callable[[Scene, int], Sizer]:
    """Return a maker of printed requests, by names of their columns."""

    def column(name: str | None, size: int) -> Floats:
        if name is None or size != len(tables.CONTAINERS):
            return np.full(size, np.nan)
        return np.array([getattr(container, name) for container in tables.CONTAINERS])

    def make(scene: Scene, _seed: int) -> Sizer:
        size = len(scene.names)
        return Fixed(Request(column(cpu, size), column(memory, size)))

    return make


def estimate_by(
    estimator: estimates.Estimator, *, samples: bool = True, step: float = 0.0
) -> Callable[[Scene, int], Sizer]:
    """Return a maker of sizers that ask an estimator.

    Args:
        estimator: Who is asked.
        samples: Whether it sees the samples of runs, or one point: average CPU, largest memory.
        step: Grid to round up to; 0 for none.
    """

    def make(scene: Scene, _seed: int) -> Sizer:
        points = scene.samples() if samples else scene.summaries()
        return Estimated(estimator, points, step)

    return make


def learn_by(parameters: q_parameters.QParameters) -> Callable[[Scene, int], Sizer]:
    """Return a maker of sizers that are agents, which begin at the present requests."""
    learner = q_learning.QLearning(parameters)

    def make(scene: Scene, seed: int) -> Sizer:
        begun = [
            learner.begin(float(cpu_m), float(memory_mb))
            for cpu_m, memory_mb in zip(scene.cpu_request_m, scene.memory_request_mb, strict=True)
        ]
        return Learned(learner, begun, np.random.default_rng([seed, 64]))

    return make


_CONFORMAL: Final = conformals.ConformalParameters(
    cpu_miss_probability=0.49, memory_miss_probability=0.005, run_history=20
)
WAYS: Final = (
    Way(THESIS, "as printed, fixed", _fix("cpu_new_m", "memory_new_mb")),
    Way(KEEP, "old requests and limits", _fix(None, None), keeps_limit=True),
    Way(STRICT, "as printed: last run, 2 passes", learn_by(q_parameters.AS_PRINTED)),
    Way(
        STRICT_FIVE,
        "2 passes, maximum of the last 5 runs",
        learn_by(q_parameters.QParameters(variant=q_parameters.STRICT)),
    ),
    Way(CONVERGING, "defaults: to the fixed point", learn_by(q_parameters.QParameters())),
    Way(
        CLOSED,
        "ceil64(1.10 x max), ceil64(average) of the last run",
        estimate_by(closed_forms.ClosedForm()),
    ),
    Way(
        RULE,
        "ceil64(1.06 x max), ceil64(average) of the last 5 runs",
        estimate_by(closed_forms.ClosedForm(closed_forms.LAST_FIVE, closed_forms.LAST_RUNS)),
    ),
    Way("percentile", "defaults", estimate_by(percentiles.Percentile())),
    Way("krr-simple", "defaults", estimate_by(krr.Krr())),
    Way(
        "vpa",
        "defaults, 7 containers per pod",
        estimate_by(vpa_estimators.VpaEstimator(siblings=7)),
    ),
    Way("level-sigma", "defaults", estimate_by(level_sigmas.LevelSigma())),
    Way(OURS_DEFAULT, "defaults: 5 % misses, P95 of CPU", estimate_by(conformals.Conformal())),
    Way(
        OURS,
        "memory misses 0.5 %, CPU: median of run averages, grid of 64",
        estimate_by(conformals.Conformal(_CONFORMAL), samples=False, step=tables.STEP),
    ),
)
"""All ways, in the order of tables."""


def find(names: Sequence[str]) -> list[Way]:
    """Return some ways by their names, in the order of the table."""
    return [way for way in WAYS if way.name in names]
