"""Storage objects of scheduling cases on a control plane, and who binds and provisions volumes.

The controller manager is stopped, so this module completes what the scheduler asks for: a claim is
bound to the volume that the scheduler reserved, and a volume is provisioned for the node that it
selected. Every node has all drivers, as a pod would otherwise wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testenv import clusters

Json = dict[str, Any]

HOST = "kubernetes.io/hostname"
_MERGE = "application/merge-patch+json"
_SELECTED = "volume.kubernetes.io/selected-node"
_BOUND = "pv.kubernetes.io/bind-completed"
_CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
_VOLUMES = "/api/v1/persistentvolumes"
_PATHS = {
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/namespaces/{}/csistoragecapacities",
    "PersistentVolumeClaim": _CLAIMS,
    "PersistentVolume": _VOLUMES,
    "VolumeAttachment": "/apis/storage.k8s.io/v1/volumeattachments",
}
KINDS = tuple(_PATHS)


def path_of(made: Json) -> str:
    """Return the path of objects of a kind."""
    return _PATHS[made["kind"]].format(made["metadata"].get("namespace", ""))


def listed() -> dict[str, str]:
    """Return the paths of all objects by kind."""
    return {kind: path.replace("/namespaces/{}", "") for kind, path in _PATHS.items()}


def adapt(objects: list[Json]) -> list[Json]:
    """Return objects of a case for an API server: all drivers run, and hosts tell where."""
    kept = [made for made in objects if made["kind"] != "CSINode"]
    known = {made["metadata"]["name"]: made for made in objects if made["kind"] == "CSINode"}
    names = {made["provisioner"] for made in objects if made["kind"] == "StorageClass"}
    drivers = {name for name in names if not name.startswith("kubernetes.io/")}
    keyed = any(d["topologyKeys"] for node in known.values() for d in node["spec"]["drivers"])
    for node in [made["metadata"]["name"] for made in objects if made["kind"] == "Node"]:
        made = known.get(
            node,
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": node},
                "spec": {"drivers": []},
            },
        )
        there = made["spec"]["drivers"]
        missing = {*drivers, "ebs.csi.aws.com"} - {driver["name"] for driver in there}
        there += [{"name": name, "nodeID": node} for name in sorted(missing)]
        for driver in there:
            driver["topologyKeys"] = [HOST] if keyed else []
        kept.append(made)
    for made in kept:
        if made["kind"] == "PersistentVolume":
            _adapt_volume(made["spec"])
        # A node that the case selects would be taken for one that the scheduler selected.
        made["metadata"].get("annotations", {}).pop(_SELECTED, None)
        if made["kind"] == "Pod":
            made["spec"]["volumes"] = _adapt_volumes(made["spec"].get("volumes", []))
    return [made for made in kept if not made["metadata"].get("ownerReferences")]


def _adapt_volumes(volumes: list[Json]) -> list[Json]:
    """Drop ephemeral volumes, and claims that a pod names again: the scheduler cannot bind them."""
    claims: set[str] = set()
    kept = []
    for volume in volumes:
        name = volume.get("persistentVolumeClaim", {}).get("claimName")
        if "ephemeral" not in volume and name not in claims:
            kept.append(volume)
        claims |= {name} if name else set()
    return kept


def _adapt_volume(spec: Json) -> None:
    """Mend what an API server refuses: a mode for one pod beside others, local without a node."""
    modes = [mode for mode in spec["accessModes"] if mode != "ReadWriteOncePod"]
    spec["accessModes"] = modes or spec["accessModes"]
    if "local" in spec and "nodeAffinity" not in spec:
        del spec["local"]
        spec["hostPath"] = {"path": "/mnt/disk"}


def create(cluster: clusters.Cluster, objects: Iterable[Json]) -> None:
    """Create storage objects with their status; claims before the volumes that name them."""
    uids: dict[tuple[str, str], str] = {}
    for made in sorted(objects, key=lambda made: KINDS.index(made["kind"])):
        metadata = {
            key: value
            for key, value in made["metadata"].items()
            if key not in ("uid", "deletionTimestamp")
        }
        body = {**made, "metadata": metadata}
        reference = made.get("spec", {}).get("claimRef")
        if reference and "uid" in reference:
            key = (reference["namespace"], reference["name"])
            claim = {**reference, "uid": uids.get(key, reference["uid"])}
            body["spec"] = {**made["spec"], "claimRef": claim}
        path = path_of(made)
        stored = cluster.request("POST", path, body)
        if made["kind"] == "PersistentVolumeClaim":
            uids[metadata["namespace"], metadata["name"]] = stored["metadata"]["uid"]
        own = f"{path}/{metadata['name']}"
        if made["kind"].startswith("PersistentVolume"):
            status = {"status": made["status"]}
            cluster.request("PATCH", f"{own}/status", status, content=_MERGE)
        if "deletionTimestamp" in made["metadata"]:
            cluster.request("DELETE", own)  # its finalizer keeps it


def delete(cluster: clusters.Cluster) -> None:
    """Delete all storage objects."""
    for kind, path in listed().items():
        for item in cluster.request("GET", path)["items"]:
            own = f"{path_of({'kind': kind, **item})}/{item['metadata']['name']}"
            if item["metadata"].get("finalizers"):
                free = {"metadata": {"finalizers": None}}
                cluster.request("PATCH", own, free, content=_MERGE, missing=True)
            cluster.request("DELETE", own, missing=True)


def complete(cluster: clusters.Cluster, pod: Json) -> None:
    """Bind and provision what the scheduler asked for on behalf of a pod."""
    path = _CLAIMS.format(pod["metadata"]["namespace"])
    for volume in pod["spec"].get("volumes", []):
        name = volume.get("persistentVolumeClaim", {}).get("claimName")
        claim = cluster.request("GET", f"{path}/{name}", missing=True) if name else None
        if claim is not None and not claim["spec"].get("volumeName"):
            _complete(cluster, claim, f"{path}/{name}")


def _complete(cluster: clusters.Cluster, claim: Json, path: str) -> None:
    uid, annotations = claim["metadata"]["uid"], claim["metadata"].get("annotations", {})
    volumes = cluster.request("GET", _VOLUMES)["items"]
    own = [v for v in volumes if v["spec"].get("claimRef", {}).get("uid") == uid]
    name = own[0]["metadata"]["name"] if own else None
    if name is None and _SELECTED in annotations:
        name = _provision(cluster, claim, annotations[_SELECTED])
    if name is None:
        return
    bound = {"status": {"phase": "Bound"}}
    cluster.request("PATCH", f"{_VOLUMES}/{name}/status", bound, content=_MERGE)
    done = {"metadata": {"annotations": {_BOUND: "yes"}}, "spec": {"volumeName": name}}
    cluster.request("PATCH", path, done, content=_MERGE)
    cluster.request("PATCH", f"{path}/status", bound, content=_MERGE)


def _provision(cluster: clusters.Cluster, claim: Json, node: str) -> str | None:
    classes = cluster.request("GET", _PATHS["StorageClass"])["items"]
    kind = next(c for c in classes if c["metadata"]["name"] == claim["spec"]["storageClassName"])
    driver = kind["provisioner"].replace("kubernetes.io/aws-ebs", "ebs.csi.aws.com")
    csi_node = cluster.request("GET", f"{_PATHS['CSINode']}/{node}", missing=True)
    if csi_node is None:
        return None
    keys = next(d for d in csi_node["spec"]["drivers"] if d["name"] == driver)["topologyKeys"]
    metadata = claim["metadata"]
    name = f"pvc-{metadata['namespace']}-{metadata['name']}"
    expression = {"key": HOST, "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    reference = {key: metadata[key] for key in ("namespace", "name", "uid")}
    spec: Mapping[str, Any] = {
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "accessModes": claim["spec"]["accessModes"],
        "storageClassName": claim["spec"]["storageClassName"],
        "csi": {"driver": driver, "volumeHandle": name},
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
        **({"nodeAffinity": {"required": terms}} if keys else {}),
    }
    cluster.request("POST", _VOLUMES, {"metadata": {"name": name}, "spec": spec})
    return name
