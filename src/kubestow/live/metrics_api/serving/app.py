"""HTTP routes of the metrics API, with authentication and authorization.

Everything but ``/healthz`` and ``/readyz`` requires authentication. If the API server cannot
authorize a request, the request fails.
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
        service: Executes queries.
        authenticator: Authenticates clients.
        authorizer: Authorizes requests.
        metrics: Metrics to update, and to serve at ``/metrics``.
        writing: Whether clients may write values.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        service: QueryService,
        authenticator: Authenticator,
        authorizer: Authorizer,
        metrics: servers.Telemetry,
        *,
        writing: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._service, self._metrics, self._clock = service, metrics, clock
        self._authenticator, self._authorizer = authenticator, authorizer
        self._writing = writing
        self._written = metrics.counter("written_values", "Values written by clients.")

    def routes(self) -> list[BaseRoute]:
        """Return the routes; ``/metrics`` precedes the server's unauthenticated one."""
        result: list[BaseRoute] = [
            Route("/apis", self._guard(self._groups)),
            Route("/apis/{rest:path}", self._guard(self._get)),
            Route("/openapi/{version}", self._guard(self._openapi)),
            Route("/metrics", self._guard(self._metrics_page)),
        ]
        if self._writing:
            path = f"/{values.WRITE_PREFIX}/{{rest:path}}"
            result.append(Route(path, self._guard(self._write), methods=["POST"]))
        return result

    def _guard(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            try:
                return await handler(request, await self._identify(request))
            except QueryRefusedError as err:
                return _response(documents.status(err.code, str(err)), err.code)
            except ApiError as err:
                _LOG.warning("request %s failed: %s", request.scope["raw_path"], err)
                code = 503 if err.is_passing else 500
                return _response(documents.status(code, "the API server does not answer"), code)

        return guarded

    async def _identify(self, request: Request) -> User:
        peer = request.scope.get("extensions", {}).get(servers.PEER)
        user = await self._authenticator.identify(peer, request.scope["headers"])
        if user is None:
            raise QueryRefusedError(401, "Unauthorized")
        return user

    async def _permit(self, user: User, attributes: ResourceAttributes) -> None:
        reason = await self._authorizer.refuse(user, attributes)
        if reason is not None:
            raise QueryRefusedError(403, attributes.refusal(user, reason))

    async def _groups(self, request: Request, user: User) -> Response:
        await self._permit(user, ResourceAttributes("get", request.scope["path"]))
        if discovery.is_accepted(request.headers.get("accept", "")):
            entries = {group: await self._service.entries(group) for group in paths.VERSIONS}
            return _response(discovery.write(entries), media_type=discovery.CONTENT_TYPE)
        return _response(documents.groups())

    async def _get(self, request: Request, user: User) -> Response:
        parts = _parts(request)
        query = paths.read(parts)
        if query is not None:
            await self._permit(user, query.attributes)
            return _response(await self._service.execute(query, request.query_params))
        await self._permit(user, ResourceAttributes("get", request.scope["path"]))
        match parts:
            case ["apis", group] if group in paths.VERSIONS:
                return _response(documents.group(group))
            case ["apis", group, version] if version in paths.VERSIONS.get(group, ()):
                entries = await self._service.entries(group)
                return _response(documents.resources(group, version, entries))
        raise QueryRefusedError(404, "the server could not find the requested resource")

    async def _openapi(self, request: Request, user: User) -> Response:
        await self._permit(user, ResourceAttributes("get", request.scope["path"]))
        document = documents.openapi(request.path_params["version"])
        if document is None:
            raise QueryRefusedError(404, "the server could not find the requested resource")
        return _response(document)

    async def _metrics_page(self, _: Request, user: User) -> Response:
        await self._permit(user, ResourceAttributes("get", "/metrics"))
        return Response(self._metrics.write(), media_type=servers.CONTENT_TYPE)

    async def _write(self, request: Request, user: User) -> Response:
        try:
            target = values.read_target(_parts(request))
        except LookupError as err:
            raise QueryRefusedError(404, str(err.args[0])) from None
        except ValueError as err:
            raise QueryRefusedError(400, str(err)) from None
        kind = await self._service.find_kind(target)
        attributes = ResourceAttributes(
            "create",
            group=paths.CUSTOM,
            version=paths.VERSIONS[paths.CUSTOM][0],
            resource=kind.resource,
            subresource=target.metric,
            namespace=target.namespace,
            name=target.name,
        )
        await self._permit(user, attributes)
        body = await request.body()
        if len(body) > values.MAX_WRITE_BYTES:
            raise QueryRefusedError(
                400, f"expected a value of at most {values.MAX_WRITE_BYTES} bytes"
            )
        try:
            sample = values.read_metric_value(body, request.query_params, self._clock())
            labels = values.read_labels(request.query_params.get("labels", ""))
        except ValueError as err:
            raise QueryRefusedError(400, str(err)) from None
        self._service.keep(kind, target, labels, sample)
        self._written.inc()
        return Response(status_code=200)


def _parts(request: Request) -> list[str]:
    parts = paths.segments(request.scope["raw_path"])
    if parts is None:
        raise QueryRefusedError(404, "the server could not find the requested resource")
    return parts


def _response(document: dict[str, Any], code: int = 200, media_type: str = _JSON) -> Response:
    return Response(msgspec.json.encode(document), code, media_type=media_type)
