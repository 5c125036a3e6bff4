"""The extender over HTTP: what kube-scheduler posts, answered within a deadline or let pass.

A question that cannot be read is the caller's fault (400). A fault of ours lets all nodes pass with
no score, as if there were no extender, and is counted: Kubernetes goes on without us.
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

Answer = messages.FilterAnswer | list[messages.HostPriority]


@dataclass(frozen=True, slots=True)
class _Verb:
    """Where calls of one verb are counted; found once, for looking it up takes time as well."""

    name: str
    took: Histogram
    answered: Counter
    malformed: Counter
    failed_open: Counter


_OUTCOMES = ("answered", "malformed", "failed-open")


class ExtenderApp:
    """Answers for a judge."""

    def __init__(
        self,
        judge: decisions.TermDecider,
        metrics: servers.Telemetry,
        client: api.ApiClient | None = None,
    ) -> None:
        self._judge, self._client = judge, client
        took = metrics.latency(
            "duration_seconds", "Time to work out an answer, by verb.", ("verb",)
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
            "unknown_nodes", "Nodes asked about that were not known.", lambda: float(judge.unknown)
        )

    def handlers(self) -> dict[str, servers.Handler]:
        """Return what is answered at once, by path."""
        return {FILTER: self._filter, PRIORITIZE: self._prioritize}

    def routes(self) -> list[Route]:
        """Return what takes time: binding, with a client to bind by."""
        return [] if self._client is None else [Route(BIND, self._bind, methods=["POST"])]

    def _filter(self, asked: servers.FastRequest) -> servers.FastResponse:
        return self._answer(asked, self._verbs["filter"], self._judge.filter, messages.answer_all)

    def _prioritize(self, asked: servers.FastRequest) -> servers.FastResponse:
        return self._answer(asked, self._verbs["prioritize"], self._judge.prioritize, _no_scores)

    def _answer(
        self,
        asked: servers.FastRequest,
        verb: _Verb,
        judge: Callable[[messages.ExtenderArgs], Answer],
        without: Callable[[messages.ExtenderArgs], Answer],
    ) -> servers.FastResponse:
        with verb.took.time():
            try:
                question = messages.read_question(asked.body)
            except UNREADABLE as err:
                return _refuse(verb, err)
            try:
                found = judge(question)
                verb.answered.inc()
            except UNREADABLE as err:  # names of nodes are read by who needs them
                return _refuse(verb, err)
            except Exception:  # noqa: BLE001 - Kubernetes goes on without us
                _LOG.exception("a fault while answering %s; all nodes pass", verb.name)
                found = without(question)
                verb.failed_open.inc()
            return servers.FastResponse(messages.write(found), then=self._judge.settle)

    async def _bind(self, request: Request) -> Response:
        try:
            wanted = messages.read_binding(await request.body())
        except UNREADABLE as err:
            self._outcomes.labels("bind", "malformed").inc()
            return Response(f"not a binding of kube-scheduler: {err}\n", 400)
        problem = await self._carry_out(wanted)
        self._outcomes.labels("bind", "refused" if problem else "answered").inc()
        return Response(messages.write(messages.BindingAnswer(problem)), media_type=_JSON)

    async def _carry_out(self, wanted: messages.Binding) -> str:
        if self._client is None:
            return "this extender does not bind"
        path = f"/api/v1/namespaces/{wanted.namespace}/pods/{wanted.name}/binding"
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": wanted.name, "uid": wanted.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": wanted.node},
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


def _no_scores(_: messages.ExtenderArgs) -> Answer:
    return []
