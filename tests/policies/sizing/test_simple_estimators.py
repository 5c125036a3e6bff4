"""``percentile``, ``krr-simple`` and ``level-sigma``: worked numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubestow.policies.sizing import krr, level_sigma, percentile
from tests.policies.sizing import scenes

NAN = scenes.NAN


def test_percentiles_of_the_largest_pod_with_the_margin() -> None:
    # Pod 1: 0 .. 100, P95 = 95; pod 2: 50 always. The largest pod counts: 95 x 1.15.
    result = percentile.Percentile().estimate(
        scenes.usage([list(range(101)), [50.0] * 101], owners=[0, 0])
    )
    assert result.cpu_cores[0] == pytest.approx(95.0 * 1.15)
    assert result.memory_bytes[0] == pytest.approx(100_000.0 * 1.15)
    assert result.lower_cpu_cores[0] == pytest.approx(50.0 * 1.15)
    assert result.upper_cpu_cores[0] == pytest.approx(95.0 * 1.15 * 1.5)


def test_without_usage_nothing_is_estimated() -> None:
    usage = scenes.usage([[NAN, NAN]])
    for estimator in (percentile.Percentile(), level_sigma.LevelSigma(), krr.Krr()):
        result = estimator.estimate(usage)
        assert np.isnan(result.cpu_cores).all()
        assert np.isnan(result.memory_bytes).all()


def test_krr_takes_the_percentile_per_pod_and_the_largest_pod() -> None:
    # Pod 1: 0 .. 0.099 cores in 100 points, rank 0.95 x 99 = 94.05: 0.09405, rounded up to 95 m;
    # pod 2 is idle and would pull a pooled percentile down.
    cpu = [[k / 1000.0 for k in range(100)], [0.0] * 100]
    memory = [[150e6] * 99 + [200_000_001.0], [1e6] * 100]
    result = krr.Krr().estimate(scenes.usage(cpu, memory, owners=[0, 0]))
    assert result.cpu_cores.tolist() == [0.095]
    # 200000001 x 1.15 = 230000001.15 bytes are 219.35 MiB, rounded up.
    assert result.memory_bytes[0] == 220 * 2**20


CASES = json.loads((Path(__file__).parents[2] / "data/krr_1_29/cases.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_krr_equals_the_genuine_program(case: dict[str, Any]) -> None:
    longest = max(len(values) for values in case["cpu"])

    def pad(values: list[float]) -> list[float]:
        return [*values, *[NAN] * (longest - len(values))]

    cpu, memory = ([pad(pod) for pod in case[name]] for name in ("cpu", "memory"))
    usage = scenes.usage(cpu, memory, owners=[0] * len(cpu), killed=[case["oom_killed_bytes"]])
    names = ("cpu_percentile", "memory_buffer_percentage", "use_oomkill_data")
    settings = krr.KrrParameters(**{name: case[name] for name in names})
    result = krr.Krr(settings).estimate(usage)
    for given, expected in (
        (result.cpu_cores[0], case["cpu_request"]),
        (result.memory_bytes[0], case["memory_request"]),
    ):
        assert given == expected or (np.isnan(given) and expected is None)


def test_krr_needs_a_hundred_points_in_all_pods_together() -> None:
    short = krr.Krr().estimate(scenes.usage([[0.5] * 49, [0.5] * 49], owners=[0, 0]))
    assert np.isnan(short.cpu_cores).all()
    assert short.reasons == ("fewer than 100 points",)
    enough = krr.Krr().estimate(scenes.usage([[0.5] * 50, [0.5] * 50], owners=[0, 0]))
    assert enough.cpu_cores.tolist() == [0.5]
    assert enough.reasons == (
        "CPU: 500m is P95 of the largest pod, memory: 100 MiB is the largest value plus 15 %",
    )


def test_krr_has_floors_of_10_m_and_100_mebibytes() -> None:
    result = krr.Krr().estimate(scenes.usage([[0.001] * 100], [[1e6] * 100]))
    assert (result.cpu_cores[0], result.memory_bytes[0]) == (0.01, 100 * 2**20)


@pytest.mark.parametrize(("use", "expected"), [(False, 220), (True, 358)])
def test_krr_counts_oom_kills_only_if_told_to(use: bool, expected: int) -> None:
    # Peak 200 MB and 15 % are 219.3 MiB; killed at a limit of 300 MB, and 25 % are 357.6 MiB.
    settings = krr.KrrParameters(use_oomkill_data=use)
    usage = scenes.usage([[0.1] * 100], [[200e6] * 100], killed=[300e6])
    assert krr.Krr(settings).estimate(usage).memory_bytes[0] == expected * 2**20


def test_mean_and_deviations() -> None:
    # 1 and 3: mean 2, deviation 1; two of them and 1.5 m for CPU, three and 2 MiB for memory.
    result = level_sigma.LevelSigma().estimate(scenes.usage([[1.0, 3.0, NAN]]))
    assert result.cpu_cores[0] == pytest.approx(4.0 + 0.0015)
    assert result.memory_bytes[0] == pytest.approx(2000.0 + 3.0 * 1000.0 + 2 * 2**20)
    assert result.lower_cpu_cores[0] == 2.0
