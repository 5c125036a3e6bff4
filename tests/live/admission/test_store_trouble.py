"""A store that is down, hangs, or comes late: answers stay quick and pods unchanged at worst."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubestow.live.admission.policy import AdmissionPolicy
from testenv import postgresql_servers, slow_relays
from tests.live.admission import make
from tests.live.admission.test_webhook import count, post, wait_for_table

QUICK_S = 1.0  # an answer takes milliseconds; the rest is for a busy machine


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql_servers.Server]:
    if not postgresql_servers.is_there():
        pytest.skip(postgresql_servers.MISSING)
    with postgresql_servers.serve() as running:
        yield running


def wait_until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(4000):
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come true")


def test_a_store_that_goes_down_leaves_the_values_that_were_read(
    server: postgresql_servers.Server,
) -> None:
    url = server.make_schema()
    make.keep(url)
    with make.webhook(url) as (made, client):
        wait_for_table(made)
        server.stop()
        try:
            assert not made.recommendations.refresh()
            began_s = time.monotonic()
            assert make.patch_of(post(client, make.managed()))
            assert time.monotonic() - began_s < QUICK_S
        finally:
            server.start()
        # It recovers when the store is back: the value, and the decision.
        assert made.recommendations.refresh()
        wait_until(lambda: "written" in client.get("/metrics").text)


def test_a_store_that_is_away_at_the_start_is_waited_for(tmp_path: Path) -> None:
    url = "postgresql+psycopg://kubestow:secret@127.0.0.1:1/postgres"
    with make.webhook(url, AdmissionPolicy()) as (made, client):
        began_s = time.monotonic()
        assert make.patch_of(post(client, make.managed())) == []
        assert time.monotonic() - began_s < QUICK_S
        assert count(made, "unchanged", "stale") == 1.0
        answer = client.get("/readyz")
        assert (answer.status_code, "no learned values" in answer.text) == (503, True)
        wait_until(lambda: 'reads_total{result="failed"}' in client.get("/metrics").text)


def test_a_store_that_does_not_answer_holds_up_nobody(server: postgresql_servers.Server) -> None:
    url = server.make_schema()
    make.keep(url)
    with slow_relays.relay(server.port) as address:
        slow = url.replace(str(server.port), address.rpartition(":")[2])
        with make.webhook(slow) as (made, client):
            for _ in range(5):
                began_s = time.monotonic()
                assert make.patch_of(post(client, make.managed())) == []
                assert time.monotonic() - began_s < QUICK_S
            assert count(made, "unchanged", "stale") == 5.0
            assert made.recommendations.table is None
