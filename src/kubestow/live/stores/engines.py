"""Database connections: one URL, transactions, and errors without secrets.

SQLite is the default, for one machine; PostgreSQL serves several replicas. All other modules are
independent of the database.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import ConnectionPoolEntry

from kubestow.live.stores import documents, faults, schema
from kubestow.model import errors

if TYPE_CHECKING:  # an optional dependency
    import psycopg

SQLITE, POSTGRESQL = "sqlite", "postgresql+psycopg"
_EXPECTED = f"expected {SQLITE}:///FILE or {POSTGRESQL}://USER:PASSWORD@HOST/DATABASE"
_WRITES = "kubestow_writes"

_PATIENCE_S = 30  # maximum wait for a lock
_IDLE_S = 60  # PostgreSQL ends a transaction whose client is idle for this long
_CONNECT_S = 5
_WAL_TRIES, _WAL_PAUSE_S = 200, 0.05


@dataclass(frozen=True, slots=True)
class Store:
    """An open database.

    Attributes:
        place: Its URL without password, for messages.
        engine: Its connection pool.
    """

    place: str
    engine: sa.Engine = field(repr=False)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a read transaction."""
        with _plain_errors(self.place, self.engine.url), self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a write transaction; it is committed as a whole or not at all."""
        engine = self.engine.execution_options(**{_WRITES: True})
        with _plain_errors(self.place, self.engine.url), engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_store(url: str, *, create: bool = True) -> Store:
    """Open a database, and migrate it to the newest schema.

    Args:
        url: ``sqlite:///FILE`` or ``postgresql+psycopg://USER:PASSWORD@HOST/DATABASE``.
        create: Whether to create a file that does not exist.

    Raises:
        InputError: If the URL is invalid or the database cannot be used; never shows the password.
        StoreUnavailableError: If the database is not available.
    """
    address = _read(url)
    if not create and address.drivername == SQLITE and not Path(str(address.database)).is_file():
        raise errors.InputError(_show(address), "no such file; expected an existing store")
    store = Store(_show(address), _make(address))
    try:
        if address.drivername == SQLITE:
            _enable_wal(store)
        with store.writing() as connection:
            schema.migrate(connection, store.place)
    except BaseException:
        store.close()
        raise
    return store


def _read(url: str) -> sa.URL:
    scheme, separator, _ = url.partition("://")
    # An invalid URL is never shown: its password may be anywhere.
    if not separator:
        raise errors.InputError("store", f"not a URL; {_EXPECTED}")
    if scheme not in (SQLITE, POSTGRESQL):
        raise errors.InputError("store", f"{scheme!r}: unknown scheme; {_EXPECTED}")
    try:
        address = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise errors.InputError("store", f"{scheme}://...: not understood; {_EXPECTED}") from None
    if scheme == SQLITE:
        _check_file(address)
    return address


def _check_file(address: sa.URL) -> None:
    place = _show(address)
    if not address.database or address.database == ":memory:" or address.host:
        raise errors.InputError(place, f"names no file; expected {SQLITE}:///FILE")
    if not Path(address.database).absolute().parent.is_dir():
        raise errors.InputError(place, "expected a file in a directory that exists")


def _show(address: sa.URL) -> str:
    """Return a URL without anything that could be a secret."""
    if address.drivername == SQLITE:
        return f"{SQLITE}:///{address.database or ''}"
    return address.set(query={}).render_as_string(hide_password=True).replace(":***@", "@")


def _make(address: sa.URL) -> sa.Engine:
    options = {"json_serializer": documents.encode, "json_deserializer": documents.decode}
    if address.drivername == SQLITE:
        engine = sa.create_engine(address, hide_parameters=True, **options)
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    if "connect_timeout" not in address.query:
        address = address.update_query_dict({"connect_timeout": str(_CONNECT_S)})
    try:
        # Pre-ping, because servers restart and networks drop idle connections.
        engine = sa.create_engine(address, hide_parameters=True, pool_pre_ping=True, **options)
    except ModuleNotFoundError:
        needs = "needs the package psycopg: pip install 'kubestow[postgres]'"
        raise errors.InputError(_show(address), needs) from None
    sa.event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # ``_begin_sqlite`` begins transactions
    connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_S * 1000}")
    connection.execute("PRAGMA foreign_keys = ON")
    # With a write-ahead log a power failure may undo the last transactions, but never parts of one.
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that reads before it writes would fail if another one wrote in between.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgresql(connection: psycopg.Connection, _: ConnectionPoolEntry) -> None:
    connection.execute(f"SET lock_timeout = '{_PATIENCE_S}s'")
    connection.execute(f"SET idle_in_transaction_session_timeout = '{_IDLE_S}s'")
    connection.commit()


def _enable_wal(store: Store) -> None:
    """Switch a file to write-ahead logging, so that readers and the writer do not block each other.

    The switch needs exclusive access and does not wait for it, so it is retried; it persists.
    """
    with _plain_errors(store.place, store.engine.url):
        raw = store.engine.raw_connection()
        try:
            _switch(raw.cursor())
        finally:
            raw.close()


def _switch(cursor: sa.engine.interfaces.DBAPICursor) -> None:
    for tries_left in reversed(range(_WAL_TRIES)):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as err:
            if "locked" not in str(err) or not tries_left:
                raise
            time.sleep(_WAL_PAUSE_S)
        else:
            return


@contextlib.contextmanager
def _plain_errors(place: str, address: sa.URL) -> Iterator[None]:
    """Convert errors of drivers, without statements, parameters and secrets."""
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError) as err:
        raise faults.StoreUnavailableError(place, _explain(err.orig, address)) from None
    except sa.exc.TimeoutError as err:  # all connections of the pool are in use
        raise faults.StoreUnavailableError(place, _explain(err, address)) from None
    except sqlite3.DatabaseError as err:
        raise faults.StoreUnavailableError(place, _explain(err, address)) from None
    except sa.exc.DatabaseError as err:
        if not isinstance(err.orig, sqlite3.DatabaseError) or _is_mistake(err):
            raise
        raise faults.StoreUnavailableError(place, _explain(err.orig, address)) from None


def _is_mistake(err: sa.exc.DatabaseError) -> bool:
    """Return whether an error is a bug, not the file's fault: constraint, statement or value."""
    return isinstance(err, sa.exc.IntegrityError | sa.exc.ProgrammingError | sa.exc.DataError)


def _explain(err: BaseException | None, address: sa.URL) -> str:
    text = " ".join(str(err).split())
    for secret in (address.password, address.query.get("password")):
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "***")
    return text


Insert = postgresql.Insert | sqlite.Insert


def insert(connection: sa.Connection, table: sa.Table) -> Insert:
    """Return an insert with ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
