"""``vpa`` on arrays equals the scalar form that takes samples up one by one."""

from __future__ import annotations

import numpy as np

from kubestow.model import resources
from kubestow.model.usage import arrange
from kubestow.policies.sizing.vpa.recommender.estimator import VpaEstimator
from tests.policies.sizing import scenes
from tests.policies.sizing.vpa.oracle import news
from tests.policies.sizing.vpa.oracle.memory import VpaMemory
from tests.policies.sizing.vpa.oracle.recommender import ScalarVpa


def test_it_equals_the_scalar_form() -> None:
    rng = np.random.default_rng(5)
    step_s, points, rows = 3600.0, 72, 3
    cpu = rng.lognormal(-1.0, 0.6, (rows, points))
    memory = np.ceil(rng.lognormal(20.0, 0.2, (rows, points)))
    cpu[1, 10:20] = memory[1, 10:20] = np.nan
    end_s = 20_000 * 86400.0
    times_s = end_s - step_s * np.arange(points - 1, -1, -1, dtype=np.float64)
    remembered, vpa = VpaMemory(), ScalarVpa()
    for point, time_s in enumerate(times_s.tolist()):
        samples = tuple(
            news.UsageSample(time_s, f"p{row}", "c", float(cpu[row, point]), memory[row, point])
            for row in range(rows)
            if not np.isnan(cpu[row, point])
        )
        remembered = vpa.observe(remembered, news.UsageNews(time_s, samples))
    (sized,) = vpa.recommend(remembered)
    usage = arrange(["c"], np.zeros(rows, dtype=np.int64), step_s, end_s, cpu, memory)
    result = VpaEstimator().estimate(usage)
    for amounts, cores, size in (
        (sized.target, result.cpu_cores, result.memory_bytes),
        (sized.lower, result.lower_cpu_cores, result.lower_memory_bytes),
        (sized.upper, result.upper_cpu_cores, result.upper_memory_bytes),
    ):
        assert round(cores[0] * 1000.0) == resources.amount("cpu", amounts["cpu"])
        assert size[0] == resources.amount("memory", amounts["memory"])


def test_a_container_killed_at_a_size_gets_more() -> None:
    calm = scenes.usage([[0.1] * 10], [[3e8] * 10])
    killed = scenes.usage([[0.1] * 10], [[3e8] * 10], killed=[4e8])
    before = VpaEstimator().estimate(calm).memory_bytes[0]
    after = VpaEstimator().estimate(killed).memory_bytes[0]
    assert after > 1.2 * 4e8 > before


def test_what_was_never_measured_has_no_estimate() -> None:
    result = VpaEstimator().estimate(scenes.usage([[scenes.NAN] * 3], [[1e9, 1e9, 1e9]]))
    assert np.isnan(result.cpu_cores[0])
    assert result.memory_bytes[0] > 1e9


def test_a_day_of_constant_usage_gives_the_worked_numbers() -> None:
    usage = scenes.usage([[0.2] * 1440], [[300.0 * 2**20] * 1440])
    result = VpaEstimator().estimate(usage)
    # 200 m end in a bucket that ends at 215 m, plus 15 %: 215 + 32. Memory 300 MiB = 314572800 lies
    # in the bucket that ends at 2e8 * (1.05**20 - 1) = 330659541, plus 15 % = 380258472.
    assert result.cpu_cores[0] == 0.247
    assert result.memory_bytes[0] == 380258472
