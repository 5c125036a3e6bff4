"""``vpa`` on a batch equals the recommender that takes samples up one by one."""

from __future__ import annotations

import numpy as np

from kubestow.model import resources
from kubestow.policies.sizing import batches, histories, protocols
from kubestow.policies.sizing.vpa.recommender import batch as recommender_batch
from kubestow.policies.sizing.vpa.recommender import recommender
from tests.policies.sizing import scenes


def test_it_equals_the_recommender_of_one_workload() -> None:
    rng = np.random.default_rng(5)
    step_s, points, rows = 3600.0, 72, 3
    cpu = rng.lognormal(-1.0, 0.6, (rows, points))
    memory = np.ceil(rng.lognormal(20.0, 0.2, (rows, points)))
    cpu[1, 10:20] = memory[1, 10:20] = np.nan
    end_s = 20_000 * 86400.0
    times_s = end_s - step_s * np.arange(points - 1, -1, -1, dtype=np.float64)
    series = tuple(
        histories.ContainerSeries(f"p{row}", "c", times_s, cpu[row], memory[row])
        for row in range(rows)
    )
    told = recommender.Vpa().recommend(
        histories.UsageHistory(series), protocols.SizingContext("ns/Deployment/w", end_s)
    )
    batch = batches.make(["c"], np.zeros(rows, dtype=np.int64), step_s, end_s, cpu, memory)
    found = recommender_batch.VpaEstimator().estimate(batch)
    sized = told.of("c")
    assert sized is not None
    for amounts, cores, size in (
        (sized.target, found.cpu_cores, found.memory_bytes),
        (sized.lower, found.lower_cpu_cores, found.lower_memory_bytes),
        (sized.upper, found.upper_cpu_cores, found.upper_memory_bytes),
    ):
        assert round(cores[0] * 1000.0) == resources.amount("cpu", amounts["cpu"])
        assert size[0] == resources.amount("memory", amounts["memory"])


def test_a_container_killed_at_a_size_gets_more() -> None:
    calm = scenes.batch([[0.1] * 10], [[3e8] * 10])
    killed = scenes.batch([[0.1] * 10], [[3e8] * 10], killed=[4e8])
    before = recommender_batch.VpaEstimator().estimate(calm).memory_bytes[0]
    after = recommender_batch.VpaEstimator().estimate(killed).memory_bytes[0]
    assert after > 1.2 * 4e8 > before


def test_what_was_never_measured_has_no_estimate() -> None:
    found = recommender_batch.VpaEstimator().estimate(
        scenes.batch([[scenes.NAN] * 3], [[1e9, 1e9, 1e9]])
    )
    assert np.isnan(found.cpu_cores[0])
    assert found.memory_bytes[0] > 1e9
