"""Random scheduling cases for the scheduler oracle.

Every case concentrates on one or two features of the scheduler on a random
background. The same seed always gives the same cases.

    python cases.py generate --count 20 --seed 7 > cases.jsonl
    python cases.py record --oracle BINARY --out random_cases.jsonl.gz
    python cases.py summary random_cases.jsonl.gz
"""

# Most functions are explained by their names; the program prints, and runs a given oracle.
# ruff: noqa: D102, D103, S104, S603, T201

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Obj = dict[str, Any]

DEFAULT_COUNT = 1500
DEFAULT_SEED = 137

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
GPU = "example.com/gpu"
FPGA = "vendor.io/fpga"
HUGE = "hugepages-2Mi"

APPS = ("web", "db", "cache")
VERSIONS = ("v1", "v2")
TEAMS = ("default", "team-a", "team-b")
IMAGES = ("app:v1", "registry.example/db:14", "cache", "registry.example/big@sha256:" + "ab" * 32)
CPU = ("50m", "100m", "0.25", "250m", "300m", "500m", "750m", "1", "1500m", "2")
MEMORY = (
    "32Mi",
    "64Mi",
    "100M",
    "128Mi",
    "200Mi",
    "256Mi",
    "500M",
    "0.5Gi",
    "1Gi",
    "1536Mi",
    "2Gi",
)
NODE_CPU = ("2", "3", "3920m", "4", "8", "7910m", "16", "32")
NODE_MEMORY = ("4Gi", "7Gi", "8Gi", "16Gi", "15645Mi", "32Gi", "64Gi", "33000000Ki")


@dataclass
class Draft:
    """A case under construction."""

    rng: random.Random
    nodes: list[Obj] = field(default_factory=list)
    bound: list[Obj] = field(default_factory=list)
    pending: list[Obj] = field(default_factory=list)
    others: list[Obj] = field(default_factory=list)
    profiles: list[Obj] = field(default_factory=list)
    extenders: list[Obj] = field(default_factory=list)

    # --- choices

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def some(self, items: list[Any], probability: float, least: int = 0) -> list[Any]:
        """A random part of the items, at least `least` of them if there are enough."""
        chosen = [item for item in items if self.chance(probability)]
        if len(chosen) < least:
            chosen = self.rng.sample(items, min(least, len(items)))
        return chosen

    # --- configuration

    def profile(self) -> Obj:
        """The first profile; creating one gives the case a configuration."""
        if not self.profiles:
            self.profiles.append({"schedulerName": "default-scheduler"})
        return self.profiles[0]

    def args(self, plugin: str, profile: Obj | None = None) -> Obj:
        """The arguments of a plugin, created empty if needed."""
        configs = (profile or self.profile()).setdefault("pluginConfig", [])
        for config in configs:
            if config["name"] == plugin:
                args: Obj = config["args"]
                return args
        configs.append({"name": plugin, "args": {}})
        created: Obj = configs[-1]["args"]
        return created

    def point(self, name: str, profile: Obj | None = None) -> Obj:
        plugins = (profile or self.profile()).setdefault("plugins", {})
        point: Obj = plugins.setdefault(name, {})
        return point

    def config(self) -> Obj | None:
        if not self.profiles and not self.extenders:
            return None
        config: Obj = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        }
        if self.profiles:
            config["profiles"] = self.profiles
        if self.extenders:
            config["extenders"] = self.extenders
        return config

    # --- objects

    def objects(self) -> list[Obj]:
        return self.nodes + self.others + self.bound + self.pending

    def pods(self) -> list[Obj]:
        return self.bound + self.pending

    def resource(self, name: str, amounts: tuple[str, ...], probability: float = 0.85) -> None:
        """Gives most nodes an amount of one more resource."""
        for node in self.some(self.nodes, probability, least=2):
            node["status"]["allocatable"][name] = self.rng.choice(amounts)


def requests(rng: random.Random) -> Obj:
    """Requests as most pods have them: CPU and memory, sometimes only one or none."""
    result = {}
    if rng.random() < 0.9:
        result["cpu"] = rng.choice(CPU)
    if rng.random() < 0.9:
        result["memory"] = rng.choice(MEMORY)
    return result


def container(rng: random.Random, name: str = "c", image: str = "app:v1") -> Obj:
    result: Obj = {"name": name, "image": image}
    amounts = requests(rng)
    if amounts:
        result["resources"] = {"requests": amounts}
    return result


def make_pod(rng: random.Random, name: str, node: str | None = None) -> Obj:
    metadata: Obj = {
        "name": name,
        "namespace": rng.choice(TEAMS) if rng.random() < 0.4 else "default",
    }
    metadata["labels"] = {"app": rng.choice(APPS), "version": rng.choice(VERSIONS)}
    pod: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container(rng)]},
    }
    if node is not None:
        pod["spec"]["nodeName"] = node
        pod["status"] = {"phase": "Running"}
    return pod


def make_node(rng: random.Random, name: str, zones: int) -> Obj:
    labels = {HOST: name}
    if rng.random() < 0.93:
        labels[ZONE] = "z" + str(rng.randrange(zones))
        labels[REGION] = "r0"
    if rng.random() < 0.6:
        labels["disk"] = rng.choice(("ssd", "hdd"))
    if rng.random() < 0.6:
        labels["cores"] = rng.choice(("4", "8", "16", "many"))
    if rng.random() < 0.4:
        labels[RACK] = "r" + str(rng.randrange(4))
    allocatable = {
        "cpu": rng.choice(NODE_CPU),
        "memory": rng.choice(NODE_MEMORY),
        "pods": rng.choice(("110", "110", "110", "12", "3")),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


def make_namespace(name: str) -> Obj:
    labels = {"kubernetes.io/metadata.name": name}
    if name != "default":
        labels["team"] = name[-1]
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def background(rng: random.Random) -> Draft:
    """Nodes, bound and pending pods without anything special."""
    draft = Draft(rng)
    zones = rng.randint(1, 4)
    count = rng.choice((3, 4, 5, 5, 6, 6, 7, 8, 9, 10, 12, 14, 20, 30))
    draft.nodes = [make_node(rng, f"n{i:02}", zones) for i in range(count)]
    most = min(60, 3 * count)
    for i in range(rng.choice((0, most // 4, most // 2, most // 2, most))):
        draft.bound.append(make_pod(rng, f"b{i:02}", rng.choice(draft.nodes)["metadata"]["name"]))
    for i in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        draft.pending.append(make_pod(rng, f"p{i}"))
    draft.others = [make_namespace(name) for name in TEAMS]

    if draft.chance(0.15):
        for node in draft.some(draft.nodes, 0.2):
            node["spec"] = {"taints": [taint(rng)]}
    if draft.chance(0.1):
        for node in draft.some(draft.nodes, 0.15):
            node.setdefault("spec", {})["unschedulable"] = True
    if draft.chance(0.2):
        for pod in draft.some(draft.bound, 0.15):
            pod["status"]["phase"] = rng.choice(("Succeeded", "Failed", "Pending"))
    if draft.chance(0.2):
        for pod in draft.some(draft.bound, 0.2):
            pod["metadata"].update(
                deletionTimestamp="2026-01-02T00:00:00Z", deletionGracePeriodSeconds=30
            )
    return draft


# --- taints and tolerations


def taint(rng: random.Random) -> Obj:
    result = {"key": rng.choice(("dedicated", "gpu", "flaky")), "effect": rng.choice(EFFECTS)}
    if rng.random() < 0.7:
        result["value"] = rng.choice(("a", "b"))
    return result


EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def toleration(rng: random.Random) -> Obj:
    kind = rng.randrange(6)
    if kind == 0:
        return {"operator": "Exists"}
    result: Obj = {"key": rng.choice(("dedicated", "gpu", "flaky"))}
    if kind in (1, 2):
        result["operator"] = "Exists"
    else:
        result["value"] = rng.choice(("a", "b", ""))
        if kind == 3:
            result["operator"] = "Equal"
    if rng.random() < 0.6:
        result["effect"] = rng.choice(EFFECTS)
        if result["effect"] == "NoExecute" and rng.random() < 0.5:
            result["tolerationSeconds"] = 300
    return result


def feature_taints(draft: Draft) -> None:
    rng = draft.rng
    for node in draft.some(draft.nodes, 0.6):
        count = rng.randint(1, 3)
        unique = {
            (item["key"], item["effect"]): item for item in (taint(rng) for _ in range(count))
        }
        node.setdefault("spec", {})["taints"] = list(unique.values())
    for pod in draft.some(draft.pending, 0.8, least=1):
        pod["spec"]["tolerations"] = [toleration(rng) for _ in range(rng.randint(1, 4))]


def feature_prefer_no_schedule(draft: Draft) -> None:
    rng = draft.rng
    for node in draft.some(draft.nodes, 0.7, least=2):
        keys = draft.some(["dedicated", "gpu", "flaky"], 0.5, least=1)
        taints = [
            {"key": key, "value": rng.choice("ab"), "effect": "PreferNoSchedule"} for key in keys
        ]
        node.setdefault("spec", {})["taints"] = taints
    for pod in draft.pending:
        pod["spec"]["tolerations"] = [toleration(rng) for _ in range(rng.randint(0, 3))]


def feature_unschedulable(draft: Draft) -> None:
    for node in draft.some(draft.nodes, 0.4, least=1):
        spec = node.setdefault("spec", {})
        spec["unschedulable"] = True
        if draft.chance(0.5):
            spec.setdefault("taints", []).append(
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
            )
    for pod in draft.some(draft.pending, 0.4):
        pod["spec"]["tolerations"] = [
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
        ]


# --- resources


def feature_containers(draft: Draft) -> None:
    """Several containers, init containers, sidecars, overhead, limits only, nothing, zero."""
    rng = draft.rng
    for pod in draft.some(draft.pods(), 0.5) + draft.pending:
        spec = pod["spec"]
        spec["containers"] = [container(rng, f"c{i}") for i in range(rng.randint(1, 3))]
        inits = []
        for i in range(rng.choice((0, 0, 1, 2, 3))):
            init = container(rng, f"i{i}")
            if draft.chance(0.5):
                init["restartPolicy"] = "Always"
            inits.append(init)
        spec.pop("initContainers", None)
        spec.pop("resources", None)
        if inits:
            spec["initContainers"] = inits
        if draft.chance(0.25):
            spec["overhead"] = {
                "cpu": rng.choice(("10m", "250m")),
                "memory": rng.choice(("16Mi", "120Mi")),
            }
        for item in spec["containers"] + inits:
            change_requests(rng, item)


def change_requests(rng: random.Random, item: Obj) -> None:
    kind = rng.randrange(8)
    if kind == 0:
        item.pop("resources", None)
    elif kind == 1:
        item["resources"] = {"requests": {"cpu": "0", "memory": "0"}}
    elif kind == 2:
        item["resources"] = {"limits": requests(rng)}
    elif kind == 3:
        item["resources"] = {
            "requests": {"cpu": "100m"},
            "limits": {"cpu": "2", "memory": rng.choice(MEMORY)},
        }
    elif kind == 4:
        item["resources"] = {"requests": {"cpu": rng.choice(("0.0015", "1e-1", "333m", "1.001"))}}


def feature_pod_level(draft: Draft) -> None:
    """Resources of the pod as a whole."""
    rng = draft.rng
    for pod in draft.some(draft.bound, 0.4) + draft.pending:
        spec = pod["spec"]
        spec["containers"] = [
            {"name": f"c{i}", "image": "app:v1"} for i in range(rng.randint(1, 2))
        ]
        for item in spec["containers"]:
            if draft.chance(0.6):
                item["resources"] = {
                    "requests": {"cpu": rng.choice(CPU[:5]), "memory": rng.choice(MEMORY[:4])}
                }
        level: Obj = {}
        kind = rng.randrange(5)
        if kind in (0, 1):
            level["requests"] = {
                "cpu": rng.choice(("1", "1500m", "2")),
                "memory": rng.choice(("600Mi", "2Gi")),
            }
        elif kind == 2:
            level["limits"] = {"cpu": rng.choice(("2", "3")), "memory": rng.choice(("1Gi", "3Gi"))}
        elif kind == 3:
            level["requests"] = {"cpu": "1"}
            level["limits"] = {"memory": "2Gi"}
        else:
            level["requests"] = {"memory": rng.choice(("700Mi", "1Gi"))}
        spec["resources"] = level
        spec.pop("initContainers", None)
        if draft.chance(0.3):
            init = {
                "name": "i",
                "image": "app:v1",
                "resources": {"requests": {"cpu": "200m", "memory": "64Mi"}},
            }
            if draft.chance(0.5):
                init["restartPolicy"] = "Always"
            spec["initContainers"] = [init]
        if draft.chance(0.2):
            spec["overhead"] = {"cpu": "50m", "memory": "30Mi"}


def request(pod: Obj, name: str, amount: str) -> None:
    """Makes the first container of the pod request an amount that cannot be overcommitted."""
    resources = pod["spec"]["containers"][0].setdefault("resources", {})
    amounts = resources.setdefault("requests", {})
    if not amounts and not resources.get("limits"):
        amounts["cpu"] = "100m"
    amounts[name] = amount
    if name != "ephemeral-storage":
        resources.setdefault("limits", {})[name] = amount


def feature_extended(draft: Draft) -> None:
    rng = draft.rng
    draft.resource(GPU, ("2", "3", "4", "8", "8", "0"))
    draft.resource(FPGA, ("2", "3"))
    for pod in draft.some(draft.bound, 0.25) + draft.pending:
        request(pod, GPU, rng.choice(("1", "1", "2", "0")))
        if draft.chance(0.25):
            request(pod, FPGA, "1")


def feature_storage(draft: Draft) -> None:
    """Ephemeral storage and huge pages."""
    rng = draft.rng
    draft.resource("ephemeral-storage", ("10Gi", "20Gi", "47093746742"), 0.95)
    draft.resource(HUGE, ("64Mi", "128Mi", "128Mi", "0"))
    for pod in draft.some(draft.bound, 0.4) + draft.pending:
        if draft.chance(0.7):
            request(pod, "ephemeral-storage", rng.choice(("100Mi", "1Gi", "2G")))
        if draft.chance(0.3):
            request(pod, HUGE, rng.choice(("2Mi", "4Mi", "16Mi")))


def feature_zero_capacity(draft: Draft) -> None:
    for node in draft.some(draft.nodes, 0.3, least=1):
        node["status"]["allocatable"][draft.rng.choice(("cpu", "memory"))] = "0"
    for node in draft.some(draft.nodes, 0.1):
        node["status"]["allocatable"].pop("memory", None)
    for pod in draft.some(draft.pending, 0.7, least=1):
        kind = draft.rng.randrange(3)
        if kind == 0:
            pod["spec"]["containers"][0].pop("resources", None)
        elif kind == 1:
            pod["spec"]["containers"][0]["resources"] = {"requests": {"memory": "100Mi"}}


def feature_crowded(draft: Draft) -> None:
    """Nodes that are nearly full, so several reasons meet on a node."""
    rng = draft.rng
    for node in draft.some(draft.nodes, 0.7):
        node["status"]["allocatable"].update(
            cpu=rng.choice(("1", "2")), memory=rng.choice(("1Gi", "2Gi"))
        )
        if draft.chance(0.3):
            node["status"]["allocatable"]["pods"] = rng.choice(("0", "1", "2", "4"))
    for pod in draft.pending:
        pod["spec"].pop("resources", None)
        pod["spec"]["containers"][0]["resources"] = {
            "requests": {"cpu": rng.choice(CPU[5:]), "memory": "700Mi"}
        }


def feature_resized(draft: Draft) -> None:
    """Bound pods whose resources are being changed in place."""
    rng = draft.rng
    for pod in draft.some(draft.bound, 0.7, least=1):
        status = pod["status"]
        spec = pod["spec"]
        amounts = {"requests": {"cpu": rng.choice(CPU), "memory": rng.choice(MEMORY)}}
        spec["containers"] = [{"name": "c", "image": "app:v1", "resources": amounts}]
        spec.pop("initContainers", None)
        spec.pop("resources", None)
        entry: Obj = {
            "name": "c",
            "ready": True,
            "restartCount": 0,
            "image": "app:v1",
            "imageID": "",
        }
        if draft.chance(0.7):
            entry["resources"] = {
                "requests": {"cpu": rng.choice(CPU), "memory": rng.choice(MEMORY)}
            }
        if draft.chance(0.7):
            entry["allocatedResources"] = {"cpu": rng.choice(CPU), "memory": rng.choice(MEMORY)}
        status["containerStatuses"] = [entry]
        if draft.chance(0.4):
            reason = rng.choice(("Infeasible", "Deferred"))
            status["conditions"] = [
                {"type": "PodResizePending", "status": "True", "reason": reason}
            ]
        elif draft.chance(0.3):
            status["conditions"] = [{"type": "PodResizeInProgress", "status": "True"}]
        if draft.chance(0.25):
            sidecar = {"name": "s", "image": "app:v1", "restartPolicy": "Always"}
            spec["initContainers"] = [
                {**sidecar, "resources": {"requests": {"cpu": rng.choice(CPU)}}}
            ]
            running = {"requests": {"cpu": rng.choice(CPU)}}
            status["initContainerStatuses"] = [{**entry, "name": "s", "resources": running}]
        if draft.chance(0.2):
            spec["resources"] = {"requests": {"cpu": "4", "memory": "3Gi"}}
            status["resources"] = {
                "requests": {"cpu": rng.choice(("3", "5")), "memory": rng.choice(("2Gi", "4Gi"))}
            }
            if draft.chance(0.5):
                status["allocatedResources"] = {"cpu": rng.choice(("4", "4500m")), "memory": "2Gi"}


# --- ports, names, images


def feature_host_ports(draft: Draft) -> None:
    rng = draft.rng
    for pod in draft.some(draft.bound, 0.5) + draft.pending:
        ports = {}
        for _ in range(rng.randint(1, 2)):
            port: Obj = {"containerPort": 8080, "hostPort": rng.choice((80, 443, 8080))}
            if draft.chance(0.5):
                port["protocol"] = rng.choice(("TCP", "UDP", "SCTP"))
            if draft.chance(0.4):
                port["hostIP"] = rng.choice(("0.0.0.0", "10.0.0.1", "127.0.0.1"))
            ports[port["hostPort"]] = port
        pod["spec"]["containers"][0]["ports"] = list(ports.values())


def feature_images(draft: Draft) -> None:
    rng = draft.rng
    sizes = {
        image: rng.choice((5, 23, 40, 250, 700, 1500)) * 1024 * 1024 + rng.randrange(1000)
        for image in IMAGES
    }
    for node in draft.some(draft.nodes, 0.8, least=2):
        images = []
        for image in draft.some(list(IMAGES), 0.5):
            names = [image if ":" in image else image + ":latest"]
            if draft.chance(0.4):
                names.append("mirror.example/" + names[0].split("/")[-1])
            images.append({"names": names, "sizeBytes": sizes[image]})
        node["status"]["images"] = images
    for pod in draft.pending:
        spec = pod["spec"]
        spec["containers"] = [
            container(rng, f"c{i}", rng.choice(IMAGES)) for i in range(rng.randint(1, 3))
        ]
        if draft.chance(0.3):
            spec["containers"][0]["image"] = "mirror.example/app:v1"
        if draft.chance(0.3):
            spec["initContainers"] = [container(rng, "i", rng.choice(IMAGES))]


# --- node affinity


def node_requirement(rng: random.Random) -> Obj:
    key = rng.choice(("disk", "cores", ZONE, RACK, "absent"))
    values = {
        "disk": ["ssd", "hdd"],
        "cores": ["4", "8", "16"],
        ZONE: ["z0", "z1", "z2"],
        RACK: ["r0", "r1"],
    }
    operator = rng.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": "cores", "operator": operator, "values": [rng.choice(("3", "7", "8", "12"))]}
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    chosen = values.get(key, ["x"])
    return {
        "key": key,
        "operator": operator,
        "values": rng.sample(chosen, rng.randint(1, len(chosen))),
    }


def node_term(draft: Draft) -> Obj:
    term: Obj = {}
    if draft.chance(0.9):
        count = draft.rng.choice((1, 1, 2))
        term["matchExpressions"] = [node_requirement(draft.rng) for _ in range(count)]
    if draft.chance(0.15) or not term:
        name = draft.rng.choice(draft.nodes)["metadata"]["name"]
        operator = draft.rng.choice(("In", "NotIn", "NotIn"))
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
    return term


def node_affinity(draft: Draft, required: float, preferred: float) -> Obj:
    result: Obj = {}
    if draft.chance(required):
        terms = [node_term(draft) for _ in range(draft.rng.choice((1, 2, 2, 3)))]
        result["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if draft.chance(preferred):
        result["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": draft.rng.randint(1, 100), "preference": node_term(draft)}
            for _ in range(draft.rng.randint(1, 3))
        ]
    return result


def affinity(pod: Obj, kind: str) -> Obj:
    result: Obj = pod["spec"].setdefault("affinity", {}).setdefault(kind, {})
    return result


def feature_node_affinity(draft: Draft) -> None:
    for pod in draft.pending:
        affinity(pod, "nodeAffinity").update(node_affinity(draft, 0.6, 0.8))


def feature_match_fields(draft: Draft) -> None:
    """Required affinity by node name only, which restricts the nodes before filtering."""
    names = [node["metadata"]["name"] for node in draft.nodes] + ["gone"]
    for pod in draft.some(draft.pending, 0.8, least=1):
        terms = []
        conflicting = 1.0 if draft.chance(0.15) else 0.1
        for _ in range(draft.rng.choice((1, 2, 2, 3))):
            expression = {
                "key": "metadata.name",
                "operator": "In",
                "values": [draft.rng.choice(names)],
            }
            terms.append({"matchFields": [expression]})
            if draft.chance(conflicting):
                other = {
                    "key": "metadata.name",
                    "operator": "In",
                    "values": [draft.rng.choice(names)],
                }
                terms[-1]["matchFields"].append(other)
            if draft.chance(0.2):
                terms[-1]["matchExpressions"] = [node_requirement(draft.rng)]
        required = {"nodeSelectorTerms": terms}
        affinity(pod, "nodeAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = required


def feature_node_selector(draft: Draft) -> None:
    choices = (("disk", "ssd"), ("disk", "hdd"), (ZONE, "z0"), ("cores", "8"), (REGION, "r0"))
    for pod in draft.pending:
        pod["spec"]["nodeSelector"] = dict(draft.rng.sample(choices, draft.rng.choice((1, 1, 2))))


def feature_added_affinity(draft: Draft) -> None:
    draft.args("NodeAffinity")["addedAffinity"] = node_affinity(draft, 0.5, 0.8)
    for pod in draft.some(draft.pending, 0.5):
        affinity(pod, "nodeAffinity").update(node_affinity(draft, 0.3, 0.7))


# --- pod affinity


def label_selector(rng: random.Random) -> Obj:
    kind = rng.randrange(6)
    if kind < 3:
        return {"matchLabels": {"app": rng.choice(APPS)}}
    if kind == 3:
        values = rng.sample(APPS, rng.randint(1, 2))
        return {
            "matchExpressions": [
                {"key": "app", "operator": rng.choice(("In", "NotIn")), "values": values}
            ]
        }
    if kind == 4:
        return {
            "matchExpressions": [
                {"key": "version", "operator": rng.choice(("Exists", "DoesNotExist"))}
            ]
        }
    return {"matchLabels": {"app": rng.choice(APPS), "version": rng.choice(VERSIONS)}}


def pod_term(draft: Draft, keys: tuple[str, ...] = (HOST, ZONE, ZONE, RACK)) -> Obj:
    term: Obj = {"topologyKey": draft.rng.choice(keys), "labelSelector": label_selector(draft.rng)}
    kind = draft.rng.randrange(8)
    if kind == 0:
        term["namespaces"] = draft.rng.sample(TEAMS, draft.rng.randint(1, 2))
    elif kind == 1:
        term["namespaceSelector"] = {}
    elif kind == 2:
        term["namespaceSelector"] = {"matchLabels": {"team": draft.rng.choice("ab")}}
        if draft.chance(0.4):
            term["namespaces"] = ["default"]
    elif kind == 3:
        term["namespaceSelector"] = {"matchExpressions": [{"key": "team", "operator": "Exists"}]}
    return term


def preferred_terms(draft: Draft, count: int) -> list[Obj]:
    return [
        {"weight": draft.rng.randint(1, 100), "podAffinityTerm": pod_term(draft)}
        for _ in range(count)
    ]


def feature_pod_affinity(draft: Draft) -> None:
    for pod in draft.pending:
        if draft.chance(0.6):
            terms = [
                pod_term(draft, (ZONE, ZONE, REGION, HOST))
                for _ in range(draft.rng.choice((1, 1, 2)))
            ]
            affinity(pod, "podAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = terms
        if draft.chance(0.6):
            terms = [pod_term(draft, (HOST, HOST, RACK))]
            affinity(pod, "podAntiAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = (
                terms
            )


def feature_preferred_pod_affinity(draft: Draft) -> None:
    for pod in draft.some(draft.bound, 0.3) + draft.pending:
        kind = draft.rng.choice(("podAffinity", "podAntiAffinity"))
        terms = preferred_terms(draft, draft.rng.randint(1, 2))
        affinity(pod, kind)["preferredDuringSchedulingIgnoredDuringExecution"] = terms


def feature_existing_pod_affinity(draft: Draft) -> None:
    """Affinity of bound pods, required and preferred, and its arguments."""
    for pod in draft.some(draft.bound, 0.5, least=1):
        kind = draft.rng.randrange(4)
        if kind == 0:
            affinity(pod, "podAntiAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = [
                pod_term(draft, (HOST, HOST, HOST, RACK, ZONE))
            ]
        elif kind == 1:
            affinity(pod, "podAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = [
                pod_term(draft)
            ]
        else:
            name = draft.rng.choice(("podAffinity", "podAntiAffinity"))
            affinity(pod, name)["preferredDuringSchedulingIgnoredDuringExecution"] = (
                preferred_terms(draft, 1)
            )
    if draft.chance(0.4):
        draft.args("InterPodAffinity")["hardPodAffinityWeight"] = draft.rng.choice((0, 5, 100))
    if draft.chance(0.3):
        draft.args("InterPodAffinity")["ignorePreferredTermsOfExistingPods"] = True


def feature_label_keys(draft: Draft) -> None:
    """The matchLabelKeys and mismatchLabelKeys of pod affinity and topology spread."""
    for pod in draft.some(draft.bound, 0.2) + draft.pending:
        for kind in draft.some(["podAffinity", "podAntiAffinity"], 0.5, least=1):
            term = pod_term(draft)
            term["labelSelector"] = {"matchLabels": {"app": draft.rng.choice(APPS)}}
            name = draft.rng.choice(("matchLabelKeys", "mismatchLabelKeys"))
            term[name] = draft.rng.choice((["version"], ["version", "missing"]))
            preferred = [{"weight": draft.rng.randint(1, 100), "podAffinityTerm": term}]
            if draft.chance(0.3) and kind == "podAntiAffinity":
                term["topologyKey"] = HOST
                affinity(pod, kind)["requiredDuringSchedulingIgnoredDuringExecution"] = [term]
            else:
                affinity(pod, kind)["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
        if draft.chance(0.5):
            constraint = spread(draft, ZONE, "ScheduleAnyway")
            constraint["labelSelector"] = {"matchLabels": {"app": pod["metadata"]["labels"]["app"]}}
            constraint["matchLabelKeys"] = ["version"]
            pod["spec"]["topologySpreadConstraints"] = [constraint]


# --- topology spread


def spread(draft: Draft, key: str, action: str) -> Obj:
    rng = draft.rng
    result: Obj = {
        "maxSkew": rng.choice((1, 1, 2, 3, 5)),
        "topologyKey": key,
        "whenUnsatisfiable": action,
    }
    result["labelSelector"] = label_selector(rng)
    if draft.chance(0.25):
        result["nodeAffinityPolicy"] = rng.choice(("Honor", "Ignore"))
    if draft.chance(0.25):
        result["nodeTaintsPolicy"] = rng.choice(("Honor", "Ignore"))
    if action == "DoNotSchedule" and draft.chance(0.25):
        result["minDomains"] = rng.randint(1, 6)
    return result


def constrain(draft: Draft, keys: list[str], action: str) -> None:
    for pod in draft.pending:
        chosen = draft.some(keys, 0.5, least=1)
        pod["spec"]["topologySpreadConstraints"] = [spread(draft, key, action) for key in chosen]
        if draft.chance(0.5):
            app = pod["metadata"]["labels"]["app"]
            pod["spec"]["topologySpreadConstraints"][0]["labelSelector"] = {
                "matchLabels": {"app": app}
            }
    if draft.chance(0.4):
        feature_taints(draft)
    if draft.chance(0.4):
        feature_node_selector(draft)


def feature_spread_hard(draft: Draft) -> None:
    constrain(draft, [ZONE, HOST, RACK], "DoNotSchedule")


def feature_spread_soft(draft: Draft) -> None:
    constrain(draft, [ZONE, HOST, RACK, REGION], "ScheduleAnyway")


def feature_spread_both(draft: Draft) -> None:
    for pod in draft.pending:
        hard = [
            spread(draft, key, "DoNotSchedule") for key in draft.some([ZONE, HOST], 0.6, least=1)
        ]
        soft = [
            spread(draft, key, "ScheduleAnyway")
            for key in draft.some([ZONE, HOST, RACK], 0.6, least=1)
        ]
        pod["spec"]["topologySpreadConstraints"] = hard + soft


def feature_default_spread(draft: Draft) -> None:
    """Spreading by default constraints over pods of services and controllers."""
    rng = draft.rng
    for pod in draft.some(draft.pods(), 0.7):
        pod["metadata"]["namespace"] = "default"
    selector = {"app": rng.choice(APPS)}
    kind = rng.choice(("Service", "ReplicaSet", "StatefulSet", "ReplicationController", "both"))
    if kind in ("Service", "both"):
        spec = {"selector": selector, "ports": [{"port": 80}]}
        draft.others.append(
            {"apiVersion": "v1", "kind": "Service", "metadata": named("svc"), "spec": spec}
        )
    if kind != "Service":
        draft.others.append(controller("ReplicaSet" if kind == "both" else kind, selector))
        owner = {"apiVersion": draft.others[-1]["apiVersion"], "kind": draft.others[-1]["kind"]}
        owner.update(name="ctl", uid="ctl-uid", controller=True)
        for pod in draft.pods():
            if (
                pod["metadata"]["namespace"] == "default"
                and pod["metadata"]["labels"]["app"] == selector["app"]
            ):
                pod["metadata"]["ownerReferences"] = [owner]
    for pod in draft.some(draft.pending, 0.8, least=1):
        pod["metadata"]["namespace"] = "default"
        pod["metadata"]["labels"]["app"] = selector["app"]
        if kind != "Service":
            pod["metadata"]["ownerReferences"] = [owner]
    if draft.chance(0.5):
        args = draft.args("PodTopologySpread")
        args["defaultingType"] = "List"
        actions = [
            (ZONE, "ScheduleAnyway"),
            (HOST, "ScheduleAnyway"),
            (ZONE, "DoNotSchedule"),
            (RACK, "ScheduleAnyway"),
        ]
        args["defaultConstraints"] = [
            {"maxSkew": rng.choice((1, 2, 5)), "topologyKey": key, "whenUnsatisfiable": action}
            for key, action in draft.some(actions, 0.4)
        ]


def named(name: str, uid: str | None = None) -> Obj:
    return {"name": name, "namespace": "default", **({"uid": uid} if uid else {})}


def controller(kind: str, labels: Obj) -> Obj:
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "app:v1"}]},
    }
    if kind == "ReplicationController":
        version, selector = "v1", labels
    else:
        version, selector = "apps/v1", {"matchLabels": labels}
    spec: Obj = {"selector": selector, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = "svc"
    return {"apiVersion": version, "kind": kind, "metadata": named("ctl", "ctl-uid"), "spec": spec}


# --- the queue


def feature_queue(draft: Draft) -> None:
    """Order of the queue, pods that are not scheduled at all, pods of missing nodes."""
    rng = draft.rng
    while len(draft.pending) < 4:
        draft.pending.append(make_pod(rng, f"p{len(draft.pending)}"))
    for pod in draft.pending:
        if draft.chance(0.7):
            pod["spec"]["priority"] = rng.choice((0, 10, 1000, -5))
        if draft.chance(0.6):
            pod["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{rng.randrange(4)}Z"
    kind = rng.randrange(5)
    if kind == 0:
        draft.pending[0]["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    elif kind == 1:
        draft.pending[0]["spec"]["schedulerName"] = "other"
    elif kind == 2:
        draft.pending[0]["metadata"].update(
            deletionTimestamp="2026-01-02T00:00:00Z", deletionGracePeriodSeconds=0
        )
    elif kind == 3:
        draft.pending[0]["status"] = {"phase": rng.choice(("Succeeded", "Failed"))}
    if draft.chance(0.3):
        draft.bound.append(make_pod(rng, "lost", "gone"))


# --- configurations


def fit(draft: Draft, strategy: str, resources: list[tuple[str, int]] | None = None) -> Obj:
    result: Obj = {"type": strategy}
    if resources is not None:
        result["resources"] = [{"name": name, "weight": weight} for name, weight in resources]
    draft.args("NodeResourcesFit")["scoringStrategy"] = result
    return result


def weighted(draft: Draft) -> list[tuple[str, int]]:
    """Resources to score, some of which the nodes or pods lack."""
    names = ["cpu", "memory", "ephemeral-storage", GPU, FPGA, HUGE]
    chosen = draft.some(names, 0.45, least=1)
    if GPU in chosen or FPGA in chosen:
        feature_extended(draft)
    if "ephemeral-storage" in chosen or HUGE in chosen:
        feature_storage(draft)
    return [(name, draft.rng.choice((1, 1, 2, 3, 5, 100))) for name in chosen]


def config_default(draft: Draft) -> None:
    """No configuration at all."""


def config_least_allocated(draft: Draft) -> None:
    fit(draft, "LeastAllocated", weighted(draft))


def config_most_allocated(draft: Draft) -> None:
    fit(draft, "MostAllocated", weighted(draft) if draft.chance(0.6) else None)


def config_requested_to_capacity_ratio(draft: Draft) -> None:
    rng = draft.rng
    strategy = fit(
        draft, "RequestedToCapacityRatio", weighted(draft) if draft.chance(0.7) else None
    )
    points = sorted(rng.sample(range(101), rng.randint(1, 5)))
    if draft.chance(0.5):
        points = [0, *[point for point in points if 0 < point < 100], 100]
    kind = rng.randrange(4)
    scores = {0: list(range(11)), 1: [0, 0, 10], 2: [0], 3: list(range(11))}[kind]
    shape = [{"utilization": point, "score": rng.choice(scores)} for point in points]
    if kind == 3:
        for point, score in zip(
            shape, sorted((point["score"] for point in shape), reverse=True), strict=True
        ):
            point["score"] = score
    strategy["requestedToCapacityRatio"] = {"shape": shape}


def config_balanced(draft: Draft) -> None:
    names = [name for name, _ in weighted(draft)]
    draft.args("NodeResourcesBalancedAllocation")["resources"] = [
        {"name": name, "weight": 1} for name in names
    ]


def config_ignored(draft: Draft) -> None:
    feature_extended(draft)
    args = draft.args("NodeResourcesFit")
    kind = draft.rng.randrange(3)
    if kind == 0:
        args["ignoredResources"] = [GPU]
    elif kind == 1:
        args["ignoredResourceGroups"] = ["example.com"]
    else:
        managed = [{"name": FPGA, "ignoredByScheduler": True}]
        draft.extenders = [{"urlPrefix": "http://127.0.0.1:1/", "managedResources": managed}]


def config_score_weights(draft: Draft) -> None:
    names = [
        "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread",
        "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality",
    ]  # fmt: skip
    chosen = draft.some(names, 0.4, least=1)
    point = draft.point(draft.rng.choice(("score", "multiPoint")))
    point["enabled"] = [
        {"name": name, "weight": draft.rng.choice((1, 2, 5, 20, 100))} for name in chosen
    ]


def config_plugins_off(draft: Draft) -> None:
    rng = draft.rng
    score = [
        "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread",
        "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality",
    ]  # fmt: skip
    filters = [
        "TaintToleration",
        "NodeUnschedulable",
        "NodePorts",
        "NodeAffinity",
        "PodTopologySpread",
    ]
    kind = rng.randrange(5)
    if kind == 0:
        draft.point("score")["disabled"] = [
            {"name": name} for name in draft.some(score, 0.4, least=1)
        ]
    elif kind == 1:
        draft.point("filter")["disabled"] = [
            {"name": name} for name in draft.some(filters, 0.5, least=1)
        ]
    elif kind == 2:
        draft.point("multiPoint")["disabled"] = [
            {"name": name} for name in draft.some(score, 0.3, least=1)
        ]
    elif kind == 3:
        point = draft.point("score")
        point["disabled"] = [{"name": "*"}]
        point["enabled"] = [
            {"name": name, "weight": rng.randint(1, 9)} for name in draft.some(score, 0.4, least=1)
        ]
    else:
        chosen = draft.some(
            ["TaintToleration", "NodeAffinity", "NodeResourcesFit", "InterPodAffinity"],
            0.6,
            least=1,
        )
        needed = ["PrioritySort", "DefaultBinder", "NodeUnschedulable"]
        point = draft.point("multiPoint")
        point["disabled"] = [{"name": "*"}]
        point["enabled"] = [{"name": name} for name in needed]
        point["enabled"] += [{"name": name, "weight": rng.randint(1, 9)} for name in chosen]
        if draft.chance(0.5):
            draft.point("score")["enabled"] = [{"name": "ImageLocality", "weight": 7}]


def config_profiles(draft: Draft) -> None:
    rng = draft.rng
    draft.profile()
    packing: Obj = {"schedulerName": "packing"}
    draft.profiles.append(packing)
    draft.args("NodeResourcesFit", packing)["scoringStrategy"] = {"type": "MostAllocated"}
    if draft.chance(0.5):
        draft.point("score", packing)["disabled"] = [{"name": "NodeResourcesBalancedAllocation"}]
    for pod in draft.some(draft.pending, 0.6, least=1):
        pod["spec"]["schedulerName"] = rng.choice(("packing", "packing", "packing", "unknown"))
    while len(draft.pending) < 3:
        draft.pending.append(make_pod(rng, f"p{len(draft.pending)}"))


def config_invalid(draft: Draft) -> None:
    """A configuration the scheduler refuses, and how it says so."""
    kind = draft.rng.randrange(12)
    if kind < 6:
        invalid_fit(draft, kind)
    else:
        invalid_plugin(draft, kind)


def invalid_fit(draft: Draft, kind: int) -> None:
    rng = draft.rng
    if kind == 0:
        fit(draft, "RequestedToCapacityRatio")
    elif kind == 1:
        shape = [
            {"utilization": 50, "score": rng.choice((11, -1, 5))},
            {"utilization": rng.choice((20, 101)), "score": 1},
        ]
        fit(draft, "RequestedToCapacityRatio")["requestedToCapacityRatio"] = {"shape": shape}
    elif kind == 2:
        fit(
            draft,
            rng.choice(("LeastAllocated", "MostAllocated")),
            [("cpu", rng.choice((-1, 101))), ("memory", 1)],
        )
    elif kind == 3:
        fit(draft, rng.choice(("Best", "")))
    elif kind == 4:
        draft.args("NodeResourcesFit")["ignoredResources"] = ["example.com//gpu"]
    else:
        draft.args("NodeResourcesFit")["ignoredResourceGroups"] = ["example.com/gpu"]


def invalid_plugin(draft: Draft, kind: int) -> None:
    rng = draft.rng
    if kind == 6:
        draft.args("InterPodAffinity")["hardPodAffinityWeight"] = rng.choice((-1, 101))
    elif kind == 7:
        constraint = {
            "maxSkew": rng.choice((0, 1)),
            "topologyKey": ZONE,
            "whenUnsatisfiable": rng.choice(("Never", "DoNotSchedule")),
        }
        draft.args("PodTopologySpread")["defaultConstraints"] = [constraint, dict(constraint)]
        if draft.chance(0.5):
            draft.args("PodTopologySpread")["defaultingType"] = "List"
    elif kind == 8:
        draft.args("NodeResourcesBalancedAllocation")["resources"] = [
            {"name": "cpu", "weight": 2},
            {"name": "cpu", "weight": 1},
        ]
    elif kind == 9:
        draft.profile()
        draft.profiles.append({"schedulerName": rng.choice(("default-scheduler", ""))})
    elif kind == 10:
        draft.point("score")["enabled"] = [
            {"name": rng.choice(("NodeName", "Missing", "NodeAffinity")), "weight": 1}
        ]
        draft.point("filter")["enabled"] = [{"name": "NodeName"}, {"name": "NodeName"}]
    else:
        draft.args("NodeAffinity")["addedAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["1", "2"]}]}
                ]
            }
        }


Feature = Callable[[Draft], None]

FEATURES: dict[str, Feature] = {
    name.removeprefix("feature_"): function
    for name, function in list(globals().items())
    if name.startswith("feature_")
}
CONFIGS: dict[str, Feature] = {
    name.removeprefix("config_"): function
    for name, function in list(globals().items())
    if name.startswith("config_")
}


def generate(count: int, seed: int) -> Iterator[Obj]:
    """Cases with an id, their features, an optional configuration and objects."""
    features = list(FEATURES)
    configs = [name for name in CONFIGS for _ in range(1 if name == "invalid" else 2)]
    for i in range(count):
        rng = random.Random(f"{seed}/{i}")
        draft = background(rng)
        chosen = [features[i % len(features)]]
        if draft.chance(0.35):
            chosen.append(rng.choice([name for name in features if name not in chosen]))
        config = rng.choice(configs) if i % 2 else "default"
        for name in chosen:
            FEATURES[name](draft)
        CONFIGS[config](draft)
        case: Obj = {"id": f"r{i:04}", "features": [*chosen, "config_" + config]}
        settings = draft.config()
        if settings is not None:
            case["config"] = settings
        case["objects"] = draft.objects()
        yield case


def line(value: Obj) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def ask(oracle: Path, cases: list[Obj]) -> list[Obj]:
    """The oracle's answers; every object must be one an API server accepts."""
    asked = b"".join(line(case) for case in cases)
    done = subprocess.run([oracle, "-validate"], input=asked, stdout=subprocess.PIPE, check=True)
    return [json.loads(answer) for answer in done.stdout.splitlines()]


def record(oracle: Path, out: Path, count: int, seed: int) -> None:
    made = list(generate(count, seed))
    store(made, ask(oracle, made), out)


def store(made: list[Obj], answers: list[Obj], out: Path) -> None:
    """Writes cases together with the answers."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as target, gzip.GzipFile("", "wb", 9, target, mtime=0) as packed:
        for case, answer in zip(made, answers, strict=True):
            packed.write(
                line(
                    {**case, "answer": {key: value for key, value in answer.items() if key != "id"}}
                )
            )


def summary(path: Path) -> str:
    """How many pods the recorded cases schedule and score, by feature and by plugin."""
    total: Counter[str] = Counter()
    features: dict[str, Counter[str]] = {}
    plugins: dict[str, Counter[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as cases:
        for case in map(json.loads, cases):
            counts = Counter(cases=1)
            answer = case["answer"]
            counts["refused"] = int("error" in answer)
            for pod in answer.get("pods", []):
                counts += Counter(
                    pods=1,
                    placed=int(pod["node"] is not None),
                    scored=int(bool(pod["scores"])),
                    tie=int(pod["tie"]),
                    prefilter=int("prefilter_error" in pod),
                    failed=int("error" in pod),
                )
                for plugin in set(pod["rejected_by"].values()):
                    plugins.setdefault(plugin, Counter())["rejects"] += 1
                names = {name for scores in pod["scores"].values() for name in scores}
                for name in names:
                    values = {scores[name] for scores in pod["scores"].values()}
                    plugins.setdefault(name, Counter()).update(
                        scored=1, differing=int(len(values) > 1)
                    )
            total += counts
            for name in case["features"]:
                features[name] = features.get(name, Counter()) + counts
    columns = ["cases", "refused", "pods", "placed", "scored", "tie", "prefilter", "failed"]
    by_feature = table(
        "cases by feature", columns, {"all": total, **dict(sorted(features.items()))}
    )
    by_plugin = table(
        "pods by plugin", ["scored", "differing", "rejects"], dict(sorted(plugins.items()))
    )
    return by_feature + "\n\n" + by_plugin


def table(title: str, columns: list[str], rows: dict[str, Counter[str]]) -> str:
    lines = [f"{title:36}" + "".join(f"{name:>10}" for name in columns)]
    for name, counts in rows.items():
        lines.append(f"{name or '-':36}" + "".join(f"{counts[column]:10}" for column in columns))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("generate", "record"):
        command = commands.add_parser(name)
        command.add_argument("--count", type=int, default=DEFAULT_COUNT)
        command.add_argument("--seed", type=int, default=DEFAULT_SEED)
        if name == "record":
            command.add_argument("--oracle", type=Path, required=True)
            command.add_argument("--out", type=Path, required=True)
    commands.add_parser("summary").add_argument("path", type=Path)
    options = parser.parse_args()

    if options.command == "generate":
        for case in generate(options.count, options.seed):
            sys.stdout.buffer.write(line(case))
    elif options.command == "record":
        record(options.oracle, options.out, options.count, options.seed)
        print(summary(options.out))
    else:
        print(summary(options.path))


if __name__ == "__main__":
    main()
