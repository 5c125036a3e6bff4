"""``kubestow admission`` as users start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from kubestow.cli import main
from testenv.prometheus_servers import free_port
from tests.live.admission import make

ROOT = Path(__file__).parents[2]
SCRIPT = "from kubestow.cli import main; main.main()"


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main.run(["admission", *arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--listen", "9443"], "--listen: '9443': expected HOST:PORT"),
        (["--certificates", "mounted"], "nothing after mounted: expected DIR"),
        (["--certificates", "files", "a"], "a after files: expected CERT KEY"),
        (["--certificates", "none", "a"], "a after none: expected nothing"),
        (["--certificates", "mounted", "/nowhere"], "/nowhere/tls.crt: cannot be read"),
        (["--certificates", "managed"], "managed: needs the cluster"),
        (["--certificates", "none", "--listen", "0.0.0.0:0"], "only loopback"),
        (["--certificates", "none", "--client-ca", "x"], "--client-ca: needs TLS"),
        (["--min", "disk=1"], "--min: 'disk=1': expected cpu=VALUE or memory=VALUE"),
        (["--max", "cpu=much"], "--max cpu: 'much' is not a quantity"),
        (["--min", "cpu=2", "--max", "cpu=1"], "cpu: from 2000 to 1000"),
        (["--limit-factor", "cpu=x"], "--limit-factor cpu: 'x': expected a number"),
        (["--limit-factor", "cpu=0.5"], "cpu_factor: 0.5: must be >= 1"),
        (["--freeze", "web"], "--freeze: 'web': expected NAMESPACE/KIND/NAME"),
        (["--max-age", "soon"], "--max-age: 'soon': expected a duration"),
        (["--log-level", "loud"], "--log-level: 'loud': expected debug"),
    ],
)
def test_bad_input_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    error = refuse(capsys, "--store", store, "--no-cluster", *arguments)
    assert problem in error


def test_a_store_of_no_use_is_refused_without_showing_a_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = refuse(capsys, "--store", "mysql://me:secret@host/db", "--no-cluster")
    assert "unknown scheme" in error
    assert "secret" not in error


@pytest.mark.parametrize(("which", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_serves_until_a_signal_and_writes_what_it_decided(
    tmp_path: Path, which: signal.Signals, code: int
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    make.keep(url)
    signer = make.authority()
    pair = make.serving(signer)
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    port = free_port()
    command = [sys.executable, "-c", SCRIPT, "admission", "--listen", f"127.0.0.1:{port}"]
    command += ["--certificates", "mounted", str(tmp_path), "--no-cluster", "--drain", "1ms"]
    command += ["--log-level", "debug"]
    environment = {**os.environ, "KUBESTOW_STORE": url, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            base = f"https://127.0.0.1:{port}"
            with httpx.Client(verify=make.trusting(signer), base_url=base) as client:
                wait_until_ready(client)
                answer = client.post(make.PATH, json=make.managed())
        finally:
            process.send_signal(which)
            _, log = process.communicate(timeout=30.0)
    assert process.returncode == code
    assert make.patch_of(answer.json())
    # What was changed is in the log that says everything, once; no key is.
    assert len(re.findall(r"default/web-55bb7c94b4-\*: c requests.cpu 250m -> 512m", log)) == 1
    assert pair.key.decode()[40:80] not in log
    from kubestow.live.stores import decisions, engines

    with engines.open_store(url) as store:
        assert len(decisions.newest_decisions(store, "workload/default/Deployment/web")) == 1


def wait_until_ready(client: httpx.Client) -> None:
    until_s = time.monotonic() + 60.0
    while time.monotonic() < until_s:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("it did not get ready")


def test_the_program_s_own_help_loads_no_server() -> None:
    script = (
        "import sys; from kubestow.cli import main; main.run(['--help']);"
        "sys.exit(any(m in sys.modules for m in ('uvicorn', 'httpx', 'cryptography', 'starlette')))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == 0
