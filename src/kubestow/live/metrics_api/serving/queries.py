"""Executes queries on the table: single objects, all selected objects, external metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from kubestow.live.api import ApiError
from kubestow.live.metrics_api import paths
from kubestow.live.metrics_api.kinds import Mapper, ResourceKind
from kubestow.live.metrics_api.paths import MetricQuery
from kubestow.live.metrics_api.serving import documents
from kubestow.live.metrics_api.serving.documents import QueryRefusedError, Value
from kubestow.live.metrics_api.values import (
    FullError,
    Labels,
    Members,
    MetricTable,
    MetricValue,
    Subject,
    WriteTarget,
)
from kubestow.model import decoding
from kubestow.model.selectors import LabelSelector


class QueryService:
    """Executes queries and stores written values.

    Args:
        table: The values.
        mapper: Finds kinds of objects.
        members: Finds the objects that a selector matches.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        table: MetricTable,
        mapper: Mapper,
        members: Members,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._table, self._mapper, self._members, self._clock = table, mapper, members, clock

    async def execute(self, query: MetricQuery, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return the response document of a query.

        Raises:
            QueryRefusedError: If there are no values, or a selector is malformed.
            ApiError: If the API server fails.
        """
        if query.group == paths.EXTERNAL:
            return self._external(query, parameters)
        kind = await self._kind(query)
        chosen = _selector(parameters, "metricLabelSelector")
        if query.name == paths.ALL:
            values = await self._all(kind, query, parameters, chosen)
        else:
            values = self._one(kind.resource, query, query.name, chosen)
        if not values:
            problem = documents.missing(query.metric, kind.resource, query.name)
            raise QueryRefusedError(404, problem)
        return documents.custom_list(query.version, kind, values, chosen)

    async def entries(self, group: str) -> list[tuple[str, bool]]:
        """Return the known metrics of a group, and whether they are namespaced."""
        if group == paths.EXTERNAL:
            return [(metric, True) for _, metric in self._table.metrics_of(external=True)]
        return [
            (f"{resource}/{metric}", await self._is_namespaced(resource))
            for resource, metric in self._table.metrics_of(external=False)
        ]

    async def find_kind(self, target: WriteTarget) -> ResourceKind:
        """Return the kind of the object that a value is written for.

        Raises:
            QueryRefusedError: If there is no such kind.
            ApiError: If the API server fails.
        """
        kind = await self._mapper.find(target.resource)
        if kind is None:
            raise QueryRefusedError(404, f"{target.resource[:60]!r}: no such resource is known")
        if kind.namespaced != bool(target.namespace):
            where = "are in namespaces" if kind.namespaced else "are in no namespace"
            raise QueryRefusedError(400, f"{kind.resource} {where}")
        return kind

    def keep(
        self, kind: ResourceKind, target: WriteTarget, labels: Labels, sample: MetricValue
    ) -> None:
        """Store a written value.

        Raises:
            QueryRefusedError: If the table is full.
        """
        subject = Subject(kind.resource, target.namespace, target.name, target.metric)
        try:
            self._table.put(subject, labels, sample, self._clock())
        except FullError as err:
            raise QueryRefusedError(429, str(err)) from None

    async def _kind(self, query: MetricQuery) -> ResourceKind:
        kind = await self._mapper.find(query.resource)
        # Metrics of a namespace itself are queried inside it.
        if kind is None or kind.namespaced != bool(query.namespace):
            problem = documents.missing(query.metric, query.resource, query.name)
            raise QueryRefusedError(404, problem)
        return kind

    def _one(
        self, resource: str, query: MetricQuery, name: str, chosen: LabelSelector
    ) -> list[Value]:
        """Return at most one value: of several sets of labels the newest."""
        subject = Subject(resource, query.namespace, name, query.metric)
        matches = self._table.find(subject, chosen, self._clock())
        return [Value(subject, matches[0][1])] if matches else []

    async def _all(
        self,
        kind: ResourceKind,
        query: MetricQuery,
        parameters: Mapping[str, str],
        chosen: LabelSelector,
    ) -> list[Value]:
        _selector(parameters, "labelSelector")  # raises if it is malformed
        selector = parameters.get("labelSelector", "")
        names = await self._members.names(kind, query.namespace, selector)
        values_by_name = (self._one(kind.resource, query, name, chosen) for name in names)
        return [value for values in values_by_name for value in values]

    def _external(self, query: MetricQuery, parameters: Mapping[str, str]) -> dict[str, Any]:
        subject = Subject("", query.namespace, "", query.metric)
        chosen = _selector(parameters, "labelSelector")
        series = sorted(self._table.find(subject, chosen, self._clock()), key=lambda each: each[0])
        if not series:
            raise QueryRefusedError(
                404, documents.missing(query.metric, "namespaces", subject.namespace)
            )
        return documents.external_list(query.version, query.metric, series)

    async def _is_namespaced(self, resource: str) -> bool:
        try:
            kind = await self._mapper.find(resource)
        except ApiError:
            return True
        return kind is None or kind.namespaced


def _selector(parameters: Mapping[str, str], name: str) -> LabelSelector:
    try:
        return decoding.parse_selector(parameters.get(name, ""))
    except ValueError as err:
        raise QueryRefusedError(400, f"{name}: {err}") from None
