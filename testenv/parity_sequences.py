"""Random autoscalers for the real HPA controller, and the metrics they get.

The controller syncs every ``SYNC_S`` and a little more, as its work takes time. Windows and periods
are chosen so that the age of earlier syncs is rarely close to one of them: 1.6, 3.1, 4.7, 6.3, 7.8
s and 1, 2, 4, 7 s, or many minutes.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testenv import parity_metrics, workloads

Json = dict[str, Any]

SYNC_S = 1.5
WINDOWS_S = (1, 2, 4, 7)
_LONG_S = 600  # longer than a run
_RATIOS = (0.0, 0.5, 0.85, 0.89, 0.9, 0.95, 1.0, 1.0, 1.05, 1.1, 1.11, 1.5, 2.0, 3.7)
_MOODS = (None, None, 0.2, 0.6, 1.0, 1.3, 2.2)
_REQUESTS = {"cpu": 200, "memory": 128 * 2**20 * 1000}  # milli-units of each container
_KNOWN_S = 0.3  # pods get metrics once the controller knows them as well
_TOLERANCES = ("0", "0.05", "50m", "200m", "0.3")


@dataclass(slots=True)
class Sync:
    """Metrics that the controller got in one sync, with the keys of observations.

    Attributes:
        time_s: Time of its first query.
        decided_s: Time of its last query, after which it decides.
        metrics: Values by metric; ``error`` where the query failed.
        samples: Sample time and window of resource metrics, by pod.
        asked: Number of metrics queried.
    """

    time_s: float
    decided_s: float
    metrics: Json = field(default_factory=dict)
    samples: dict[str, tuple[float, float]] = field(default_factory=dict)
    asked: int = 0


class Sequence:
    """An autoscaler, its deployment, and its metrics.

    Args:
        name: Name of both.
        seed: Seed of random numbers.
        pods: Returns the names of the pods that exist at some time.
    """

    def __init__(self, name: str, seed: str, pods: Callable[[str, float], list[str]]) -> None:
        self.name, self._pods = name, pods
        self._random = random.Random(seed)
        self._containers = ("app", "side") if self._chance(0.3) else ("app",)
        self.hpa = self._autoscaler()
        spec = self.hpa["spec"]
        self.replicas = self._random.randint(max(1, spec["minReplicas"]), spec["maxReplicas"])
        self.syncs: list[Sync] = []
        self._window_s = self._random.choice((0, 1, 2, 5))
        self._mood: float | None = None
        self._lock = threading.Lock()

    def deployment(self) -> Json:
        """Return the scale target."""
        made = workloads.deployment(self.name, self.replicas, {})
        # No grace period: nothing runs in these pods.
        requests = {"cpu": "200m", "memory": "128Mi"}
        made["metadata"]["labels"] = {"app": self.name}
        made["spec"]["template"]["spec"] = {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": name, "image": "pause", "resources": {"requests": requests}}
                for name in self._containers
            ],
        }
        return made

    def containers(self) -> dict[str, dict[str, str]]:
        """Return the requests of the containers of a pod."""
        return {name: {"cpu": "200m", "memory": "128Mi"} for name in self._containers}

    def known_pods(self, time_s: float) -> list[str]:
        """Return the pods that the controller knows at some time and that still exist."""
        there = set(self._pods(self.name, time_s))
        return [pod for pod in self._pods(self.name, time_s - _KNOWN_S) if pod in there]

    def index(self, question: parity_metrics.Question) -> int | None:
        """Return the index of the queried metric; ``None`` if it is not one of its metrics."""
        for number, metric in enumerate(self.hpa["spec"]["metrics"]):
            if question.group == parity_metrics.RESOURCE:
                if "esource" in metric["type"] and question.selector == f"app={self.name}":
                    return number
            elif question.metric == f"{self.name}-m{number}":
                return number
        return None

    def answer(self, number: int) -> list[Json] | None:
        """Draw the value of a metric for the controller, and record it."""
        with self._lock:
            now_s = time.time()
            if number == 0:
                self.syncs.append(Sync(now_s, now_s))
                if self._chance(0.2):
                    self._mood = self._random.choice(_MOODS)
            sync = self.syncs[-1]
            sync.asked, sync.decided_s = sync.asked + 1, now_s
            metric = self.hpa["spec"]["metrics"][number]
            key, items = self._draw(metric, sync, now_s)
            if items is None:
                sync.metrics[key] = "error"
            return items

    # --- specifications

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _autoscaler(self) -> Json:
        draw = self._random
        metrics = [self._metric(number) for number in range(draw.choice((1, 1, 1, 2, 2, 3)))]
        kept, has_resource = [], False
        for metric in metrics:
            # All resource metrics come in one response, so a second one could not be distinguished.
            resource = "esource" in metric["type"]
            if not (resource and has_resource):
                kept.append(metric)
            has_resource = has_resource or resource
        kept = [self._renamed(metric, number) for number, metric in enumerate(kept)]
        single = any(metric["type"] in ("Object", "External") for metric in kept)
        least = 0 if single and self._chance(0.3) else draw.choice((1, 1, 2, 3))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.name}
        spec: Json = {"scaleTargetRef": target, "minReplicas": least, "metrics": kept}
        spec["maxReplicas"] = least + draw.choice((2, 5, 6))
        if self._chance(0.9):
            spec["behavior"] = self._behavior()
        head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
        return {**head, "metadata": {"name": self.name}, "spec": spec}

    def _renamed(self, metric: Json, number: int) -> Json:
        for part in metric.values():
            if isinstance(part, dict) and "metric" in part:
                part["metric"]["name"] = f"{self.name}-m{number}"
        return metric

    def _metric(self, number: int) -> Json:
        kinds = ("External", "External", "Object", "Pods", "Pods", "Resource", "Resource")
        kind = self._random.choice((*kinds, "ContainerResource"))
        named: Json = {"name": f"m{number}"}
        if self._chance(0.3):
            named["selector"] = {"matchLabels": {"queue": "jobs"}}
        average = kind == "Pods" or self._chance(0.5)
        if kind == "Pods":
            return {"type": kind, "pods": {"metric": named, "target": self._amount(average)}}
        if kind == "External":
            return {"type": kind, "external": {"metric": named, "target": self._amount(average)}}
        if kind == "Object":
            described = {"apiVersion": "v1", "kind": "Service", "name": "front"}
            entry = {"metric": named, "target": self._amount(average)}
            return {"type": kind, "object": {**entry, "describedObject": described}}
        resource: Json = {"name": self._random.choice(("cpu", "cpu", "memory"))}
        if self._chance(0.7):
            percent = self._random.choice((10, 50, 60, 80, 100, 130))
            resource["target"] = {"type": "Utilization", "averageUtilization": percent}
        else:
            amount = "100m" if resource["name"] == "cpu" else "64Mi"
            resource["target"] = {"type": "AverageValue", "averageValue": amount}
        if kind == "ContainerResource":
            return {"type": kind, "containerResource": {**resource, "container": "app"}}
        return {"type": kind, "resource": resource}

    def _amount(self, average: bool) -> Json:
        amount = self._random.choice(("10", "7", "100m", "12500m", "1k"))
        if average:
            return {"type": "AverageValue", "averageValue": amount}
        return {"type": "Value", "value": amount}

    def _behavior(self) -> Json:
        behavior: Json = {"scaleDown": self._rules()}
        if self._chance(0.8):  # the default is minutes, too long for these tests
            window_s = self._random.choice((0, *WINDOWS_S))
            behavior["scaleDown"]["stabilizationWindowSeconds"] = window_s
        if self._chance(0.7):
            behavior["scaleUp"] = self._rules()
            if self._chance(0.6):
                window_s = self._random.choice((0, *WINDOWS_S, _LONG_S))
                behavior["scaleUp"]["stabilizationWindowSeconds"] = window_s
        return behavior

    def _rules(self) -> Json:
        rules: Json = {"selectPolicy": self._random.choice(("Max", "Max", "Min"))}
        if self._chance(0.05):
            rules["selectPolicy"] = "Disabled"
        if self._chance(0.6):
            rules["policies"] = [
                {
                    "type": self._random.choice(("Pods", "Percent")),
                    "value": self._random.choice((1, 2, 3, 25, 50, 100)),
                    "periodSeconds": self._random.choice((*WINDOWS_S, *WINDOWS_S, _LONG_S)),
                }
                for _ in range(self._random.choice((1, 1, 2)))
            ]
        if self._chance(0.4):
            rules["tolerance"] = self._random.choice(_TOLERANCES)
        return rules

    # --- answers

    def _draw(self, metric: Json, sync: Sync, now_s: float) -> tuple[str, list[Json] | None]:
        kind = metric["type"]
        entry = metric[kind[0].lower() + kind[1:]]
        name = entry["metric"]["name"] if "metric" in entry else entry["name"]
        key = f"app/{name}" if kind == "ContainerResource" else name
        if self._chance(0.04):
            return key, None
        pods = self.known_pods(now_s)
        ratio = self._random.choice(_RATIOS) if self._mood is None else self._mood
        if kind in ("External", "Object"):
            many = len(pods) if "averageValue" in entry["target"] else 1
            value = round(_milli(entry["target"]) * ratio * many)
            return key, self._single(kind, name, value, sync, now_s)
        chosen = [pod for pod in pods if not self._chance(0.06)]
        wide = {pod: ratio * self._random.choice((1.0, 1.0, 0.7, 1.4)) for pod in chosen}
        if kind == "Pods":
            samples = {pod: f"{round(_milli(entry['target']) * wide[pod])}m" for pod in chosen}
            sync.metrics[name] = samples
            return name, [_custom(name, "Pod", pod, samples[pod], now_s) for pod in chosen]
        return key, [self._usage(key, entry, pod, wide[pod], sync, now_s) for pod in chosen]

    def _single(self, kind: str, name: str, milli: int, sync: Sync, now_s: float) -> list[Json]:
        if kind == "Object":
            sync.metrics[name] = f"{milli}m"
            return [_custom(name, "Service", "front", f"{milli}m", now_s)]
        parts = [milli // 2, milli - milli // 2] if self._chance(0.2) else [milli]
        sync.metrics[name] = [f"{part}m" for part in parts]
        stamp = _stamp(now_s)
        return [
            {"metricName": name, "metricLabels": {}, "timestamp": stamp, "value": f"{part}m"}
            for part in parts
        ]

    def _usage(
        self, key: str, entry: Json, pod: str, ratio: float, sync: Sync, now_s: float
    ) -> Json:
        resource, target = entry["name"], entry["target"]
        whole = 1 if resource == "cpu" else 1000  # memory comes in whole bytes
        counted = 1 if "/" in key else len(self._containers)
        if "averageValue" in target:
            level = _milli(target) / counted
        else:
            level = _REQUESTS[resource] * target["averageUtilization"] / 100
        milli = round(level * ratio / whole) * whole
        sync.metrics.setdefault(key, {})[pod] = f"{milli * counted}m"
        sampled_s = int(now_s) - self._random.choice((0, 0, 0, 2))
        sync.samples[pod] = float(sampled_s), float(self._window_s)
        usage = {"cpu": "1m", "memory": "1000", resource: f"{milli}m"}
        if resource == "memory":
            usage[resource] = str(milli // 1000)
        return {
            "metadata": {"name": pod, "namespace": "any", "labels": {"app": self.name}},
            "timestamp": _stamp(sampled_s),
            "window": f"{self._window_s}s",
            "containers": [{"name": name, "usage": usage} for name in self._containers],
        }


def _milli(target: Json) -> int:
    text = target.get("averageValue") or target["value"]
    suffixes = {"k": 1_000_000, "m": 1, "Mi": 2**20 * 1000}
    for suffix, size in suffixes.items():
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * size
    return int(text) * 1000


def _stamp(time_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time_s))


def _custom(name: str, kind: str, owner: str, value: str, now_s: float) -> Json:
    described = {"kind": kind, "namespace": "any", "name": owner, "apiVersion": "/v1"}
    stamp = _stamp(now_s)
    return {
        "describedObject": described,
        "metric": {"name": name},
        "timestamp": stamp,
        "value": value,
    }
