"""Numbers worked out by hand: OOM kills, half-life, bounds (Schubert 2023, section 5.3)."""

from __future__ import annotations

import math

import pytest

from kubestow.model import errors
from kubestow.model.decoding import fields
from kubestow.policies.sizing.vpa.recommender import amounts, parameters
from tests.policies.sizing.vpa.oracle import (
    aggregates,
    checkpoints,
    containers,
    estimators,
    histograms,
    instants,
)
from tests.policies.sizing.vpa.oracle.containers import VpaContainer
from tests.policies.sizing.vpa.oracle.histograms import DecayingHistogram, Histogram

MIB = 1 << 20
DAY_NS = 86_400 * instants.SECOND_NS
START_NS = 19_000 * DAY_NS  # a midnight, so that days are whole half-lives
RULES = parameters.gathering(parameters.VpaParameters())


def oom_after(request_mib: int, peak_mib: int = 0) -> int:
    """Return the guessed need in MiB of a container killed after some usage."""
    container, aggregate = VpaContainer(), aggregates.make(RULES)
    if peak_mib:
        containers.add_memory(container, aggregate, peak_mib * MIB, START_NS, RULES)
    assert containers.record_oom(container, aggregate, request_mib * MIB, START_NS, RULES)
    return container.oom_peak_bytes // MIB


@pytest.mark.parametrize(
    ("request_mib", "peak_mib", "needed_mib"),
    [
        (300, 0, 400),  # max(300 + 100, 1.2 * 300 = 360)
        (1000, 0, 1200),  # max(1000 + 100, 1.2 * 1000)
        (500, 0, 600),  # both are 600
        (300, 800, 960),  # what was used counts if it is more: max(900, 960)
    ],
)
def test_an_oom_kill_asks_for_a_fifth_more_but_at_least_100_mib(
    request_mib: int, peak_mib: int, needed_mib: int
) -> None:
    assert oom_after(request_mib, peak_mib) == needed_mib


def test_kills_in_a_row_do_not_run_away() -> None:
    container, aggregate = VpaContainer(), aggregates.make(RULES)
    for minute in range(3):
        time_ns = START_NS + minute * instants.MINUTE_NS
        containers.record_oom(container, aggregate, 300 * MIB, time_ns, RULES)
    assert container.oom_peak_bytes == 400 * MIB
    assert aggregate.memory.plain.total == 1.0  # one peak


def test_within_a_day_only_the_highest_peak_counts_at_the_end_of_the_day() -> None:
    container, aggregate = VpaContainer(), aggregates.make(RULES)
    for hour, mib in ((0, 200), (5, 700), (9, 400), (23, 650)):
        time_ns = START_NS + hour * 3600 * instants.SECOND_NS
        containers.add_memory(container, aggregate, mib * MIB, time_ns, RULES)
    assert container.window_end_ns == START_NS + DAY_NS
    # One sample of weight 1: the reference instant is the end of the window too.
    assert aggregate.memory.reference_ns == container.window_end_ns
    assert sum(aggregate.memory.plain.weights) == aggregate.memory.plain.total == 1.0
    assert aggregate.memory.percentile(1.0) == histograms.MEMORY_BUCKETS.start(
        histograms.MEMORY_BUCKETS.find(700.0 * MIB) + 1
    )


def test_three_pods_with_one_container_give_three_peaks_a_day() -> None:
    aggregate = aggregates.make(RULES)
    for _ in range(3):
        container = VpaContainer()
        for minute in range(0, 1440, 60):
            time_ns = START_NS + minute * instants.MINUTE_NS
            containers.add_memory(container, aggregate, (300 + minute) * MIB, time_ns, RULES)
    assert sum(aggregate.memory.plain.weights) == 3.0


def test_a_sample_weighs_half_after_one_half_life() -> None:
    histogram = DecayingHistogram(Histogram(histograms.CPU_BUCKETS), DAY_NS)
    histogram.add(1.0, 1.0, START_NS)
    histogram.add(2.0, 1.0, START_NS + DAY_NS)
    one, two = (histogram.plain.weights[histograms.CPU_BUCKETS.find(v)] for v in (1.0, 2.0))
    assert two == 2 * one
    # Two thirds of the weight lie at 2 cores, so the third decile is found at 1 core.
    assert histogram.percentile(0.3) < 1.1 < 2.0 < histogram.percentile(0.34)


def test_the_reference_moves_after_a_hundred_half_lives() -> None:
    histogram = DecayingHistogram(Histogram(histograms.CPU_BUCKETS), DAY_NS)
    histogram.add(1.0, 1.0, START_NS)
    histogram.add(1.0, 1.0, START_NS + 100 * DAY_NS)
    assert histogram.reference_ns == START_NS
    assert histogram.plain.total == 2.0**100 + 1
    histogram.add(1.0, 1.0, START_NS + 101 * DAY_NS)
    assert histogram.reference_ns == START_NS + 101 * DAY_NS
    assert histogram.plain.total == 1.5  # 1 now, half of it from the day before


def test_a_reference_halfway_between_two_is_the_later_one() -> None:
    histogram = DecayingHistogram(Histogram(histograms.CPU_BUCKETS), DAY_NS)
    histogram.add(1.0, 1.0, START_NS + DAY_NS // 2)
    assert histogram.reference_ns == START_NS + DAY_NS
    assert histogram.plain.total == pytest.approx(math.sqrt(0.5))


def test_what_is_left_below_a_thousandth_of_a_sample_is_nothing() -> None:
    histogram = Histogram(histograms.CPU_BUCKETS)
    histogram.add(1.0, 1.0)
    histogram.subtract(1.0, 0.99995)
    assert (histogram.total, max(histogram.weights)) == (0.0, 0.0)
    assert (histogram.first, histogram.last) == (175, 0)


@pytest.mark.parametrize(
    ("days", "lower", "upper"),
    [
        # t in days: (t / (t + 0.001)) ** 2 and (1 + t) / t
        (5 / 1440, 0.6, 289.0),
        (30 / 1440, 0.91, 49.0),
        (60 / 1440, 0.95, 25.0),
        (0.5, 0.996, 3.0),
        (1.0, 0.998, 2.0),
        (7.0, 0.9997, 1.143),
    ],
)
def test_bounds_close_in_as_the_history_grows(days: float, lower: float, upper: float) -> None:
    assert estimators.confidence_factor(days, *estimators.LOWER_CONFIDENCE) == pytest.approx(
        lower, rel=0.01
    )
    assert estimators.confidence_factor(days, *estimators.UPPER_CONFIDENCE) == pytest.approx(
        upper, rel=0.001
    )


def test_target_and_bounds_follow_the_formulas() -> None:
    # A day of minute samples of 100 m and 200 m in turn; both weigh alike but for the decay.
    aggregate, container = aggregates.make(RULES), VpaContainer()
    for minute in range(1441):
        cpu_m = 200 if minute % 2 else 100
        time_ns = START_NS + minute * instants.MINUTE_NS
        assert containers.add_cpu(container, aggregate, cpu_m, time_ns, RULES)
    result = estimators.estimate(aggregate, parameters.VpaParameters(), 1)
    # Bucket starts are 0.01 * (1.05**n - 1) / 0.05 cores: 100 m lies in bucket 8, which ends at
    # 0.2 * (1.05**9 - 1) = 0.11027 cores, 200 m in bucket 14, which ends at 0.21579 cores.
    ends = [math.floor(200 * (1.05**n - 1)) for n in (9, 15)]
    assert ends == [110, 215]
    # Target 1.15 * 215 = 215 + floor(32.25) = 247; the history is 1 day long (1441 / 1440 capped
    # by the lifespan), so upper = 247 * 2. The earlier half weighs less than the later one and
    # minute 1440 is a 100, so the median is 100 m: 110 + 16 = 126, times (1.001)**-2 = 125.7.
    assert result.target_cpu_m == 247
    assert result.upper_cpu_m == 494
    assert result.lower_cpu_m == 125


def test_without_history_bounds_do_not_force_anything() -> None:
    aggregate = aggregates.make(RULES)
    aggregate.add_cpu(500, START_NS)
    result = estimators.estimate(aggregate, parameters.VpaParameters(), 1)
    assert result.lower_cpu_m == 25  # zero, raised to the floor
    assert result.upper_cpu_m == amounts.MOST  # infinite
    assert result.upper_memory_bytes == 250 * MIB  # zero times infinity: the floor


def test_floors_are_shared_by_the_containers_of_a_pod() -> None:
    assert parameters.floors(parameters.VpaParameters(), 1) == (25, 250 * MIB)
    assert parameters.floors(parameters.VpaParameters(), 3) == (8, 87381333)


def test_before_1_4_a_sample_weighs_its_request() -> None:
    old = parameters.gathering(parameters.VpaParameters(version="1.3"))
    for request_m, weight in ((0, 0.1), (50, 0.1), (2000, 2.0)):
        aggregate = aggregates.make(old)
        containers.add_cpu(VpaContainer(), aggregate, 100, START_NS, old, request_m)
        assert aggregate.cpu.plain.total == weight


def test_since_1_8_the_age_of_a_kill_counts_from_the_last_sample() -> None:
    # The window ends a day after the first sample; the kill comes an hour before that sample.
    answers = {}
    for version in ("1.7", "1.8"):
        rules = parameters.gathering(parameters.VpaParameters(version=version))
        container, aggregate = VpaContainer(), aggregates.make(rules)
        containers.add_memory(container, aggregate, 100 * MIB, START_NS, rules)
        hour_before = START_NS - 3600 * instants.SECOND_NS
        answers[version] = containers.record_oom(
            container, aggregate, 100 * MIB, hour_before, rules
        )
    assert answers == {"1.7": False, "1.8": True}


@pytest.mark.parametrize("version", ["1.2", "1.9", "new"])
def test_unknown_releases_are_refused(version: str) -> None:
    with pytest.raises(errors.InputError, match=r"expected 1\.3 to 1\.8"):
        parameters.features(version)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"cpu_half_life_s": 0.0}, "cpu_half_life_s"),
        ({"target_cpu_percentile": 90.0}, "target_cpu_percentile"),
        ({"version": "0.14"}, "version"),
    ],
)
def test_parameters_out_of_range_are_refused(given: dict[str, float | str], place: str) -> None:
    with pytest.raises(errors.InputError, match=place):
        parameters.VpaParameters(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "broken",
    [
        {"version": "v2"},
        {"version": "v3", "memoryHistogram": {"bucketWeights": {"200": 1}, "totalWeight": 1}},
        {"version": "v3", "memoryHistogram": {"bucketWeights": {"-1": 1}, "totalWeight": 1}},
        {"version": "v3", "memoryHistogram": {"totalWeight": -1}},
        {"version": "v3", "memoryHistogram": {"totalWeight": "1"}},
        {"version": "v3", "firstSampleStart": "yesterday", "memoryHistogram": {}},
    ],
)
def test_broken_checkpoints_are_refused_with_their_place(broken: dict[str, object]) -> None:
    with pytest.raises(errors.InputError, match="checkpoint"):
        checkpoints.load(fields.Field(broken, "checkpoint"), RULES, START_NS)


def test_linear_and_exponential_buckets_refuse_nonsense() -> None:
    with pytest.raises(errors.InputError):
        histograms.LinearBuckets(1.0, 0.0, 0.1)
    with pytest.raises(errors.InputError):
        histograms.ExponentialBuckets(1.0, 0.1, 1.0, 0.1)
