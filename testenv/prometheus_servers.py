"""A real Prometheus for tests: on loopback, with its own data folder, ended by its process id.

``load`` writes samples with exact times into a data folder before a server starts on it.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

MISSING = "needs the programs prometheus and promtool (Debian package prometheus; make prometheus)"
_START_S = 30.0
_NOTHING = "scrape_configs: []\n"


def is_there() -> bool:
    """Return whether the programs are installed."""
    return all(shutil.which(name) for name in ("prometheus", "promtool"))


def load(data: Path, openmetrics: str) -> None:
    """Write samples into a data folder.

    Args:
        data: The folder; created if it is missing.
        openmetrics: Samples with times in the OpenMetrics text format, without its last line.
    """
    data.mkdir(parents=True, exist_ok=True)
    source = data.with_suffix(".openmetrics")
    source.write_text(f"{openmetrics}# EOF\n", encoding="utf-8")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(source), str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"promtool failed: {done.stdout}{done.stderr}")


@contextlib.contextmanager
def serve(data: Path, configuration: str = _NOTHING, web: str = "") -> Iterator[str]:
    """Run a server on a data folder and yield its URL.

    Args:
        data: The data folder.
        configuration: The text of ``prometheus.yml``; by default nothing is scraped.
        web: The text of its web configuration (certificates); with it, the server uses TLS.
    """
    data.mkdir(parents=True, exist_ok=True)
    file = data.with_suffix(".yml")
    file.write_text(configuration, encoding="utf-8")
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={file}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",  # samples of the tests are years old
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    if web:
        secured = data.with_suffix(".web.yml")
        secured.write_text(web, encoding="utf-8")
        command.append(f"--web.config.file={secured}")
    log = data.with_suffix(".log")
    with log.open("wb") as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages)  # noqa: S603
        try:
            _wait(process, port, log, ready=_accepts if web else _is_ready)
            yield f"{'https' if web else 'http'}://127.0.0.1:{port}"
        finally:
            _end(process)


def free_port() -> int:
    """Return a free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(
    process: subprocess.Popen[bytes], port: int, log: Path, ready: Callable[[int], bool]
) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        if ready(port):
            return
        time.sleep(0.05)
    raise RuntimeError(f"prometheus did not start: {log.read_text(encoding='utf-8')}")


def _is_ready(port: int) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/-/ready", timeout=5.0):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 5.0):
            return True
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
