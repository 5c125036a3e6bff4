"""Random scheduling cases with volumes, for the scheduler oracle.

Bound zonal, local and in-tree volumes, volumes to bind and to provision when a pod comes, storage
capacity, limits of nodes, exclusive claims and disks, and claims that are missing, lost, deleted or
unbound. Many cases add another feature of `cases.py`. The same seed always gives the same cases.

    python volume_cases.py generate --count 20 --seed 7 > cases.jsonl
    python volume_cases.py record --oracle BINARY --out volume_cases.jsonl.gz

Upstream takes any of several volumes of equal size, and any of several matching capacities; so
volumes of one class differ in size here, and a node has at most one capacity for a class.
"""

# Most functions are explained by their names; the program prints, and runs a given oracle.
# ruff: noqa: D102, D103, T201

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cases
from cases import HOST, REGION, ZONE, Draft, Obj

DEFAULT_COUNT, DEFAULT_SEED = 400, 371
CSI, TRACKED = "csi.example.com", "capacity.example.com"
EBS, EBS_PLUGIN = "ebs.csi.aws.com", "kubernetes.io/aws-ebs"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
WAIT = "WaitForFirstConsumer"
# Provisioner and binding mode of every class.
CLASSES = {
    "wait": (CSI, WAIT),
    "now": (CSI, "Immediate"),
    "local": ("kubernetes.io/no-provisioner", WAIT),
    "tracked": (TRACKED, WAIT),
    "ebs": (EBS_PLUGIN, WAIT),
}
MODES = (["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteMany"], ["ReadWriteOncePod"])


class Scene:
    """The storage objects of a case under construction."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.rng = draft, draft.rng
        self.objects: list[Obj] = []
        self.claims: dict[str, list[str]] = {}  # by namespace
        self._sizes: dict[str, list[int]] = {}
        self._number = 0
        self.hosts = [node["metadata"]["name"] for node in draft.nodes]
        self.zones = sorted({n["metadata"]["labels"].get(ZONE, "z0") for n in draft.nodes})

    def fresh(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number}"

    def add(self, kind: str, name: str, namespace: str = "", **parts: Any) -> Obj:
        group = {"PersistentVolume": "v1", "PersistentVolumeClaim": "v1"}
        made: Obj = {
            "apiVersion": group.get(kind, "storage.k8s.io/v1"),
            "kind": kind,
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            **parts,
        }
        self.objects.append(made)
        return made

    def size(self, kind: str) -> str:
        """A capacity that no other volume of the class has."""
        if kind not in self._sizes:
            self._sizes[kind] = self.rng.sample(range(1, 400), 399)
        return f"{self._sizes[kind].pop()}Gi"

    # --- cluster

    def classes(self) -> None:
        for name, (provisioner, mode) in CLASSES.items():
            made = self.add("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode)
            if name != "local" and self.draft.chance(0.3):
                zones = self.draft.some(self.zones, 0.6, least=1)
                terms = [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]
                if self.draft.chance(0.2):
                    hosts = self.draft.some(self.hosts, 0.3, least=1)
                    terms.append({"matchLabelExpressions": [{"key": HOST, "values": hosts}]})
                made["allowedTopologies"] = terms

    def drivers(self) -> None:
        must_run = self.rng.choice((CSI, TRACKED, None))  # of two, upstream names any
        for name in (CSI, TRACKED, EBS):
            spec: Obj = {"storageCapacity": name == TRACKED}
            if name == must_run and self.draft.chance(0.5):
                spec["preventPodSchedulingIfMissing"] = True
            if self.draft.chance(0.85):
                self.add("CSIDriver", name, spec=spec)
        keys = self.rng.choice(([ZONE], [HOST], [ZONE, REGION], []))
        tight = self.draft.chance(0.5)
        for host in self.draft.some(self.hosts, 0.85, least=1):
            drivers = []
            for name in self.draft.some([CSI, TRACKED, EBS], 0.9):
                driver: Obj = {"name": name, "nodeID": host, "topologyKeys": keys}
                if self.draft.chance(0.8):
                    most = self.rng.choice((0, 1, 1, 2, 3) if tight else (2, 4, 25))
                    driver["allocatable"] = {"count": most}
                drivers.append(driver)
            made = self.add("CSINode", host, spec={"drivers": drivers})
            if self.draft.chance(0.6):
                made["metadata"]["annotations"] = {MIGRATED: f"{EBS_PLUGIN},kubernetes.io/gce-pd"}

    def capacities(self) -> None:
        key, values = self.rng.choice(((ZONE, self.zones), (HOST, self.hosts)))
        for value in self.draft.some(values, 0.8):
            made = self.add(
                "CSIStorageCapacity",
                self.fresh("capacity-"),
                "default",
                storageClassName="tracked",
                capacity=self.rng.choice(("1Gi", "5Gi", "10Gi", "37Gi", "100Gi")),
            )
            if self.draft.chance(0.95):
                made["nodeTopology"] = {"matchLabels": {key: value}}
            if self.draft.chance(0.25):
                made["maximumVolumeSize"] = self.rng.choice(("1Gi", "8Gi", "50Gi"))

    # --- volumes

    def affinity(self) -> Obj:
        """Where a volume can be reached: zones, hosts, both, nowhere in particular."""
        kind = self.rng.randrange(6)
        zones: Obj = {
            "key": ZONE,
            "operator": "In",
            "values": self.draft.some(self.zones, 0.5, least=1),
        }
        hosts = {"key": HOST, "operator": "In", "values": [self.rng.choice(self.hosts)]}
        if kind < 3:
            terms = [{"matchExpressions": [zones]}]
        elif kind == 3:
            terms = [{"matchExpressions": [hosts]}]
        elif kind == 4:
            disk: Obj = {"key": "disk", "operator": "Exists"}
            terms = [{"matchExpressions": [zones, disk]}, {"matchExpressions": [hosts]}]
        else:
            return {}
        return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}

    def volume(self, kind: str, source: Obj, phase: str = "Available", **spec: Any) -> Obj:
        modes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]
        return self.add(
            "PersistentVolume",
            self.fresh("pv"),
            spec={
                "capacity": {"storage": self.size(kind)},
                "accessModes": self.rng.choice((modes, modes, modes[:1], modes[1:])),
                "storageClassName": kind,
                **source,
                **spec,
            },
            status={"phase": phase},
        )

    def csi(self) -> Obj:
        return {"csi": {"driver": CSI, "volumeHandle": self.fresh("handle")}}

    def static_volumes(self) -> None:
        """Volumes that no claim has yet."""
        for host in self.draft.some(self.hosts, 0.6):
            for _ in range(self.rng.choice((1, 1, 2))):
                terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [host]}]}]
                required = {"required": {"nodeSelectorTerms": terms}}
                made = self.volume("local", {"local": {"path": "/mnt/disk"}}, nodeAffinity=required)
                self.spoil(made)
        for _ in range(self.rng.choice((0, 0, 1, 3))):
            self.spoil(self.volume("wait", self.csi(), **self.affinity()))

    def spoil(self, made: Obj) -> None:
        """Make few volumes unsuitable in one of many ways."""
        if self.draft.chance(0.8):
            return
        kind = self.rng.randrange(6)
        if kind == 0:
            made["status"]["phase"] = self.rng.choice(("Released", "Pending", "Failed"))
        elif kind == 1:
            made["spec"]["volumeMode"] = "Block"
        elif kind == 2:
            made["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
            made["metadata"]["finalizers"] = ["kubernetes.io/pv-protection"]
        elif kind == 3:
            made["spec"]["claimRef"] = {"namespace": "default", "name": "another", "uid": "other"}
        elif kind == 4:
            made["spec"]["volumeAttributesClassName"] = "gold"
        else:
            made["metadata"]["labels"] = {"tier": self.rng.choice(("a", "b"))}

    # --- claims

    def claim(self, namespace: str, name: str, kind: str | None, **spec: Any) -> Obj:
        request = self.rng.choice(("1Gi", "4Gi", "9Gi", "20Gi", "60Gi"))
        made = self.add(
            "PersistentVolumeClaim",
            name,
            namespace,
            spec={
                "accessModes": self.rng.choice(MODES),
                "resources": {"requests": {"storage": request}},
                **({} if kind is None else {"storageClassName": kind}),
                **spec,
            },
            status={"phase": "Pending"},
        )
        made["metadata"]["uid"] = f"uid-{namespace}-{name}"
        return made

    def bound(self, namespace: str, name: str, source: Obj, **labels: str) -> Obj:
        """A claim that is bound to a volume."""
        claim = self.claim(namespace, name, "wait")
        reference = {"namespace": namespace, "name": name, "uid": claim["metadata"]["uid"]}
        volume = self.volume("wait", source, "Bound", claimRef=reference, **self.affinity())
        if labels:
            volume["metadata"]["labels"] = labels
            volume["spec"].pop("nodeAffinity", None)
        complete(claim, volume["metadata"]["name"])
        return claim

    def named(self, pod: Obj) -> str:
        """A claim of a random kind; returns its name."""
        namespace, name = pod["metadata"]["namespace"], self.fresh("claim")
        known = self.claims.get(namespace)
        if known and self.draft.chance(0.2):
            return self.rng.choice(known)
        self.rng.choice(CLAIMS)(self, namespace, name)
        self.claims.setdefault(namespace, []).append(name)
        return name

    def pod_volume(self, pod: Obj, number: int) -> Obj:
        name = f"v{number}"
        kind = self.rng.randrange(12)
        if kind < 8:
            return {"name": name, "persistentVolumeClaim": {"claimName": self.named(pod)}}
        if kind == 8:
            return self.ephemeral(pod, name)
        if kind == 9:
            return {"name": name, "csi": {"driver": CSI}}
        return {"name": name, **disk(self.rng)}

    def ephemeral(self, pod: Obj, name: str) -> Obj:
        metadata = pod["metadata"]
        metadata["uid"] = f"pod-{metadata['namespace']}-{metadata['name']}"
        claim_name, kind = f"{metadata['name']}-{name}", self.rng.choice(("wait", "tracked"))
        spec: Obj = {"accessModes": ["ReadWriteOnce"], "storageClassName": kind}
        spec["resources"] = {"requests": {"storage": "3Gi"}}
        chance = self.rng.random()
        if chance < 0.9:
            made = self.claim(metadata["namespace"], claim_name, kind)
            owner = metadata["uid"] if chance < 0.8 else "an-older-pod"
            reference = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": owner}
            made["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
            if chance < 0.1:
                complete(made, "gone")
        return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def complete(claim: Obj, volume: str) -> None:
    claim["spec"]["volumeName"] = volume
    claim["status"]["phase"] = "Bound"
    claim["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bind-completed"] = "yes"


def disk(rng: random.Random) -> Obj:
    kind, read_only = rng.randrange(5), rng.random() < 0.5
    name = rng.choice("ab")
    if kind == 0:
        return {"gcePersistentDisk": {"pdName": f"disk-{name}", "readOnly": read_only}}
    if kind == 1:
        zone = rng.choice(("", "aws://z0/"))
        return {"awsElasticBlockStore": {"volumeID": f"{zone}vol-0{name}", "readOnly": read_only}}
    if kind == 2:
        target = {"targetPortal": "192.0.2.1", "iqn": f"iqn.2026-01.com.example:{name}", "lun": 0}
        return {"iscsi": {**target, "readOnly": read_only}}
    if kind == 3:
        group = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/disks/"
        return {"azureDisk": {"diskName": name, "diskURI": group + name, "kind": "Managed"}}
    monitors = rng.sample(["mon1", "mon2", "mon3"], rng.randint(1, 2))
    return {"rbd": {"monitors": monitors, "image": f"image-{name}", "readOnly": read_only}}


# --- kinds of claims


def zonal(scene: Scene, namespace: str, name: str) -> None:
    scene.bound(namespace, name, scene.csi())


def labelled(scene: Scene, namespace: str, name: str) -> None:
    zones = "__".join(scene.draft.some(scene.zones, 0.5, least=1))
    key = scene.rng.choice((ZONE, ZONE, BETA_ZONE))
    more = {REGION: "r0"} if scene.draft.chance(0.3) else {}
    scene.bound(namespace, name, scene.csi(), **{key: zones}, **more)


def in_tree(scene: Scene, namespace: str, name: str) -> None:
    disk_source = {"awsElasticBlockStore": {"volumeID": f"vol-{scene.fresh('0')}"}}
    zone = {ZONE: scene.rng.choice(scene.zones)} if scene.draft.chance(0.5) else {}
    scene.bound(namespace, name, disk_source, **zone)


def shared_handle(scene: Scene, namespace: str, name: str) -> None:
    scene.bound(namespace, name, {"csi": {"driver": CSI, "volumeHandle": "shared"}})


def local_claim(scene: Scene, namespace: str, name: str) -> None:
    made = scene.claim(namespace, name, "local")
    if scene.draft.chance(0.15):
        made["spec"]["selector"] = {"matchLabels": {"tier": "a"}}
    if scene.draft.chance(0.1):
        made["spec"]["volumeMode"] = "Block"


def waiting(scene: Scene, namespace: str, name: str) -> None:
    scene.claim(namespace, name, scene.rng.choice(("wait", "wait", "ebs")))


def tracked(scene: Scene, namespace: str, name: str) -> None:
    scene.claim(namespace, name, "tracked")


def selected(scene: Scene, namespace: str, name: str) -> None:
    made = scene.claim(namespace, name, scene.rng.choice(("wait", "tracked")))
    node = scene.rng.choice([*scene.hosts, "gone"])
    made["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": node}


def reserved(scene: Scene, namespace: str, name: str) -> None:
    kind = scene.rng.choice(("wait", "local"))
    scene.claim(namespace, name, kind)
    reference = {"namespace": namespace, "name": name}
    source = scene.csi() if kind == "wait" else {"local": {"path": "/mnt/disk"}}
    scene.volume(kind, source, claimRef=reference, **scene.affinity())


def immediate(scene: Scene, namespace: str, name: str) -> None:
    scene.claim(namespace, name, scene.rng.choice(("now", "now", "unknown-class", "", None)))


def prebound(scene: Scene, namespace: str, name: str) -> None:
    scene.claim(namespace, name, "wait", volumeName="not-there-yet")


def without_volume(scene: Scene, namespace: str, name: str) -> None:
    complete(scene.claim(namespace, name, "wait"), "gone")


def lost(scene: Scene, namespace: str, name: str) -> None:
    made = scene.claim(namespace, name, "wait")
    complete(made, "gone")
    made["status"]["phase"] = "Lost"


def deleted(scene: Scene, namespace: str, name: str) -> None:
    made = scene.bound(namespace, name, scene.csi())
    made["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    made["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]


def missing(_scene: Scene, _namespace: str, _name: str) -> None:
    """No claim at all."""


Maker = Callable[[Scene, str, str], None]
USABLE: tuple[Maker, ...] = (
    zonal, zonal, zonal, labelled, labelled, in_tree, shared_handle, local_claim, local_claim,
    local_claim, waiting, waiting, waiting, tracked, tracked, selected, reserved,
)  # fmt: skip
CLAIMS: tuple[Maker, ...] = (
    *USABLE, *USABLE, *USABLE,
    immediate, prebound, without_volume, lost, deleted, missing,
)  # fmt: skip


def add_volumes(draft: Draft) -> None:
    scene, rng = Scene(draft), draft.rng
    if draft.chance(0.15):
        for node in draft.some(draft.nodes, 0.3):
            zone = node["metadata"]["labels"].pop(ZONE, "z0")
            node["metadata"]["labels"][BETA_ZONE] = zone
    for build in (scene.classes, scene.drivers, scene.capacities, scene.static_volumes):
        build()
    for pod in draft.some(draft.bound, 0.4):
        volumes = [scene.pod_volume(pod, number) for number in range(rng.randint(1, 2))]
        # A pod on a node with the claim of another pod makes upstream fail for all pods.
        pod["spec"]["volumes"] = [volume for volume in volumes if "ephemeral" not in volume]
    for pod in draft.pending:
        count = rng.choice((1, 1, 1, 2, 2, 3))
        pod["spec"]["volumes"] = [scene.pod_volume(pod, number) for number in range(count)]
    attached = [made for made in scene.objects if "csi" in made.get("spec", {})]
    for volume in draft.some(attached, 0.3):
        source = {"persistentVolumeName": volume["metadata"]["name"]}
        spec = {"attacher": CSI, "nodeName": rng.choice(scene.hosts), "source": source}
        scene.add("VolumeAttachment", scene.fresh("attached"), spec=spec, status={"attached": True})
    draft.others += scene.objects


def more_pending(draft: Draft) -> None:
    """Two to five pods to schedule, so that later ones see what earlier ones bound."""
    for number in range(len(draft.pending), draft.rng.randint(2, 5)):
        draft.pending.append(cases.make_pod(draft.rng, f"p{number}"))


def shape(draft: Draft) -> None:
    """Another function of storage capacity."""
    points = sorted(draft.rng.sample(range(101), draft.rng.randint(1, 3)))
    draft.args("VolumeBinding")["shape"] = [
        {"utilization": point, "score": draft.rng.randint(0, 10)} for point in points
    ]


def generate(count: int, seed: int) -> Iterator[Obj]:
    """Cases with an id, their features, an optional configuration and objects."""
    others = ["taints", "spread_hard", "spread_soft", "node_affinity", "pod_affinity", "crowded"]
    for number in range(count):
        draft = cases.background(random.Random(f"volumes/{seed}/{number}"))
        more_pending(draft)
        features = ["volumes"]
        if draft.chance(0.3):
            features.append(draft.rng.choice(others))
            cases.FEATURES[features[-1]](draft)
        add_volumes(draft)
        if draft.chance(0.15):
            features.append("config_shape")
            shape(draft)
        case: Obj = {"id": f"v{number:04}", "features": features}
        settings = draft.config()
        if settings is not None:
            case["config"] = settings
        case["objects"] = draft.objects()
        yield case


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
    options = parser.parse_args()
    if options.command == "generate":
        for case in generate(options.count, options.seed):
            sys.stdout.buffer.write(cases.line(case))
    else:
        made = list(generate(options.count, options.seed))
        cases.store(made, cases.ask(options.oracle, made), options.out)
        print(cases.summary(options.out))


if __name__ == "__main__":
    main()
