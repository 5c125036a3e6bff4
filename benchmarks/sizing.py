"""Speed of recommenders on a large cluster: 10000 containers, a week at five minutes.

Every recommender sizes all containers at once; ``auto`` runs its candidates in parallel on two
cores as ``kubestow recommend`` does. ``arima-margin`` and ``q-learning`` fit or learn per container
and are left out. Floors are relative to one NumPy percentile of the same data, which also takes
longer on a slower machine. Both are CPU time, so that other work on the machine does not count.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from concurrent import futures
from typing import NamedTuple

import numpy as np

from kubestow.model.usage import Usage, arrange
from kubestow.policies.sizing import estimates, registry
from kubestow.policies.sizing.judging import tournament

CONTAINERS, POINTS, STEP_S, DAY_S = 10_000, 2016, 300.0, 86400.0
WORKERS = 2
LEFT_OUT = ("keep", "arima-margin", "q-learning")
NAMES = tuple(name for name in registry.RECOMMENDERS if name not in LEFT_OUT)


def make_usage(containers: int = CONTAINERS) -> Usage:
    """Return usage with a daily cycle and noise."""
    rng = np.random.default_rng(5)
    day = 1.0 + 0.4 * np.sin(2.0 * np.pi * np.arange(POINTS) * STEP_S / DAY_S)
    shape = (containers, POINTS)
    cpu = rng.lognormal(-2.0, 1.0, (containers, 1)) * day * rng.lognormal(0.0, 0.2, shape)
    memory = rng.lognormal(19.5, 1.0, (containers, 1)) * day**0.2 * rng.lognormal(0.0, 0.03, shape)
    names = [str(number) for number in range(containers)]
    return arrange(names, np.arange(containers), STEP_S, 1_760_000_000.0, cpu, memory)


def make_estimator(name: str, pool: futures.Executor) -> estimates.Estimator:
    """Return a recommender with its default parameters."""
    entry = registry.RECOMMENDERS.get(name)
    estimator = entry.make_estimator(entry.parameters())
    if isinstance(estimator, tournament.Tournament):
        return dataclasses.replace(estimator, mapper=pool.map)
    return estimator


class Duration(NamedTuple):
    """Duration of a function call.

    Attributes:
        elapsed_s: Elapsed time in seconds.
        processor_s: CPU time of all cores in seconds.
    """

    elapsed_s: float
    processor_s: float


def measure_time(work: Callable[[], object]) -> Duration:
    """Call a function and return its duration."""
    begin_s, processor_s = time.perf_counter(), time.process_time()
    work()
    return Duration(time.perf_counter() - begin_s, time.process_time() - processor_s)


def measure_all() -> dict[str, Duration]:
    """Return the duration of each recommender and of a NumPy percentile."""
    usage = make_usage()
    few = usage.of(0, 50)
    durations = {"numpy": measure_time(lambda: np.quantile(usage.cpu_cores, 0.95, axis=1))}
    with futures.ThreadPoolExecutor(WORKERS) as pool:
        for name in NAMES:
            estimator = make_estimator(name, pool)
            estimator.estimate(few)  # compiles
            durations[name] = measure_time(functools.partial(estimator.estimate, usage))
    return durations


def measure() -> dict[str, float]:
    """Return the cost of a NumPy percentile / each recommender, and their total speed."""
    took = measure_all()
    numpy_s = took.pop("numpy").processor_s
    ratios = {
        f"numpy_percentile_over_{name}": numpy_s / one.processor_s for name, one in took.items()
    }
    return {
        **ratios,
        "numpy_percentile_over_all": numpy_s / sum(one.processor_s for one in took.values()),
        "containers_per_second_all": CONTAINERS / sum(one.elapsed_s for one in took.values()),
    }


if __name__ == "__main__":
    everything = measure_all()
    for key, one in everything.items():
        print(f"{key}: {one.elapsed_s:.2f} s, {one.processor_s:.2f} s of CPU time")
    elapsed_s = [one.elapsed_s for key, one in everything.items() if key != "numpy"]
    print(f"all recommenders: {sum(elapsed_s):.2f} s")
