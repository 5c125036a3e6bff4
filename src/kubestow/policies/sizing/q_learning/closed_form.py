"""The fixed point of ``q-learning`` without learning: requests of Böttcher 2023 in closed form.

The bands of the thesis are known before any agent walks, and an agent's actions do not affect
usage; so memory is ``ceil64(max + buffer)`` and CPU ``ceil64(average)`` of the last run
(``closed-form``, 8.2). ``last-runs`` is an alternative one-line rule: memory ``ceil64(f x max of
the last 5 runs)`` (5.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates
from kubestow.policies.sizing.q_learning import statistics

CLOSED_FORM = "closed-form"
LAST_RUNS = "last-runs"

Amount = Annotated[float, decoding.ValueBounds(least=0.0)]
Count = Annotated[int, decoding.ValueBounds(least=1)]


@dataclass(frozen=True, slots=True)
class ClosedFormParameters:
    """Buffers and grid.

    Attributes:
        factor: Smallest memory, as a multiple of its maximum.
        buffer_least: Smallest distance of memory above its maximum, in megabytes.
        last_runs: Number of runs used: the largest maximum, the mean of averages.
        step: Grid of the amounts: megabytes of 10^6 bytes, millicores.
        window_s: Length of a run, in seconds, of a pod that does not end.
    """

    factor: Annotated[float, decoding.ValueBounds(least=1.0)] = 1.10
    buffer_least: Amount = 64.0
    last_runs: Count = 1
    step: Annotated[float, decoding.ValueBounds(above=0.0)] = 64.0
    window_s: Annotated[decoding.Seconds, decoding.ValueBounds(above=0.0)] = 86_400.0


LAST_FIVE = ClosedFormParameters(factor=1.06, buffer_least=0.0, last_runs=5)
"""The one-line rule; 1.06 has the headroom of q-learning in the prototype of Böttcher 2023, 5.7."""


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """Requests by one line of arithmetic."""

    parameters: ClosedFormParameters = ClosedFormParameters()
    name: str = CLOSED_FORM

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the requests after the last run."""
        p = self.parameters
        runs = statistics.collect(usage, p.window_s)
        peaks = _last(runs.memory_peak_mb, p.last_runs)
        # fmax.reduce ignores NaN; rows of only NaN stay NaN.
        largest = np.fmax.reduce(peaks, axis=1, initial=np.nan)
        cpu_m = round_up(statistics.means(_last(runs.cpu_mean_m, p.last_runs)), p.step)
        memory = round_up(np.maximum(largest * p.factor, largest + p.buffer_least), p.step)
        return estimates.exact(cpu_m / statistics.MILLICORES, memory * statistics.BYTES_PER_MB)


def round_up(amounts: Floats, step: float) -> Floats:
    """Round up to multiples of the step, at least one; NaN stays."""
    # A millionth of a step is floating-point noise, not usage.
    rounded: Floats = np.maximum(np.ceil(amounts / step - 1e-6), 1.0) * step
    return rounded


def _last(values: Floats, count: int) -> Floats:
    """Return the last known values of each row, oldest first; NaN where there are fewer."""
    known = ~np.isnan(values)
    behind = np.cumsum(known[:, ::-1], axis=1)[:, ::-1]
    kept: Floats = np.where(known & (behind <= count), values, np.nan)
    return kept
