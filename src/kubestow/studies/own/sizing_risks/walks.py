"""Walks through public usage series: the amounts of each estimator, window by window.

All estimators see the same history. Baselines run without their margins, floors and rounding; these
become the knob and the floor of a ``FrontierLine``, so that each baseline is a curve that contains
its default setting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import (
    conformal,
    estimates,
    krr,
    level_sigma,
    percentile,
    vpa,
    window_statistics,
)
from kubestow.policies.sizing.vpa import VpaParameters
from kubestow.studies.own.sizing_risks.measures import FrontierLine

CPU, MEMORY = "cpu", "memory"
VPA, KRR, PERCENTILE, SIGMA = "vpa", "krr-simple", "percentile", "level-sigma"
SPANS: Final = (2, 8)
BASELINES: Final = (VPA, KRR, PERCENTILE, SIGMA, *(f"max-of-{span}" for span in SPANS))
_DAY_S: Final = 86_400.0
# History of each baseline: VPA and krr as upstream, the others as VPA.
_HISTORY_S: Final = {KRR: 14 * _DAY_S}
_USUAL_S: Final = 8 * _DAY_S
# Floors: upstream for VPA and krr; those of krr for baselines without a floor.
_FLOORS: Final = {
    VPA: {CPU: 0.025, MEMORY: 250.0 * 2**20},
}
LEAST: Final = {CPU: 0.01, MEMORY: 1e8}
_MOST: Final = 1e3


@dataclass(frozen=True, slots=True)
class Family:
    """A set of series and the windows it is cut into.

    Attributes:
        name: Its folder.
        window_s: Length of a window.
        resources: Resources that it has.
    """

    name: str
    window_s: float
    resources: tuple[str, ...]


FAMILIES: Final = (
    Family("bitbrains_rnd", _DAY_S, (CPU, MEMORY)),
    Family("google2011_vms", 3600.0, (CPU, MEMORY)),
    Family("planetlab_cpu", 3600.0, (CPU,)),
    Family("alibaba_genai2026", 3600.0, (MEMORY,)),
    Family("opendc_bitbrains_small", _DAY_S, (CPU,)),
    Family("crane_dsp", _DAY_S, (CPU,)),
)
UNSEEN: Final = Family("nab_cloudwatch", 3600.0, (CPU,))
"""Series that no setting of ``conformal`` was chosen on."""

FIRST: Final = 8
"""Number of windows of history before the first evaluated window."""

ALONE_WINDOWS: Final = 12


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Amounts needed and given, by resource, then by series and window.

    Attributes:
        needed: Amounts that the windows needed.
        ours: Amounts of ``conformal``, by stated share.
        baselines: The baselines, by name.
    """

    needed: dict[str, Floats]
    ours: dict[str, dict[float, Floats]]
    baselines: dict[str, dict[str, FrontierLine]]


def walk(batch: Usage, family: Family, shares: Sequence[float], prior: Floats) -> Walk:
    """Run all estimators at every window after the first eight."""
    window = round(family.window_s / batch.step_s)
    settings = conformal.ConformalParameters(window_s=family.window_s)
    needed = {
        CPU: conformal.measure_cpu(batch, settings)[:, FIRST:],
        MEMORY: conformal.measure_memory(batch, settings)[:, FIRST:],
    }
    count = needed[CPU].shape[1]
    pasts = [batch.until(batch.points - window * left) for left in range(count, 0, -1)]
    ours: dict[str, dict[float, Floats]] = {CPU: {}, MEMORY: {}}
    for share in shares:
        parameters = dataclasses.replace(
            settings, cpu_miss_probability=share, memory_miss_probability=share
        )
        mine = conformal.Conformal(parameters, prior=prior)
        answers = [mine.estimate(past) for past in pasts]
        ours[CPU][share], ours[MEMORY][share] = stack(answers)
    return Walk(needed, ours, ask_baselines(pasts, window))


def walk_alone(
    batch: Usage, family: Family, shares: Sequence[float], series: int, prior: Floats
) -> tuple[dict[str, Floats], dict[str, dict[float, Floats]]]:
    """Run ``conformal`` on some series, each on its own.

    Returns:
        Amounts needed by resource, and amounts given by resource and share; about a dozen windows
        of every series, evenly spaced.
    """
    window = round(family.window_s / batch.step_s)
    settings = conformal.ConformalParameters(window_s=family.window_s)
    some = batch.of(0, min(series, len(batch.containers)))
    needed = {
        CPU: conformal.measure_cpu(some, settings),
        MEMORY: conformal.measure_memory(some, settings),
    }
    windows = needed[CPU].shape[1]
    places = np.arange(FIRST, windows, max((windows - FIRST) // ALONE_WINDOWS, 1))
    given: dict[str, dict[float, Floats]] = {CPU: {}, MEMORY: {}}
    for share in shares:
        parameters = dataclasses.replace(
            settings, cpu_miss_probability=share, memory_miss_probability=share
        )
        answers = []
        for place in places.tolist():
            past = some.until(some.points - window * (windows - place))
            each = [
                conformal.Conformal(parameters, prior=prior).estimate(past.of(row, row + 1))
                for row in range(len(some.containers))
            ]
            answers.append(join(each))
        given[CPU][share], given[MEMORY][share] = stack(answers)
    return {resource: values[:, places] for resource, values in needed.items()}, given


def join(parts: Sequence[estimates.Estimates]) -> estimates.Estimates:
    """Join the estimates of single series."""
    return estimates.exact(
        np.concatenate([one.cpu_cores for one in parts]),
        np.concatenate([one.memory_bytes for one in parts]),
    )


def ask_baselines(pasts: Sequence[Usage], window: int) -> dict[str, dict[str, FrontierLine]]:
    """Return the lines of the baselines, by resource and name."""
    plain: dict[str, estimates.Estimator] = {
        VPA: vpa.VpaEstimator(
            VpaParameters(margin=0.0, pod_min_cpu_m=0.0, pod_min_memory_mib=0.0)
        ),
        KRR: krr.Krr(
            krr.KrrParameters(
                memory_buffer_percentage=0.0, points_required=1, cpu_min_value=0.0,
                memory_min_value=0.0,
            )
        ),
        PERCENTILE: percentile.Percentile(
            percentile.PercentileParameters(cpu_margin=0.0, memory_margin=0.0)
        ),
    }  # fmt: skip
    lines: dict[str, dict[str, FrontierLine]] = {CPU: {}, MEMORY: {}}
    for name, estimator in plain.items():
        for resource, slope in zip(lines, stack(ask(pasts, name, estimator)), strict=True):
            least = _FLOORS.get(name, LEAST)[resource]
            lines[resource][name] = FrontierLine(np.zeros_like(slope), slope, least, _MOST)
    none, one = (stack(ask(pasts, SIGMA, _sigmas(count))) for count in (0.0, 1.0))
    for place, resource in enumerate(lines):
        offset = none[place]
        lines[resource][SIGMA] = FrontierLine(offset, one[place] - offset, LEAST[resource], _MOST)
    for span in SPANS:
        for resource, mine in lines.items():
            slope = np.stack([largest(past, resource, window, span) for past in pasts], axis=1)
            line = FrontierLine(np.zeros_like(slope), slope, LEAST[resource], _MOST)
            mine[f"max-of-{span}"] = line
    return lines


DEFAULTS: Final = {
    VPA: {CPU: 1.15, MEMORY: 1.15},
    KRR: {CPU: 1.0, MEMORY: 1.15},
    PERCENTILE: {CPU: 1.15, MEMORY: 1.15},
    SIGMA: {CPU: 2.0, MEMORY: 3.0},
}
"""Default knob of each baseline."""


def _sigmas(count: float) -> level_sigma.LevelSigma:
    return level_sigma.LevelSigma(level_sigma.LevelSigmaParameters(count, count))


def ask(
    pasts: Sequence[Usage], name: str, estimator: estimates.Estimator
) -> list[estimates.Estimates]:
    """Return the estimates at every point in time, from the history length of the baseline."""
    answers = []
    for past in pasts:
        points = round(_HISTORY_S.get(name, _USUAL_S) / past.step_s)
        answers.append(estimator.estimate(past.between(max(past.points - points, 0), past.points)))
    return answers


def largest(past: Usage, resource: str, window: int, span: int) -> Floats:
    """Return the largest need of the last ``span`` windows, by series."""
    cut = past.between(max(past.points - window * span, 0), past.points)
    settings = conformal.ConformalParameters(window_s=window * past.step_s)
    measure = conformal.measure_cpu if resource == CPU else conformal.measure_memory
    return window_statistics.largest(measure(cut, settings))


def stack(answers: Sequence[estimates.Estimates]) -> tuple[Floats, Floats]:
    """Return CPU and memory by series and window."""
    return (
        np.stack([one.cpu_cores for one in answers], axis=1),
        np.stack([one.memory_bytes for one in answers], axis=1),
    )
