"""Comparison of forecasters on real traces: series, split and error.

Two protocols. The *share* protocol fits to the first 70 % of each series and rolls the origin over
the rest, at 1, 5 and 15 minutes ahead where the step allows; the error is MASE on the scale of one
step. The *window* protocol is that of the GIFT-Eval benchmark, for comparison with published
figures: the last tenth as at most 20 windows without overlap, MASE on the scale of the season,
    equal
weights for all steps of a window. Both fit once, before the first origin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kubestow.model import time_series
from kubestow.policies.forecasting import accuracy, backtests, protocols, registry
from kubestow.sources import traces

SHARE = 0.7
HORIZONS_S = (60.0, 300.0, 900.0)
TEST_SHARE = 0.1
MOST_WINDOWS = 20

APPLICATION = ("Robot-Shop:latency.mean", "Robot-Shop:calls.sum")
"""The two columns of the application set that GIFT-Eval forecasts."""

ORDERS = ("Weekly average order cycle time", "activity_")
"""Prefixes of the seven columns of the order set that GIFT-Eval forecasts."""

Make = Callable[[registry.ForecastTask], protocols.PointForecaster]


@dataclass(frozen=True, slots=True, eq=False)
class ForecastTrace:
    """Series of one family.

    Attributes:
        family: The data set.
        name: Its part of the data set.
        grid: The series.
    """

    family: str
    name: str
    grid: time_series.TimeGrid


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """Errors of one model on one trace.

    Attributes:
        horizons: Steps ahead.
        mase: By series and horizon; ``nan`` for series that never changed in training.
        fit_s: Seconds spent on fitting.
        predict_s: Seconds spent on forecasting.
    """

    horizons: tuple[int, ...]
    mase: NDArray[np.float64]
    fit_s: float
    predict_s: float

    def mean(self) -> float:
        """Return the mean over series and horizons."""
        return float(np.nanmean(self.mase))


def read_traces(folder: Path, families: Sequence[str] = ()) -> Iterator[ForecastTrace]:
    """Yield the public traces below a folder, all at steps of a minute or more.

    Args:
        folder: Folder of the data sets, one folder each.
        families: Names of data sets; all if empty.
    """
    for family, read in _READERS.items():
        if (not families or family in families) and (folder / family).is_dir():
            for name, grid in read(folder / family):
                yield ForecastTrace(family, name, grid)


def choose_horizons(step_s: float) -> tuple[int, ...]:
    """Return 1, 5 and 15 minutes in steps, without those shorter than a step."""
    steps = (round(horizon_s / step_s) for horizon_s in HORIZONS_S if horizon_s >= step_s)
    return tuple(sorted(set(steps)))


def score(
    trace: ForecastTrace,
    make: Make,
    *,
    share: float = SHARE,
    until: float = 1.0,
    clock: backtests.Clock = lambda: 0.0,
) -> Score:
    """Measure one model by the share protocol.

    Args:
        trace: The series.
        make: Creates the model for a task.
        share: Share of the points it is fitted to.
        until: Share of the points that are used; the rest is left out.
        clock: Returns seconds.
    """
    values = trace.grid.values[:, : int(until * trace.grid.values.shape[1])]
    begin = int(share * trace.grid.values.shape[1])
    horizons = choose_horizons(trace.grid.step_s)
    task = registry.ForecastTask(trace.grid.step_s, max(horizons), horizons)
    test = backtests.run(make(task), values, begin, horizons, clock=clock)
    scales = accuracy.scale(values[:, :begin])
    mase = np.stack(
        [
            accuracy.measure(test.actual[:, :, k], test.predicted[:, :, k], scales).mase
            for k in range(len(horizons))
        ],
        axis=1,
    )
    return Score(horizons, mase, test.fit_s, test.predict_s)


def compare(
    traces: Iterable[ForecastTrace], models: Sequence[str], clock: backtests.Clock = lambda: 0.0
) -> dict[str, dict[str, float]]:
    """Return the mean MASE of models by family; traces of a family have equal weight.

    Args:
        traces: The series (``read_traces``).
        models: Names of models.
        clock: Returns seconds.
    """
    by_family: dict[str, dict[str, list[float]]] = {}
    for trace in traces:
        family = by_family.setdefault(trace.family, {name: [] for name in models})
        for name in models:
            family[name].append(
                score(trace, registry.FORECASTERS.get(name).make, clock=clock).mean()
            )
    return {
        family: {name: float(np.mean(scores)) for name, scores in by_model.items()}
        for family, by_model in by_family.items()
    }


def place_windows(points: int, steps: int) -> int:
    """Return the number of windows in the last tenth, at most 20."""
    return min(max(1, math.ceil(TEST_SHARE * points / steps)), MOST_WINDOWS)


def score_windows(
    grid: time_series.TimeGrid,
    make: Make,
    steps: int,
    season: int,
    *,
    refit_every: int = 0,
    clock: backtests.Clock = lambda: 0.0,
) -> Score:
    """Measure one model by the window protocol.

    Args:
        grid: The series.
        make: Creates the model for a task.
        steps: Length of a window.
        season: Season of the scale, in steps; the scale of a window is of all points before it.
        refit_every: Number of windows between two fits; 0 for one fit only.
        clock: Returns seconds.
    """
    values = grid.values
    count = place_windows(values.shape[1], steps)
    begin = values.shape[1] - count * steps
    task = registry.ForecastTask(grid.step_s, steps)
    horizons = range(1, steps + 1)
    test = backtests.run(
        make(task),
        values[:, : begin + count * steps],
        begin,
        horizons,
        stride=steps,
        refit_every=refit_every,
        clock=clock,
    )
    errors = np.abs(test.actual - test.predicted)[:, :count]
    scales = np.stack([accuracy.scale(values[:, :o], season) for o in test.origins[:count]], 1)
    mase = (errors / scales[:, :, None]).mean(axis=1)
    return Score(tuple(horizons), mase, test.fit_s, test.predict_s)


def read_application(folder: Path) -> time_series.TimeGrid:
    """Read the application set (10 s; windows of 60 steps, season of 360)."""
    return traces.read_table(folder / "Application.csv.gz", "date", APPLICATION)


def read_orders(folder: Path) -> time_series.TimeGrid:
    """Read the order set (5 min; windows of 48 steps, season of 288)."""
    grid = traces.read_table(folder / "L2C.csv.gz", "date")
    return grid.pick(tuple(name for name in grid.names if name.startswith(ORDERS)))


_Named = Iterator[tuple[str, time_series.TimeGrid]]


def _read_tables(times: str, column: str, pattern: str = "*.csv.gz") -> Callable[[Path], _Named]:
    def read(folder: Path) -> _Named:
        for path in sorted(folder.glob(pattern)):
            yield path.name.removesuffix(".csv.gz"), traces.read_table(path, times, (column,))

    return read


def _read_seconds(folder: Path) -> _Named:
    yield "minutes", traces.read_counts(folder / "requests_per_sec.txt.gz").coarsen(60)


def _read_minutes(folder: Path) -> _Named:
    yield "minutes", traces.read_counts(folder / "requests_per_min.txt.gz")


def _read_machines(folder: Path) -> _Named:
    yield "cpu", traces.read_machines(folder / "series.npz")


def _read_aggregates(folder: Path) -> _Named:
    for path in sorted(folder.glob("*_300_seconds*.csv.gz")):
        yield path.name.split("__")[0], traces.read_untimed(path, 300.0)


def _read_jobs(folder: Path) -> _Named:
    yield "cpu", traces.read_cube(folder / "vms.npz", 0)


def _read_days(folder: Path) -> _Named:
    yield from traces.read_days(folder / "days.npz").items()


_READERS: dict[str, Callable[[Path], _Named]] = {
    "req_worldcup98": _read_minutes,
    "req_nasa": _read_seconds,
    "req_twitter": _read_seconds,
    "crane_dsp": _read_tables("ts", "value"),
    "req_ms_cloud_monitoring": _read_tables("TimeStamp", "Value", "[!c]*.csv.gz"),
    "bitbrains_rnd": _read_machines,
    "nab_cloudwatch": _read_tables("timestamp", "value"),
    "req_nab_tweets": _read_tables("timestamp", "value"),
    "dc_aggregates": _read_aggregates,
    "google2011_vms": _read_jobs,
    "planetlab_cpu": _read_days,
}
"""Readers of the data sets. The purchases of cloud monitoring are left out: they are hourly."""
