"""Certificates and authorities change under load, and no review fails."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx

from kubestow.live.admission import app
from kubestow.live.admission.policy import AdmissionPolicy
from kubestow.live.certificates import authorities, tls_contexts
from kubestow.live.servers import running
from kubestow.live.stores.deferred import DeferredStore
from tests.live.admission import make
from tests.live.admission.test_webhook import wait_for_table
from tests.live.servers.make import Steady


def test_authority_and_certificate_rotate_under_load_without_a_failed_review(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    make.keep(url)
    old, new = make.authority(), authorities.make_authority(time.time() + 1.0, 86400.0)
    context = tls_contexts.make_tls_context()
    tls_contexts.load_certificate(context, make.serving(old))
    body = json.dumps(make.managed()).encode()
    believed = [make.trusting(old)]
    options = app.AdmissionOptions(AdmissionPolicy(), make.QUICK, every_s=3600.0)
    with (
        app.assemble_admission(DeferredStore(url), options, context) as hook,
        running.in_background(hook.server) as server,
    ):
        wait_for_table(hook)

        def ask() -> None:
            # A new connection each time, as after an API server read another caBundle.
            with httpx.Client(verify=believed[-1], base_url=server.url, timeout=20.0) as client:
                for _ in range(2):
                    headers = {"Content-Type": "application/json"}
                    answer = client.post(make.PATH, content=body, headers=headers)
                    assert b"JSONPatch" in answer.content

        with Steady(ask, 4) as steady:
            steady.wait_for(10)
            believed.append(make.trusting(old, new))  # first the bundle
            steady.wait_for(10)
            assert server.loop is not None
            server.loop.call_soon_threadsafe(
                tls_contexts.load_certificate, context, make.serving(new)
            )
            steady.wait_for(10)
            believed.append(make.trusting(new))  # the old one is gone
            steady.wait_for(10)
        assert steady.failures == []
        assert steady.count >= 40
