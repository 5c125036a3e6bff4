"""The metrics API over HTTP: who asks, whether they may, and the answer.

Nothing but ``/healthz`` and ``/readyz`` is answered before it is known who asks. Where the API
server cannot be asked for rights, nothing is answered either.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from kubestow.live import servers
from kubestow.live.api import ApiError
from kubestow.live.metrics_api import paths, values
from kubestow.live.metrics_api.auth import Authenticator, Authorizer, ResourceAttributes, User
from kubestow.live.metrics_api.serving import discovery, documents
from kubestow.live.metrics_api.serving.documents import QueryRefusedError
from kubestow.live.metrics_api.serving.queries import QueryService

COMPONENT: Final = "metrics_api"
_JSON: Final = "application/json"
_LOG = logging.getLogger(__name__)

Handler = Callable[[Request, User], Awaitable[Response]]


class MetricsApiApp:
    """Routes of the metrics API.

    Args:
        answerer: Knows the values.
        authenticator: Knows who asks.
        authorizer: Knows who may.
        metrics: Where to count, and what ``/metrics`` shows.
        writing: Whether values may be written here.
        clock: Tells the time, in seconds since the epoch.
    """

    def __init__(
        self,
        answerer: QueryService,
        authenticator: Authenticator,
        authorizer: Authorizer,
        metrics: servers.Telemetry,
        *,
        writing: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._answerer, self._metrics, self._clock = answerer, metrics, clock
        self._authenticator, self._authorizer = authenticator, authorizer
        self._writing = writing
        self._written = metrics.counter("written_values", "Values that were written here.")

    def routes(self) -> list[BaseRoute]:
        """Return what is answered; ``/metrics`` comes before the open one of the server."""
        found: list[BaseRoute] = [
            Route("/apis", self._guard(self._groups)),
            Route("/apis/{rest:path}", self._guard(self._ask)),
            Route("/openapi/{version}", self._guard(self._openapi)),
            Route("/metrics", self._guard(self._own)),
        ]
        if self._writing:
            path = f"/{values.WRITE_PREFIX}/{{rest:path}}"
            found.append(Route(path, self._guard(self._write), methods=["POST"]))
        return found

    def _guard(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            try:
                return await handler(request, await self._identify(request))
            except QueryRefusedError as err:
                return _answer(documents.status(err.code, str(err)), err.code)
            except ApiError as err:
                _LOG.warning("no answer for %s: %s", request.scope["raw_path"], err)
                code = 503 if err.is_passing else 500
                return _answer(documents.status(code, "the API server does not answer"), code)

        return guarded

    async def _identify(self, request: Request) -> User:
        peer = request.scope.get("extensions", {}).get(servers.PEER)
        user = await self._authenticator.identify(peer, request.scope["headers"])
        if user is None:
            raise QueryRefusedError(401, "Unauthorized")
        return user

    async def _permit(self, user: User, deed: ResourceAttributes) -> None:
        reason = await self._authorizer.refuse(user, deed)
        if reason is not None:
            raise QueryRefusedError(403, deed.refusal(user, reason))

    async def _groups(self, request: Request, user: User) -> Response:
        await self._permit(user, ResourceAttributes("get", request.scope["path"]))
        if discovery.is_wanted(request.headers.get("accept", "")):
            found = {group: await self._answerer.entries(group) for group in paths.VERSIONS}
            return _answer(discovery.write(found), media_type=discovery.CONTENT_TYPE)
        return _answer(documents.groups())

    async def _ask(self, request: Request, user: User) -> Response:
        parts = _parts(request)
        question = paths.read(parts)
        if question is not None:
            await self._permit(user, question.deed)
            return _answer(await self._answerer.answer(question, request.query_params))
        await self._permit(user, ResourceAttributes("get", request.scope["path"]))
        match parts:
            case ["apis", group] if group in paths.VERSIONS:
                return _answer(documents.group(group))
            case ["apis", group, version] if version in paths.VERSIONS.get(group, ()):
                entries = await self._answerer.entries(group)
                return _answer(documents.resources(group, version, entries))
        raise QueryRefusedError(404, "the server could not find the requested resource")

    async def _openapi(self, request: Request, user: User) -> Response:
        await self._permit(user, ResourceAttributes("get", request.scope["path"]))
        found = documents.openapi(request.path_params["version"])
        if found is None:
            raise QueryRefusedError(404, "the server could not find the requested resource")
        return _answer(found)

    async def _own(self, _: Request, user: User) -> Response:
        await self._permit(user, ResourceAttributes("get", "/metrics"))
        return Response(self._metrics.write(), media_type=servers.CONTENT_TYPE)

    async def _write(self, request: Request, user: User) -> Response:
        try:
            target = values.read_target(_parts(request))
        except LookupError as err:
            raise QueryRefusedError(404, str(err.args[0])) from None
        except ValueError as err:
            raise QueryRefusedError(400, str(err)) from None
        kind = await self._answerer.place(target)
        deed = ResourceAttributes(
            "create",
            group=paths.CUSTOM,
            version=paths.VERSIONS[paths.CUSTOM][0],
            resource=kind.resource,
            subresource=target.metric,
            namespace=target.namespace,
            name=target.name,
        )
        await self._permit(user, deed)
        body = await request.body()
        if len(body) > values.MAX_WRITE_BYTES:
            raise QueryRefusedError(
                400, f"expected a value of at most {values.MAX_WRITE_BYTES} bytes"
            )
        try:
            reading = values.read_metric_value(body, request.query_params, self._clock())
            labels = values.read_labels(request.query_params.get("labels", ""))
        except ValueError as err:
            raise QueryRefusedError(400, str(err)) from None
        self._answerer.keep(kind, target, labels, reading)
        self._written.inc()
        return Response(status_code=200)


def _parts(request: Request) -> list[str]:
    found = paths.segments(request.scope["raw_path"])
    if found is None:
        raise QueryRefusedError(404, "the server could not find the requested resource")
    return found


def _answer(document: dict[str, Any], code: int = 200, media_type: str = _JSON) -> Response:
    return Response(msgspec.json.encode(document), code, media_type=media_type)
