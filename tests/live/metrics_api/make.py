"""A metrics API over real HTTPS, with an API server that answers as a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from kubestow.live.api.errors import ApiError
from kubestow.live.certificates import authorities as signing
from kubestow.live.metrics_api.auth import users
from kubestow.live.metrics_api.auth.authentication import Authenticator
from kubestow.live.metrics_api.auth.authorization import Authorizer
from kubestow.live.metrics_api.auth.tls import ClientCertificateContext
from kubestow.live.metrics_api.kinds import Mapper
from kubestow.live.metrics_api.serving import app
from kubestow.live.metrics_api.serving.queries import QueryService
from kubestow.live.metrics_api.values.members import Members
from kubestow.live.metrics_api.values.table import Labels, MetricTable, MetricValue, Subject
from kubestow.live.servers import running, telemetry
from kubestow.live.servers.settings import ServerSettings
from kubestow.model import quantities
from testenv.authorities import Authority, Pair

DATA = Path(__file__).parents[2] / "data" / "metrics_api_1_37"
NAMES = ("127.0.0.1", "localhost")
MEASURED_S = 1_800_000_000.5  # 2027-01-15T08:00:00Z
NOW_S = MEASURED_S + 10.0
PROXY = "front-proxy-client"

CORE = [
    {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "shortNames": ["po"],
    },
    {"name": "pods/status", "singularName": "", "namespaced": True, "kind": "Pod"},
    {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node"},
    {"name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace"},
    {"name": "services", "singularName": "service", "namespaced": True, "kind": "Service"},
]
APPS = [
    {"name": "deployments", "singularName": "", "namespaced": True, "kind": "Deployment"},
]


def pod(name: str, metric: str = "rate") -> Subject:
    return Subject("pods", "default", name, metric)


def external(metric: str) -> Subject:
    return Subject("", "default", "", metric)


def recorded(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


@dataclass
class FakeApi:
    """What is asked of the API server, and what it answers."""

    may: Callable[[Mapping[str, Any]], bool] = lambda _: True
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    broken: bool = False
    review: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.objects["/api/v1"] = {"resources": CORE}
        self.objects["/apis/apps"] = {"preferredVersion": {"version": "v1"}}
        self.objects["/apis/apps/v1"] = {"resources": APPS}

    def trust(self, authority: Authority, *names: str) -> None:
        self.objects[users.CONFIG_PATH] = configuration(authority, *names)

    def reviews(self) -> list[dict[str, Any]]:
        return [body["spec"] for path, body in self.asked if "subjectaccessreviews" in path]

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        self.asked.append((path, params))
        if self.broken:
            raise ApiError(0, "Unreachable", "nobody is there")
        if path not in self.objects:
            raise ApiError(404, "NotFound", path)
        return self.objects[path]

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        self.asked.append((path, body))
        if self.broken:
            raise ApiError(0, "Unreachable", "nobody is there")
        if "tokenreviews" in path:
            user = self.tokens.get(body["spec"]["token"])
            return {"status": {"authenticated": user is not None, "user": user or {}}}
        if self.review is not None:
            return {"status": self.review}
        return {"status": {"allowed": self.may(body["spec"]), "reason": "no rule"}}

    async def names(self, path: str, selector: str) -> tuple[str, ...]:
        self.asked.append((path, selector))
        return self.members.get((path, selector), ())


def configuration(authority: Authority, *names: str) -> dict[str, Any]:
    """Return the ConfigMap in which an API server publishes its front proxy."""
    return {
        "data": {
            "client-ca-file": "not ours",
            "requestheader-client-ca-file": authority.pair.certificate.read_text(),
            "requestheader-allowed-names": json.dumps(list(names)),
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        }
    }


@dataclass
class Scene:
    """A running server and who may speak to it."""

    api: FakeApi
    table: MetricTable
    tls_context: ClientCertificateContext
    authenticator: Authenticator
    proxy: Authority
    url: str

    def put(self, subject: Subject, value: str, labels: Labels = (), age_s: float = 10.0) -> None:
        sample = MetricValue(quantities.parse(value), NOW_S - age_s)
        self.table.put(subject, labels, sample, NOW_S)

    def client(
        self, pair: Pair | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Client:
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        if pair is not None:
            trust.load_cert_chain(pair.certificate, pair.key)
        return httpx.Client(base_url=self.url, headers=headers, verify=trust, trust_env=False)

    def as_user(self, name: str = "admin") -> httpx.Client:
        """Return a client that asks as the front proxy does for a user."""
        return self.client(self.proxy.client(PROXY, PROXY), {"X-Remote-User": name})


@contextlib.contextmanager
def scene(folder: Path, *, writing: bool = True, ttl_s: float = 300.0) -> Iterator[Scene]:
    """Give a running server whose clock stands still."""
    metrics, api, tls_context = telemetry.Telemetry("test"), FakeApi(), ClientCertificateContext()
    proxy = Authority(folder / "proxy", "front-proxy-ca")
    api.trust(proxy, PROXY)
    signer = signing.make_authority(time.time(), 86400.0)
    tls_context.install(signing.make_serving(signer, NAMES, time.time(), 3600.0))
    # Certificates are checked against the real time.
    authenticator = Authenticator(api, tls_context.trust, metrics)
    asyncio.run(authenticator.refresh())
    table = MetricTable(metrics, ttl_s)
    service = QueryService(table, Mapper(api), Members(api.names), lambda: NOW_S)
    edge = app.MetricsApiApp(
        service,
        authenticator,
        Authorizer(api, metrics),
        metrics,
        writing=writing,
        clock=lambda: NOW_S,
    )
    settings = ServerSettings(drain_s=0.0, grace_s=2.0)
    server = running.Server(edge.routes(), settings, metrics, context=tls_context.context)
    with running.in_background(server):
        yield Scene(api, table, tls_context, authenticator, proxy, server.url)
