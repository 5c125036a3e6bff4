"""Stated and actual risk with few windows of history, for ``auto`` and ``conformal``.

At several moments of each family, all containers have exactly 1, 2, 4, 8 or 30 windows of history;
the next window is judged. The built-in table of ``conformal`` is made without the family judged
(``tables``). Baselines have the same history, and a margin set in hindsight so that they miss
equally often.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import (
    conformal,
    estimates,
    judging,
    krr,
    level_sigma,
    percentile,
    vpa,
)
from kubestow.studies.own.sizing_risks import measures, walks
from kubestow.studies.own.sizing_risks.walks import CPU, KRR, MEMORY, PERCENTILE, VPA, Family

WINDOWS: Final = (1, 2, 4, 8, 30)
COMPARED: Final = (VPA, KRR, PERCENTILE)
# Few series are tried at more moments.
_LEAST_MOMENTS: Final = 8
_LEAST_WINDOWS: Final = 1600
_MOST_SERIES: Final = 800


@dataclass(slots=True)
class Remembered:
    """An estimator that answers each past only once; for several stated shares."""

    estimator: estimates.Estimator
    answers: dict[tuple[float, int], estimates.Estimates] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The registered name."""
        return self.estimator.name

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return what the estimator answers."""
        key = usage.end_s, usage.points
        if key not in self.answers:
            self.answers[key] = self.estimator.estimate(usage)
        return self.answers[key]


def measure(
    family: Family, batch: Usage, prior: Floats, asked: Sequence[float], seed: int
) -> list[dict[str, Any]]:
    """Return the measures of ``auto`` and ``conformal`` by length of history and stated share."""
    window = round(family.window_s / batch.step_s)
    some = thin(batch)
    rows = []
    for length in (one for one in WINDOWS if one < some.points // window):
        pasts, afters = cut(some, window, length)
        needed = _needs(afters, family)
        lines = walks.ask_baselines(pasts, window)
        remembered = tuple(
            Remembered(one)
            for one in (
                percentile.Percentile(),
                krr.Krr(),
                vpa.VpaEstimator(),
                level_sigma.LevelSigma(),
            )
        )
        for share in asked:
            for name, given in _ask(pasts, family, prior, share, remembered).items():
                for resource in family.resources:
                    place = {"family": family.name, "resource": resource, "windows_known": length}
                    rows.append(
                        {
                            **place,
                            "asked": share,
                            "recommender": name,
                            **_row(
                                needed[resource], given[resource], lines[resource], resource, seed
                            ),
                        }
                    )
    return rows


def thin(batch: Usage) -> Usage:
    """Return at most 800 series, evenly spaced."""
    stride = -(-len(batch.containers) // _MOST_SERIES)
    return batch.pick(np.arange(0, len(batch.containers), stride))


def cut(batch: Usage, window: int, length: int) -> tuple[list[Usage], list[Usage]]:
    """Return pasts of some windows, and the window after each of them."""
    windows = batch.points // window
    moments = max(_LEAST_MOMENTS, -(-_LEAST_WINDOWS // max(len(batch.containers), 1)))
    ends = np.linspace(length, windows - 1, min(moments, windows - length)).astype(np.int64)
    pasts, afters = [], []
    for end in np.unique(ends).tolist():
        now = batch.points - (windows - end) * window
        pasts.append(batch.between(now - length * window, now))
        afters.append(batch.between(now, now + window))
    return pasts, afters


def _needs(afters: Sequence[Usage], family: Family) -> dict[str, Floats]:
    settings = conformal.ConformalParameters(window_s=family.window_s)
    return {
        CPU: np.concatenate([conformal.measure_cpu(one, settings) for one in afters], axis=1),
        MEMORY: np.concatenate([conformal.measure_memory(one, settings) for one in afters], axis=1),
    }


def _ask(
    pasts: Sequence[Usage],
    family: Family,
    prior: Floats,
    share: float,
    others: tuple[Remembered, ...],
) -> dict[str, dict[str, Floats]]:
    settings = conformal.ConformalParameters(
        cpu_miss_probability=share, memory_miss_probability=share, window_s=family.window_s
    )
    alone = conformal.Conformal(settings, prior=prior)
    auto = judging.Tournament(
        (alone, *others), judging.TournamentParameters(window_s=family.window_s), settings
    )
    cells = {}
    for estimator in (auto, alone):
        cpu, memory = walks.stack([estimator.estimate(past) for past in pasts])
        cells[estimator.name] = {CPU: cpu, MEMORY: memory}
    return cells


def _row(
    needed: Floats,
    given: Floats,
    lines: dict[str, measures.FrontierLine],
    resource: str,
    seed: int,
) -> dict[str, Any]:
    least = walks.LEAST[resource]
    mine = measures.measure(needed, given, least, seed)
    row: dict[str, Any] = {**dataclasses.asdict(mine), "baselines": {}, "defaults": {}}
    for name in COMPARED:
        theirs = lines[name].at(walks.DEFAULTS[name][resource])
        row["defaults"][name] = dataclasses.asdict(measures.measure(needed, theirs, least, seed))
        knob = measures.find_knob(needed, lines[name], mine.missed)
        if knob is not None:
            ratio, low, high = measures.compare(needed, given, lines[name].at(knob), seed)
            row["baselines"][name] = {"knob": knob, "ratio": ratio, "low": low, "high": high}
    return row
