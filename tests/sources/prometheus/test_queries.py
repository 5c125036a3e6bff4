"""Every ready-made query, run on a real Prometheus; each case shows its arithmetic."""

from __future__ import annotations

import pytest

from kubestow.model import errors
from kubestow.sources.prometheus import queries
from kubestow.sources.prometheus.selectors import Matcher
from tests.sources.prometheus_history import ASKED_S, BEGIN_S, MIB, ODD_TEXT, STEP_S, History

N1, N2 = {"instance": "n1"}, {"instance": "n2"}
SDA = {"instance": "n1", "device": "sda"}
POD = {"namespace": "shop", "pod": "web-0"}
APP = {**POD, "container": "app"}
WEB = (Matcher("service", "=", "web"),)

CATALOGUE = [
    pytest.param(
        queries.node_cpu(), "percent",
        # n1: two processors are idle for 9 + 12 of 30 s per step, so busy for 9 of 30.
        # n2, new counters at 39: idle 9 + 4 + 9 = 22, user 6 + 2 + 6 = 14, busy for 14 of 36.
        [(N1, 100 * 9 / 30), (N2, 100 * 14 / 36)],
        id="node CPU",
    ),
    pytest.param(
        queries.node_disk(), "bytes/s",
        # 19 steps: 18 x 15000 read and 5000 after the reset, 19 x 30000 written; dm-0 is no disk.
        [(N1, (18 * 15_000 + 5_000 + 19 * 30_000) / 285)],
        id="node disk",
    ),
    pytest.param(
        queries.node_disk_operations(), "operations/s",
        # 19 x 150 reads, 18 x 75 writes and 18 after the reset.
        [(SDA, (19 * 150 + 18 * 75 + 18) / 285)],
        id="node disk operations",
    ),
    pytest.param(
        queries.node_network(), "bytes/s",
        # The last two samples: 1500 received since the reset, 3000 sent, in 15 s.
        [(N1, (1_500 + 3_000) / 15)],
        id="node network",
    ),
    pytest.param(
        queries.container_cpu(), "cores",
        # 3 s before the reset, 2 s and 3 s after it, in 45 s.
        [(APP, (3 + 2 + 3) / 45)],
        id="container CPU",
    ),
    pytest.param(
        queries.container_memory(), "bytes", [(APP, 120 * MIB)], id="container memory"
    ),
    pytest.param(
        queries.pod_network(), "bytes/s", [(POD, (1_500 + 4_500) / 15)], id="pod network"
    ),
    pytest.param(
        queries.container_disk(), "bytes/s",
        # 19 x 3000 read, 18 x 6000 written and 1000 after the reset.
        [(APP, (19 * 3_000 + 18 * 6_000 + 1_000) / 285)],
        id="container disk",
    ),
    pytest.param(
        queries.container_requests("cpu"), "cores", [(APP, 0.25)], id="CPU requests"
    ),
    pytest.param(
        queries.container_requests("memory"), "bytes", [(APP, 256 * MIB)], id="memory requests"
    ),
    pytest.param(
        queries.request_rate("http_requests_total", WEB), "requests/s",
        [({}, (900 + 150) / 15)],
        id="requests",
    ),
    pytest.param(
        queries.request_rate("http_requests_total", WEB, by=("code",)), "requests/s",
        [({"code": "200"}, 60.0), ({"code": "500"}, 10.0)],
        id="requests by code",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("query", "unit", "expected"), CATALOGUE)
def test_the_answer_is_what_the_hand_computes(
    history: History,
    query: queries.Query,
    unit: str,
    expected: list[tuple[dict[str, str], float]],
) -> None:
    with history.client() as client:
        answer = client.query(query.promql, ASKED_S)
    result = {sample.labels: sample.value for sample in answer.samples}
    wanted = {tuple(sorted(labels.items())): value for labels, value in expected}
    assert result == pytest.approx(wanted, rel=1e-9)
    assert {label for labels in result for label, _ in labels} == set(query.labels)
    assert (query.unit, answer.warnings) == (unit, ())


@pytest.mark.parametrize(("query", "unit", "expected"), CATALOGUE)
def test_the_newest_sample_behind_it_is_found(
    history: History, query: queries.Query, unit: str, expected: object
) -> None:
    with history.client() as client:
        (sample,) = client.query(query.newest, ASKED_S).samples
    assert sample.value == BEGIN_S + 40 * STEP_S


def test_a_value_full_of_syntax_stays_a_value(history: History) -> None:
    query = queries.request_rate("http_requests_total", [Matcher("service", "=", ODD_TEXT)])
    with history.client() as client:
        (sample,) = client.query(query.promql, ASKED_S).samples
    assert sample.value == pytest.approx(600 / 15)


def test_a_value_cannot_end_its_selector(history: History) -> None:
    # Unquoted, this would ask for all services.
    query = queries.request_rate(
        "http_requests_total", [Matcher("service", "=", '"} or vector(1)#')]
    )
    with history.client() as client:
        assert client.query(query.promql, ASKED_S).samples == ()


@pytest.mark.parametrize(
    "make",
    [queries.node_cpu, queries.node_disk, queries.node_disk_operations, queries.node_network,
     queries.container_cpu, queries.pod_network, queries.container_disk],
)  # fmt: skip
def test_a_window_holds_four_scrapes(make: object) -> None:
    assert callable(make)
    assert "[240s]" in make(window_s=240.0, scrape_s=60.0).promql
    with pytest.raises(errors.InputError) as refused:
        make(window_s=239.0, scrape_s=60.0)
    assert str(refused.value) == "window: 239s: expected at least 4 scrape intervals of 1m"


def test_a_resource_without_a_unit_is_refused() -> None:
    with pytest.raises(errors.InputError, match=r"resource: 'gpu': expected one of cpu, memory"):
        queries.container_requests("gpu")


def test_an_empty_question_is_refused() -> None:
    with pytest.raises(errors.InputError, match=r"query: is empty; expected PromQL"):
        queries.raw("  ")
