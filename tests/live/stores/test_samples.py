"""Samples: once each, by pod, with gaps."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest

from kubestow.live.stores import containers, engines, samples
from kubestow.live.stores.samples import StoredSample, StoredUsage
from kubestow.live.stores.schema import current
from kubestow.model import errors
from kubestow.model.keys import ContainerKey
from tests.live.stores.make import BUILD, count

FULL = StoredSample(BUILD, "pod-1", 10.5, 0.25, 2**41, 2**42)


def test_the_same_sample_counts_once(store: engines.Store) -> None:
    samples.insert(store, [FULL, FULL])
    samples.insert(store, [FULL])
    assert samples.read(store, BUILD, "pod-1") == (FULL,)


def test_one_value_may_be_missing_and_come_later(store: engines.Store) -> None:
    cpu, memory = (
        replace(FULL, memory_bytes=None, memory_peak_bytes=None),
        replace(FULL, cpu_m=None),
    )
    samples.insert(store, [cpu])
    assert samples.read(store, BUILD, "pod-1") == (cpu,)
    samples.insert(store, [memory])
    assert samples.read(store, BUILD, "pod-1") == (FULL,)
    samples.insert(store, [replace(FULL, cpu_m=99.0)])  # the first value stays
    assert samples.read(store, BUILD, "pod-1") == (FULL,)


def test_pods_of_one_identity_do_not_mix(store: engines.Store) -> None:
    times = (3.0, 1.0, 2.0)
    samples.insert(
        store, [StoredSample(BUILD, pod, t, t * k) for t in times for k, pod in enumerate("abc")]
    )
    assert [s.cpu_m for s in samples.read(store, BUILD, "b")] == [1.0, 2.0, 3.0]
    assert [s.cpu_m for s in samples.read(store, BUILD, "c")] == [2.0, 4.0, 6.0]
    assert samples.read(store, BUILD._replace(container="other"), "b") == ()
    assert containers.read(store) == (BUILD,)


def test_a_run_is_summed_up_from_what_was_measured(store: engines.Store) -> None:
    samples.insert(
        store,
        [
            StoredSample(BUILD, "a", 1.0, 100.0, 50, 60),
            StoredSample(BUILD, "a", 2.0, None, 70, None),
            StoredSample(BUILD, "a", 3.0, 400.0, None, 90),
            StoredSample(BUILD, "b", 1.0, 9e9, 9_000_000),  # another pod
        ],
    )
    # Mean CPU (100 + 400) / 2; highest memory is the peak of the last.
    assert samples.summarise(store, BUILD, "a") == StoredUsage(3, 250.0, 400.0, 90)
    assert samples.summarise(store, BUILD, "none") == StoredUsage(0, None, None, None)


@pytest.mark.parametrize("value", [math.nan, math.inf], ids=["NaN", "infinite"])
def test_a_sample_that_is_no_number_is_refused_and_nothing_is_kept(
    store: engines.Store, value: float
) -> None:
    with pytest.raises(errors.InputError, match=r"sample of pod-1: cpu_m: (nan|inf): expected"):
        samples.insert(store, [FULL, replace(FULL, cpu_m=value)])
    assert count(store, current.samples_table) == 0


def test_many_samples_take_seconds(store: engines.Store) -> None:
    keys = [ContainerKey("ns", "Job", f"job-{number}", "main") for number in range(50)]
    many = [StoredSample(keys[n % 50], f"pod-{n % 200}", float(n), 1.5, n) for n in range(100_000)]
    begin = time.perf_counter()
    samples.insert(store, many)
    # Measured: 1.5 s on SQLite and 3.7 s on PostgreSQL, twice that on a busy machine.
    assert time.perf_counter() - begin < 25.0
    assert count(store, current.samples_table) == len(many)
