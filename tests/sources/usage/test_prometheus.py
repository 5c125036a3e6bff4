"""Usage of a cluster from a real Prometheus, compared with the numbers written into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from kubestow.model import errors, usage
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.model.usage import Usage
from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import settings
from kubestow.sources.usage import prometheus
from kubestow.sources.usage.prometheus import UsageQuery
from kubestow.workflows import recommending
from testenv import prometheus_servers
from tests.sources import usage_scenes as scenes
from tests.sources.prometheus_stubs import URL, success

QUESTION = UsageQuery(end_s=scenes.END_S, history_s=scenes.POINTS * scenes.STEP_S, with_labels=True)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What was read, and in how many questions."""

    table: Usage
    inventory: usage.Inventory
    asked: int
    watched: list[tuple[str, float]]


def ask(url: str, question: UsageQuery = QUESTION) -> Reading:
    watched: list[tuple[str, float]] = []
    with prometheus_client.PrometheusClient(settings.PrometheusSettings(url)) as client:
        table, inventory = prometheus.read_prometheus_usage(
            client, question, lambda what, done: watched.append((what, done))
        )
        return Reading(table, inventory, client.queries_sent, watched)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    with scenes.serve(tmp_path_factory.mktemp("usage")) as address:
        yield address


@pytest.fixture(scope="module")
def reading(url: str) -> Reading:
    return ask(url)


def row_of(table: Usage, pod: str) -> int:
    return table.pods.index(pod)


def key_of(table: Usage, pod: str) -> ContainerKey:
    return table.keys[int(table.owners[row_of(table, pod)])]


def test_usage_is_what_was_written(reading: Reading) -> None:
    table = reading.table
    pods = scenes.make_pods()
    assert sorted(table.pods) == sorted(pod.name for pod in pods)
    assert (table.step_s, table.end_s) == (scenes.STEP_S, scenes.END_S)
    assert table.cpu_cores.shape == table.memory_bytes.shape == (len(pods), scenes.POINTS)
    for pod in pods:
        row = row_of(table, pod.name)
        # A counter that began anew between two samples shows what was used since, here 150 s.
        cores = pod.expected_cores()
        np.testing.assert_allclose(table.cpu_cores[row], cores, rtol=1e-9, err_msg=pod.name)
        np.testing.assert_array_equal(table.memory_bytes[row], pod.expected_bytes(), pod.name)


@pytest.mark.parametrize(
    ("pod", "workload"),
    [
        ("app-4-r-2", "team-1/Deployment/app-4"),
        ("web-r1-a", "team-0/Deployment/web"),
        ("web-r2-b", "team-0/Deployment/web"),
        ("db-0", "data/StatefulSet/db"),
        ("nightly-28460000-x", "jobs/CronJob/nightly"),
        ("weekly-28461111-x", "jobs/CronJob/weekly"),
        ("lonely", "jobs/Pod/lonely"),
        ("proxy-n1", "jobs/Pod/proxy-n1"),
    ],
    ids=["replica set", "gone", "its successor", "stateful", "job", "job by its name", "bare",
         "static"],
)  # fmt: skip
def test_pods_are_traced_to_their_workloads(reading: Reading, pod: str, workload: str) -> None:
    assert str(key_of(reading.table, pod).of) == workload


def test_rows_stand_in_the_order_of_their_containers(reading: Reading) -> None:
    table = reading.table
    assert (np.diff(table.owners) >= 0).all()
    assert list(table.containers) == sorted(table.containers)
    # Eleven deployments of three pods, one of two that followed each other, and five more.
    assert len(table.containers) == 11 + 1 + 5


def test_shortages_belong_to_who_had_them(reading: Reading) -> None:
    table = reading.table
    place = table.containers.index(key_of(table, "db-0"))
    assert table.throttled[place] == pytest.approx(0.03)
    assert np.isnan(np.delete(table.throttled, place)).all()
    # kube-state-metrics tells of one kill, cAdvisor counts two.
    assert table.oom_kills[place] == 2.0
    assert np.delete(table.oom_kills, place).sum() == 0.0


def test_requests_limits_and_heaps_are_known(reading: Reading) -> None:
    table, known = reading.table, reading.inventory.containers
    db = known[key_of(table, "db-0")]
    assert {name: str(amount) for name, amount in db.requests.items()} == {
        "cpu": "500m", "memory": "256Mi",
    }  # fmt: skip
    assert {name: str(amount) for name, amount in db.limits.items()} == {"memory": "300Mi"}
    assert db.heap_bytes is None
    assert known[key_of(table, "app-1-r-0")].heap_bytes == 1024 * scenes.MIB


def test_nodes_that_take_no_pods_and_autoscalers_are_told(reading: Reading) -> None:
    inventory = reading.inventory
    assert {name: str(given["cpu"]) for name, given in inventory.nodes.items()} == {
        "n1": "4", "n2": "8",
    }  # fmt: skip
    scaled = WorkloadKey("team-2", "Deployment", "app-2")
    assert inventory.autoscaled == {scaled: {"cpu": 60}}
    db = WorkloadKey("data", "StatefulSet", "db")
    assert inventory.labels == {db: {"app_kubernetes_io_name": "db"}}


def test_few_questions_are_asked_and_progress_only_grows(reading: Reading) -> None:
    assert reading.asked == 18
    shares = [done for _, done in reading.watched]
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0
    assert reading.table.notes == (
        "page cache: no data on the server; memory is the working set with its page cache",
    )


@pytest.mark.parametrize(
    ("namespace", "hint"),
    [("dtaa", "did you mean data\\?"), ("zzz", "there is usage of ")],
)
def test_a_namespace_without_usage_is_named(url: str, namespace: str, hint: str) -> None:
    question = UsageQuery(QUESTION.end_s, QUESTION.history_s, namespaces=(namespace,))
    problem = f"has no usage of namespace {namespace} in that time; {hint}"
    with pytest.raises(errors.InputError, match=problem):
        ask(url, question)


def test_only_the_namespaces_asked_for_are_read(url: str) -> None:
    question = UsageQuery(QUESTION.end_s, QUESTION.history_s, namespaces=("data", "jobs"))
    table = ask(url, question).table
    assert {key.namespace for key in table.keys} == {"data", "jobs"}
    assert len(table.pods) == 5


def test_a_question_between_two_steps_reads_as_many_points(url: str, reading: Reading) -> None:
    later = ask(url, UsageQuery(QUESTION.end_s + 40.0, QUESTION.history_s)).table
    assert later.end_s == scenes.END_S
    np.testing.assert_array_equal(later.cpu_cores, reading.table.cpu_cores)


def test_pages_are_put_together(
    url: str, monkeypatch: pytest.MonkeyPatch, reading: Reading
) -> None:
    # 40 pods: 100 points a page, three pages of 288 for each of both.
    monkeypatch.setattr(prometheus, "_PAGE_POINTS", 4000)
    paged = ask(url)
    np.testing.assert_array_equal(paged.table.cpu_cores, reading.table.cpu_cores)
    np.testing.assert_array_equal(paged.table.memory_bytes, reading.table.memory_bytes)
    assert paged.asked == reading.asked + 4


@pytest.mark.parametrize(("questions", "points"), [(2, 88), (3, 88), (4, 188)])
def test_whoever_interrupts_has_the_newest_part(
    url: str, monkeypatch: pytest.MonkeyPatch, reading: Reading, questions: int, points: int
) -> None:
    # 40 pods: pages of 100, 100 and 88 points; of each CPU and memory, the last page first.
    monkeypatch.setattr(prometheus, "_PAGE_POINTS", 4000)
    genuine, asked = prometheus_client.PrometheusClient.query_range, 0

    def interrupted(client: prometheus_client.PrometheusClient, *given: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked > questions:
            raise KeyboardInterrupt
        return genuine(client, *given)

    monkeypatch.setattr(prometheus_client.PrometheusClient, "query_range", interrupted)
    actual = ask(url)
    assert actual.table.end_s == reading.table.end_s
    kept = dict(zip(actual.table.pods, actual.table.cpu_cores, strict=True))
    for pod, row in zip(reading.table.pods, reading.table.cpu_cores, strict=True):
        if pod in kept:
            np.testing.assert_array_equal(kept[pod], row[-points:])
    assert any("interrupted: only the last" in note for note in actual.table.notes)


def test_an_interrupt_before_anything_was_read_is_one(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(prometheus_client.PrometheusClient, "query_range", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(url)


def test_without_kube_state_metrics_pods_stand_for_themselves_and_notes_say_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    with scenes.serve(tmp_path_factory.mktemp("bare"), with_state=False) as url:
        actual = ask(url)
    table = actual.table
    assert {key.kind for key in table.keys} == {"Pod"}
    assert len(table.containers) == len(scenes.make_pods())
    assert actual.inventory == usage.Inventory()
    assert table.notes == (
        "page cache: no data on the server; memory is the working set with its page cache",
        (
            "owners: no data on the server; every pod counts as a workload (is kube-state-metrics "
            "scraped?)"
        ),
        "requests: no data on the server; freed resources are unknown",
        "nodes: no data on the server; pods are not capped to node sizes",
        (
            "no data on the server: ReplicaSets, jobs, OOM kills, OOM events, throttling, "
            "limits, Java heaps, autoscalers, labels"
        ),
    )


def test_finished_pods_of_one_identity_are_runs_of_one_workload(tmp_path: Path) -> None:
    """Eight bare pods of 20 minutes, one after the other; the last ended an hour ago."""
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    lines = []
    for number in range(8):
        first_s = scenes.END_S - 3600 * (9 - number)
        tags = f'namespace="ci",pod="tests-{number}"'
        for at in range(first_s, first_s + 1200, 60):
            lines += [
                f'container_memory_working_set_bytes{{{tags},container="app"}} {2**28} {at}',
                f'kube_pod_labels{{{tags},label_kubestow_io_id="nightly"}} 1 {at}',
            ]
    prometheus_servers.load(tmp_path / "data", "\n".join(sorted(lines)) + "\n")
    with prometheus_servers.serve(tmp_path / "data") as url:
        read = ask(url, UsageQuery(end_s=scenes.END_S, history_s=12 * 3600.0))
    result = recommending.recommend(
        read.table, read.inventory, recommending.RecommendRequest(strategy="percentile")
    )
    assert [str(one.key) for one in result.recommendations] == ["ci/id/nightly/app"]
    assert result.recommendations[0].evidence == 8
    assert not any("labels" in note for note in read.table.notes)


def test_a_server_without_containers_is_refused(url: str) -> None:
    with pytest.raises(errors.InputError, match="has no container_memory_working_set_bytes"):
        ask(url, UsageQuery(scenes.BEGIN_S - 86400.0, 3600.0))


class Faulty:
    """Answers the count of containers, and then goes wrong."""

    def __init__(self, trouble: httpx.Response | Exception) -> None:
        self.trouble = trouble
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if request.url.path.endswith("/query"):
            return success({"resultType": "vector", "result": []})
        if isinstance(self.trouble, Exception):
            raise self.trouble
        return self.trouble


@pytest.mark.parametrize(
    ("trouble", "kind", "problem"),
    [
        (httpx.Response(403), faults.REFUSED, "answered 403 Forbidden"),
        (httpx.Response(503), faults.REFUSED, "answered 503 Service Unavailable"),
        (httpx.ReadTimeout("slow"), faults.TIMEOUT, "no response within 30 s"),
        (httpx.Response(200, content=b'{"status":"success","data":{"resultType":"matr'),
         faults.UNREADABLE, "response is not from Prometheus"),
        (httpx.RemoteProtocolError("cut"), faults.DOWN, "connection failed"),
    ],
    ids=["forbidden", "overloaded", "slow", "truncated", "cut"],
)  # fmt: skip
def test_a_fault_while_usage_is_read_ends_it(
    trouble: httpx.Response | Exception, kind: str, problem: str
) -> None:
    server = Faulty(trouble)
    client = prometheus_client.PrometheusClient(
        settings.PrometheusSettings(URL), wire=httpx.MockTransport(server), sleep=lambda _: None
    )
    with client, pytest.raises(faults.ReadError) as failed:
        prometheus.read_prometheus_usage(client, QUESTION)
    assert failed.value.kind == kind
    assert problem in str(failed.value)
    assert "\n" not in str(failed.value)
