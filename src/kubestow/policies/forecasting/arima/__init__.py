"""ARIMA models of many series: order search, exact likelihood, state updates, unit-root tests.

The ARIMA of ``arima-margin`` (iterated least squares, Schubert 2023) is in ``sizing.margins``.
"""

from kubestow.policies.forecasting.arima.models import Arima, ArimaOptions, FittedArima
from kubestow.policies.forecasting.arima.polynomials import write_partials

__all__ = ["Arima", "ArimaOptions", "FittedArima", "write_partials"]
