"""A real PostgreSQL for tests: on loopback, with its own data folder, ended by its process id.

The server refuses to run as root; tests as root run it as the user ``postgres`` of its package.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from testenv.prometheus_servers import free_port

MISSING = "needs initdb and postgres (Debian package postgresql; make postgresql)"
_ACCOUNT = "postgres"
_DATABASE = "postgres"  # created by initdb
_USER = "kubestow"
_START_S = 30.0
# The data of a test need not survive a power failure.
_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")


def is_there() -> bool:
    """Return whether the programs and an account to run them are available."""
    return _programs() is not None and (os.getuid() != 0 or _account() is not None)


@dataclass(slots=True)
class Server:
    """A server that can be stopped and started again.

    Attributes:
        folder: Folder of its data and log.
        port: Port on loopback.
        password: Password of its only user.
    """

    folder: Path
    port: int
    password: str = field(repr=False)
    _process: subprocess.Popen[bytes] | None = None
    _made: int = 0

    def make_schema(self) -> str:
        """Create an empty schema and return its URL, with the password.

        For a test it is as good as a separate database, at a hundredth of the cost.
        """
        self._made += 1
        name = f"test_{self._made}"
        with self._connect() as connection:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        address = f"{_USER}:{self.password}@127.0.0.1:{self.port}/{_DATABASE}"
        return f"postgresql+psycopg://{address}?options=-csearch_path%3D{name}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [_program("postgres"), "-D", str(self.folder / "data")]
        settings = (*_SETTINGS, f"port={self.port}", "listen_addresses=127.0.0.1")
        for setting in (*settings, f"unix_socket_directories={self.folder}"):
            command += ["-c", setting]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                command, stdout=log, stderr=log, user=_user(), group=_group(), extra_groups=_none()
            )
        self._wait(self._process)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server and all its connections.

        Args:
            how: SIGINT for a fast shutdown, which saves data, or SIGQUIT, which does not.
        """
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(20.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _connect(self) -> psycopg.Connection:
        # Keyword arguments instead of a URL, so that the environment adds nothing.
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=_USER,
            password=self.password,
            dbname=_DATABASE,
            connect_timeout=5,
        )

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until and process.poll() is None:
            try:
                self._connect().close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        self.stop()
        log = (self.folder / "log").read_text(encoding="utf-8")
        raise RuntimeError(f"postgres did not start: {log}")


@contextlib.contextmanager
def serve() -> Iterator[Server]:
    """Run a server on an empty data folder; both are removed afterwards."""
    # Not below a folder of pytest: the account of the server may not enter folders of root.
    folder = Path(tempfile.mkdtemp(prefix="kubestow-postgresql-"))
    server = Server(folder, free_port(), secrets.token_urlsafe(16))
    try:
        if os.getuid() == 0:
            os.chown(folder, _user() or 0, _group() or 0)
        _make_data(server)
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def _make_data(server: Server) -> None:
    secret = server.folder / "password"
    secret.write_text(server.password, encoding="utf-8")
    secret.chmod(0o600)
    if os.getuid() == 0:
        os.chown(secret, _user() or 0, _group() or 0)
    command = [_program("initdb"), "-D", str(server.folder / "data"), "-U", _USER]
    command += ["--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync"]
    command += ["--encoding=UTF8", "--locale=C"]
    done = subprocess.run(  # noqa: S603
        command,
        capture_output=True,
        text=True,
        check=False,
        user=_user(),
        group=_group(),
        extra_groups=_none(),
        cwd=server.folder,
    )
    secret.unlink()
    if done.returncode:
        raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")


def _programs() -> Path | None:
    """Return the folder of the newest release; Debian does not put them on the path."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    releases = sorted((file.parent for file in debian), key=lambda f: f.parent.name.zfill(4))
    on_path = shutil.which("initdb")
    return releases[-1] if releases else (Path(on_path).parent if on_path else None)


def _program(name: str) -> str:
    folder = _programs()
    if folder is None:
        raise RuntimeError(MISSING)
    return str(folder / name)


def _account() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(_ACCOUNT)
    except KeyError:
        return None


def _user() -> int | None:
    account = _account()
    return account.pw_uid if os.getuid() == 0 and account else None


def _group() -> int | None:
    account = _account()
    return account.pw_gid if os.getuid() == 0 and account else None


def _none() -> list[int] | None:
    """Return no supplementary groups; only root may drop them."""
    return [] if os.getuid() == 0 else None
