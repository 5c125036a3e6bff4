"""Metrics asked of a Prometheus: what they are about, and their past where it is needed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from kubestow.live.metrics_api.kinds import Mapper, ResourceKind
from kubestow.live.metrics_api.values import polling
from kubestow.live.metrics_api.values.forecasts import MetricForecaster
from kubestow.live.metrics_api.values.rules import ForecastRule, PollRule
from kubestow.live.metrics_api.values.table import MetricTable, Subject
from kubestow.live.servers import telemetry
from kubestow.model.errors import InputError
from kubestow.model.selectors import LabelSelector
from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import errors
from kubestow.sources.prometheus import settings as prometheus_settings
from tests.live.metrics_api import make

NOW_S = 1_800_000_000.0
ALL = LabelSelector()
PODS = PollRule("rate", "q", 15.0, "pods", "pod", "namespace")
QUEUE = PollRule("depth", "q", 15.0, namespace="shop", window_s=60.0)


def scalar(value: str = "1", **labels: str) -> dict[str, Any]:
    return {"metric": labels, "value": [NOW_S - 1.0, value]}


def answering(kind: str, result: list[Any]) -> Callable[[httpx.Request], httpx.Response]:
    body = {"status": "success", "data": {"resultType": kind, "result": result}}
    return lambda _: httpx.Response(200, content=json.dumps(body))


def poller(
    rule: PollRule,
    answer: Callable[[httpx.Request], httpx.Response],
    table: MetricTable,
    ahead: ForecastRule | None = None,
) -> tuple[polling.Poller, list[str]]:
    results: list[str] = []
    settings = prometheus_settings.PrometheusSettings("http://prometheus.test", retries=0)
    client = prometheus_client.PrometheusClient(settings, wire=httpx.MockTransport(answer))
    mapper = Mapper(make.FakeApi())
    made = polling.Poller(rule, ahead, client, mapper, table, results.append, lambda: NOW_S)
    return made, results


def test_values_of_objects_are_put_where_their_labels_say() -> None:
    table = MetricTable(telemetry.Telemetry("test"))
    actual = [
        scalar("0.25", __name__="x", namespace="shop", pod="a", verb="get"),
        scalar("NaN", namespace="shop", pod="b"),
        scalar("+Inf", namespace="shop", pod="c"),
        scalar("1", namespace="shop"),
        scalar("1", pod="d"),
    ]
    made, results = poller(PODS, answering("vector", actual), table)
    asyncio.run(made.poll())
    ((labels, sample),) = table.find(Subject("pods", "shop", "a", "rate"), ALL, NOW_S)
    assert labels == (("verb", "get"),)
    assert (str(sample.value), sample.time_s) == ("250m", NOW_S - 1.0)
    assert (len(table), results) == (1, ["answered"])


def test_a_pair_of_servers_counts_once_and_a_gap_of_one_does_not_matter() -> None:
    table = MetricTable(telemetry.Telemetry("test"))
    answer = [
        scalar(value, namespace="shop", pod=pod, prometheus_replica=replica)
        for pod, values in {"a": ("3", "4"), "b": ("5", "NaN"), "c": ("NaN", "6")}.items()
        for replica, value in zip(("r0", "r1"), values, strict=True)
    ]
    made, results = poller(PODS, answering("vector", answer), table)
    asyncio.run(made.poll())
    found = [table.find(Subject("pods", "shop", pod, "rate"), ALL, NOW_S) for pod in "abc"]
    assert [[(labels, str(one.value)) for labels, one in each] for each in found] == [
        [((), "4")],
        [((), "5")],
        [((), "6")],
    ]
    assert results == ["answered"]


def test_objects_of_several_clusters_are_refused_but_external_metrics_keep_the_label() -> None:
    table = MetricTable(telemetry.Telemetry("test"))
    answer = [
        scalar("1", namespace="shop", pod="a", cluster=cluster) for cluster in ("prod", "staging")
    ]
    made, _ = poller(PODS, answering("vector", answer), table)
    with pytest.raises(InputError, match="several clusters: cluster is prod or staging"):
        asyncio.run(made.poll())
    assert len(table) == 0
    made, _ = poller(QUEUE, answering("vector", answer), table)
    asyncio.run(made.poll())
    assert len(table.find(Subject("", "shop", "", "depth"), ALL, NOW_S)) == 2


def test_external_metrics_are_in_the_namespace_of_the_rule() -> None:
    table = MetricTable(telemetry.Telemetry("test"))
    made, _ = poller(QUEUE, answering("vector", [scalar("7", queue="a")]), table)
    asyncio.run(made.poll())
    ((labels, sample),) = table.find(Subject("", "shop", "", "depth"), ALL, NOW_S)
    assert (labels, str(sample.value), sample.window_s) == ((("queue", "a"),), "7", 60.0)


def test_objects_without_a_namespace_take_none() -> None:
    rule = PollRule("rtt", "q", 15.0, "nodes", "node", namespace="ignored")
    node = ResourceKind("", "v1", "nodes", "Node", False)
    assert polling.subject_of(rule, node, (("node", "n1"),)) == (
        Subject("nodes", "", "n1", "rtt"),
        (),
    )


def test_the_time_of_the_measurement_is_asked_for_where_a_rule_says_how() -> None:
    rule = PollRule("depth", "depth", namespace="shop", newest="timestamp(depth)")

    def answer(request: httpx.Request) -> httpx.Response:
        if "timestamp" not in request.content.decode():
            actual = [scalar("7", __name__="depth", queue=each) for each in "abc"]
        else:
            late, odd = str(NOW_S - 200.0), str(NOW_S + 9.0)
            actual = [scalar(late, queue="a"), scalar(odd, queue="b")]
        return answering("vector", actual)(request)

    table = MetricTable(telemetry.Telemetry("test"))
    made, _ = poller(rule, answer, table)
    asyncio.run(made.poll())
    actual = table.find(Subject("", "shop", "", "depth"), ALL, NOW_S)
    times_s = {labels[0][1]: sample.time_s for labels, sample in actual}
    assert times_s == {"a": NOW_S - 200.0, "b": NOW_S - 1.0, "c": NOW_S - 1.0}


def test_an_empty_response_is_counted() -> None:
    made, results = poller(QUEUE, answering("vector", []), MetricTable(telemetry.Telemetry("test")))
    asyncio.run(made.poll())
    assert results == ["empty"]


def test_faults_are_raised_for_the_loop_to_count() -> None:
    table = MetricTable(telemetry.Telemetry("test"))
    made, _ = poller(QUEUE, lambda _: httpx.Response(503), table)
    with pytest.raises(errors.ReadError):
        asyncio.run(made.poll())
    unknown, _ = poller(
        PollRule("x", "q", 15.0, "unicorns", "u"), lambda _: httpx.Response(503), table
    )
    with pytest.raises(InputError, match="no such resource"):
        asyncio.run(unknown.poll())


def test_the_loop_goes_on_after_a_fault() -> None:
    count = 0

    def flaky(request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        return httpx.Response(503) if count == 1 else answering("vector", [scalar()])(request)

    table = MetricTable(telemetry.Telemetry("test"))
    rule = PollRule("depth", "q", 0.001, namespace="shop")
    made, results = poller(rule, flaky, table)

    async def follow() -> None:
        task = asyncio.create_task(made.keep())
        async with asyncio.timeout(10.0):
            while len(results) < 3:
                await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(follow())
    assert results[:3] == ["failed", "answered", "answered"]


def test_the_past_is_read_for_a_forecast() -> None:
    ahead = ForecastRule("depth", horizon_s=60.0, step_s=15.0, history_s=900.0)
    asked: list[dict[str, list[str]]] = []

    def past(request: httpx.Request) -> httpx.Response:
        form = parse_qs(request.content.decode())
        asked.append(form)
        start, end = (float(form[name][0]) for name in ("start", "end"))
        steps = range(round((end - start) / 15.0) + 1)
        values = [[start + 15.0 * k, str(100 + 10 * k + k % 2)] for k in steps]
        return answering("matrix", [{"metric": {"queue": "a"}, "values": values}])(request)

    metrics = telemetry.Telemetry("test")
    table = MetricTable(metrics)
    MetricForecaster((ahead,), table, metrics)
    made, _ = poller(QUEUE, past, table, ahead)
    asyncio.run(made.fill())
    assert float(asked[0]["start"][0]) == NOW_S - 900.0
    # 61 points from 100 to 700; 4 steps ahead, damped: 10 * (0.9 + ... + 0.9^4) = 31.
    subject = Subject("", "shop", "", "kubestow_forecast_depth")
    ((_, sample),) = table.find(subject, ALL, NOW_S)
    assert sample.notes == (("kubestow.io/basis", "forecast"),)
    assert float(sample.value) == pytest.approx(731.0, abs=3.0)
