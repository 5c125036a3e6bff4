"""Reading recorded facts about the Vertical Pod Autoscaler and turning them into our types."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Literal

from kubestow.model import limit_ranges, quantities
from kubestow.model.decoding import fields
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.vpa.actuation import pods, policies, priorities
from kubestow.policies.sizing.vpa.capping import pod_limits
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation
from kubestow.policies.sizing.vpa.recommender import parameters
from tests.policies.sizing.vpa.oracle import instants, news

DATA = Path(__file__).parents[3] / "data" / "vpa_1_7"
Json = dict[str, Any]

# Names of the flags in the recorded sequences.
FLAGS = {
    "Margin": "margin", "MinCPU": "pod_min_cpu_m", "MinMem": "pod_min_memory_mib",
    "TC": "target_cpu_percentile", "LC": "lower_cpu_percentile", "UC": "upper_cpu_percentile",
    "TM": "target_memory_percentile", "LM": "lower_memory_percentile",
    "UM": "upper_memory_percentile", "ConfCPU": "cpu_confidence_s",
    "ConfMem": "memory_confidence_s", "HalfCPU": "cpu_half_life_s",
    "HalfMem": "memory_half_life_s", "Interval": "memory_interval_s",
    "Count": "memory_interval_count", "OomRatio": "oom_bump_ratio",
    "OomMin": "oom_min_bump_bytes", "RoundCPU": "round_cpu_m", "RoundMem": "round_memory_bytes",
    "MaxCPU": "max_allowed_cpu_m", "MaxMem": "max_allowed_memory_bytes",
    "PerVPA": "per_vpa_config",
}  # fmt: skip


def load(name: str) -> list[Any]:
    """Return the cases of a gzipped JSON lines file."""
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_parameters(case: Json) -> parameters.VpaParameters:
    """Return the flags of a sequence."""
    values: Json = {FLAGS[name]: value for name, value in case["params"].items()}
    if values.get("max_allowed_cpu_m"):
        values["max_allowed_cpu_m"] = quantities.parse(values["max_allowed_cpu_m"]).milli()
    if values.get("max_allowed_memory_bytes"):
        most = quantities.parse(values["max_allowed_memory_bytes"])
        values["max_allowed_memory_bytes"] = most.value()
    return parameters.VpaParameters(version=case["version"], **values)


def read_amounts(value: Json | None) -> dict[str, quantities.Quantity]:
    """Return a resource list; upstream's own arithmetic can make negative ones."""
    members = fields.Field(value, "case").members()
    return {name: member.quantity(negative=True) for name, member in members}


def read_policies(values: list[Json] | None) -> container_policies.Policies:
    """Return container policies written in the API's words."""
    return tuple(_policy(value) for value in values or ())


def _policy(value: Json) -> container_policies.ContainerPolicy:
    more: Json = {}
    if value.get("controlledResources") is not None:
        more["controlled_resources"] = tuple(value["controlledResources"])
    if value.get("controlledValues"):
        more["controlled_values"] = value["controlledValues"]
    if "oomBumpUpRatio" in value:
        more["oom_bump_ratio"] = quantities.parse(value["oomBumpUpRatio"]).milli() / 1000.0
    if "oomMinBumpUp" in value:
        more["oom_min_bump_bytes"] = quantities.parse(value["oomMinBumpUp"]).milli() / 1000.0
    if "memoryAggregationIntervalSeconds" in value:
        more["memory_interval_s"] = float(value["memoryAggregationIntervalSeconds"])
    if "memoryAggregationIntervalCount" in value:
        more["memory_interval_count"] = value["memoryAggregationIntervalCount"]
    return container_policies.ContainerPolicy(
        value.get("containerName", ""),
        off=value.get("mode") == "Off",
        min_allowed=read_amounts(value.get("minAllowed")),
        max_allowed=read_amounts(value.get("maxAllowed")),
        **more,
    )


def read_news(case: Json, round_: list[Any]) -> news.UsageNews:
    """Return a round of a sequence; pods get their template from the latest listing."""
    time_s, pods, samples, ooms, _ = round_
    if pods is not None:
        case["templates"] = {pod: template for pod, template, _ in pods}
    template = case["templates"]
    return news.UsageNews(
        time_s,
        tuple(
            news.UsageSample(
                when,
                pod,
                name,
                None if cpu_m < 0 else cpu_m / 1000,
                None if memory < 0 else float(memory),
                request_m / 1000,
                template[pod],
            )
            for pod, name, when, cpu_m, memory, request_m in samples
        ),
        tuple(
            news.OomKill(when, pod, name, request, template[pod])
            for pod, name, when, request in ooms
        ),
        None
        if pods is None
        else tuple(
            news.HistoryPod(pod, tuple(case["containers"]), label, ended)
            for pod, label, ended in pods
        ),
    )


def plain(recommended: priorities.Recommended) -> list[Any]:
    """Return a recommendation in the form of the recorded answers: millicores, bytes, -1."""
    return [
        [
            sized.container,
            *(
                [
                    amounts["cpu"].milli() if "cpu" in amounts else -1,
                    amounts["memory"].value() if "memory" in amounts else -1,
                ]
                for amounts in (sized.target, sized.lower, sized.upper, sized.uncapped)
            ),
        ]
        for sized in recommended
    ]


def to_ns(pair: list[int]) -> int:
    """Return a recorded instant, seconds and nanoseconds, in nanoseconds."""
    return pair[0] * instants.SECOND_NS + pair[1]


def read_instant(text: str | None) -> float | None:
    """Return an instant of a Kubernetes object in seconds."""
    return None if text is None else instants.to_seconds(instants.from_text(text))


def read_containers(pod: Json) -> tuple[pod_limits.PodContainer, ...]:
    """Return the containers of a pod; what the node reports as set wins."""
    status = {
        entry["name"]: entry["resources"]
        for entry in pod.get("status", {}).get("containerStatuses") or ()
        if entry.get("resources") is not None
    }
    return tuple(
        pod_limits.PodContainer(
            value.get("name", ""),
            read_resources(status.get(value.get("name", ""), value.get("resources"))),
        )
        for value in pod["spec"].get("containers") or ()
    )


def read_resources(value: Json | None) -> ContainerResources:
    value = value or {}
    return ContainerResources(
        read_amounts(value.get("requests")), read_amounts(value.get("limits"))
    )


def read_recommended(value: Json | None) -> priorities.Recommended:
    """Return recommendations written in the API's words."""
    return tuple(
        VpaRecommendation(
            one.get("containerName", ""),
            read_amounts(one.get("target")),
            read_amounts(one.get("lowerBound")),
            read_amounts(one.get("upperBound")),
            read_amounts(one.get("uncappedTarget")),
        )
        for one in (value or {}).get("containerRecommendations") or ()
    )


def read_ranges(case: Json) -> limit_ranges.LimitRanges:
    """Return the LimitRange items of a case."""
    return limit_ranges.LimitRanges(
        read_range(case.get("container"), "Container"), read_range(case.get("podRange"), "Pod")
    )


def read_range(
    value: Json | None, kind: Literal["Container", "Pod"]
) -> limit_ranges.LimitRangeItem | None:
    if value is None:
        return None
    minimum, maximum, default = (
        None if value.get(key) is None else read_amounts(value[key])
        for key in ("min", "max", "default")
    )
    return limit_ranges.LimitRangeItem(kind, minimum, maximum, default)


def policies_of(vpa: Json) -> container_policies.Policies:
    """Return the container policies of a VPA object."""
    return read_policies((vpa["spec"].get("resourcePolicy") or {}).get("containerPolicies"))


def update_policy_of(vpa: Json) -> policies.UpdatePolicy:
    """Return what a VPA object says about updates."""
    value = vpa["spec"].get("updatePolicy") or {}
    return policies.UpdatePolicy(
        value.get("updateMode") or "Recreate",
        value.get("minReplicas"),
        evict_after_oom_s=value.get("evictAfterOOMSeconds"),
    )


def read_pod(pod: Json) -> pods.UpdaterPod:
    """Return a pod as the updater sees it."""
    status, metadata = pod.get("status", {}), pod["metadata"]
    owner = next((o for o in metadata.get("ownerReferences") or () if o.get("controller")), None)
    observed = (metadata.get("annotations") or {}).get("vpaObservedContainers")
    return pods.UpdaterPod(
        metadata.get("name", ""),
        read_containers(pod),
        creator="/" if owner is None else f"{owner['kind']}/{owner['name']}",
        pending=status.get("phase") == "Pending",
        started_s=read_instant(status.get("startTime")),
        observed=pods.read_observed(observed),
        terminations=_terminations(status),
        conditions=tuple(
            pods.ResizeCondition(
                entry["type"],
                entry["status"] == "True",
                entry.get("reason", ""),
                entry.get("message", ""),
            )
            for entry in status.get("conditions") or ()
            if entry["type"].startswith("PodResize")
        ),
        restarts_on_resize=any(
            rule["restartPolicy"] == "RestartContainer"
            for container in pod["spec"].get("containers") or ()
            for rule in container.get("resizePolicy") or ()
        ),
    )


def _terminations(status: Json) -> dict[str, pods.Termination]:
    result = {}
    for entry in status.get("containerStatuses") or ():
        ended = (entry.get("lastState") or {}).get("terminated")
        if ended is not None:
            started, finished = read_instant(ended["startedAt"]), read_instant(ended["finishedAt"])
            if started is not None and finished is not None:
                result[entry["name"]] = pods.Termination(ended.get("reason", ""), started, finished)
    return result


def written(sized: priorities.Recommended) -> list[Json]:
    """Return recommendations as plain numbers, to be compared."""
    return [
        {
            "container": one.container,
            **{
                part: {name: amount.nano for name, amount in getattr(one, part).items()}
                for part in ("target", "lower", "upper")
            },
        }
        for one in sized
    ]
