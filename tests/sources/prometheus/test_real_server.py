"""The client against real servers: their answers, their certificates, their stale markers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus.settings import PrometheusSettings
from testenv import exporters, prometheus_servers, slow_relays
from tests.sources.prometheus_history import ASKED_S, History
from tests.sources.prometheus_stubs import problem


def test_a_real_server_answers_for_its_own_now_and_for_other_times(history: History) -> None:
    with history.client() as client:
        (now,) = client.query("time()").samples
        (then,) = client.query("time()", ASKED_S).samples
    assert now.value == now.time_s >= history.now_s
    assert then == ((), ASKED_S, ASKED_S)


def test_a_real_server_explains_a_bad_question(history: History) -> None:
    with history.client() as client, pytest.raises(faults.ReadError) as failed:
        client.query("rate(up)")
    assert "answered 400: bad_data: " in failed.value.problem
    assert "expected type range vector" in failed.value.problem


def test_a_real_server_behind_a_slow_relay_is_given_up(history: History) -> None:
    port = int(history.url.rpartition(":")[2])
    with slow_relays.relay(port) as url:
        text = problem(prometheus_client.PrometheusClient(PrometheusSettings(url, read_s=0.2)))
    assert text == (faults.TIMEOUT, f"{url}: no response within 0.2 s")


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate for loopback that vouches for itself."""
    files = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={name}"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(files[0])]
    subprocess.run([*command, "-keyout", str(files[1])], check=True, capture_output=True)
    return files


def test_a_server_is_believed_by_its_certificate_and_believes_ours(tmp_path: Path) -> None:
    if not prometheus_servers.is_there() or shutil.which("openssl") is None:
        pytest.skip(f"{prometheus_servers.MISSING} and openssl")
    (ca, key), (ours, our_key) = certificate(tmp_path, "server"), certificate(tmp_path, "client")
    web = (
        f"tls_server_config:\n  cert_file: {ca}\n  key_file: {key}\n"
        f"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {ours}\n"
    )
    with prometheus_servers.serve(tmp_path / "data", web=web) as url:
        known = PrometheusSettings(
            url, ca_file=ca, certificate_file=ours, key_file=our_key, retries=9, backoff_s=0.05
        )
        with prometheus_client.PrometheusClient(known) as client:
            assert len(client.query("vector(1)").samples) == 1
        kind, text = problem(prometheus_client.PrometheusClient(PrometheusSettings(url, retries=0)))
        assert (kind, "certificate verify failed" in text) == (faults.DOWN, True)
        kind, _ = problem(
            prometheus_client.PrometheusClient(PrometheusSettings(url, ca_file=ca, retries=0))
        )
        assert kind == faults.DOWN  # without a certificate of ours
        trusting = PrometheusSettings(url, insecure=True, certificate_file=ours, key_file=our_key)
        with prometheus_client.PrometheusClient(trusting) as client:
            assert len(client.query("vector(1)").samples) == 1


def test_a_series_that_ends_is_a_gap_at_once_and_a_failed_scrape_is_seen(tmp_path: Path) -> None:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    with exporters.export() as exporter:
        configuration = (
            "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n"
            "scrape_configs:\n- job_name: test\n  static_configs:\n"
            f"  - targets: ['127.0.0.1:{exporter.port}']\n"
        )
        with (
            prometheus_servers.serve(tmp_path / "data", configuration) as url,
            prometheus_client.PrometheusClient(PrometheusSettings(url)) as client,
        ):
            exporter.show('load{pod="a"} 1\nload{pod="b"} 2\n')
            (both,) = client.query("sum(load)").samples
            exporter.show('load{pod="a"} 1\n')
            # Without its stale marker, b would count for five more minutes.
            (left,) = client.query("sum(load)").samples
            exporter.show(None)
            (up,) = client.query("up").samples
            assert (both.value, left.value, up.value) == (3.0, 1.0, 0.0)
            assert client.query("load").samples == ()
            result = client.query_range("load", both.time_s, up.time_s, 0.001)
    names = [dict(labels)["pod"] for labels in result.labels]
    gaps = {name: result.gaps(row) for row, name in enumerate(names)}
    assert 0 < gaps["a"].longest < gaps["b"].longest < result.steps.count
    assert (gaps["a"].stretches, gaps["b"].stretches) == (1, 1)
