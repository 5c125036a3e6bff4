"""A PostgreSQL that goes away and comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from kubestow.live.stores import claims, engines, evaluations, faults, runs
from testenv import postgresql_servers
from tests.live.stores.make import BUILD, run
from tests.live.stores.workers import LEASE_S, NOW_S, results


@pytest.fixture(scope="module")
def own() -> Iterator[postgresql_servers.Server]:
    """A server that may be stopped without anyone else noticing."""
    if not postgresql_servers.is_there():
        pytest.skip(postgresql_servers.MISSING)
    with postgresql_servers.serve() as running:
        yield running


def test_a_restart_between_two_calls_goes_unnoticed(own: postgresql_servers.Server) -> None:
    with engines.open_store(own.make_schema()) as store:
        runs.record(store, run())
        held = claims.claim(store, run().key, "me", NOW_S, LEASE_S)
        assert held is not None
        own.stop()
        own.start()
        evaluations.complete(store, held, results(held, {}), NOW_S)
        assert runs.read(store, BUILD)[0].evaluated_at_s == NOW_S


def test_while_it_is_down_the_error_says_so_and_afterwards_all_goes_on(
    own: postgresql_servers.Server,
) -> None:
    url = own.make_schema()
    with engines.open_store(url) as store:
        own.stop()
        for attempt in (lambda: runs.read(store, BUILD), lambda: engines.open_store(url)):
            with pytest.raises(faults.StoreUnavailableError, match="refused") as failed:
                attempt()
            assert str(failed.value).startswith(f"{store.place}: ")
            assert own.password not in str(failed.value)
        own.start()
        assert runs.record(store, run())
        assert runs.read(store, BUILD) == (run(),)


def change_and_stop(
    store: engines.Store, held: claims.Claim, server: postgresql_servers.Server
) -> None:
    with store.writing() as connection:
        claims.change(connection, held, {"evaluated_at_s": NOW_S})
        server.stop()
        connection.execute(sa.text("SELECT 1"))


def test_a_transaction_that_loses_its_server_fails_whole(own: postgresql_servers.Server) -> None:
    with engines.open_store(own.make_schema()) as store:
        runs.record(store, run())
        held = claims.claim(store, run().key, "me", NOW_S, LEASE_S)
        assert held is not None
        with pytest.raises(faults.StoreUnavailableError):
            change_and_stop(store, held, own)
        own.start()
        assert runs.read(store, BUILD)[0].evaluated_at_s is None
