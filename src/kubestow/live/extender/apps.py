"""The extender over HTTP: what kube-scheduler posts, answered within a deadline or let pass.

A question that cannot be read is the caller's fault (400). A fault of ours lets all nodes pass with
no score, as if there were no extender, and is counted: Kubernetes goes on without us.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kubestow.live import telemetry
from kubestow.live.api import clients
from kubestow.live.api.errors import ApiError
from kubestow.live.extender import judges, messages

FILTER, PRIORITIZE, BIND = "/filter", "/prioritize", "/bind"
_JSON = "application/json"
_LOG = logging.getLogger(__name__)

Answer = messages.FilterAnswer | list[messages.HostPriority]


class Edge:
    """Routes for a judge."""

    def __init__(
        self,
        judge: judges.Judge,
        metrics: telemetry.Telemetry,
        client: clients.Client | None = None,
    ) -> None:
        self._judge, self._client = judge, client
        self._took = metrics.latency(
            "duration_seconds", "Time to work out an answer, by verb.", ("verb",)
        )
        self._outcomes = metrics.counter("calls", "Calls by verb and outcome.", ("verb", "outcome"))
        metrics.watch(
            "unknown_nodes", "Nodes asked about that were not known.", lambda: float(judge.unknown)
        )

    def routes(self) -> list[Route]:
        """Return what is answered; binding only with a client to bind by."""
        found = [
            Route(FILTER, self._filter, methods=["POST"]),
            Route(PRIORITIZE, self._prioritize, methods=["POST"]),
        ]
        if self._client is not None:
            found.append(Route(BIND, self._bind, methods=["POST"]))
        return found

    async def _filter(self, request: Request) -> Response:
        return await self._answer(request, "filter", self._judge.filter, _let_pass)

    async def _prioritize(self, request: Request) -> Response:
        return await self._answer(request, "prioritize", self._judge.prioritize, lambda _: [])

    async def _answer(
        self,
        request: Request,
        verb: str,
        judge: Callable[[messages.Question], Answer],
        without: Callable[[messages.Question], Answer],
    ) -> Response:
        body = await request.body()
        with self._took.labels(verb).time():
            try:
                question = messages.read_question(body)
            except msgspec.MsgspecError as err:
                self._outcomes.labels(verb, "malformed").inc()
                return Response(f"not a question of kube-scheduler: {err}\n", 400)
            try:
                found, outcome = judge(question), "answered"
            except Exception:  # noqa: BLE001 - Kubernetes goes on without us
                _LOG.exception("a fault while answering %s; all nodes pass", verb)
                found, outcome = without(question), "failed-open"
            self._outcomes.labels(verb, outcome).inc()
            return Response(messages.write(found), media_type=_JSON)

    async def _bind(self, request: Request) -> Response:
        try:
            wanted = messages.read_binding(await request.body())
        except msgspec.MsgspecError as err:
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


def _let_pass(question: messages.Question) -> messages.FilterAnswer:
    count = len(messages.node_names(question))
    return messages.answer(question, range(count), {})
