"""A forecaster that learns with every point: what demand will be when new pods are ready.

It is meant for decisions every few seconds, so nothing is fitted anew. Four parts, each judged by
its own errors at the horizon that matters:

- *level*: exponential smoothing with several constants, and the last value itself (persistence);
  the one with the smallest squared error at the horizon counts. A jump beyond the usual spread
  resets all of them, so that smooth levels do not lag behind a change.
- *trend*: least-squares lines over the last points, the shortest window first; only a slope that
  stands out of the noise counts, damped, and only while its *skill* is clearly positive:
  ``1 - |errors of the trend| / |errors of persistence|`` over past forecasts at the horizon. Falls
  are judged in the same way, and followed to the next look, not to the horizon.
- *excess*: by how much the largest value until the horizon exceeded the forecast, in the past. Its
  quantile is the upper end of the forecast: a conformal band for the maximum of a window.
- *season*: the same quantile over the past values at this phase of a period (half an hour, an
  hour), which sees bursts that come by the clock. It counts only while its pinball loss is below
  the one of the quantile without a season.

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
# Places of the sums; lines have three each: losses of the line, losses of persistence, a count.
_SPREAD, _SPREAD_N, _FLAT_LOSS, _SEASON_LOSS, _SEASON_N = range(5)
_RISES, _FALLS, _SUMS = 5, 8, 11
# Falls nobody has judged yet must stand out so many times more than rises: pods that are gone are
# missed, pods too many only cost.
_FALL_DOUBT = 1.5
# A fall is followed to this share of the newest value at most.
_DEEPEST = 0.85
_KEPT = 96  # levels are kept this long: the longest horizon in steps


@dataclass(frozen=True, slots=True)
class OutlookParameters:
    """What the outlook goes by.

    Attributes:
        risk: Share of moments at which demand may exceed the upper end of the forecast.
        history_s: How far back excesses count for the season.
        recent_s: How far back they count without a season.
        periods_s: Periods by which bursts may come.
        significance: So many standard errors a slope must have to be a trend.
        doubt: So many it must have as long as no skill is known.
        margin: Skill above which a trend counts: a rise that is foretold only a little better than
            by persistence orders pods for nothing too often.
        damping: Each further step of a trend counts this much of the one before.
        jump: A value further from the level than so many usual distances is a jump.
        evidence: So many forecasts are judged before a skill is believed.
        memory: Weight of what was learnt before, per step.
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
    """What has been seen and learnt of one series.

    Attributes:
        tracks: One row each for values, forecasts of the mean, of the trend, excesses, and the two
            upper quantiles; one column per point, oldest first.
        levels: Past levels by smoothing constant, newest last.
        losses: Discounted squared errors by smoothing constant.
        sums: Further discounted sums.
    """

    tracks: Floats
    levels: Floats
    losses: Floats
    sums: Floats

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values; what is not known is ``None``."""
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
        found = {name: np.array(value[name], dtype=np.float64) for name in value}
        count = len(CONSTANTS)
        return cls(
            tracks=found["tracks"].reshape(SEASON + 1, -1),
            levels=found["levels"].reshape(count, -1),
            losses=found["losses"].reshape(count),
            sums=found["sums"].reshape(_SUMS),
        )


class Outlook(NamedTuple):
    """What is to be expected at the horizon.

    Attributes:
        level: Demand now, noise smoothed away.
        mean: Expected demand at the horizon; at present while demand falls.
        upper: What demand until the horizon stays below but for the risk.
        trend: Forecast of the trend; NaN if there is none.
        skill: Skill of trends against persistence; NaN before there is any evidence.
        judged: How many trends were judged, older ones counting less.
        trending: The trend drives the mean.
        falling: Demand goes down, and such falls have been foretold well.
        seasonal: The season drives the upper end.
        smoothing: Smoothing constant that was best; 1 is persistence.
    """

    level: float
    mean: float
    upper: float
    trend: float
    skill: float
    judged: float
    trending: bool
    falling: bool
    seasonal: bool
    smoothing: float


def begin() -> OutlookState:
    """Return the state before anything was seen."""
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
    """Take in a value and look ahead.

    Args:
        state: What was learnt before.
        value: The newest value.
        horizon: How many steps to look ahead.
        step_s: Length of a step.
        parameters: What to go by.
        window_s: Over how long a value was measured; windows longer than a step overlap, so that
            neighbours are alike and slopes look surer than they are.
        until_s: From the middle of what was measured to the next look; a fall is followed so far,
            not beyond, for pods go at once.
    """
    ahead = min(max(horizon, 1), _KEPT - 1)
    most = max(round(parameters.history_s / step_s), 2 * _KEPT)
    tracks = _longer(state.tracks, most)
    tracks[VALUE, -1] = value
    levels = _longer(state.levels, _KEPT)
    losses, sums = state.losses.copy(), state.sums.copy()
    periods = np.array([round(p / step_s) for p in parameters.periods_s], dtype=np.int64)
    alike = max(window_s / step_s, 1.0) ** 0.5
    numbers = _advance(
        tracks, levels, losses, sums, ahead, until_s / step_s, 1.0 - parameters.risk,
        max(round(parameters.recent_s / step_s), 20), periods[periods > 2 * ahead],
        parameters.significance * alike, parameters.doubt * alike, parameters.margin,
        parameters.damping,
        parameters.jump, float(parameters.evidence), parameters.memory,
    )  # fmt: skip
    level, mean, upper, trend, skill, trending, falling, seasonal, best = numbers
    found = Outlook(
        level=level,
        mean=mean,
        upper=upper,
        trend=trend,
        skill=skill,
        judged=float(sums[_RISES + 2]),
        trending=trending > 0.0,
        falling=falling > 0.0,
        seasonal=seasonal > 0.0,
        smoothing=float(CONSTANTS[int(best)]),
    )
    return found, OutlookState(tracks, levels, losses, sums)


def follow(found: Outlook, ahead: int, steps: int, parameters: OutlookParameters) -> Floats:
    """Return the expected demand of the next steps: level, and the damped trend if it counts.

    Args:
        found: What is to be expected.
        ahead: The horizon it was worked out for, in steps.
        steps: How many steps are asked for.
        parameters: What it goes by.
    """
    reach = np.cumsum(parameters.damping ** np.arange(1.0, max(steps, ahead) + 1.0))
    rise = found.mean - found.level if found.trending else 0.0
    path: Floats = found.level + rise * reach[:steps] / reach[ahead - 1]
    return path


def excesses(state: OutlookState, count: int) -> Floats:
    """Return the latest known excesses over the forecast, oldest first."""
    row = state.tracks[EXCESS]
    known: Floats = row[np.isfinite(row)][-count:]
    return known


def _longer(rows: Floats, most: int) -> Floats:
    """Return a copy with one more column, without the oldest where it would be too long."""
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
    """Do one step on arrays whose last column is to be filled in."""
    now = tracks.shape[1] - 1
    best = _smooth(tracks[VALUE], levels, losses, sums, ahead, jump, memory)
    level = levels[best, levels.shape[1] - 1]
    line, strength, present = _line(tracks[VALUE], ahead, lag, significance, damping)
    trend = line if strength > 0.0 else np.nan
    tracks[RISE, now] = trend
    tracks[FALL, now] = line if strength < 0.0 else np.nan
    skill = _judge(tracks, RISE, sums, _RISES, ahead, memory)
    fall_skill = _judge(tracks, FALL, sums, _FALLS, ahead, memory)
    known, fall_known = sums[_RISES + 2] >= evidence, sums[_FALLS + 2] >= evidence
    trending = trend > level and (skill > margin if known else strength > doubtful)
    sure = fall_skill > 0.0 if fall_known else strength < -_FALL_DOUBT * doubtful
    falling = strength < 0.0 and sure
    mean = trend if trending else level
    if falling and present < mean:
        # A line does not know when a fall ends: no further below what was seen than this.
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
    """Move all levels on, judge them at the horizon, and return the best one's row."""
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
    # An outlier must not make the usual distance so large that the next one passes for usual; but
    # a series that has been still (or persistence, whose distance is none) leaves nothing usual.
    counted = min(distance, 3.0 * usual) if usual > 0.0 else distance
    sums[_SPREAD] = memory * sums[_SPREAD] + counted * counted
    sums[_SPREAD_N] = memory * sums[_SPREAD_N] + 1.0
    return best


@compiled
def _line(
    values: Floats, ahead: int, lag: float, significance: float, damping: float
) -> tuple[float, float, float]:
    """Follow the shortest significant line.

    Returns:
        Its value at the horizon, its slope in standard errors, and its value at present.
    """
    reach, share = 0.0, 1.0
    for _ in range(ahead):
        share *= damping
        reach += share
    end = len(values)
    for window in _WINDOWS:
        # The first points tell of the start (windows that fill, queues that begin), not of demand.
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
    """Fit a line by least squares; return mean, slope per point and the slope's error."""
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
def _judge(tracks: Floats, row: int, sums: Floats, place: int, ahead: int, memory: float) -> float:
    """Compare the line that was foretold for now with persistence; return the skill so far."""
    now = tracks.shape[1] - 1
    if now >= ahead and not np.isnan(tracks[row, now - ahead]):
        value = tracks[VALUE, now]
        line_loss = abs(value - tracks[row, now - ahead])
        last_loss = abs(value - tracks[VALUE, now - ahead])
        sums[place] = memory * sums[place] + line_loss
        sums[place + 1] = memory * sums[place + 1] + last_loss
        sums[place + 2] = memory * sums[place + 2] + 1.0
    if sums[place + 1] <= 0.0:
        return np.nan
    return float(1.0 - sums[place] / sums[place + 1])


@compiled
def _learn_excess(tracks: Floats, sums: Floats, ahead: int, tau: float) -> None:
    """Work out the excess over the forecast whose window has just ended, and judge quantiles."""
    origin = tracks.shape[1] - 1 - ahead
    if origin < 0:
        return
    excess = tracks[VALUE, origin + 1 :].max() - tracks[MEAN, origin]
    tracks[EXCESS, origin] = excess
    flat, season = tracks[FLAT, origin], tracks[SEASON, origin]
    if np.isnan(flat) or np.isnan(season):
        return
    # Losses of a day and more count, for bursts are rare.
    sums[_FLAT_LOSS] = 0.9995 * sums[_FLAT_LOSS] + _pinball(excess - max(flat, 0.0), tau)
    sums[_SEASON_LOSS] = 0.9995 * sums[_SEASON_LOSS] + _pinball(excess - max(season, 0.0), tau)
    sums[_SEASON_N] += 1.0


@compiled
def _pinball(miss: float, tau: float) -> float:
    return tau * miss if miss > 0.0 else (tau - 1.0) * miss


@compiled
def _recent_quantile(excess: Floats, end: int, recent: int, tau: float) -> float:
    """Return the quantile of the latest excesses; NaN while there are too few."""
    begin = max(end - recent, 0)
    known = excess[begin : max(end, 0)]
    known = known[~np.isnan(known)]
    # Below this the quantile would be the largest value seen: split conformal needs 1 / (1 - tau).
    if len(known) < 8.0 / (1.0 - tau):
        return np.nan
    return float(np.quantile(known, tau))


@compiled
def _phase_quantile(
    excess: Floats, now: int, ahead: int, periods: NDArray[np.int64], tau: float
) -> float:
    """Return the largest quantile of the excesses at this phase of a period; NaN if unknown."""
    found = np.nan
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
            if not quantile <= found:
                found = quantile
    return found
