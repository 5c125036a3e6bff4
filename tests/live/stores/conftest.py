"""Empty stores on both databases, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubestow.live.stores import engines
from testenv import postgresql_servers


@pytest.fixture(scope="session")
def server() -> Iterator[postgresql_servers.Server]:
    if not postgresql_servers.is_there():
        pytest.skip(postgresql_servers.MISSING)
    with postgresql_servers.serve() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that nobody has opened yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    running: postgresql_servers.Server = request.getfixturevalue("server")
    return running.make_schema()


@pytest.fixture
def store(url: str) -> Iterator[engines.Store]:
    with engines.open_store(url) as opened:
        yield opened
