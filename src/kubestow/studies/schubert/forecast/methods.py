"""Methods of the forecast study by name: amounts for many windows at many settings.

The methods of Schubert 2023, 2.11 run with the settings of the thesis and a finer grid, so that
they can be compared at the same number of shortages: the safety n is a real number in the formulas.
Added are baselines without a model, and ``short-margin``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.sizing import level_sigma, margins, window_statistics
from kubestow.studies import usage_batches
from kubestow.studies.schubert.forecast import windows

PRINTED, EXACT = "arima-margin", "arima-margin, exact variance"
VPA, BARE_VPA = "vpa", "vpa without window"
SIGMA, PERSISTENCE, MAXIMUM = "level-sigma", "last value and sigma", "largest of the last k"
OURS, EVEN = "short-margin", "short-margin, own size"
CAPPED = "short-margin, capped"

MEMORY_N: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
CPU_N: Final = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
LAST: Final = (1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 90.0, 120.0)
_FINE: Final = tuple(float(n) for n in np.round(np.geomspace(0.05, 60.0, 60), 4))
CAPS: Final = (*np.linspace(1.03, 1.15, 13).round(2).tolist(), 1.2, 1.3, 1.5, 2.0, 0.0)
"""Caps of ``short-margin`` as factors on the largest past value, 0 for none: a second knob.

As fine as the factors of VPA, which also go from 1.03 to 1.15: with a coarser grid, matching the
shortages of VPA would need a larger factor.
"""

_PRICES: Final = tuple(float(n) for n in np.geomspace(0.003, 10_000.0, 90))


@dataclass(frozen=True, slots=True, eq=False)
class MethodAnswers:
    """Amounts of one method.

    Attributes:
        method: Its name.
        settings: The settings, ascending in safety.
        amounts: By window and setting.
    """

    method: str
    settings: tuple[float, ...]
    amounts: Floats


def vpa_memory_factor(n: float) -> float:
    """Return the factor of 5.14 and 5.15.

    >>> round(vpa_memory_factor(4.0), 6)
    1.15
    """
    return 0.04 * n + 0.99


def vpa_cpu_factor(n: float) -> float:
    """Return the factor of 5.17.

    >>> vpa_cpu_factor(1.0)
    1.15
    """
    return 1.0 + 0.15 * n


def thesis_settings(resource: str) -> tuple[float, ...]:
    """Return the n of the thesis."""
    return MEMORY_N if resource == "memory" else CPU_N


def answer(windows: windows.Windows, fits: margins.Fits) -> Iterator[MethodAnswers]:
    """Yield the amounts of all methods.

    Args:
        windows: The windows.
        fits: Models of ``arima-margin`` fitted on them.
    """
    memory = windows.resource == "memory"
    margin = margins.memory_margin if memory else margins.cpu_margin
    settings = tuple(sorted({*_FINE, *thesis_settings(windows.resource)}))

    def ask(method: str, find: Callable[[float], Floats]) -> MethodAnswers:
        return MethodAnswers(method, settings, np.stack([find(n) for n in settings], axis=1))

    yield ask(PRINTED, lambda n: fits.amounts(*margin(n), "printed"))
    yield ask(EXACT, lambda n: fits.amounts(*margin(n), "exact"))
    high = window_statistics.quantiles(windows.past, 0.9)
    largest = windows.past.max(axis=1)
    if memory:
        yield ask(VPA, lambda n: vpa_memory_factor(n) * largest)
        yield ask(BARE_VPA, lambda n: vpa_memory_factor(n) * high)
    else:
        yield ask(VPA, lambda n: vpa_cpu_factor(n) * high)
    means, deviations = level_sigma.moments(windows.past)
    changes = np.diff(windows.past, axis=1).std(axis=1)
    last = windows.past[:, -1]
    # The additive terms of 5.13 and 5.16: only forecast and deviation differ.
    yield ask(SIGMA, lambda n: means + n * deviations + margin(n)[1])
    yield ask(PERSISTENCE, lambda n: last + n * changes + margin(n)[1])
    peaks = [windows.past[:, -int(k) :].max(axis=1) for k in LAST]
    yield MethodAnswers(MAXIMUM, LAST, np.stack(peaks, axis=1))
    yield from _answer_ours(windows)


def _answer_ours(windows: windows.Windows) -> Iterator[MethodAnswers]:
    """Yield ours; a batch has the windows of one half at the same time, so no future is used."""
    fleet = np.empty((len(windows.real), len(_PRICES)))
    own = np.empty_like(fleet)
    few = _PRICES[::2]
    capped = np.empty((len(windows.real), len(CAPS) * len(few)))
    halves = np.array([usage_batches.half(name) for name in windows.names], dtype=np.int64)
    groups = windows.places * 2 + halves[windows.series]
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        forecast = margins.forecast_amounts(windows.past[rows], margins.ShortMarginParameters())
        for place, price in enumerate(_PRICES):
            fleet[rows, place] = forecast.amounts(price, "fleet")
            own[rows, place] = forecast.amounts(price, "own")
        for place, (cap, price) in enumerate(itertools.product(CAPS, few)):
            capped[rows, place] = forecast.amounts(price, "fleet", cap)
    yield MethodAnswers(OURS, _PRICES, fleet)
    yield MethodAnswers(EVEN, _PRICES, own)
    # Settings of two knobs have no order of safety, so they are numbered.
    yield MethodAnswers(CAPPED, tuple(float(k) for k in range(capped.shape[1])), capped)
