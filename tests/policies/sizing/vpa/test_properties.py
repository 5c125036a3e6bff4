"""Properties that hold for any samples."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubestow.policies.sizing.vpa.recommender import buckets
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters, floors, gathering
from tests.policies.sizing.vpa.oracle import (
    aggregates,
    checkpoints,
    estimators,
    histograms,
    instants,
)
from tests.policies.sizing.vpa.oracle.histograms import DecayingHistogram, Histogram

RULES = gathering(VpaParameters())
HOUR_NS = 3600 * instants.SECOND_NS
START_NS = 1_700_000_000 * instants.SECOND_NS

SAMPLES = st.lists(
    st.tuples(st.integers(0, 2_000_000), st.integers(0, 5000)), min_size=1, max_size=60
)


def fill(samples: list[tuple[int, int]]) -> aggregates.Aggregate:
    aggregate = aggregates.make(RULES)
    for amount, hour in samples:
        aggregate.add_cpu(amount, START_NS + hour * HOUR_NS)
        aggregate.add_memory(amount * 10**6, START_NS + hour * HOUR_NS)
    return aggregate


@given(value=st.floats(0.0, 1e13))
def test_a_value_lies_in_its_bucket(value: float) -> None:
    result = histograms.MEMORY_BUCKETS.find(value)
    start = histograms.MEMORY_BUCKETS.start(result)
    assert start <= value * (1 + 1e-9) + 1e-6
    if result + 1 < histograms.MEMORY_BUCKETS.count:
        assert value <= histograms.MEMORY_BUCKETS.start(result + 1) * (1 + 1e-9)


@given(samples=SAMPLES, containers=st.integers(1, 5))
def test_bounds_enclose_the_target_and_keep_the_floor(
    samples: list[tuple[int, int]], containers: int
) -> None:
    flags = VpaParameters()
    result = estimators.estimate(fill(samples), flags, containers)
    least_cpu_m, least_memory = floors(flags, containers)
    assert least_cpu_m <= result.lower_cpu_m <= result.target_cpu_m <= result.upper_cpu_m
    assert least_memory <= result.lower_memory_bytes <= result.target_memory_bytes
    assert result.target_memory_bytes <= result.upper_memory_bytes


@given(samples=SAMPLES, shares=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_higher_percentiles_are_not_lower(
    samples: list[tuple[int, int]], shares: tuple[float, float]
) -> None:
    histogram = fill(samples).cpu
    assert histogram.percentile(min(shares)) <= histogram.percentile(max(shares))


@given(samples=SAMPLES)
def test_what_is_added_and_taken_out_again_leaves_nothing(samples: list[tuple[int, int]]) -> None:
    histogram = DecayingHistogram(Histogram(histograms.CPU_BUCKETS), 86_400 * instants.SECOND_NS)
    for cpu_m, _ in samples:
        histogram.add(cpu_m / 1000, 1.0, START_NS)
    for cpu_m, _ in samples:
        histogram.subtract(cpu_m / 1000, 1.0, START_NS)
    assert histogram.empty
    assert histogram.percentile(0.9) == 0.0


@given(samples=SAMPLES)
def test_a_checkpoint_keeps_each_weight_to_a_ten_thousandth_of_the_heaviest(
    samples: list[tuple[int, int]],
) -> None:
    histogram = fill(samples).cpu.plain
    saved = checkpoints.save_weights(histogram)["bucketWeights"]
    heaviest = max(histogram.weights)
    for bucket, weight in enumerate(histogram.weights):
        kept = saved.get(str(bucket), 0) / checkpoints.MOST_WEIGHT * heaviest
        # Buckets that count as empty may be left out altogether.
        assert abs(kept - weight) <= max(heaviest / checkpoints.MOST_WEIGHT, buckets.EPSILON)


@given(seconds=st.integers(-60_000_000_000, 200_000_000_000))
def test_instants_are_written_and_read_alike(seconds: int) -> None:
    time_ns = seconds * instants.SECOND_NS
    assert instants.from_text(instants.to_text(time_ns)) == time_ns
