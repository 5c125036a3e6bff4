"""What upstream's own tests do to histograms, containers and estimators, replayed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kubestow.model import errors
from kubestow.model.decoding import fields
from kubestow.policies import compiling
from kubestow.policies.sizing.container_policies import ContainerPolicy
from kubestow.policies.sizing.vpa.recommender import amounts, bank_kernels, floats, status
from kubestow.policies.sizing.vpa.recommender.banks import Estimate
from kubestow.policies.sizing.vpa.recommender.parameters import (
    Gathering,
    VpaParameters,
    features,
    floors,
    gathering,
)
from tests.policies.sizing.vpa import recorded
from tests.policies.sizing.vpa.oracle import aggregates, checkpoints, containers, estimators
from tests.policies.sizing.vpa.oracle.histograms import (
    Buckets,
    DecayingHistogram,
    ExponentialBuckets,
    Histogram,
    LinearBuckets,
)

ALL = recorded.load("upstream_tables.jsonl.gz")


def cases(*kinds: str) -> pytest.MarkDecorator:
    result = [case for case in ALL if case["kind"] in kinds]
    assert result
    return pytest.mark.parametrize("case", result, ids=lambda c: f"{c['kind']}-{c['name']}")


def read_buckets(options: recorded.Json) -> Buckets:
    """Return buckets with the recorded number of them."""
    count, epsilon = options["count"], options["epsilon"]
    buckets: Buckets
    if options["type"] == "linear":
        buckets = LinearBuckets((count - 1.5) * options["width"], options["width"], epsilon)
    else:
        first, ratio = options["first"], options["ratio"]
        largest = first * (ratio ** (count - 1.5) - 1) / (ratio - 1)
        buckets = ExponentialBuckets(largest, first, ratio, epsilon)
    assert buckets.count == count
    return buckets


def read_histogram(state: recorded.Json) -> DecayingHistogram:
    plain = Histogram(
        read_buckets(state["options"]),
        list(state["weights"]),
        state["total"],
        state["first"],
        state["last"],
    )
    reference = recorded.to_ns(state.get("reference", [0, 0]))
    return DecayingHistogram(plain, state.get("halfLife", 1), reference)


def read_aggregate(state: recorded.Json) -> aggregates.Aggregate:
    return aggregates.Aggregate(
        read_histogram(state["cpu"]),
        read_histogram(state["memory"]),
        recorded.to_ns(state["first"]),
        recorded.to_ns(state["last"]),
        state["count"],
    )


class Replay:
    """Does to our histograms what a test of upstream did to its own."""

    def __init__(self) -> None:
        self.made: dict[int, Histogram | DecayingHistogram] = {}

    def step(self, case: recorded.Json) -> None:
        number, operation, args = case["in"]["id"], case["in"]["op"], case["in"]["args"]
        if operation == "new":
            self.made[number] = Histogram(read_buckets(args))
        elif operation == "newDecaying":
            self.made[number] = DecayingHistogram(Histogram(read_buckets(args[0])), args[1])
        elif operation == "merge":
            self.merge(self.made[number], self.made[args])
        elif operation in ("add", "subtract"):
            self.change(self.made[number], operation, *args)
        elif operation == "load":
            self.load(self.made[number], args, case["out"])
        else:
            assert self.ask(self.made[number], operation, args) == case["out"], case["name"]

    def merge(self, mine: Any, other: Any) -> None:
        mine.merge(other)

    def change(self, mine: Any, operation: str, value: float, weight: float, at: Any) -> None:
        time = (recorded.to_ns(at),) if isinstance(mine, DecayingHistogram) else ()
        getattr(mine, operation)(value, weight, *time)

    def ask(self, mine: Histogram | DecayingHistogram, operation: str, args: Any) -> Any:
        if operation == "percentile":
            return mine.percentile(args)
        if operation == "empty":
            return mine.empty
        assert operation == "save"
        if isinstance(mine, DecayingHistogram):
            saved = checkpoints.save_histogram(mine)
        else:
            saved = {"referenceTimestamp": None, **checkpoints.save_weights(mine)}
        # Upstream's JSON leaves out what is 0.
        return {key: value for key, value in saved.items() if value or key[0] == "r"}

    def load(self, mine: Histogram | DecayingHistogram, args: Any, fails: bool) -> None:
        saved = fields.Field(args, "checkpoint")
        if fails:
            with pytest.raises(errors.InputError):
                self._load(mine, saved)
        else:
            self._load(mine, saved)

    def _load(self, mine: Histogram | DecayingHistogram, saved: fields.Field) -> None:
        if isinstance(mine, DecayingHistogram):
            checkpoints.load_histogram(mine, saved)
        else:
            checkpoints.load_weights(mine, saved)


TRACES = {
    key: list(steps)
    for key, steps in itertools.groupby(
        (case for case in ALL if case["kind"] == "histogram"),
        key=lambda case: (case["package"], case["name"].rsplit("-", 1)[0]),
    )
}


@pytest.mark.parametrize("steps", TRACES.values(), ids=["-".join(key) for key in TRACES])
def test_histograms_answer_as_in_upstreams_tests(steps: list[recorded.Json]) -> None:
    replay = Replay()
    for step in steps:
        replay.step(step)


@compiling.compiled
def find_compiled(value: float, width: float, ratio: float, log_ratio: float, count: int) -> int:
    return bank_kernels.find_bucket(value, width, ratio, log_ratio, count)


@cases("find", "start")
def test_values_and_buckets_belong_together_as_upstream_says(case: recorded.Json) -> None:
    buckets = read_buckets(case["in"][0])
    method = buckets.find if case["kind"] == "find" else buckets.start
    assert method(case["in"][1]) == case["out"]
    if isinstance(buckets, ExponentialBuckets) and case["kind"] == "find":
        log_ratio = floats.log(buckets.ratio)
        result = find_compiled(
            case["in"][1], buckets.first, buckets.ratio, log_ratio, buckets.count
        )
        assert result == case["out"]


@cases("container")
def test_containers_keep_their_peaks_as_in_upstreams_tests(case: recorded.Json) -> None:
    before, given = case["in"]["before"], case["in"]
    container = read_container(before)
    rules = Gathering(
        86_400 * 10**9, 86_400 * 10**9, before["interval"], 8 * before["interval"],
        before["ratio"], before["min"], features("1.7"),
    )  # fmt: skip
    gathered = aggregates.make(rules)
    change = {
        "cpu": containers.add_cpu,
        "memory": containers.add_memory,
        "oom": containers.record_oom,
    }[given["op"]]
    time_ns = recorded.to_ns(given["time"])
    counted = change(container, gathered, given["amount"], time_ns, rules)  # type: ignore[operator]
    assert counted == case["out"]["ok"]
    assert container == read_container(case["out"]["after"])


def read_container(state: recorded.Json) -> containers.VpaContainer:
    return containers.VpaContainer(
        recorded.to_ns(state["lastCPU"]),
        recorded.to_ns(state["lastMemory"]),
        recorded.to_ns(state["end"]),
        state["peak"],
        state["oomPeak"],
    )


@cases("merge")
def test_aggregates_merge_as_in_upstreams_tests(case: recorded.Json) -> None:
    mine, other = (read_aggregate(state) for state in case["in"])
    mine.merge(other)
    assert mine == read_aggregate(case["out"])


@cases("expired")
def test_aggregates_expire_as_in_upstreams_tests(case: recorded.Json) -> None:
    given = case["in"]
    aggregate = aggregates.make(gathering(VpaParameters()), recorded.to_ns(given["created"]))
    aggregate.count, aggregate.last_ns = given["count"], recorded.to_ns(given["last"])
    assert aggregate.expired(recorded.to_ns(given["now"]), given["window"]) == case["out"]


@cases("confidence")
def test_trust_in_a_history_is_upstreams(case: recorded.Json) -> None:
    given = case["in"]
    aggregate = aggregates.make(gathering(VpaParameters()))
    aggregate.count = given["count"]
    aggregate.first_ns = recorded.to_ns(given["first"])
    aggregate.last_ns = recorded.to_ns(given["last"])
    assert estimators.confidence(aggregate, given["interval"] / 1e9) == case["out"]


@cases("multiplied", "margin", "cpuPercentile", "memoryPercentile")
def test_the_steps_of_an_estimate_are_upstreams(case: recorded.Json) -> None:
    given = case["in"]
    if case["kind"] == "multiplied":
        factor = estimators.confidence_factor(given[1], given[2], int(given[3]))
        got = amounts.scale(given[0], factor)
    elif case["kind"] == "margin":
        got = estimators.with_margin(*given)
    else:
        value = read_histogram(given[0]).percentile(given[1])
        cores = case["kind"] == "cpuPercentile"
        got = amounts.from_cores(value) if cores else amounts.from_float(value)
    assert got == case["out"]


@cases("recommended")
def test_floors_and_controlled_resources_are_upstreams(case: recorded.Json) -> None:
    given = case["in"]
    flags = VpaParameters(pod_min_cpu_m=given["minCPU"], pod_min_memory_mib=given["minMemory"])
    least = dict(zip(("cpu", "memory"), floors(flags, len(given["containers"])), strict=True))
    got = {
        name: {
            word: {key: max(entry[part][key], least[key]) for key in entry["controlled"]}
            for part, word in (
                ("target", "Target"), ("lower", "LowerBound"), ("upper", "UpperBound")
            )
        }
        for name, entry in given["containers"].items()
    }  # fmt: skip
    assert got == case["out"]


@cases("list")
def test_amounts_are_presented_as_upstream_presents_them(case: recorded.Json) -> None:
    given, humanize, round_cpu_m, round_memory_bytes = case["in"]
    given = given or {}
    flags = VpaParameters(
        round_cpu_m=round_cpu_m, round_memory_bytes=round_memory_bytes, humanize_memory=humanize
    )
    cpu_m, memory = given.get("cpu", 0), given.get("memory", 0)
    result = Estimate(cpu_m, memory, cpu_m, memory, cpu_m, memory)
    policies = (ContainerPolicy("c", controlled_resources=tuple(given)),)
    (sized,) = status.present({"c": result}, flags, policies)
    expected = recorded.read_amounts(
        {name: value for name, value in case["out"].items() if name in ("cpu", "memory")}
    )
    assert sized.target == sized.lower == sized.upper == sized.uncapped == expected


@cases("round", "human")
def test_rounding_is_upstreams(case: recorded.Json) -> None:
    if case["kind"] == "human":
        assert status.humanize(case["in"]) == case["out"]
    else:
        assert amounts.round_up(*case["in"]) == case["out"][0]


@cases("integer")
def test_cpu_is_rounded_to_whole_cores_where_the_annotation_says_so(case: recorded.Json) -> None:
    annotations, recommended = case["in"]
    before = recorded.read_recommended(recommended)
    after = recorded.read_recommended(case["out"])
    for one, expected in zip(before, after, strict=True):
        key = f"vpa-post-processor.kubernetes.io/{one.container}_integerCPU"
        cpu_m = one.target["cpu"].milli()
        if (annotations or {}).get(key) == "true":
            cpu_m = amounts.whole_cores_m(cpu_m)
        assert cpu_m == expected.target["cpu"].milli()
