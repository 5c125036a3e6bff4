"""Signals as arrays: the mean of every step, exact for piecewise linear signals.

The traffic patterns are those of McNaughton 2016 (4.6) as they ran: linear segments from one rate
to another, in requests per second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from kubestow.model.arrays import Floats
from kubestow.simulation.scenarios import signals

# (from, to, seconds)
SEGMENTS: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "step-ladder": (
        *((float(rate), float(rate), 180.0) for rate in (1, 4, 7, 10, 13, 16, 19)),
        (1.0, 1.0, 240.0),
    ),
    "jagged-edge": (
        (1.0, 1.0, 300.0),
        (1.0, 10.0, 300.0),
        (10.0, 5.0, 120.0),
        (5.0, 15.0, 300.0),
        (15.0, 10.0, 120.0),
        (10.0, 20.0, 300.0),
        (1.0, 1.0, 300.0),
    ),
    "increase-decrease": (
        (1.0, 1.0, 300.0),
        (1.0, 20.0, 900.0),
        (20.0, 1.0, 900.0),
        (1.0, 1.0, 300.0),
    ),
    "flash-crowd": (
        (1.0, 1.0, 300.0),
        (1.0, 5.0, 300.0),
        (5.0, 20.0, 120.0),
        (20.0, 5.0, 120.0),
        (5.0, 1.0, 300.0),
        (1.0, 1.0, 300.0),
    ),
    "flash-crowd-long": (
        (1.0, 1.0, 300.0),
        (1.0, 5.0, 660.0),
        (5.0, 20.0, 240.0),
        (20.0, 5.0, 240.0),
        (5.0, 1.0, 660.0),
        (1.0, 1.0, 300.0),
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class SignalTrace:
    """A recorded series; each value holds until the next."""

    times_s: Floats  # from 0, rising
    values: Floats
    end_s: float  # until when the last value holds


def step_means(
    signal: signals.Signal,
    step_s: float,
    steps: int,
    traces: Mapping[str, SignalTrace] | None = None,
) -> Floats:
    """Return the mean of a signal over every step, without noise.

    Args:
        signal: The signal.
        step_s: Length of a step.
        steps: How many.
        traces: Recorded series, by ``file`` or ``file#column``.
    """
    edges: Floats = np.arange(steps + 1, dtype=np.float64) * step_s
    if signal.pattern == signals.CONSTANT:
        means = np.full(steps, float(signal.mean))
    elif signal.pattern == signals.DIURNAL:
        means = _diurnal(signal, edges)
    elif signal.pattern == signals.TRACE:
        means = _trace_means((traces or {})[trace_key(signal)], edges, repeat=signal.repeat)
    else:
        means = _segment_means(segments_of(signal), edges, repeat=signal.repeat)
    return means * signal.scale


def trace_key(signal: signals.Signal) -> str:
    """Return the name under which a signal's recorded series is looked up."""
    return f"{signal.trace}#{signal.column}" if signal.column else str(signal.trace)


def segments_of(signal: signals.Signal) -> list[tuple[float, float, float]]:
    """Return the linear segments of a signal: start, end, seconds."""
    if signal.pattern != signals.SEGMENTS:
        return list(SEGMENTS[signal.pattern])
    return [
        (float(piece.start), float(piece.start if piece.end is None else piece.end), piece.seconds)
        for piece in signal.segments
    ]


def _segment_means(
    segments: Sequence[tuple[float, float, float]], edges: Floats, *, repeat: bool
) -> Floats:
    starts, ends, lengths = (np.array(column) for column in zip(*segments, strict=True))
    begins = np.concatenate([[0.0], np.cumsum(lengths)])
    areas = np.concatenate([[0.0], np.cumsum((starts + ends) / 2 * lengths)])

    def integral(times: Floats) -> Floats:
        """Return the area from 0 to each time; the last value is held."""
        index = np.clip(np.searchsorted(begins, times, side="right") - 1, 0, len(lengths) - 1)
        into = np.minimum(times - begins[index], lengths[index])
        slope = (ends - starts)[index] / np.maximum(lengths[index], 1e-300)
        held = np.maximum(times - begins[-1], 0.0) * ends[-1]
        area: Floats = areas[index] + starts[index] * into + slope * into**2 / 2 + held
        return area

    return _means(integral, edges, begins[-1], repeat=repeat)


def _trace_means(trace: SignalTrace, edges: Floats, *, repeat: bool) -> Floats:
    lengths = np.diff(np.append(trace.times_s, trace.end_s))
    segments = list(zip(trace.values, trace.values, lengths, strict=True))
    return _segment_means(segments, edges, repeat=repeat)


def _means(
    integral: Callable[[Floats], Floats], edges: Floats, total_s: float, *, repeat: bool
) -> Floats:
    if repeat:
        whole, rest = np.divmod(edges, total_s)
        areas = whole * integral(np.array([total_s]))[0] + integral(rest)
    else:
        areas = integral(edges)
    means: Floats = np.diff(areas) / np.diff(edges)
    return means


def _diurnal(signal: signals.Signal, edges: Floats) -> Floats:
    """Return a daily wave with a given mean and peak that never falls below 0.

    It is ``mean / I0(k) * exp(k cos(2 pi (t - peakAt) / period))``, the shape of the von Mises
    distribution: ``I0`` is the modified Bessel function, and ``k`` is chosen so that the largest
    value, ``mean * exp(k) / I0(k)``, is the peak. A plain sine could not rise above twice its mean.
    """
    mean = float(signal.mean)
    sharpness = _sharpness(float(signal.peak) / mean)
    middles = (edges[:-1] + edges[1:]) / 2
    angle = 2 * math.pi * (middles - signal.peak_at) / signal.period
    # i0e is exp(-k) I0(k), so that nothing overflows.
    wave: Floats = mean / special.i0e(sharpness) * np.exp(sharpness * (np.cos(angle) - 1))
    return wave


def _sharpness(ratio: float) -> float:
    """Return the k at which peak over mean, ``exp(k) / I0(k)``, has a value of 1 or more."""
    if ratio <= 1.0:
        return 0.0
    upper = 2 * math.pi * ratio**2 + 10  # exp(k)/I0(k) approaches sqrt(2 pi k)
    sharpness: float = optimize.brentq(lambda k: 1.0 / float(special.i0e(k)) - ratio, 0.0, upper)
    return sharpness
