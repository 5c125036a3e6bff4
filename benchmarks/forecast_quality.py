"""Accuracy of ``auto`` on spans of public web logs, and coverage on series that have gone flat.

    python -m benchmarks.forecast_quality DATA
    python -m benchmarks.forecast_quality DATA [FILE]     also writes the figures to FILE as JSON

- ``spans``: six spans of each web log below DATA, in steps of five minutes: mean absolute error
  over the next hour, fitted to the first 70 %, without a season, with the detected one, and with a
  day.
- ``flat``: the coverage of 90 % intervals where noise of 300 points is followed by a flat stretch.
- ``chance``: how many of 3000 series without a season get a day.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import outputs
from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import accuracy, backtests, registry, seasons

LOGS = (("req_nasa/requests_per_sec.txt.gz", 1), ("req_worldcup98/requests_per_min.txt.gz", 60))
STEP_S, STEPS, SPANS, DAY = 300, 12, 6, 288
LEVELS = (0.05, 0.1, 0.5, 0.9, 0.95)
FLAT = ("constant", "step", "tiny noise", "3 % peaks", "level shifts", "counts of 0", "few counts")
# How much of a value the next one keeps.
WITHOUT_SEASON = {
    "white noise": 0.0, "autoregression, 0.9": 0.9, "autoregression, 0.99": 0.99,
    "random walk": 1.0,
}  # fmt: skip
DAYS, SEEDS, SERIES = (4, 7, 14), 10, 300


def read_counts(path: Path, step_s: int) -> Floats:
    """Return the counts of a log in steps of five minutes."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        next(lines)
        counts = np.array([float(line) for line in lines])
    width = STEP_S // step_s
    whole = counts[: len(counts) // width * width]
    sums: Floats = whole.reshape(-1, width).sum(axis=1)
    return sums


def measure_error(values: Floats, season: int | None) -> float:
    """Return the mean absolute error of ``auto`` over the next hour."""
    model = registry.make_auto(registry.ForecastTask(STEP_S, STEPS, season=season))
    horizons = range(1, STEPS + 1)
    test = backtests.run(model, values[None, :], len(values) * 7 // 10, horizons)
    return float(np.nanmean(np.abs(test.actual - test.predicted)))


def measure_spans(data: Path) -> Iterator[dict[str, float | str]]:
    """Yield the errors on the spans of each log."""
    hints = registry.ForecastTask(STEP_S).hints()
    for name, step_s in LOGS:
        counts = read_counts(data / name, step_s)
        for number, values in enumerate(np.array_split(counts, SPANS)):
            training = values[None, : len(values) * 7 // 10]
            yield {
                "log": name.split("/")[0],
                "span": number + 1,
                "detected_hours": int(seasons.find(training, hints)[0]) * STEP_S / 3600,
                "no_season": measure_error(values, seasons.NONE),
                "auto": measure_error(values, None),
                "season_24h": measure_error(values, DAY),
            }


def make_flat(kind: str, seed: int) -> Floats:
    """Return 300 points of noise, then 600 that are flat."""
    rng = np.random.default_rng(seed)
    lively = rng.poisson(4.0, 300) if "counts" in kind else 5.0 + rng.normal(size=300)
    jumps = rng.random(600) < 0.03
    flat = {
        "constant": np.full(600, 1.55),
        "step": np.full(600, 20.0),
        "tiny noise": 1.55 + 1e-3 * rng.normal(size=600),
        "3 % peaks": 1.55 + np.where(jumps, rng.exponential(1.0, 600), 0.0),
        "level shifts": 1.55 + np.cumsum(np.where(jumps, rng.normal(size=600), 0.0)),
        "counts of 0": np.zeros(600),
        "few counts": rng.poisson(0.05, 600),
    }[kind]
    return np.concatenate((lively, flat))


def measure_flat() -> Iterator[dict[str, float | str]]:
    """Yield the coverage of each model, from 30 points after the series went flat."""
    for name in registry.FORECASTERS.names():
        if "gru" in name:  # its training takes minutes
            continue
        for kind in FLAT:
            rows = np.stack([make_flat(kind, seed) for seed in range(8)])
            entry = registry.FORECASTERS.get(name)
            model = entry.make_intervals(registry.ForecastTask(STEP_S, STEPS))
            test = backtests.run_with_intervals(model, rows, 330, range(1, STEPS + 1), LEVELS)
            shares = accuracy.coverage(test.means.actual, test.quantiles, LEVELS, 0.9)
            yield {"model": name, "part": kind, "coverage": float(shares.mean())}


def make_without_season(kept: float, days: int, seed: int) -> Floats:
    """Return series without a season, one per row."""
    values = np.random.default_rng(seed).normal(size=(SERIES, days * DAY))
    for at in range(1, values.shape[1]):
        values[:, at] += kept * values[:, at - 1]
    return values


def measure_chance() -> Iterator[dict[str, float | str]]:
    """Yield how many series without a season get a day."""
    hints = registry.ForecastTask(STEP_S).hints()
    for kind, kept in WITHOUT_SEASON.items():
        for days in DAYS:
            batches = (make_without_season(kept, days, seed) for seed in range(SEEDS))
            with_day = sum(int((seasons.find(rows, hints) == DAY).sum()) for rows in batches)
            yield {"series": kind, "days": days, "of": SEEDS * SERIES, "with_a_day": with_day}


if __name__ == "__main__":
    measured = {
        "chance": list(measure_chance()),
        "flat": list(measure_flat()),
        "spans": list(measure_spans(Path(sys.argv[1]))),
    }
    sys.exit(outputs.write(measured, position=2))
