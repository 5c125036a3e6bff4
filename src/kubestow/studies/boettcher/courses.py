"""Tables 5.1 and 5.2 replayed: how fast a request comes down, and what a jump of the usage does.

Table 5.1: the containers of pod 3, of which Recall-Archive-Simulation begins at 976 MB and uses 515
with a spread of 1 %. Table 5.2: the printed maxima of one container, which is alone, and the same
jump after 20 calm runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.studies.boettcher import contenders as ways
from kubestow.studies.boettcher import measures, runs, tables

Row = dict[str, Any]

SPREAD: Final = 0.01
GOAL_MB: Final = 576.0
CALM_RUNS: Final = 20
CALM_SPREAD: Final = 0.03
SHOWN: Final = (ways.STRICT, ways.CONVERGING, ways.CLOSED, ways.RULE, ways.OURS)
# The request before the first row of table 5.2 is not printed; one step above the one after it.
_BEFORE_SHOCK_MB: Final = 3072.0
# Place of the jump to 3427 among the printed maxima.
_JUMP: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """A replay of table 5.1.

    Attributes:
        requests_mb: 976 and the request after each evaluation.
        reached: Evaluations until 576 was first requested; infinite if never.
        changes: Changes of the request after that.
    """

    requests_mb: Floats
    reached: float
    changes: int


def descend(way: ways.Contender, seed: int) -> Descent:
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
    found = runs.replay(scene, way.make(scene, seed)).memory_mb[place]
    return read_descent(np.concatenate([[first], found]))


def read_descent(requests_mb: Floats) -> Descent:
    """Return when a series of requests first is at 576, and what it does then."""
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
        missed: Which of the printed runs after the first went beyond the request before it.
        repaired: Whether the request after the jump covers the jump.
        headroom: Mean of request by use, less 1, over the runs after the first.
        lost_mb: Memory that killed attempts had reserved.
    """

    requests_mb: Floats
    missed: tuple[bool, ...]
    repaired: bool
    headroom: float
    lost_mb: float


def shake(way: ways.Contender, seed: int, calm: int = 0) -> Shock:
    """Replay table 5.2.

    Args:
        way: Who decides.
        seed: Of random numbers.
        calm: Runs around the first two maxima that come before the jump; 0 replays the table.
    """
    scene = make_shock(seed, calm)
    course = runs.replay(scene, way.make(scene, seed))
    shown = slice(scene.runs - len(tables.SHOCK_MAXIMA), None)
    return read_shock(
        np.array(tables.SHOCK_MAXIMA),
        course.memory_mb[0, shown],
        float(course.lost_mb[0, shown][1:].sum()),
    )


def read_shock(maxima: Floats, requests_mb: Floats, lost_mb: float) -> Shock:
    """Return misses and headroom of requests beside the maxima of the runs before them."""
    before, peaks = requests_mb[:-1], maxima[1:]
    return Shock(
        requests_mb,
        tuple((peaks > before).tolist()),
        bool(requests_mb[_JUMP] >= maxima[_JUMP]),
        float((before / peaks - 1.0).mean()),
        lost_mb,
    )


def make_shock(seed: int, calm: int) -> runs.RunScene:
    """Return the runs: calm ones if asked for, then the printed maxima."""
    level = float(np.mean(tables.SHOCK_MAXIMA[:_JUMP]))
    rng = np.random.default_rng([seed, calm])
    drawn = level * (1.0 + CALM_SPREAD * rng.standard_normal(calm))
    peaks = np.concatenate([drawn, tables.SHOCK_MAXIMA])[np.newaxis]
    even = np.full(peaks.shape, 1000.0)
    start = np.array([_BEFORE_SHOCK_MB])
    name = "boettcher/Job/another-pod/Cucumber-Test"
    return runs.RunScene((name,), even, even, peaks, even[:, 0], start, start)


def tell(seeds: Sequence[int], chosen: Sequence[ways.Contender]) -> dict[str, Any]:
    """Return both tables for all ways: summaries over seeds, and the first seed for figures."""
    return {
        "descents": [_tell_descent(way, seeds) for way in chosen],
        "shocks": [_tell_shock(way, seeds, calm) for calm in (0, CALM_RUNS) for way in chosen],
    }


def _tell_descent(way: ways.Contender, seeds: Sequence[int]) -> Row:
    found = [descend(way, seed) for seed in seeds]
    reached = [one.reached for one in found]
    return {
        "way": way.name,
        "requests_mb": found[0].requests_mb.tolist(),
        "reached": reached if np.isfinite(reached).all() else None,
        "never": int(np.isinf(reached).sum()),
        "changes_after": [one.changes for one in found],
        "reversals": [measures.count_reversals(one.requests_mb) for one in found],
    }


def _tell_shock(way: ways.Contender, seeds: Sequence[int], calm: int) -> Row:
    found = [shake(way, seed, calm) for seed in seeds]
    return {
        "way": way.name,
        "calm_runs": calm,
        "requests_mb": found[0].requests_mb.tolist(),
        "misses": [sum(one.missed) for one in found],
        "jump_missed": [one.missed[_JUMP - 1] for one in found],
        "repaired": [one.repaired for one in found],
        "headroom": float(np.mean([one.headroom for one in found])),
        "lost_mb": float(np.mean([one.lost_mb for one in found])),
    }
