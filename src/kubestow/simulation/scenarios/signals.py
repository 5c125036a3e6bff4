"""Signals: values that change over time, such as demand or usage of a resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kubestow.model import decoding, quantities
from kubestow.model.decoding import OneOf, Seconds, ValueBounds

CONSTANT = "constant"
DIURNAL = "diurnal"
SEGMENTS = "segments"
TRACE = "trace"
# Traffic of McNaughton 2016 (4.6), segment by segment.
SHAPES = ("step-ladder", "jagged-edge", "increase-decrease", "flash-crowd", "flash-crowd-long")
PATTERNS = (CONSTANT, DIURNAL, SEGMENTS, TRACE, *SHAPES)
_NOTHING = quantities.Quantity(0)


@dataclass(frozen=True, slots=True)
class Segment:
    """An interval over which a signal changes linearly.

    Attributes:
        start: Value at the beginning.
        end: Value at the end; equal to the start if omitted.
        seconds: Duration.
    """

    start: quantities.Quantity
    seconds: Seconds
    end: quantities.Quantity | None = None


@dataclass(frozen=True, slots=True)
class Signal:
    """A value over time: a pattern, times a scale, times noise.

    Attributes:
        pattern: Shape over time. ``diurnal`` rises and falls once per period between its mean and
            its peak; ``segments`` is piecewise linear; ``trace`` comes from a file; the others are
            the traffic patterns of McNaughton 2016, in requests per second.
        mean: Value of ``constant``; mean of ``diurnal``.
        peak: Largest value of ``diurnal``.
        period: Period of ``diurnal``.
        peak_at: Time of the peak within the period.
        segments: Linear segments; the last value is held afterwards.
        trace: File with ``timestamp,value`` or with one column per series (CSV or Parquet).
        column: Column of the trace; the first value column if omitted.
        repeat: Repeat pattern or trace at its end instead of holding the last value.
        scale: Factor on all values.
        noise: Standard deviation of the relative noise (log-normal, mean 1).
        noise_time: Time in which the autocorrelation of the noise falls to 1/e.
    """

    pattern: Annotated[str, OneOf(PATTERNS)] = CONSTANT
    mean: quantities.Quantity = _NOTHING
    peak: quantities.Quantity = _NOTHING
    period: Annotated[Seconds, ValueBounds(above=0)] = 86400.0
    peak_at: Seconds = 50400.0
    segments: tuple[Segment, ...] = ()
    trace: str | None = None
    column: str | None = None
    repeat: bool = False
    scale: Annotated[float, ValueBounds(least=0)] = 1.0
    noise: Annotated[float, ValueBounds(least=0, most=3)] = 0.0
    noise_time: Annotated[Seconds, ValueBounds(above=0)] = 300.0

    def check(self, field: decoding.Field) -> None:
        """Refuse a pattern without its required fields."""
        needs = {
            CONSTANT: ("mean",),
            DIURNAL: ("mean", "peak"),
            SEGMENTS: ("segments",),
            TRACE: ("trace",),
        }
        for name in needs.get(self.pattern, ()):
            if field[name].missing:
                raise field[name].refuse(f"is needed by the pattern {self.pattern}")
        if self.pattern == SEGMENTS and not sum(piece.seconds for piece in self.segments) > 0.0:
            raise field["segments"].refuse("must last longer than 0 s")
        if self.pattern == DIURNAL:
            if self.peak.nano < self.mean.nano:
                raise field["peak"].refuse("must not be below the mean")
            if self.mean.nano == 0:
                raise field["mean"].refuse("must be above 0 for a diurnal pattern")
