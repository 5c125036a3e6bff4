"""An online forecaster: what demand will be when new pods are ready.

It is meant for decisions every few seconds, so nothing is refitted. It has four parts, each
evaluated by its own errors at the relevant horizon:

- *level*: exponential smoothing with several constants, and the last value itself (persistence);
  the one with the smallest squared error at the horizon is used. A jump beyond the usual spread
  resets all of them, so that smooth levels do not lag behind a change.
- *trend*: least-squares lines over the last points, the shortest window first; only a significant
  slope counts, damped, and only while its *skill* is clearly positive:
  ``1 - |errors of the trend| / |errors of persistence|`` over past forecasts at the horizon. Falls
  are evaluated in the same way, but extrapolated only to the next sync, not to the horizon.
- *excess*: by how much the maximum until the horizon exceeded past forecasts. Its quantile gives
  the upper end of the forecast: a conformal band for the maximum of a window.
- *season*: the same quantile over past excesses at this phase of a period (half an hour, an hour),
  which captures bursts that recur at fixed times. It is used only while its pinball loss is below
  that of the quantile without a season.

All state is in one frozen object of plain arrays; ``advance`` returns the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled

# Smoothing constants; 1 is persistence.
CONSTANTS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0])
# Windows of the lines, in points.
_WINDOWS = np.array([12, 20, 32])
# Rows of the tracks.
VALUE, MEAN, RISE, FALL, EXCESS, FLAT, SEASON = range(7)
# Positions in the sums; lines have three each: loss of the line, loss of persistence, count.
_SPREAD, _SPREAD_N, _FLAT_LOSS, _SEASON_LOSS, _SEASON_N = range(5)
_RISES, _FALLS, _SUMS = 5, 8, 11
# Falls without known skill must be this many times more significant than rises: missing pods hurt,
# surplus pods only cost.
_FALL_DOUBT = 1.5
# A fall is extrapolated down to this share of the newest value at most.
_DEEPEST = 0.85
_KEPT = 96  # length of the history of levels: the longest horizon in steps


@dataclass(frozen=True, slots=True)
class OutlookParameters:
    """Parameters of the outlook.

    Attributes:
        risk: Share of time in which demand may exceed the upper end of the forecast.
        history_s: How far back excesses count for the season, in seconds.
        recent_s: How far back they count without a season, in seconds.
        periods_s: Periods at which bursts may recur, in seconds.
        significance: Minimum slope of a trend, in standard errors.
        doubt: Minimum slope while no skill is known, in standard errors.
        margin: Minimum skill of a trend: one that is only slightly better than persistence orders
            unnecessary pods too often.
        damping: Factor by which each further step of a trend is damped.
        jump: A value further from the level than this many usual distances is a jump.
        evidence: Number of evaluated forecasts before a skill is used.
        memory: Discount factor of past errors, per step.
    """

    risk: float = 0.1
    history_s: float = 86400.0
    recent_s: float = 3600.0
    periods_s: tuple[float, ...] = (1800.0, 3600.0)
    significance: float = 2.5
    doubt: float = 4.0
    margin: float = 0.2
    damping: float = 0.9
    jump: float = 1.5
    evidence: int = 6
    memory: float = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class OutlookState:
    """The learnt state of one series.

    Attributes:
        tracks: One row each for values, forecasts of the mean, of the trend, excesses, and the two
            upper quantiles; one column per point, oldest first.
        levels: Past levels by smoothing constant, newest last.
        losses: Discounted squared errors by smoothing constant.
        sums: Other discounted sums.
    """

    tracks: Floats
    levels: Floats
    losses: Floats
    sums: Floats

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values; unknown values are ``None``."""
        return {
            name: [[None if np.isnan(v) else float(v) for v in row] for row in np.atleast_2d(part)]
            for name, part in (
                ("tracks", self.tracks),
                ("levels", self.levels),
                ("losses", self.losses),
                ("sums", self.sums),
            )
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OutlookState:
        """Return the state that ``as_json`` wrote."""
        parts = {name: np.array(value[name], dtype=np.float64) for name in value}
        count = len(CONSTANTS)
        return cls(
            tracks=parts["tracks"].reshape(SEASON + 1, -1),
            levels=parts["levels"].reshape(count, -1),
            losses=parts["losses"].reshape(count),
            sums=parts["sums"].reshape(_SUMS),
        )


class Outlook(NamedTuple):
    """The forecast for the horizon.

    Attributes:
        level: Smoothed current demand.
        mean: Expected demand at the horizon; at the next sync while demand falls.
        upper: Level that demand until the horizon exceeds only with probability ``risk``.
        trend: Forecast of the trend; NaN if there is none.
        skill: Skill of trends against persistence; NaN before there is any evidence.
        evaluated: Discounted number of evaluated trends.
        trending: Whether the trend determines the mean.
        falling: Whether demand falls and falls have been forecast well.
        seasonal: Whether the season determines the upper end.
        smoothing: Best smoothing constant; 1 is persistence.
    """

    level: float
    mean: float
    upper: float
    trend: float
    skill: float
    evaluated: float
    trending: bool
    falling: bool
    seasonal: bool
    smoothing: float


def begin() -> OutlookState:
    """Return the initial state."""
    return OutlookState(
        tracks=np.empty((SEASON + 1, 0)),
        levels=np.empty((len(CONSTANTS), 0)),
        losses=np.zeros(len(CONSTANTS)),
        sums=np.zeros(_SUMS),
    )


def advance(
    state: OutlookState,
    value: float,
    horizon: int,
    step_s: float,
    parameters: OutlookParameters,
    window_s: float = 0.0,
    until_s: float = 0.0,
) -> tuple[Outlook, OutlookState]:
    """Update the state with a value and forecast.

    Args:
        state: State before.
        value: The newest value.
        horizon: Forecast horizon in steps.
        step_s: Length of a step in seconds.
        parameters: Parameters.
        window_s: Averaging window of a value in seconds; windows longer than a step overlap, so
            that neighbouring values are correlated and slopes seem more significant than they are.
        until_s: Seconds from the middle of the measurement to the next sync; a fall is extrapolated
            that far and no further, because pods are removed at once.
    """
    ahead = min(max(horizon, 1), _KEPT - 1)
    most = max(round(parameters.history_s / step_s), 2 * _KEPT)
    tracks = _longer(state.tracks, most)
    tracks[VALUE, -1] = value
    levels = _longer(state.levels, _KEPT)
    losses, sums = state.losses.copy(), state.sums.copy()
    periods = np.array([round(p / step_s) for p in parameters.periods_s], dtype=np.int64)
    inflation = max(window_s / step_s, 1.0) ** 0.5
    numbers = _advance(
        tracks, levels, losses, sums, ahead, until_s / step_s, 1.0 - parameters.risk,
        max(round(parameters.recent_s / step_s), 20), periods[periods > 2 * ahead],
        parameters.significance * inflation, parameters.doubt * inflation, parameters.margin,
        parameters.damping,
        parameters.jump, float(parameters.evidence), parameters.memory,
    )  # fmt: skip
    level, mean, upper, trend, skill, trending, falling, seasonal, best = numbers
    outlook = Outlook(
        level=level,
        mean=mean,
        upper=upper,
        trend=trend,
        skill=skill,
        evaluated=float(sums[_RISES + 2]),
        trending=trending > 0.0,
        falling=falling > 0.0,
        seasonal=seasonal > 0.0,
        smoothing=float(CONSTANTS[int(best)]),
    )
    return outlook, OutlookState(tracks, levels, losses, sums)


def follow(outlook: Outlook, ahead: int, steps: int, parameters: OutlookParameters) -> Floats:
    """Return the expected demand of the next steps: the level plus the damped trend, if used.

    Args:
        outlook: The forecast.
        ahead: Its horizon, in steps.
        steps: Number of steps to return.
        parameters: Its parameters.
    """
    reach = np.cumsum(parameters.damping ** np.arange(1.0, max(steps, ahead) + 1.0))
    rise = outlook.mean - outlook.level if outlook.trending else 0.0
    path: Floats = outlook.level + rise * reach[:steps] / reach[ahead - 1]
    return path


def excesses(state: OutlookState, count: int) -> Floats:
    """Return the latest known excesses over the forecast, oldest first."""
    row = state.tracks[EXCESS]
    known: Floats = row[np.isfinite(row)][-count:]
    return known


def _longer(rows: Floats, most: int) -> Floats:
    """Return a copy with one more column, dropping the oldest beyond ``most``."""
    kept = rows[:, -(most - 1) :] if rows.shape[1] else rows
    longer = np.empty((rows.shape[0], kept.shape[1] + 1))
    longer[:, :-1] = kept
    longer[:, -1] = np.nan
    return longer


@compiled
def _advance(
    tracks: Floats,
    levels: Floats,
    losses: Floats,
    sums: Floats,
    ahead: int,
    lag: float,
    tau: float,
    recent: int,
    periods: NDArray[np.int64],
    significance: float,
    doubtful: float,
    margin: float,
    damping: float,
    jump: float,
    evidence: float,
    memory: float,
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Advance one step; the last column of the arrays is filled in."""
    now = tracks.shape[1] - 1
    best = _smooth(tracks[VALUE], levels, losses, sums, ahead, jump, memory)
    level = levels[best, levels.shape[1] - 1]
    line, strength, present = _line(tracks[VALUE], ahead, lag, significance, damping)
    trend = line if strength > 0.0 else np.nan
    tracks[RISE, now] = trend
    tracks[FALL, now] = line if strength < 0.0 else np.nan
    skill = _update_skill(tracks, RISE, sums, _RISES, ahead, memory)
    fall_skill = _update_skill(tracks, FALL, sums, _FALLS, ahead, memory)
    known, fall_known = sums[_RISES + 2] >= evidence, sums[_FALLS + 2] >= evidence
    trending = trend > level and (skill > margin if known else strength > doubtful)
    sure = fall_skill > 0.0 if fall_known else strength < -_FALL_DOUBT * doubtful
    falling = strength < 0.0 and sure
    mean = trend if trending else level
    if falling and present < mean:
        # A line does not show when a fall ends: limit how far below the last value it goes.
        mean = min(mean, max(present, _DEEPEST * tracks[VALUE, now]))
    tracks[MEAN, now] = mean
    _learn_excess(tracks, sums, ahead, tau)
    flat = _recent_quantile(tracks[EXCESS], now - ahead, recent, tau)
    season = _phase_quantile(tracks[EXCESS], now, ahead, periods, tau)
    tracks[FLAT, now], tracks[SEASON, now] = flat, season
    excess, seasonal = flat, 0.0
    better = sums[_SEASON_N] < evidence or sums[_SEASON_LOSS] < sums[_FLAT_LOSS]
    if season == season and better and not season < flat:
        excess, seasonal = season, 1.0
    upper = mean + (excess if excess > 0.0 else 0.0)
    flags = (1.0 if trending else 0.0, 1.0 if falling else 0.0, seasonal)
    return level, mean, upper, trend, skill, *flags, float(best)


@compiled
def _smooth(
    values: Floats,
    levels: Floats,
    losses: Floats,
    sums: Floats,
    ahead: int,
    jump: float,
    memory: float,
) -> int:
    """Update all levels, evaluate them at the horizon, and return the row of the best one."""
    last = levels.shape[1] - 1
    value = values[len(values) - 1]
    for row in range(len(CONSTANTS)):
        before = levels[row, last - 1] if last > 0 else value
        levels[row, last] = before + CONSTANTS[row] * (value - before)
        if last >= ahead:
            losses[row] = memory * losses[row] + (value - levels[row, last - ahead]) ** 2
    best = len(CONSTANTS) - 1
    for row in range(len(CONSTANTS)):
        if losses[row] < losses[best]:
            best = row
    distance = abs(value - levels[best, last])
    usual = np.inf
    if sums[_SPREAD_N] > 5.0:
        usual = (sums[_SPREAD] / sums[_SPREAD_N]) ** 0.5
    if distance > jump * usual:
        for row in range(len(CONSTANTS)):
            levels[row, last] = value
    # An outlier must not inflate the usual distance so much that the next one seems usual; but a
    # constant series (or persistence, whose distance is 0) has no usual distance.
    counted = min(distance, 3.0 * usual) if usual > 0.0 else distance
    sums[_SPREAD] = memory * sums[_SPREAD] + counted * counted
    sums[_SPREAD_N] = memory * sums[_SPREAD_N] + 1.0
    return best


@compiled
def _line(
    values: Floats, ahead: int, lag: float, significance: float, damping: float
) -> tuple[float, float, float]:
    """Extrapolate the shortest significant line.

    Returns:
        Its value at the horizon, its slope in standard errors, and its value at the next sync.
    """
    reach, share = 0.0, 1.0
    for _ in range(ahead):
        share *= damping
        reach += share
    end = len(values)
    for window in _WINDOWS:
        # The first points show the start-up (filling windows, first queues), not demand.
        if window > end - ahead:
            break
        mean, slope, error = _fit(values[end - window :])
        if slope != 0.0 and abs(slope) > significance * error:
            half = (window - 1) / 2.0
            line = mean + slope * (half + reach)
            present = mean + slope * (half + lag)
            return max(line, 0.0), slope / error, max(present, 0.0)
    return np.nan, 0.0, np.nan


@compiled
def _fit(values: Floats) -> tuple[float, float, float]:
    """Fit a line by least squares; return mean, slope per point and its standard error."""
    count = len(values)
    half = (count - 1) / 2.0
    mean = values.mean()
    across, squares = 0.0, 0.0
    for k in range(count):
        across += (k - half) * values[k]
        squares += (k - half) ** 2
    slope = across / squares
    rest = 0.0
    for k in range(count):
        rest += (values[k] - mean - slope * (k - half)) ** 2
    return mean, slope, (rest / (count - 2) / squares) ** 0.5


@compiled
def _update_skill(
    tracks: Floats, row: int, sums: Floats, position: int, ahead: int, memory: float
) -> float:
    """Compare the line that was forecast for now with persistence; return the skill so far."""
    now = tracks.shape[1] - 1
    if now >= ahead and not np.isnan(tracks[row, now - ahead]):
        value = tracks[VALUE, now]
        line_loss = abs(value - tracks[row, now - ahead])
        last_loss = abs(value - tracks[VALUE, now - ahead])
        sums[position] = memory * sums[position] + line_loss
        sums[position + 1] = memory * sums[position + 1] + last_loss
        sums[position + 2] = memory * sums[position + 2] + 1.0
    if sums[position + 1] <= 0.0:
        return np.nan
    return float(1.0 - sums[position] / sums[position + 1])


@compiled
def _learn_excess(tracks: Floats, sums: Floats, ahead: int, tau: float) -> None:
    """Compute the excess over the forecast whose window has just ended; update quantile losses."""
    origin = tracks.shape[1] - 1 - ahead
    if origin < 0:
        return
    excess = tracks[VALUE, origin + 1 :].max() - tracks[MEAN, origin]
    tracks[EXCESS, origin] = excess
    flat, season = tracks[FLAT, origin], tracks[SEASON, origin]
    if np.isnan(flat) or np.isnan(season):
        return
    # Losses of a day and more count, because bursts are rare.
    sums[_FLAT_LOSS] = 0.9995 * sums[_FLAT_LOSS] + _pinball(excess - max(flat, 0.0), tau)
    sums[_SEASON_LOSS] = 0.9995 * sums[_SEASON_LOSS] + _pinball(excess - max(season, 0.0), tau)
    sums[_SEASON_N] += 1.0


@compiled
def _pinball(miss: float, tau: float) -> float:
    return tau * miss if miss > 0.0 else (tau - 1.0) * miss


@compiled
def _recent_quantile(excess: Floats, end: int, recent: int, tau: float) -> float:
    """Return the quantile of the latest excesses; NaN if there are too few."""
    begin = max(end - recent, 0)
    known = excess[begin : max(end, 0)]
    known = known[~np.isnan(known)]
    # Below this the quantile would be the largest excess: split conformal needs 1 / (1 - tau).
    if len(known) < 8.0 / (1.0 - tau):
        return np.nan
    return float(np.quantile(known, tau))


@compiled
def _phase_quantile(
    excess: Floats, now: int, ahead: int, periods: NDArray[np.int64], tau: float
) -> float:
    """Return the largest quantile of the excesses at this phase of a period; NaN if unknown."""
    largest = np.nan
    for period in periods:
        cycles = now // period
        peaks = np.empty(cycles)
        count = 0
        for cycle in range(1, cycles + 1):
            centre = now - cycle * period
            peak = -np.inf
            for at in range(max(centre - 2, 0), min(centre + 3, now - ahead)):
                if excess[at] > peak:
                    peak = excess[at]
            if peak > -np.inf:
                peaks[count] = peak
                count += 1
        if count >= 6:
            quantile = np.quantile(peaks[:count], tau)
            if not quantile <= largest:
                largest = quantile
    return largest
