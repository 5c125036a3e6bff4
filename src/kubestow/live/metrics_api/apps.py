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

from kubestow.live import telemetry
from kubestow.live.api.errors import ApiError
from kubestow.live.metrics_api import discoveries, documents, questions, writings
from kubestow.live.metrics_api.answers import Answerer
from kubestow.live.metrics_api.authentications import Authenticator
from kubestow.live.metrics_api.authorizations import Authorizer, Deed
from kubestow.live.metrics_api.refusals import RefusedError
from kubestow.live.metrics_api.users import User
from kubestow.live.servers import protocols

PART: Final = "metrics_api"
_JSON: Final = "application/json"
_LOG = logging.getLogger(__name__)

Handler = Callable[[Request, User], Awaitable[Response]]


class Edge:
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
        answerer: Answerer,
        authenticator: Authenticator,
        authorizer: Authorizer,
        metrics: telemetry.Telemetry,
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
            path = f"/{writings.PREFIX}/{{rest:path}}"
            found.append(Route(path, self._guard(self._write), methods=["POST"]))
        return found

    def _guard(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            try:
                return await handler(request, await self._identify(request))
            except RefusedError as err:
                return _answer(documents.status(err.code, str(err)), err.code)
            except ApiError as err:
                _LOG.warning("no answer for %s: %s", request.scope["raw_path"], err)
                code = 503 if err.is_passing else 500
                return _answer(documents.status(code, "the API server does not answer"), code)

        return guarded

    async def _identify(self, request: Request) -> User:
        peer = request.scope.get("extensions", {}).get(protocols.PEER)
        user = await self._authenticator.identify(peer, request.scope["headers"])
        if user is None:
            raise RefusedError(401, "Unauthorized")
        return user

    async def _permit(self, user: User, deed: Deed) -> None:
        reason = await self._authorizer.refuse(user, deed)
        if reason is not None:
            raise RefusedError(403, deed.refusal(user, reason))

    async def _groups(self, request: Request, user: User) -> Response:
        await self._permit(user, Deed("get", request.scope["path"]))
        if discoveries.is_wanted(request.headers.get("accept", "")):
            found = {group: await self._answerer.entries(group) for group in questions.VERSIONS}
            return _answer(discoveries.write(found), media_type=discoveries.CONTENT_TYPE)
        return _answer(documents.groups())

    async def _ask(self, request: Request, user: User) -> Response:
        parts = _parts(request)
        question = questions.read(parts)
        if question is not None:
            await self._permit(user, question.deed)
            return _answer(await self._answerer.answer(question, request.query_params))
        await self._permit(user, Deed("get", request.scope["path"]))
        match parts:
            case ["apis", group] if group in questions.VERSIONS:
                return _answer(documents.group(group))
            case ["apis", group, version] if version in questions.VERSIONS.get(group, ()):
                entries = await self._answerer.entries(group)
                return _answer(documents.resources(group, version, entries))
        raise RefusedError(404, "the server could not find the requested resource")

    async def _openapi(self, request: Request, user: User) -> Response:
        await self._permit(user, Deed("get", request.scope["path"]))
        found = documents.openapi(request.path_params["version"])
        if found is None:
            raise RefusedError(404, "the server could not find the requested resource")
        return _answer(found)

    async def _own(self, _: Request, user: User) -> Response:
        await self._permit(user, Deed("get", "/metrics"))
        return Response(self._metrics.write(), media_type=telemetry.CONTENT_TYPE)

    async def _write(self, request: Request, user: User) -> Response:
        try:
            target = writings.read_target(_parts(request))
        except LookupError as err:
            raise RefusedError(404, str(err.args[0])) from None
        except ValueError as err:
            raise RefusedError(400, str(err)) from None
        kind = await self._answerer.place(target)
        deed = Deed(
            "create",
            group=questions.CUSTOM,
            version=questions.VERSIONS[questions.CUSTOM][0],
            resource=kind.resource,
            subresource=target.metric,
            namespace=target.namespace,
            name=target.name,
        )
        await self._permit(user, deed)
        body = await request.body()
        if len(body) > writings.MOST_BYTES:
            raise RefusedError(400, f"expected a value of at most {writings.MOST_BYTES} bytes")
        try:
            reading = writings.read_reading(body, request.query_params, self._clock())
            labels = writings.read_labels(request.query_params.get("labels", ""))
        except ValueError as err:
            raise RefusedError(400, str(err)) from None
        self._answerer.keep(kind, target, labels, reading)
        self._written.inc()
        return Response(status_code=200)


def _parts(request: Request) -> list[str]:
    found = questions.segments(request.scope["raw_path"])
    if found is None:
        raise RefusedError(404, "the server could not find the requested resource")
    return found


def _answer(document: dict[str, Any], code: int = 200, media_type: str = _JSON) -> Response:
    return Response(msgspec.json.encode(document), code, media_type=media_type)
