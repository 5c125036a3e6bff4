"""Usage sampled from the resource metrics API."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kubestow.live.workloads import usage_samples
from kubestow.model import errors
from kubestow.model.keys import ContainerKey, WorkloadKey

WEB = WorkloadKey("shop", "Deployment", "web")
WORKLOADS = {("shop", "a"): WEB, ("shop", "b"): WEB}


def _list(second: int, **use: tuple[str, str]) -> dict[str, Any]:
    items = [
        {
            "metadata": {"name": pod, "namespace": "shop"},
            "timestamp": f"2026-01-01T00:00:{second:02}Z",
            "containers": [{"name": "c", "usage": {"cpu": cpu, "memory": memory}}],
        }
        for pod, (cpu, memory) in use.items()
    ]
    return {"kind": "PodMetricsList", "items": items}


def test_samples_become_columns_in_cores_and_bytes() -> None:
    sampler = usage_samples.UsageSampler(15.0)
    sampler.take([_list(0, a=("250m", "1Ki"), b=("1", "2Ki"))], 100.0)
    sampler.take([_list(15, a=("500m", "3Ki"))], 115.0)
    table = sampler.table(WORKLOADS)
    assert table.containers == (ContainerKey(*WEB, "c"),)
    assert table.pods == ("a", "b")
    cores, used = np.array([[0.25, 0.5], [1.0, np.nan]]), np.array([[1024, 3072], [2048, np.nan]])
    assert np.array_equal(table.cpu_cores, cores, equal_nan=True)
    assert np.array_equal(table.memory_bytes, used, equal_nan=True)
    assert (table.step_s, table.end_s, len(sampler)) == (15.0, 115.0, 2)
    assert "sampled 2 times, 30 s in all" in table.notes[0]


def test_the_same_measurement_seen_twice_counts_once() -> None:
    sampler = usage_samples.UsageSampler(15.0)
    for now_s in (100.0, 115.0):
        sampler.take([_list(0, a=("250m", "1Ki"))], now_s)
    assert np.isnan(sampler.table(WORKLOADS).cpu_cores[0, 1])


def test_pods_of_no_known_workload_are_left_out_and_nothing_is_refused() -> None:
    sampler = usage_samples.UsageSampler(15.0)
    sampler.take([_list(0, stranger=("250m", "1Ki"))], 100.0)
    with pytest.raises(errors.InputError, match="check that metrics-server runs"):
        sampler.table(WORKLOADS)


def test_a_time_that_is_none_is_refused_with_its_place() -> None:
    broken = _list(0, a=("1", "1"))
    broken["items"][0]["timestamp"] = "soon"
    with pytest.raises(errors.InputError, match=r"items\[0\].timestamp: 'soon'"):
        usage_samples.UsageSampler(15.0).take([broken], 0.0)
