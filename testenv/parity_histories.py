"""Histories of the objects of a namespace, by the times of watch events."""

from __future__ import annotations

import bisect
import contextlib
import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import httpx

from testenv import clusters

Json = dict[str, Any]
_QUIET_S = 2.0


class History:
    """All versions of the objects of one kind."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = defaultdict(list)
        self._objects: dict[str, list[Json | None]] = defaultdict(list)
        self._names: dict[str, set[str]] = defaultdict(set)  # by the label app
        self._lock = threading.Lock()

    def add(self, time_s: float, event: Json) -> None:
        """Add an event of a watch."""
        item = event["object"]
        name = item["metadata"]["name"]
        with self._lock:
            self._names[item["metadata"].get("labels", {}).get("app", "")].add(name)
            self._times[name].append(time_s)
            self._objects[name].append(None if event["type"] == "DELETED" else item)

    def at(self, name: str, time_s: float) -> Json | None:
        """Return an object as it was at some time."""
        with self._lock:
            return self._at(name, time_s)

    def all_at(self, app: str, time_s: float) -> dict[str, Json]:
        """Return the objects with a label ``app`` as they were at some time."""
        with self._lock:
            versions = {name: self._at(name, time_s) for name in sorted(self._names[app])}
        return {name: one for name, one in versions.items() if one is not None}

    def changes(self, app: str, start_s: float, end_s: float) -> int:
        """Return how often objects with a label ``app`` changed within some time."""
        with self._lock:
            times = [self._times[name] for name in self._names[app]]
            return sum(bisect.bisect(t, end_s) - bisect.bisect(t, start_s) for t in times)

    def _at(self, name: str, time_s: float) -> Json | None:
        number = bisect.bisect(self._times[name], time_s)
        return self._objects[name][number - 1] if number else None


@contextlib.contextmanager
def follow(cluster: clusters.Cluster, path: str) -> Iterator[History]:
    """Record the history of a collection until the end of the context."""
    history, ending = History(), threading.Event()
    version = str(cluster.request("GET", path)["metadata"]["resourceVersion"])
    thread = threading.Thread(target=_watch, args=(cluster, path, version, history, ending))
    thread.start()
    try:
        yield history
    finally:
        ending.set()
        thread.join()


def _watch(
    cluster: clusters.Cluster, path: str, version: str, history: History, ending: threading.Event
) -> None:
    while not ending.is_set():
        query = f"{path}?watch=1&resourceVersion={version}"
        # The read times out regularly to check whether the context has ended.
        with (
            contextlib.suppress(httpx.ReadTimeout),
            cluster.client.stream("GET", query, timeout=_QUIET_S) as answer,
        ):
            for line in answer.iter_lines():
                event = json.loads(line)
                version = event["object"]["metadata"]["resourceVersion"]
                history.add(time.time(), event)
                if ending.is_set():
                    return
