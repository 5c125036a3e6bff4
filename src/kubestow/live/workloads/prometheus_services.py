"""Find Prometheus in a cluster, and query it through the API server's service proxy.

Nothing is opened in the cluster: whoever may ``list services`` and ``get services/proxy`` can read.
Services are known by the labels of the usual charts and operators, as krr knows them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx

from kubestow.live import api
from kubestow.model import decoding, errors

_KNOWN: Final = (
    # A querier has the series of several servers, each once; so it goes first.
    ("Thanos", "", ("app.kubernetes.io/component=query,app.kubernetes.io/name=thanos",
                    "app.kubernetes.io/name=thanos-query", "app=thanos-query",
                    "app=thanos-querier")),
    ("Mimir", "/prometheus",
     ("app.kubernetes.io/name=mimir,app.kubernetes.io/component=query-frontend",)),
    ("VictoriaMetrics", "/select/0/prometheus",
     ("app.kubernetes.io/name=vmselect", "app.kubernetes.io/component=vmselect", "app=vmselect")),
    ("VictoriaMetrics", "", ("app.kubernetes.io/name=vmsingle",
                             "app.kubernetes.io/name=victoria-metrics-single")),
    ("Prometheus", "", ("app=kube-prometheus-stack-prometheus", "app=prometheus,component=server",
                        "app=prometheus-server", "app=prometheus-operator-prometheus",
                        "app=rancher-monitoring-prometheus", "app=prometheus-prometheus",
                        "app.kubernetes.io/name=prometheus,app.kubernetes.io/component=server",
                        "app.kubernetes.io/name=prometheus,app.kubernetes.io/component=prometheus",
                        "app=stack-prometheus")),
)  # fmt: skip
_PORTS: Final = ("http-web", "web", "http", "http-metrics", "http-query")
_HOST: Final = "http://kubernetes.default"
_SILENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class PrometheusService:
    """A Service that answers queries.

    Attributes:
        product: What it is, by its labels.
        namespace: Its namespace.
        name: Its name.
        port: Number of its port.
        prefix: Path before ``/api/v1``.
        others: Further Services that would do, as namespace and name.
    """

    product: str
    namespace: str
    name: str
    port: int
    prefix: str = ""
    others: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Its address behind the API server."""
        path = f"/api/v1/namespaces/{self.namespace}/services/{self.name}:{self.port}/proxy"
        return f"{_HOST}{path}{self.prefix}"

    def __str__(self) -> str:
        shown = f"{self.product}: Service {self.namespace}/{self.name}, port {self.port}"
        return f"{shown} (also there: {', '.join(self.others)})" if self.others else shown


def choose_service(services: Iterable[Mapping[str, Any]]) -> PrometheusService | None:
    """Return the first Service by the order of products, then by namespace and name."""
    matching: dict[tuple[str, str], PrometheusService] = {}
    everything = [
        (each["metadata"], each.get("spec", {}))
        for each in sorted(
            services, key=lambda one: (one["metadata"]["namespace"], one["metadata"]["name"])
        )
    ]
    for product, prefix, texts in _KNOWN:
        for selector in map(decoding.parse_selector, texts):
            for metadata, spec in everything:
                key = (metadata["namespace"], metadata["name"])
                port = _port(spec.get("ports") or ())
                if key not in matching and port and selector.matches(metadata.get("labels") or {}):
                    matching[key] = PrometheusService(product, *key, port, prefix)
    if not matching:
        return None
    first, *others = matching.values()
    return replace(first, others=tuple(f"{each.namespace}/{each.name}" for each in others))


def _port(ports: Iterable[Mapping[str, Any]]) -> int:
    """Return the port that serves HTTP: one with a usual name, or the first."""
    numbers = {str(each.get("name", "")): int(each["port"]) for each in ports}
    named = [numbers[name] for name in _PORTS if name in numbers]
    return next(iter([*named, *numbers.values()]), 0)


class ServiceProxy(httpx.BaseTransport):
    """Sends requests through an API server, with the rights of a kubeconfig.

    Args:
        kubeconfig: Path of the kubeconfig, or ``None``.
        context: Its context, or ``None``.
    """

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._client = self._loop.run_until_complete(api.connect(kubeconfig, context))
        except BaseException:
            self._loop.close()
            raise

    def find(self) -> PrometheusService:
        """Find Prometheus among the Services of the cluster.

        Raises:
            ApiError: If the Services cannot be listed.
            InputError: If there is none.
        """
        listed = self._loop.run_until_complete(api.read_list(self._client, "/api/v1/services"))
        service = choose_service(listed.items)
        if service is None:
            problem = f"no Prometheus among {len(listed.items)} Services; expected its address"
            raise errors.InputError(self._client.server, problem)
        return service

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a GET request; an error of the API server becomes its response."""
        try:
            content = self._loop.run_until_complete(self._fetch(request))
        except api.ApiError as err:
            if not err.status:
                raise httpx.ConnectError(str(err)) from err
            return httpx.Response(err.status, json=_as_error(err))
        return httpx.Response(200, content=content)

    async def _fetch(self, request: httpx.Request) -> bytes:
        own = ("host", "authorization", "accept-encoding", "connection", "user-agent")
        headers = {name: value for name, value in request.headers.items() if name not in own}
        params = dict(request.url.params.items())
        async with self._client.pieces(request.url.path, params, _SILENCE_S, headers) as pieces:
            return b"".join([piece async for piece in pieces])

    def close(self) -> None:
        """Close all connections."""
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._client.close())
            self._loop.close()


def _as_error(err: api.ApiError) -> dict[str, str]:
    return {"status": "error", "errorType": "API server", "error": str(err)}
