"""The ways of sizing that the study compares: a table, one row each.

Estimators are asked after every run with all runs so far. What a way needs beyond its defaults
stands in its row: whether it sees samples or one point per run, and a grid to round up to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.sizing import (
    conformal,
    estimates,
    krr,
    level_sigma,
    percentile,
    q_learning,
    vpa,
)
from kubestow.studies.boettcher import tables
from kubestow.studies.boettcher.runs import MB, RunRequest, RunScene, Sizer, make_batch

THESIS, KEEP = "thesis value", "keep"
STRICT, CONVERGING = "q-learning, strict", "q-learning"
STRICT_FIVE: Final = "q-learning, strict, last 5 runs"
CLOSED, RULE = "closed form", "rule of the last 5 runs"
OURS, OURS_DEFAULT = "conformal", "conformal, defaults"


@dataclass(frozen=True, slots=True)
class Contender:
    """A way of sizing.

    Attributes:
        name: What tables call it.
        setting: What was set, in words.
        make: Returns a sizer for a replay with some seed.
        keeps_limit: Whether memory limits stay as they were.
    """

    name: str
    setting: str
    make: Callable[[RunScene, int], Sizer]
    keeps_limit: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Requests that do not depend on the runs; NaN leaves those that are."""

    wanted: RunRequest

    def decide(
        self, scene: RunScene, run: int, present: RunRequest, killed_mb: Floats
    ) -> RunRequest:
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

    def decide(
        self, scene: RunScene, run: int, present: RunRequest, killed_mb: Floats
    ) -> RunRequest:
        """Return what is estimated from all runs so far."""
        del present
        found = self.estimator.estimate(make_batch(scene, self.points, run, killed_mb))
        cpu_m, memory_mb = found.cpu_cores * 1000.0, found.memory_bytes / MB
        if self.step:
            cpu_m = q_learning.round_up(cpu_m, self.step)
            memory_mb = q_learning.round_up(memory_mb, self.step)
        return RunRequest(cpu_m, memory_mb)


@dataclass(slots=True, eq=False)
class LearnedState:
    """Requests of agents that see one run after the other."""

    learner: q_learning.QLearning
    memories: list[q_learning.QMemory]
    rng: np.random.Generator

    def decide(
        self, scene: RunScene, run: int, present: RunRequest, killed_mb: Floats
    ) -> RunRequest:
        """Return what the agents request; CPU has no limit, so that it is never short."""
        del present
        found = []
        for place, memory in enumerate(self.memories):
            peak = float(scene.memory_peak_mb[place, run])
            mean, most = float(scene.cpu_mean_m[place, run]), float(scene.cpu_peak_m[place, run])
            seen = q_learning.RunStatistics(
                q_learning.ResourceUse(mean, most),
                q_learning.ResourceUse(peak, peak, float(killed_mb[place])),
            )
            wanted, self.memories[place] = self.learner.evaluate(memory, seen, self.rng)
            found.append((wanted.cpu_m, wanted.memory_mb))
        cpu_m, memory_mb = np.array(found, dtype=np.float64).T
        return RunRequest(cpu_m, memory_mb)


def _fix(cpu: str | None, memory: str | None) -> Callable[[RunScene, int], Sizer]:
    """Return a maker of printed requests, by names of their columns."""

    def column(name: str | None, size: int) -> Floats:
        if name is None or size != len(tables.CONTAINERS):
            return np.full(size, np.nan)
        return np.array([getattr(container, name) for container in tables.CONTAINERS])

    def make(scene: RunScene, _seed: int) -> Sizer:
        size = len(scene.names)
        return Fixed(RunRequest(column(cpu, size), column(memory, size)))

    return make


def estimate_by(
    estimator: estimates.Estimator, *, samples: bool = True, step: float = 0.0
) -> Callable[[RunScene, int], Sizer]:
    """Return a maker of sizers that ask an estimator.

    Args:
        estimator: Who is asked.
        samples: Whether it sees the samples of runs, or one point: average CPU, largest memory.
        step: Grid to round up to; 0 for none.
    """

    def make(scene: RunScene, _seed: int) -> Sizer:
        points = scene.samples() if samples else scene.summaries()
        return Estimated(estimator, points, step)

    return make


def learn_by(parameters: q_learning.QParameters) -> Callable[[RunScene, int], Sizer]:
    """Return a maker of sizers that are agents, which begin at the present requests."""
    learner = q_learning.QLearning(parameters)

    def make(scene: RunScene, seed: int) -> Sizer:
        begun = [
            learner.begin(float(cpu_m), float(memory_mb))
            for cpu_m, memory_mb in zip(scene.cpu_request_m, scene.memory_request_mb, strict=True)
        ]
        return LearnedState(learner, begun, np.random.default_rng([seed, 64]))

    return make


_CONFORMAL: Final = conformal.ConformalParameters(
    cpu_miss_probability=0.49, memory_miss_probability=0.005, run_history=20
)
VARIANTS: Final = (
    Contender(THESIS, "as printed, fixed", _fix("cpu_new_m", "memory_new_mb")),
    Contender(KEEP, "old requests and limits", _fix(None, None), keeps_limit=True),
    Contender(STRICT, "as printed: last run, 2 passes", learn_by(q_learning.AS_PRINTED)),
    Contender(
        STRICT_FIVE,
        "2 passes, maximum of the last 5 runs",
        learn_by(q_learning.QParameters(variant=q_learning.STRICT)),
    ),
    Contender(CONVERGING, "defaults: to the fixed point", learn_by(q_learning.QParameters())),
    Contender(
        CLOSED,
        "ceil64(1.10 x max), ceil64(average) of the last run",
        estimate_by(q_learning.ClosedForm()),
    ),
    Contender(
        RULE,
        "ceil64(1.06 x max), ceil64(average) of the last 5 runs",
        estimate_by(q_learning.ClosedForm(q_learning.LAST_FIVE, q_learning.LAST_RUNS)),
    ),
    Contender("percentile", "defaults", estimate_by(percentile.Percentile())),
    Contender("krr-simple", "defaults", estimate_by(krr.Krr())),
    Contender(
        "vpa",
        "defaults, 7 containers per pod",
        estimate_by(vpa.VpaEstimator(siblings=7)),
    ),
    Contender("level-sigma", "defaults", estimate_by(level_sigma.LevelSigma())),
    Contender(OURS_DEFAULT, "defaults: 5 % misses, P95 of CPU", estimate_by(conformal.Conformal())),
    Contender(
        OURS,
        "memory misses 0.5 %, CPU: median of run averages, grid of 64",
        estimate_by(conformal.Conformal(_CONFORMAL), samples=False, step=tables.STEP),
    ),
)
"""All ways, in the order of tables."""


def find(names: Sequence[str]) -> list[Contender]:
    """Return some ways by their names, in the order of the table."""
    return [way for way in VARIANTS if way.name in names]
