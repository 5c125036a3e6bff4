"""Replays of tables 5.1 and 5.2: how fast a request falls, and what a jump in usage does.

Table 5.1: the containers of pod 3, of which Recall-Archive-Simulation starts at 976 MB and uses 515
with a spread of 1 %. Table 5.2: the printed maxima of a single container, and the same jump after
20 calm runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.studies.boettcher import measures, runs, tables, variants

Row = dict[str, Any]

SPREAD: Final = 0.01
GOAL_MB: Final = 576.0
CALM_RUNS: Final = 20
CALM_SPREAD: Final = 0.03
SHOWN: Final = (variants.STRICT, variants.CONVERGING, variants.CLOSED, variants.RULE, variants.OURS)
# The request before the first row of table 5.2 is not printed; assumed one step above the first.
_BEFORE_SHOCK_MB: Final = 3072.0
# Index of the jump to 3427 in the printed maxima.
_JUMP: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """A replay of table 5.1.

    Attributes:
        requests_mb: 976 and the request after each evaluation.
        reached: Evaluations until 576 was first requested; infinite if never.
        changes: Number of changes of the request after that.
    """

    requests_mb: Floats
    reached: float
    changes: int


def descend(variant: variants.RunVariant, seed: int) -> Descent:
    """Replay table 5.1."""
    pod = [container for container in tables.CONTAINERS if container.pod == 3]
    place = [container.name for container in pod].index(tables.RECALL)
    first = float(tables.EVALUATIONS[0])
    pod[place] = replace(
        pod[place], memory_max_mb=tables.EVALUATED_MB, memory_request_mb=first,
        memory_limit_mb=first,
    )  # fmt: skip
    evaluations = len(tables.EVALUATIONS) - 1
    scene = runs.draw(pod, evaluations, evaluations, SPREAD, seed)
    requests_mb = runs.replay(scene, variant.make(scene, seed)).memory_mb[place]
    return read_descent(np.concatenate([[first], requests_mb]))


def read_descent(requests_mb: Floats) -> Descent:
    """Return when a series of requests first reaches 576, and how often it changes after that."""
    there = np.flatnonzero(requests_mb == GOAL_MB)
    if not len(there):
        return Descent(requests_mb, float("inf"), 0)
    after = requests_mb[there[0] :]
    return Descent(requests_mb, float(there[0]), int((np.diff(after) != 0.0).sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Shock:
    """A replay of table 5.2.

    Attributes:
        requests_mb: Request after each printed run.
        missed: Which of the printed runs after the first exceeded their request.
        repaired: Whether the request after the jump covers the jump.
        headroom: Mean of request / usage - 1 over the runs after the first.
        lost_mb: Memory reserved by killed attempts.
    """

    requests_mb: Floats
    missed: tuple[bool, ...]
    repaired: bool
    headroom: float
    lost_mb: float


def shake(variant: variants.RunVariant, seed: int, calm: int = 0) -> Shock:
    """Replay table 5.2.

    Args:
        variant: The sizing variant.
        seed: Seed of random numbers.
        calm: Number of runs around the first two maxima before the jump; 0 replays the table.
    """
    scene = make_shock(seed, calm)
    replay = runs.replay(scene, variant.make(scene, seed))
    shown = slice(scene.runs - len(tables.SHOCK_MAXIMA), None)
    return read_shock(
        np.array(tables.SHOCK_MAXIMA),
        replay.memory_mb[0, shown],
        float(replay.lost_mb[0, shown][1:].sum()),
    )


def read_shock(maxima: Floats, requests_mb: Floats, lost_mb: float) -> Shock:
    """Return misses and headroom of requests, given the maxima of the runs."""
    before, peaks = requests_mb[:-1], maxima[1:]
    return Shock(
        requests_mb,
        tuple((peaks > before).tolist()),
        bool(requests_mb[_JUMP] >= maxima[_JUMP]),
        float((before / peaks - 1.0).mean()),
        lost_mb,
    )


def make_shock(seed: int, calm: int) -> runs.RunScene:
    """Return the runs: ``calm`` calm ones, then the printed maxima."""
    level = float(np.mean(tables.SHOCK_MAXIMA[:_JUMP]))
    rng = np.random.default_rng([seed, calm])
    drawn = level * (1.0 + CALM_SPREAD * rng.standard_normal(calm))
    peaks = np.concatenate([drawn, tables.SHOCK_MAXIMA])[np.newaxis]
    even = np.full(peaks.shape, 1000.0)
    start = np.array([_BEFORE_SHOCK_MB])
    name = "boettcher/Job/another-pod/Cucumber-Test"
    return runs.RunScene((name,), even, even, peaks, even[:, 0], start, start)


def replay_tables(seeds: Sequence[int], chosen: Sequence[variants.RunVariant]) -> dict[str, Any]:
    """Return both tables for all variants: summaries over seeds, and the first seed for figures."""
    return {
        "descents": [_describe_descent(variant, seeds) for variant in chosen],
        "shocks": [
            _describe_shock(variant, seeds, calm) for calm in (0, CALM_RUNS) for variant in chosen
        ],
    }


def _describe_descent(variant: variants.RunVariant, seeds: Sequence[int]) -> Row:
    descents = [descend(variant, seed) for seed in seeds]
    reached = [one.reached for one in descents]
    return {
        "way": variant.name,
        "requests_mb": descents[0].requests_mb.tolist(),
        "reached": reached if np.isfinite(reached).all() else None,
        "never": int(np.isinf(reached).sum()),
        "changes_after": [one.changes for one in descents],
        "reversals": [measures.count_reversals(one.requests_mb) for one in descents],
    }


def _describe_shock(variant: variants.RunVariant, seeds: Sequence[int], calm: int) -> Row:
    shocks = [shake(variant, seed, calm) for seed in seeds]
    return {
        "way": variant.name,
        "calm_runs": calm,
        "requests_mb": shocks[0].requests_mb.tolist(),
        "misses": [sum(one.missed) for one in shocks],
        "jump_missed": [one.missed[_JUMP - 1] for one in shocks],
        "repaired": [one.repaired for one in shocks],
        "headroom": float(np.mean([one.headroom for one in shocks])),
        "lost_mb": float(np.mean([one.lost_mb for one in shocks])),
    }
