"""Schema versions: from nothing, from the first version with data, from several replicas."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from kubestow.live.stores import claims, engines, runs, samples
from kubestow.live.stores.schema import current, migrations, version_1
from kubestow.model import errors
from tests.live.stores.make import BUILD, count, run

REPLICAS = 8


@pytest.fixture
def bare(url: str) -> Iterator[engines.Store]:
    """A database without any tables."""
    address = sa.make_url(url)
    with engines.Store("bare", engines._make(address)) as opened:
        yield opened


def versions(store: engines.Store) -> list[int]:
    table = current.schema_version
    with store.reading() as connection:
        return list(connection.scalars(sa.select(table.c.version).order_by(table.c.version)))


def test_an_empty_database_gets_all_tables(store: engines.Store) -> None:
    assert versions(store) == [1, current.VERSION] == [1, len(migrations.STEPS)]


def test_migrated_tables_are_those_the_program_knows(store: engines.Store) -> None:
    result = sa.inspect(store.engine)
    assert set(result.get_table_names()) == set(current.metadata.tables)
    for name, table in current.metadata.tables.items():
        columns = {column["name"]: column["nullable"] for column in result.get_columns(name)}
        assert columns == {column.name: column.nullable for column in table.columns}
        unique = {index["name"] for index in result.get_unique_constraints(name)}
        indexes = {index["name"] for index in result.get_indexes(name)} - unique
        assert indexes == {index.name for index in table.indexes}
        keys = [key["referred_table"] for key in result.get_foreign_keys(name)]
        assert keys == [key.column.table.name for key in table.foreign_keys]


def fill_version_1(store: engines.Store) -> None:
    with store.writing() as connection:
        assert migrations.migrate(connection, "bare", migrations.STEPS[:1]) == 0
        key = {"namespace": "ci", "kind": "Tekton", "workload": "shop.build", "container": "main"}
        connection.execute(version_1.containers.insert().values(id=1, **key))
        values = {"container_id": 1, "pod_uid": "pod-1", "began_s": 10.0, "ended_s": 20.0}
        facts = {"cpu_mean_m": 250.5, "memory_max_bytes": 2**40, "oom": False}
        connection.execute(version_1.runs.insert().values(**values, **facts))
        sample = {"container_id": 1, "pod_uid": "pod-1", "time_s": 11.0, "cpu_m": 3.0}
        connection.execute(version_1.samples.insert().values(sample))


def test_a_database_of_version_1_is_brought_forward_with_its_data(
    bare: engines.Store, url: str
) -> None:
    fill_version_1(bare)
    assert versions(bare) == [1]
    with engines.open_store(url) as store:
        assert versions(store) == [1, 2]
        assert runs.read(store, BUILD) == (run(),)  # with an empty image
        assert samples.read(store, BUILD, "pod-1") == (
            samples.StoredSample(BUILD, "pod-1", 11.0, 3.0),
        )
        assert claims.claim(store, run().key, "w", 30.0, 10.0)
        assert runs.record(store, run("pod-2", ended_s=-1e9))  # nothing was forgotten yet
        with store.reading() as connection:
            mark = connection.scalar(sa.select(current.retention_marks_table.c.until_s))
        assert mark == -math.inf


def test_a_newer_schema_is_refused(url: str) -> None:
    with engines.open_store(url) as store, store.writing() as connection:
        connection.execute(current.schema_version.insert().values(version=3))
    expected = "schema version 3 is newer than this program; expected at most 2"
    with pytest.raises(errors.InputError, match=expected):
        engines.open_store(url)


def test_a_failing_step_leaves_the_old_version(bare: engines.Store) -> None:
    def fail(connection: sa.Connection) -> None:
        migrations.STEPS[1](connection)
        raise ZeroDivisionError

    fill_version_1(bare)
    with pytest.raises(ZeroDivisionError), bare.writing() as connection:
        migrations.migrate(connection, "bare", (migrations.STEPS[0], fail))
    assert versions(bare) == [1]
    names = {column["name"] for column in sa.inspect(bare.engine).get_columns("runs")}
    assert "image" not in names


def test_tables_that_were_dropped_are_made_again(url: str) -> None:
    with engines.open_store(url) as store, store.writing() as connection:
        current.decisions_table.drop(connection)
    with engines.open_store(url) as store:
        assert count(store, current.decisions_table) == 0


def test_replicas_may_start_at_once(url: str) -> None:
    together, failures = threading.Barrier(REPLICAS), []

    def start() -> None:
        together.wait()
        try:
            engines.open_store(url).close()
        except Exception as err:  # noqa: BLE001 - whatever it is, the test fails by it
            failures.append(err)

    threads = [threading.Thread(target=start) for _ in range(REPLICAS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with engines.open_store(url) as store:
        assert versions(store) == [1, 2]
