"""A running server's certificate, kept up to date."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from kubestow.live.api.errors import ApiError
from kubestow.live.certificates import plans, renewals
from kubestow.live.certificates.pairs import KeyPair
from kubestow.live.certificates.sources import RenewalError
from kubestow.live.servers import telemetry
from tests.live.servers import make


class Source:
    """Gives prepared answers one after another, the last one again and again."""

    def __init__(self, *answers: KeyPair | Exception) -> None:
        self._answers = list(answers)

    async def current(self, now_s: float) -> KeyPair:
        assert now_s == 0.0
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def keeper(
    source: Source, installed: list[KeyPair]
) -> tuple[renewals.CertificateKeeper, telemetry.Telemetry]:
    metrics = telemetry.Telemetry("test")
    return renewals.CertificateKeeper(source, installed.append, metrics, lambda: 0.0), metrics


def test_only_a_new_certificate_is_installed() -> None:
    signer = make.authority()
    one, other = make.serving(signer), make.serving(signer)
    installed: list[KeyPair] = []
    kept, metrics = keeper(Source(one, one, other), installed)
    before = kept.ready

    async def refresh_repeatedly() -> None:
        for _ in range(4):
            await kept.refresh()

    asyncio.run(refresh_repeatedly())
    assert installed == [one, other]
    assert (before, kept.ready) == (False, True)
    written = metrics.write().decode()
    assert 'certificate_checks_total{result="new"} 2.0' in written
    assert 'certificate_checks_total{result="same"} 2.0' in written
    assert "kubestow_test_certificate_expiry_timestamp_seconds 1." in written


def test_failures_are_counted_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    pair = make.serving(make.authority())
    trouble = ApiError(503, "Unavailable", "later")
    installed: list[KeyPair] = []
    kept, metrics = keeper(Source(trouble, RenewalError(pair, trouble), pair), installed)

    async def run() -> None:
        task = asyncio.create_task(kept.keep(0.0))
        while 'result="same"' not in metrics.write().decode():
            await asyncio.sleep(0.0)
        task.cancel()

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert installed == [pair]
    written = metrics.write().decode()
    assert 'certificate_checks_total{result="failed"} 1.0' in written
    assert 'certificate_checks_total{result="not-renewed"} 1.0' in written
    assert pair.key.decode()[40:80] not in caplog.text


def test_lives_are_those_the_rules_name() -> None:
    rules = plans.RenewalRules()
    assert (rules.authority_s, rules.serving_s) == (365 * 86400.0, 90 * 86400.0)


def test_no_key_is_written_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kubestow.live.certificates import tls_contexts

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    tls_contexts.load_certificate(tls_contexts.make_tls_context(), make.serving(make.authority()))
    assert list(tmp_path.iterdir()) == []
