"""Usage sampled from the resource metrics API, for clusters without Prometheus.

``metrics.k8s.io`` only has current values. Samples are taken at a fixed interval, one column each;
a measurement that is read twice counts once.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kubestow.live import api
from kubestow.live.api import NOT_FOUND, ApiError
from kubestow.live.workloads.inventory import PodName
from kubestow.model import decoding, errors, quantities
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.model.usage import Usage

PATH = "/apis/metrics.k8s.io/v1beta1/pods"
_NAMED = "/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods"

_SHORT = (
    "usage was sampled {count} times, {seconds:g} s in all: "
    "a day or more, from a Prometheus, tells far more"
)

Name = tuple[str, str, str]
"""Namespace, pod, container."""


class UsageSampler:
    """Collects usage samples.

    Args:
        step_s: Sampling interval, seconds; metrics-server updates every 15 s.
    """

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._columns: list[dict[Name, tuple[float, float]]] = []
        self._newest: dict[Name, float] = {}
        self._end_s = 0.0

    def __len__(self) -> int:
        return len(self._columns)

    def take(self, lists: list[dict[str, Any]], now_s: float) -> None:
        """Add PodMetricsLists as one sample."""
        column: dict[Name, tuple[float, float]] = {}
        for entry in (
            item for each in lists for item in decoding.Field(each, PATH)["items"].items()
        ):
            metadata = entry["metadata"]
            time_s = _time(entry["timestamp"])
            for container in entry["containers"].items():
                names = (metadata["namespace"], metadata["name"], container["name"])
                name = (names[0].text(), names[1].text(), names[2].text())
                if self._newest.get(name) != time_s:
                    self._newest[name] = time_s
                    column[name] = _usage_of(container["usage"])
        self._columns.append(column)
        self._end_s = now_s

    def table(self, workloads: Mapping[PodName, WorkloadKey]) -> Usage:
        """Return the collected usage.

        Args:
            workloads: The workload of every pod; other pods are skipped.

        Raises:
            InputError: If nothing was collected.
        """
        series = sorted(
            (ContainerKey(*workloads[name[:2]], name[2]), name)
            for name in {name for column in self._columns for name in column}
            if name[:2] in workloads
        )
        if not series:
            raise errors.InputError(PATH, "no usage of any pod: check that metrics-server runs")
        containers = tuple(dict.fromkeys(key for key, _ in series))
        indices = {key: index for index, key in enumerate(containers)}
        nothing = (np.nan, np.nan)
        grid = np.array(
            [[column.get(name, nothing) for column in self._columns] for _, name in series]
        )
        count = len(self._columns)
        return Usage(
            containers=containers,
            pods=tuple(name[1] for _, name in series),
            owners=np.array([indices[key] for key, _ in series], dtype=np.int64),
            step_s=self._step_s,
            end_s=self._end_s,
            cpu_cores=grid[:, :, 0],
            memory_bytes=grid[:, :, 1],
            throttled=np.full(len(containers), np.nan),
            oom_kills=np.zeros(len(containers)),
            oom_killed_bytes=np.zeros(len(containers)),
            notes=(_SHORT.format(count=count, seconds=count * self._step_s),),
        )


async def collect_samples(
    client: api.ApiClient,
    namespaces: tuple[str, ...],
    sampler: UsageSampler,
    seconds: float,
    step_s: float,
    watch: Callable[[float], None] = lambda _: None,
) -> None:
    """Sample for a while.

    Args:
        client: Client of the API server.
        namespaces: Namespaces to sample; default: all.
        sampler: Receives the samples.
        seconds: Duration, seconds.
        step_s: Sampling interval, seconds.
        watch: Called with the completed fraction.

    Raises:
        ApiError: If the API does not respond.
        InputError: If there is no metrics API, or a response is malformed.
    """
    paths = [_NAMED.format(name) for name in namespaces] or [PATH]
    points = max(int(seconds / step_s), 1)
    began_s = time.monotonic()
    for point in range(points):
        await asyncio.sleep(max(began_s + point * step_s - time.monotonic(), 0.0))
        try:
            lists = [await client.get(path) for path in paths]
        except ApiError as err:
            if err.status == NOT_FOUND:
                raise errors.InputError(
                    PATH, "the cluster has no metrics API: install metrics-server"
                ) from err
            raise
        sampler.take(lists, time.time())
        watch((point + 1) / points)


def _time(stamp: decoding.Field) -> float:
    try:
        return dt.datetime.fromisoformat(stamp.text()).timestamp()
    except ValueError:
        raise stamp.refuse("expected a time as in RFC 3339") from None


def _usage_of(usage: decoding.Field) -> tuple[float, float]:
    """Return cores and bytes."""
    used = usage.quantities()
    zero = quantities.Quantity(0)
    return float(used.get("cpu", zero)), float(used.get("memory", zero))
