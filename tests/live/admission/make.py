"""Builders of reviews, pods, learned values and webhooks."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import ssl
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from kubestow.live.admission import app
from kubestow.live.admission import review as admission_review
from kubestow.live.admission.policy import MANAGED_LABEL, AdmissionPolicy
from kubestow.live.certificates import authorities, tls_contexts
from kubestow.live.certificates.pairs import KeyPair
from kubestow.live.servers import running
from kubestow.live.servers.settings import ServerSettings
from kubestow.live.stores import engines, recommendations
from kubestow.live.stores.deferred import DeferredStore
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.model import quantities
from kubestow.model.keys import ContainerKey

DATA = Path(__file__).parents[2] / "data" / "admission_1_37"
PATH = "/mutate-v1-pod"
WEB = ContainerKey("default", "Deployment", "web", "c")
QUICK = ServerSettings(drain_s=0.0, grace_s=2.0)


def recorded(name: str) -> dict[str, Any]:
    """Return a recorded review."""
    result: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return result


def managed(
    review: dict[str, Any] | None = None, annotations: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return the recorded creation of a pod, with the label, and with annotations."""
    changed = copy.deepcopy(review or recorded("pods-main-create"))
    metadata = changed["request"]["object"]["metadata"]
    metadata.setdefault("labels", {})[MANAGED_LABEL] = "true"
    if annotations:
        metadata["annotations"] = annotations
    return changed


def request(review: Mapping[str, Any]) -> admission_review.AdmissionRequest:
    return admission_review.read(json.dumps(review).encode())


def learned(
    cpu: str | None = "512m", memory: str | None = "1216M", time_s: float = 0.0
) -> StoredRecommendation:
    given = {"cpu": cpu, "memory": memory}
    amounts = {name: quantities.parse(text) for name, text in given.items() if text}
    return StoredRecommendation(time_s, "q-learning", amounts, evidence=30)


def keep(url: str, key: ContainerKey = WEB, cpu: str = "512m", memory: str = "1216M") -> None:
    """Put a recommendation into a store."""
    made = learned(cpu, memory, time.time())
    with engines.open_store(url) as store:
        recommendations.insert(store, key, [made])


def patch_of(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the operations of an answer; none if it has no patch."""
    text = answer["response"].get("patch")
    result: list[dict[str, Any]] = json.loads(base64.b64decode(text)) if text else []
    return result


def authority() -> KeyPair:
    return authorities.make_authority(time.time(), 86400.0)


def serving(signer: KeyPair) -> KeyPair:
    return authorities.make_serving(signer, ["127.0.0.1", "localhost"], time.time(), 3600.0)


def trusting(*signers: KeyPair) -> ssl.SSLContext:
    """Return a client's context that believes some authorities and no others."""
    pem = b"".join(each.certificate for each in signers)
    return ssl.create_default_context(cadata=pem.decode())


@contextlib.contextmanager
def webhook(
    url: str,
    policy: AdmissionPolicy | None = None,
    settings: ServerSettings = QUICK,
    deadline_s: float = 2.0,
) -> Iterator[tuple[app.Webhook, httpx.Client]]:
    """Serve a webhook by HTTPS, with its table read, and give a client for it."""
    signer = authority()
    context = tls_contexts.make_tls_context()
    tls_contexts.load_certificate(context, serving(signer))
    options = app.AdmissionOptions(
        policy or AdmissionPolicy(), settings, deadline_s, every_s=3600.0
    )
    with (
        app.assemble_admission(DeferredStore(url), options, context) as made,
        running.in_background(made.server) as server,
        httpx.Client(verify=trusting(signer), base_url=server.url, timeout=10.0) as client,
    ):
        yield made, client
