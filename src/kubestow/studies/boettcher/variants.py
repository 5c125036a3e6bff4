"""The sizing variants that the study compares, one row each.

Estimators run after every run of a container, on all runs so far. A row states what differs from
the defaults: whether the variant sees samples or one point per run, and a grid to round up to.
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
class RunVariant:
    """A sizing variant.

    Attributes:
        name: Its name in tables.
        setting: Its settings, in words.
        make: Returns a sizer for a replay and a seed.
        keeps_limit: Whether memory limits stay unchanged.
    """

    name: str
    setting: str
    make: Callable[[RunScene, int], Sizer]
    keeps_limit: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Requests that do not depend on the runs; NaN keeps the current ones."""

    request: RunRequest

    def decide(
        self, scene: RunScene, run: int, present: RunRequest, killed_mb: Floats
    ) -> RunRequest:
        """Return the fixed requests."""
        del scene, run, present, killed_mb
        return self.request


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """Requests of an estimator.

    Attributes:
        estimator: The estimator.
        points: CPU and memory by container, run and point.
        step: Amounts are rounded up to multiples of it (megabytes, millicores); 0 for no rounding.
    """

    estimator: estimates.Estimator
    points: tuple[Floats, Floats]
    step: float

    def decide(
        self, scene: RunScene, run: int, present: RunRequest, killed_mb: Floats
    ) -> RunRequest:
        """Return the estimate from all runs so far."""
        del present
        estimate = self.estimator.estimate(make_batch(scene, self.points, run, killed_mb))
        cpu_m, memory_mb = estimate.cpu_cores * 1000.0, estimate.memory_bytes / MB
        if self.step:
            cpu_m = q_learning.round_up(cpu_m, self.step)
            memory_mb = q_learning.round_up(memory_mb, self.step)
        return RunRequest(cpu_m, memory_mb)


@dataclass(slots=True, eq=False)
class LearnedState:
    """Requests of agents that learn run by run."""

    learner: q_learning.QLearning
    memories: list[q_learning.QMemory]
    rng: np.random.Generator

    def decide(
        self, scene: RunScene, run: int, present: RunRequest, killed_mb: Floats
    ) -> RunRequest:
        """Return the requests of the agents; CPU has no limit, so no run is killed for it."""
        del present
        requests = []
        for place, memory in enumerate(self.memories):
            peak = float(scene.memory_peak_mb[place, run])
            mean, most = float(scene.cpu_mean_m[place, run]), float(scene.cpu_peak_m[place, run])
            statistics = q_learning.RunStatistics(
                q_learning.ResourceUse(mean, most),
                q_learning.ResourceUse(peak, peak, float(killed_mb[place])),
            )
            request, self.memories[place] = self.learner.evaluate(memory, statistics, self.rng)
            requests.append((request.cpu_m, request.memory_mb))
        cpu_m, memory_mb = np.array(requests, dtype=np.float64).T
        return RunRequest(cpu_m, memory_mb)


def _fix(cpu: str | None, memory: str | None) -> Callable[[RunScene, int], Sizer]:
    """Return a factory of printed requests, by names of their columns."""

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
    """Return a factory of sizers with an estimator.

    Args:
        estimator: The estimator.
        samples: Whether it sees the samples of runs, or one point: average CPU, peak memory.
        step: Grid to round up to; 0 for none.
    """

    def make(scene: RunScene, _seed: int) -> Sizer:
        points = scene.samples() if samples else scene.summaries()
        return Estimated(estimator, points, step)

    return make


def learn_by(parameters: q_learning.QParameters) -> Callable[[RunScene, int], Sizer]:
    """Return a factory of Q-learning agents that start at the current requests."""
    learner = q_learning.QLearning(parameters)

    def make(scene: RunScene, seed: int) -> Sizer:
        begun = [
            learner.begin(float(cpu_m), float(memory_mb))
            for cpu_m, memory_mb in zip(scene.cpu_request_m, scene.memory_request_mb, strict=True)
        ]
        return LearnedState(learner, begun, np.random.default_rng([seed, 64]))

    return make


_CONFORMAL: Final = conformal.ConformalParameters(
    cpu_miss_probability=0.49, run_memory_miss_probability=0.005, run_history=20
)
VARIANTS: Final = (
    RunVariant(THESIS, "as printed, fixed", _fix("cpu_new_m", "memory_new_mb")),
    RunVariant(KEEP, "old requests and limits", _fix(None, None), keeps_limit=True),
    RunVariant(STRICT, "as printed: last run, 2 passes", learn_by(q_learning.AS_PRINTED)),
    RunVariant(
        STRICT_FIVE,
        "2 passes, maximum of the last 5 runs",
        learn_by(q_learning.QParameters(variant=q_learning.STRICT, memory_slope=0.0)),
    ),
    RunVariant(CONVERGING, "defaults: to the fixed point", learn_by(q_learning.QParameters())),
    RunVariant(
        CLOSED,
        "ceil64(1.10 x max), ceil64(average) of the last run",
        estimate_by(q_learning.ClosedForm()),
    ),
    RunVariant(
        RULE,
        "ceil64(1.06 x max), ceil64(average) of the last 5 runs",
        estimate_by(q_learning.ClosedForm(q_learning.LAST_FIVE, q_learning.LAST_RUNS)),
    ),
    RunVariant("percentile", "defaults", estimate_by(percentile.Percentile())),
    RunVariant("krr-simple", "defaults", estimate_by(krr.Krr())),
    RunVariant(
        "vpa",
        "defaults, 7 containers per pod",
        estimate_by(vpa.VpaEstimator(siblings=7)),
    ),
    RunVariant("level-sigma", "defaults", estimate_by(level_sigma.LevelSigma())),
    RunVariant(
        OURS_DEFAULT,
        "defaults: 0.1 % misses of memory, P95 of CPU",
        estimate_by(conformal.Conformal()),
    ),
    RunVariant(
        OURS,
        "memory misses 0.5 %, CPU: median of run averages, grid of 64",
        estimate_by(conformal.Conformal(_CONFORMAL), samples=False, step=tables.STEP),
    ),
)
"""All variants, in the order of tables."""


def find(names: Sequence[str]) -> list[RunVariant]:
    """Return variants by name, in the order of the table."""
    return [variant for variant in VARIANTS if variant.name in names]
