"""Where ``q-learning`` ends, without learning: requests of Böttcher 2023 in closed form.

The bands of the thesis are known before any agent walks, and an agent's actions change nothing
about the usage; so memory is ``ceil64(max + buffer)`` and CPU ``ceil64(average)`` of the last run
(``closed-form``, 8.2). ``last-runs`` is the one-line rule beside it: memory ``ceil64(f x max of the
last 5 runs)`` (5.7).
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
    """What is added, and on which grid.

    Attributes:
        factor: Memory is at least so many times its maximum.
        buffer_least: Memory is at least so many megabytes above its maximum.
        last_runs: Runs looked back at: the largest maximum, the mean of averages.
        step: Amounts are multiples of it: megabytes of 10^6 bytes, millicores.
        window_s: What counts as a run of a pod that does not end.
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
        # fmax.reduce leaves out what is NaN; rows of NaN alone stay NaN.
        largest = np.fmax.reduce(peaks, axis=1, initial=np.nan)
        cpu_m = round_up(statistics.means(_last(runs.cpu_mean_m, p.last_runs)), p.step)
        memory = round_up(np.maximum(largest * p.factor, largest + p.buffer_least), p.step)
        return estimates.exact(cpu_m / statistics.MILLICORES, memory * statistics.BYTES_PER_MB)


def round_up(amounts: Floats, step: float) -> Floats:
    """Return the smallest multiples that are not below, at least one step; NaN stays."""
    # A millionth of a step is noise of floating point, not usage.
    found: Floats = np.maximum(np.ceil(amounts / step - 1e-6), 1.0) * step
    return found


def _last(values: Floats, count: int) -> Floats:
    """Return the last known values of each row, oldest first; NaN where there are fewer."""
    known = ~np.isnan(values)
    behind = np.cumsum(known[:, ::-1], axis=1)[:, ::-1]
    kept: Floats = np.where(known & (behind <= count), values, np.nan)
    return kept
