"""Small clusters with volumes, as manifests."""

from __future__ import annotations

from typing import Any

from kubestow import testing
from kubestow.policies.placing.profiles import profile, versions
from kubestow.policies.placing.scheduler import runs
from kubestow.policies.placing.scheduler.scheduler import Placement
from tests.policies.placing import recorded

Json = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WAIT = "WaitForFirstConsumer"


def nodes(*zones: str) -> list[Json]:
    """Return a node in each zone, named by zone and number: a0, a1, b2."""
    return [
        testing.node(f"{zone}{number}", labels={ZONE: zone}) for number, zone in enumerate(zones)
    ]


def storage(kind: str, name: str, **parts: Any) -> Json:
    """Return a storage object."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        **parts,
    }


def storage_class(name: str = "fast", mode: str = WAIT, by: str = "csi", **parts: Any) -> Json:
    """Return a class of volumes."""
    return storage("StorageClass", name, provisioner=by, volumeBindingMode=mode, **parts)


def within(key: str, *values: str) -> Json:
    """Return a node affinity of a volume."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def volume(name: str, size: str = "10Gi", *, key: str = ZONE, to: str = "", **spec: Any) -> Json:
    """Return an available volume of class ``fast``, reached where a label has a value."""
    affinity = {"nodeAffinity": within(key, to)} if to else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "csi": {"driver": "csi", "volumeHandle": name},
            **affinity,
            **spec,
        },
        "status": {"phase": "Available"},
    }


def claim(name: str, size: str = "5Gi", *, bound: str = "", phase: str = "", **spec: Any) -> Json:
    """Return a claim of class ``fast``; pending unless it is bound to a volume."""
    done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if bound else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", **done},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": size}},
            **({"volumeName": bound} if bound else {}),
            **spec,
        },
        "status": {"phase": phase or ("Bound" if bound else "Pending")},
    }


def pod(name: str, *claims: str, on: str = "", **spec: Any) -> Json:
    """Return a pod that uses claims."""
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": used}}
        for number, used in enumerate(claims)
    ]
    return testing.pod(name, cpu="100m", memory="64Mi", on=on, **{"volumes": volumes, **spec})


def csi_node(name: str, count: int | None = None, keys: tuple[str, ...] = (ZONE,)) -> Json:
    """Return a node's driver ``csi`` with a limit."""
    driver: Json = {"name": "csi", "nodeID": name, "topologyKeys": list(keys)}
    if count is not None:
        driver["allocatable"] = {"count": count}
    return storage("CSINode", name, spec={"drivers": [driver]})


def place(*objects: Json, version: str = "1.37", **options: Any) -> dict[str, Placement]:
    """Place all pending pods of a cluster; return the placements by name of the pod."""
    placements = runs.place_all(
        recorded.build(objects),
        [options.pop("profile", profile.Profile())],
        versions.scheduler_features(version),
        **options,
    )
    return {placement.pod.name: placement for placement in placements}
