"""Random clusters whose pods constrain each other: taints, selectors, affinity, spread, ports.

They are manifests, so that our own scheduler and the genuine one read the same objects.
"""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]

ZONES = ("a", "b", "c")
SIZES = (("4", "8Gi"), ("8", "16Gi"), ("8", "64Gi"), ("16", "32Gi"))
_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
_CREATED = "2026-01-01T00:{:02d}:{:02d}Z"


def draw_cluster(seed: int) -> list[Json]:
    """Return the objects of a cluster: nodes, services, and pods that are all pending."""
    rng = random.Random(seed)
    objects = [*_nodes(rng), _storage_class()]
    apps = [f"app-{number}" for number in range(rng.randint(2, 6))]
    created = 0
    for app in apps:
        if rng.random() < 0.3:
            objects.append(_service(app))
        template = _template(rng, app, apps)
        storage = rng.choice(("zonal", "later")) if rng.random() < 0.2 else ""
        for replica in range(rng.randint(1, 7)):
            metadata = {
                "name": f"{app}-{replica}",
                "namespace": "default",
                "labels": {"app": app},
                "creationTimestamp": _CREATED.format(created // 60, created % 60),
            }
            created += 1
            spec = template
            if storage:
                claim = f"{app}-{replica}"
                objects += _bound_claim(rng, claim) if storage == "zonal" else [_claim(claim)]
                source = {"persistentVolumeClaim": {"claimName": claim}}
                spec = {**template, "volumes": [{"name": "data", **source}]}
            objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return objects


def _storage_class() -> Json:
    """Return a class that provisions in two of the zones, once a pod has a node."""
    values = [{"key": _ZONE, "values": list(ZONES[:2])}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "later"},
        "provisioner": "disks.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": values}],
    }


def _claim(name: str, **spec: Any) -> Json:
    """Return a claim that waits for its pod, or one that is bound to a volume."""
    bound = "volumeName" in spec
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if bound else {},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "" if bound else "later",
            **spec,
        },
        "status": {"phase": "Bound" if bound else "Pending"},
    }


def _bound_claim(rng: random.Random, name: str) -> list[Json]:
    """Return a claim and its volume, which is in one zone."""
    zone = {"key": _ZONE, "operator": "In", "values": [rng.choice(ZONES)]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"volume-{name}"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "disks.example.com", "volumeHandle": name},
            "nodeAffinity": {"required": terms},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name},
        },
        "status": {"phase": "Bound"},
    }
    return [volume, _claim(name, volumeName=f"volume-{name}")]


def _nodes(rng: random.Random) -> list[Json]:
    sizes = rng.sample(SIZES, rng.randint(1, 3))
    nodes = []
    for number in range(rng.randint(4, 12)):
        cpu, memory = rng.choice(sizes)
        name = f"n{number:02d}"
        labels = {_HOST: name, "disk": rng.choice(("ssd", "hdd"))}
        if rng.random() < 0.95:
            labels[_ZONE] = rng.choice(ZONES)
        spec: Json = {"taints": [_TAINT]} if rng.random() < 0.2 else {}
        if rng.random() < 0.05:
            spec["unschedulable"] = True
        offered = {"cpu": cpu, "memory": memory, "pods": rng.choice(("110", "6"))}
        nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": spec,
                "status": {"allocatable": offered, "capacity": offered},
            }
        )
    return nodes


def _service(app: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"app": app}, "ports": [{"port": 80}]},
    }


def _template(rng: random.Random, app: str, apps: list[str]) -> Json:
    requests = {
        "cpu": f"{rng.choice((100, 250, 500, 900, 1500, 2500))}m",
        "memory": f"{rng.choice((128, 512, 1024, 3072, 6144))}Mi",
    }
    container: Json = {"name": "main", "image": "app", "resources": {"requests": requests}}
    if rng.random() < 0.1:
        port = rng.choice((8080, 9090))
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    spec: Json = {"containers": [container], "affinity": {}}
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"disk": "ssd"}
    if rng.random() < 0.15:
        spec["affinity"]["nodeAffinity"] = _in_zones(rng)
    if rng.random() < 0.25:
        target = app if rng.random() < 0.7 else rng.choice(apps)
        key = _ZONE if rng.random() < 0.1 else _HOST
        spec["affinity"]["podAntiAffinity"] = _required(target, key)
    if rng.random() < 0.12:
        target = rng.choice(apps)
        spec["affinity"]["podAffinity"] = _required(target, rng.choice((_HOST, _ZONE)))
    if rng.random() < 0.25:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": rng.choice((1, 1, 2)),
                "topologyKey": rng.choice((_HOST, _ZONE)),
                "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    return spec


def _in_zones(rng: random.Random) -> Json:
    zones = sorted(rng.sample(ZONES, rng.randint(1, 2)))
    term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": zones}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def _required(app: str, key: str) -> Json:
    selector = {"matchLabels": {"app": app}}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": key, "labelSelector": selector}
        ]
    }
