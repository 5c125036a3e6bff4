"""The HTTP handlers of the extender: filter, prioritize, bind.

A malformed request is the caller's fault (400). After an internal error all nodes pass without
scores, as if there were no extender, and the error is counted: scheduling continues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import Counter, Histogram
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kubestow.live import api, servers
from kubestow.live.api import ApiError
from kubestow.live.extender import decisions, messages
from kubestow.sources.manifests import UNREADABLE

FILTER, PRIORITIZE, BIND = "/filter", "/prioritize", "/bind"
_JSON = "application/json"
_LOG = logging.getLogger(__name__)

Result = messages.FilterResult | list[messages.HostPriority]


@dataclass(frozen=True, slots=True)
class _Verb:
    """The metrics of one verb; looked up once, because each lookup takes time."""

    name: str
    took: Histogram
    answered: Counter
    malformed: Counter
    failed_open: Counter


_OUTCOMES = ("answered", "malformed", "failed-open")


class ExtenderApp:
    """Serves the decisions of a ``TermDecider``."""

    def __init__(
        self,
        decider: decisions.TermDecider,
        metrics: servers.Telemetry,
        client: api.ApiClient | None = None,
    ) -> None:
        self._decider, self._client = decider, client
        took = metrics.latency(
            "duration_seconds", "Time to compute a response, by verb.", ("verb",)
        )
        self._outcomes = metrics.counter("calls", "Calls by verb and outcome.", ("verb", "outcome"))
        self._verbs = {
            name: _Verb(
                name,
                took.labels(name),
                *(self._outcomes.labels(name, outcome) for outcome in _OUTCOMES),
            )
            for name in ("filter", "prioritize")
        }
        metrics.watch(
            "unknown_nodes",
            "Candidate nodes that the cache did not know.",
            lambda: float(decider.unknown),
        )

    def handlers(self) -> dict[str, servers.Handler]:
        """Return the synchronous handlers by path."""
        return {FILTER: self._filter, PRIORITIZE: self._prioritize}

    def routes(self) -> list[Route]:
        """Return the asynchronous routes: binding, if there is a client."""
        return [] if self._client is None else [Route(BIND, self._bind, methods=["POST"])]

    def _filter(self, request: servers.FastRequest) -> servers.FastResponse:
        return self._respond(
            request, self._verbs["filter"], self._decider.filter, messages.keep_all
        )

    def _prioritize(self, request: servers.FastRequest) -> servers.FastResponse:
        return self._respond(
            request, self._verbs["prioritize"], self._decider.prioritize, _no_scores
        )

    def _respond(
        self,
        request: servers.FastRequest,
        verb: _Verb,
        decide: Callable[[messages.ExtenderArgs], Result],
        fallback: Callable[[messages.ExtenderArgs], Result],
    ) -> servers.FastResponse:
        with verb.took.time():
            try:
                args = messages.read_args(request.body)
            except UNREADABLE as err:
                return _refuse(verb, err)
            try:
                response = decide(args)
                verb.answered.inc()
            except UNREADABLE as err:  # names of nodes are decoded lazily
                return _refuse(verb, err)
            except Exception:  # noqa: BLE001 - scheduling continues without us
                _LOG.exception("internal error in %s; all nodes pass", verb.name)
                response = fallback(args)
                verb.failed_open.inc()
            return servers.FastResponse(messages.write(response), then=self._decider.settle)

    async def _bind(self, request: Request) -> Response:
        try:
            binding = messages.read_binding(await request.body())
        except UNREADABLE as err:
            self._outcomes.labels("bind", "malformed").inc()
            return Response(f"not a binding of kube-scheduler: {err}\n", 400)
        problem = await self._create_binding(binding)
        self._outcomes.labels("bind", "refused" if problem else "answered").inc()
        return Response(messages.write(messages.BindingResult(problem)), media_type=_JSON)

    async def _create_binding(self, binding: messages.Binding) -> str:
        if self._client is None:
            return "this extender does not bind"
        path = f"/api/v1/namespaces/{binding.namespace}/pods/{binding.name}/binding"
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": binding.name, "uid": binding.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node},
        }
        try:
            await self._client.post(path, body)
        except ApiError as err:
            return str(err)
        return ""


def _refuse(verb: _Verb, err: Exception) -> servers.FastResponse:
    verb.malformed.inc()
    return servers.FastResponse(
        f"not a question of kube-scheduler: {err}\n".encode(), 400, servers.TEXT
    )


def _no_scores(_: messages.ExtenderArgs) -> Result:
    return []
