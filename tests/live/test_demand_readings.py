"""Demand read from a real Prometheus in every state, and what the scaler ``auto`` makes of it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import numpy as np
import pytest

from kubestow.live import demand_readings as readings
from kubestow.policies.scaling import autos, decisions, observations, registries
from kubestow.policies.scaling import specifications as specs
from kubestow.sources import prometheus
from kubestow.sources import prometheus_queries as queries
from kubestow.sources.prometheus_selectors import Matcher
from kubestow.sources.prometheus_settings import Settings
from testenv import prometheus_servers, slow_relays
from tests.sources.prometheus_history import SILENT_S, History

WEB = (Matcher("service", "=", "web"),)
DEMAND = queries.request_rate("demand_total", WEB)
GONE = queries.request_rate("gone_total", WEB, window_s=3600.0)
REBORN = queries.request_rate("reborn_total", WEB)

RPS = specs.MetricSpec(specs.EXTERNAL, "rps", specs.AVERAGE_VALUE, 30_000)
CPU = specs.MetricSpec(specs.RESOURCE, "cpu", specs.UTILIZATION, 60)


@dataclass(frozen=True, slots=True)
class Fault:
    """A state of the source that gives no reading.

    Attributes:
        cause: How the cause begins.
        query: What is asked.
        late_s: How far our clock is ahead of the real one.
        state: What is done to the server: nothing, ended, or slowed down.
    """

    cause: str
    query: queries.Query = DEMAND
    late_s: float = 0.0
    state: str = ""


FAULTS = {
    "down": Fault("down: http://", state="down"),
    "slow": Fault("timeout: http://", state="slow"),
    "empty": Fault(
        "empty answer: no series has a value now", queries.request_rate("nowhere_total")
    ),
    "NaN": Fault("not a number: nan", queries.raw("nothing_demand")),
    "infinite": Fault("not a number: inf", queries.raw("sum(demand_total) / 0")),
    "negative": Fault("negative: -1; expected 0 or more", queries.raw("negative_demand")),
    "huge": Fault("too large: 1e+300", queries.raw("huge_demand")),
    "gap": Fault("stale sample: ", GONE),
    "forgotten": Fault(
        "stale sample: none within the time the server looks back",
        queries.raw("sum(demand_total)", newest="max(timestamp(nowhere_total))"),
    ),
    "our clock is behind": Fault("clock skew: the server answers for ", late_s=-600.0),
    "our clock is ahead": Fault("clock skew: the server answers for ", late_s=600.0),
    "several": Fault(
        'several series: 2, such as pods_demand{pod="a"} and pods_demand{pod="b"}; expected one',
        queries.raw("pods_demand"),
    ),
    "bad question": Fault("refused: http://", queries.raw("rate(demand_total)")),
    "a range": Fault("refused: http://", queries.raw("demand_total[5m]")),
}
each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


@contextlib.contextmanager
def reach(history: History, state: str, folder: Path) -> Iterator[prometheus.Client]:
    """Give a client of the server, or of one that is down or slow."""
    with contextlib.ExitStack() as stack:
        url, read_s = history.url, 10.0
        if state == "down":
            with prometheus_servers.serve(folder / "data") as ended:
                url = ended
        elif state == "slow":
            url = stack.enter_context(slow_relays.relay(int(url.rpartition(":")[2])))
            read_s = 0.2
        settings = Settings(url, read_s=read_s, backoff_s=0.01)
        yield stack.enter_context(prometheus.Client(settings))


def read(
    history: History, query: queries.Query, limits: readings.ReadingLimits | None = None
) -> readings.Read:
    with history.client() as client:
        return readings.read_demand(client, query, time.time(), limits)


def fail(history: History, fault: Fault, folder: Path) -> observations.FailedRead:
    with reach(history, fault.state, folder) as client:
        found = readings.read_demand(client, fault.query, time.time() + fault.late_s)
    assert isinstance(found, observations.FailedRead)
    return found


@each_fault
def test_a_failed_read_names_its_cause(history: History, fault: Fault, tmp_path: Path) -> None:
    assert fail(history, fault, tmp_path).cause.startswith(fault.cause)


def test_causes_tell_the_numbers(history: History, tmp_path: Path) -> None:
    causes = {name: fail(history, fault, tmp_path).cause for name, fault in FAULTS.items()}
    passed_s = time.time() - history.now_s
    assert causes["down"].endswith("no connection: [Errno 111] Connection refused")
    assert causes["slow"].endswith("no answer within 0.2 s")
    assert "answered 400: bad_data: " in causes["bad question"]
    assert "gave a matrix; expected a vector" in causes["a range"]
    skews_s = [
        float(causes[f"our clock is {side}"].removeprefix(readings.SKEW).split()[5])
        for side in ("behind", "ahead")
    ]
    assert skews_s == pytest.approx([600.0, 600.0], abs=2.0)
    assert causes["our clock is behind"].endswith(" s in the future")
    assert causes["our clock is ahead"].endswith(" s ago")
    age_s = float(causes["gap"].split()[2])
    assert SILENT_S - 1 <= age_s <= SILENT_S + 15 + passed_s + 1
    assert causes["gap"].endswith(" s old; expected at most 60 s")


def test_a_demand_is_read_in_thousandths(history: History) -> None:
    # 1350 requests in 15 s are 90 per second.
    assert read(history, DEMAND) == observations.SingleValue((90_000,))


def test_a_counter_that_starts_anew_is_read_like_one_that_does_not(history: History) -> None:
    assert read(history, REBORN) == observations.SingleValue((90_000,))


def test_several_series_count_together_where_that_is_asked_for(history: History) -> None:
    limits = readings.ReadingLimits(together=True)
    found = read(history, queries.raw("sort_desc(pods_demand)"), limits)
    # Kubernetes rounds up: 12.3456 are 12346 thousandths.
    assert found == observations.SingleValue((30_000, 12_346))


def test_a_single_number_is_a_reading(history: History) -> None:
    found = read(history, queries.raw("scalar(sum(pods_demand))"))
    assert found == observations.SingleValue((42_346,))


def test_limits_are_the_callers(history: History) -> None:
    old = replace(readings.ReadingLimits(), oldest_s=3600.0)
    assert isinstance(read(history, GONE, old), observations.SingleValue)
    skewed = readings.ReadingLimits(skew_s=900.0)
    with history.client() as client:
        for late_s in (-600.0, 600.0):
            found = readings.read_demand(client, DEMAND, time.time() + late_s, skewed)
            assert found == observations.SingleValue((90_000,))


def test_an_answer_with_warnings_is_no_reading() -> None:
    answer = {
        "status": "success",
        "data": {"resultType": "vector", "result": [{"metric": {}, "value": [5, "1"]}]},
        "warnings": ["store a is away"],
    }
    wire = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    with prometheus.Client(Settings("http://prometheus.test"), wire=wire) as client:
        found = readings.read_demand(client, queries.raw("x"), 5.0)
    assert found == observations.FailedRead("doubtful answer: store a is away")


def test_a_question_that_had_to_wait_is_no_skew() -> None:
    # Asked at 100 s, answered for 135 s after 10 s: 25 s of skew, less than 30 s.
    answer = {
        "status": "success",
        "data": {"resultType": "vector", "result": [{"metric": {}, "value": [135, "1"]}]},
    }
    wire = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    for took_s, read_type in ((10.0, observations.SingleValue), (1.0, observations.FailedRead)):
        ticks = iter([0.0] * 4 + [took_s])
        settings = Settings("http://prometheus.test")
        with prometheus.Client(settings, wire=wire, clock=ticks.__next__) as client:
            assert isinstance(readings.read_demand(client, queries.raw("x"), 100.0), read_type)


# The scaler ``auto``, fed through read_demand


def look(
    reading: observations.Reading, time_s: float, replicas: int, busy: float | None
) -> observations.ScalingObservation:
    """Return what a scaler sees: the reading, and pods that use a share of their one core."""
    metrics: dict[str, observations.Reading] = {"rps": reading}
    if busy is not None:
        values = np.full(replicas, round(1000 * busy), dtype=np.int64)
        metrics["cpu"] = observations.samples(values, time_s, 30.0)
    pods = observations.ready_pods(replicas, {("cpu", ""): 1000})
    return observations.ScalingObservation(time_s, replicas, replicas, metrics, pods)


def play(
    history: History, fault: Fault, folder: Path, *metrics: specs.MetricSpec, busy: float | None
) -> tuple[decisions.ScalingDecision, str]:
    """Let the scaler see demand four times, then the fault; return its answer and the cause."""
    entry = registries.find(autos.NAME)
    scaler = entry.make(specs.AutoscalerSpec(20, metrics), entry.parameters())
    memory = scaler.start()
    good = read(history, DEMAND)
    for number in range(4):  # 90 per second at 30 per pod: three pods are right
        decision, memory = scaler.decide(look(good, 15.0 * number, 3, 0.6), memory)
        assert decision.desired >= 3
    bad = fail(history, fault, folder)
    decision, _ = scaler.decide(look(bad, 60.0, 3, busy), memory)
    return decision, bad.cause


@each_fault
def test_auto_falls_back_to_another_metric_and_says_why(
    history: History, fault: Fault, tmp_path: Path
) -> None:
    # Three pods at 100 % of their request, 60 % is right: 3 x 100 / 60 = 5.
    decision, cause = play(history, fault, tmp_path, RPS, CPU, busy=1.0)
    record = decision.record()
    assert (decision.proposed, decision.desired, record.outcome) == (5, 5, "5")
    assert record.rejected == {"forecast": f"rps: {cause}"}
    assert record.parameters["reason"] == decision.reason
    assert decision.reason.startswith(f"reactive: rps: {fault.cause}")
    assert record.numbers["reactive"] == 5.0


@each_fault
def test_auto_does_not_go_down_on_another_metric_alone(
    history: History, fault: Fault, tmp_path: Path
) -> None:
    # Upstream's rule: a metric that failed might have wanted more, so none goes down.
    decision, cause = play(history, fault, tmp_path, RPS, CPU, busy=0.1)
    record = decision.record()
    assert (decision.proposed, decision.desired) == (None, 3)
    assert record.rejected == {"forecast": f"rps: {cause}"}


@each_fault
def test_auto_holds_where_nothing_else_is_measured(
    history: History, fault: Fault, tmp_path: Path
) -> None:
    decision, cause = play(history, fault, tmp_path, RPS, busy=None)
    record = decision.record()
    assert (decision.proposed, decision.desired, record.outcome) == (None, 3, "3")
    assert record.rejected == {"forecast": f"rps: {cause}"}
    assert decision.reason == f"rps: {cause}; no reactive proposal either"
    assert cause in decision.error


def test_a_counter_reset_moves_no_replica(history: History) -> None:
    entry = registries.find(autos.NAME)
    scaler = entry.make(specs.AutoscalerSpec(20, (RPS,)), entry.parameters())
    outcomes = {}
    for query in (DEMAND, REBORN):
        memory, replicas = scaler.start(), 3
        for number in range(6):
            seen = look(read(history, query), 15.0 * number, replicas, None)
            decision, memory = scaler.decide(seen, memory)
            replicas = decision.desired
        outcomes[query.promql] = decision.record().as_json()
        assert "forecast" not in decision.record().rejected
        assert math.isclose(decision.record().numbers["load"], 3.0)
    assert outcomes[DEMAND.promql] == outcomes[REBORN.promql]
