"""Opening a store: which addresses, what is refused, and what is never shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from kubestow.live.stores import engines, faults, runs
from kubestow.live.stores.schema import current
from kubestow.model import errors
from testenv import postgresql_servers
from tests.live.stores.make import BUILD, run

SECRET = "s3cret"  # noqa: S105


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (f"mysql://u:{SECRET}@h/d", "store: 'mysql': unknown scheme; expected sqlite:///FILE"),
        (f"postgresql://u:{SECRET}@h/d", "store: 'postgresql': unknown scheme; expected"),
        (f"{SECRET}", "store: not a URL; expected"),
        (f"postgresql+psycopg://u:{SECRET}@h:x/d", "store: postgresql+psycopg://...: not under"),
        ("sqlite://", "sqlite:///: names no file"),
        ("sqlite:///:memory:", "sqlite:///:memory:: names no file"),
        ("sqlite:////nowhere/s.db", "sqlite:////nowhere/s.db: expected a file in a directory"),
    ],
    ids=["mysql", "other driver", "no URL", "port", "no file", "memory", "no directory"],
)
def test_other_addresses_are_refused_without_their_secrets(url: str, problem: str) -> None:
    with pytest.raises(errors.InputError) as refused:
        engines.open_store(url)
    assert str(refused.value).startswith(problem)
    assert SECRET not in str(refused.value)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(errors.InputError, match=r"kubestow\[postgres\]") as refused:
        engines.open_store(f"postgresql+psycopg://u:{SECRET}@h/d")
    assert SECRET not in str(refused.value)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("nothing to see here, and more than a hundred bytes of it" * 3)
    with pytest.raises(faults.StoreUnavailableError, match="not a database"):
        engines.open_store(f"sqlite:///{file}")
    assert file.read_text().startswith("nothing to see here")


def test_a_sqlite_file_logs_ahead_waits_for_locks_and_checks_keys(tmp_path: Path) -> None:
    names = ("journal_mode", "busy_timeout", "foreign_keys", "synchronous")
    with engines.open_store(f"sqlite:///{tmp_path}/s.db") as store, store.reading() as connection:
        result = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
    assert result == ["wal", 30_000, 1, 1]


def test_a_row_of_an_unknown_container_is_refused(store: engines.Store) -> None:
    row = {"container_id": 77, "pod_uid": "p", "time_s": 1.0}
    with pytest.raises(sa.exc.IntegrityError), store.writing() as connection:
        connection.execute(current.samples_table.insert().values(row))


def test_what_was_written_is_there_after_opening_again(url: str) -> None:
    with engines.open_store(url) as store:
        assert runs.record(store, run())
    with engines.open_store(url) as store:
        assert runs.read(store, BUILD) == (run(),)


def test_a_failed_transaction_leaves_nothing(store: engines.Store) -> None:
    def fail() -> None:
        with store.writing() as connection:
            connection.execute(current.retention_marks_table.insert().values(name="x", until_s=0.0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as connection:
        assert connection.scalars(sa.select(current.retention_marks_table.c.name)).all() == ["runs"]


def test_a_lock_that_is_held_too_long_raises_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_PATIENCE_S", 0)
    with engines.open_store(f"sqlite:///{tmp_path}/s.db") as store, store.writing():
        with pytest.raises(faults.StoreUnavailableError, match="database is locked"):
            runs.record(store, run())
        assert runs.read(store, BUILD) == ()  # readers do not wait for the writer


def test_a_store_does_not_show_its_password(server: postgresql_servers.Server) -> None:
    with engines.open_store(server.make_schema()) as store:
        assert server.password not in f"{store!r} {store.place} {store.engine!r}"
        assert store.place == f"postgresql+psycopg://kubestow@127.0.0.1:{server.port}/postgres"


@pytest.mark.parametrize("where", ["user", "query"])
def test_a_wrong_password_is_not_shown(server: postgresql_servers.Server, where: str) -> None:
    address = f"127.0.0.1:{server.port}/postgres"
    given = f"kubestow:{SECRET}@{address}" if where == "user" else f"kubestow@{address}"
    url = f"postgresql+psycopg://{given}" + ("" if where == "user" else f"?password={SECRET}")
    with pytest.raises(faults.StoreUnavailableError, match="authentication failed") as failed:
        engines.open_store(url)
    assert SECRET not in str(failed.value)
    assert failed.value.place == f"postgresql+psycopg://kubestow@{address}"
    assert failed.value.__cause__ is None
