"""Recommenders for short horizons: a forecast plus a margin for its error."""

from kubestow.policies.sizing.margins.arima import (
    ARIMA_MARGIN,
    ArimaMargin,
    ArimaMarginParameters,
    Fits,
    cpu_margin,
    fit,
    memory_margin,
)
from kubestow.policies.sizing.margins.arima_kernels import FITTED, SHORT
from kubestow.policies.sizing.margins.short import (
    SHORT_MARGIN,
    ShortMargin,
    ShortMarginParameters,
    forecast_amounts,
)

__all__ = [
    "ARIMA_MARGIN",
    "FITTED",
    "SHORT",
    "SHORT_MARGIN",
    "ArimaMargin",
    "ArimaMarginParameters",
    "Fits",
    "ShortMargin",
    "ShortMarginParameters",
    "cpu_margin",
    "fit",
    "forecast_amounts",
    "memory_margin",
]
