"""Answers questions from the book: single objects, all that are selected, external metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from kubestow.live.api import ApiError
from kubestow.live.metrics_api import paths, selectors
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
from kubestow.model.selectors import LabelSelector


class QueryService:
    """Answers questions.

    Args:
        book: The values.
        mapper: Knows kinds of objects.
        members: Knows which objects a selector matches.
        clock: Tells the time, in seconds since the epoch.
    """

    def __init__(
        self,
        book: MetricTable,
        mapper: Mapper,
        members: Members,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._book, self._mapper, self._members, self._clock = book, mapper, members, clock

    async def answer(self, question: MetricQuery, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the document that answers a question.

        Raises:
            RefusedError: If there is none.
            ApiError: If the API server cannot be asked.
        """
        if question.group == paths.EXTERNAL:
            return self._external(question, query)
        kind = await self._kind(question)
        chosen = _selector(query, "metricLabelSelector")
        if question.name == paths.ALL:
            values = await self._all(kind, question, query, chosen)
        else:
            values = self._one(kind.resource, question, question.name, chosen)
        if not values:
            problem = documents.missing(question.metric, kind.resource, question.name)
            raise QueryRefusedError(404, problem)
        return documents.custom_list(question.version, kind, values, chosen)

    async def entries(self, group: str) -> list[tuple[str, bool]]:
        """Return the metrics of a group that are known now, and whether they are namespaced."""
        if group == paths.EXTERNAL:
            return [(metric, True) for _, metric in self._book.metrics_of(external=True)]
        return [
            (f"{resource}/{metric}", await self._is_namespaced(resource))
            for resource, metric in self._book.metrics_of(external=False)
        ]

    async def place(self, target: WriteTarget) -> ResourceKind:
        """Return the kind of object that a value is written for.

        Raises:
            RefusedError: If there is no such object.
            ApiError: If the API server cannot be asked.
        """
        kind = await self._mapper.find(target.resource)
        if kind is None:
            raise QueryRefusedError(404, f"{target.resource[:60]!r}: no such resource is known")
        if kind.namespaced != bool(target.namespace):
            where = "are in namespaces" if kind.namespaced else "are in no namespace"
            raise QueryRefusedError(400, f"{kind.resource} {where}")
        return kind

    def keep(
        self, kind: ResourceKind, target: WriteTarget, labels: Labels, reading: MetricValue
    ) -> None:
        """Take in a value that was written.

        Raises:
            RefusedError: If there is no room.
        """
        subject = Subject(kind.resource, target.namespace, target.name, target.metric)
        try:
            self._book.put(subject, labels, reading, self._clock())
        except FullError as err:
            raise QueryRefusedError(429, str(err)) from None

    async def _kind(self, question: MetricQuery) -> ResourceKind:
        kind = await self._mapper.find(question.resource)
        # A namespace's own metrics are asked for inside it.
        if kind is None or kind.namespaced != bool(question.namespace):
            problem = documents.missing(question.metric, question.resource, question.name)
            raise QueryRefusedError(404, problem)
        return kind

    def _one(
        self, resource: str, question: MetricQuery, name: str, chosen: LabelSelector
    ) -> list[Value]:
        """Return one value at most: of several sets of labels the newest."""
        subject = Subject(resource, question.namespace, name, question.metric)
        found = self._book.find(subject, chosen, self._clock())
        return [Value(subject, found[0][1])] if found else []

    async def _all(
        self,
        kind: ResourceKind,
        question: MetricQuery,
        query: Mapping[str, str],
        chosen: LabelSelector,
    ) -> list[Value]:
        _selector(query, "labelSelector")  # refused here, in our words
        selector = query.get("labelSelector", "")
        names = await self._members.names(kind, question.namespace, selector)
        found = (self._one(kind.resource, question, name, chosen) for name in names)
        return [value for values in found for value in values]

    def _external(self, question: MetricQuery, query: Mapping[str, str]) -> dict[str, Any]:
        subject = Subject("", question.namespace, "", question.metric)
        chosen = _selector(query, "labelSelector")
        found = sorted(self._book.find(subject, chosen, self._clock()), key=lambda each: each[0])
        if not found:
            raise QueryRefusedError(
                404, documents.missing(question.metric, "namespaces", subject.namespace)
            )
        return documents.external_list(question.version, question.metric, found)

    async def _is_namespaced(self, resource: str) -> bool:
        try:
            kind = await self._mapper.find(resource)
        except ApiError:
            return True
        return kind is None or kind.namespaced


def _selector(query: Mapping[str, str], name: str) -> LabelSelector:
    try:
        return selectors.parse(query.get(name, ""))
    except ValueError as err:
        raise QueryRefusedError(400, f"{name}: {err}") from None
