"""What pods use and placement does not model, counted by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from kubestow.model import clusters, pods, releases
from kubestow.policies.placing import profiles

DEVICES = "resourceClaims"
GANGS = "gang scheduling"
GATES = "schedulingGates"
SCHEDULERS = "schedulerName"
CLASSES = "storage class"
EXPLANATIONS = {
    DEVICES: "claims of devices are ignored",
    GANGS: "pods of a group are placed one by one",
    GATES: "pods with scheduling gates are not placed",
    SCHEDULERS: "pods of another scheduler are not placed",
    CLASSES: "claims that no API server has stored are not restricted, because their class is not "
    "in the input or provisions before a pod is placed",
}
# Labels and annotations that make a pod part of a group for coscheduling and Volcano.
_GROUP_KEYS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
    "scheduling.k8s.io/group-name",
)
# Releases that have these fields of a pod.
_GROUP_FIELDS = {
    pods.WORKLOAD_REF: ((1, 35), (1, 35)),
    pods.SCHEDULING_GROUP: ((1, 36), profiles.NEWEST_VERSION),
}


@dataclass(frozen=True, slots=True)
class NotModelled:
    """Kinds that are not modelled, by pod."""

    pods: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of pods by kind."""
        return dict(Counter(kind for _, kinds in self.pods for kind in kinds))

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; its keys are a stable interface."""
        listed = [{"pod": key, "kinds": list(kinds)} for key, kinds in self.pods]
        return {"counts": self.counts, "pods": listed}


def find_not_modelled(
    cluster: clusters.Cluster, schedulers: Collection[str], version: str
) -> NotModelled:
    """Return what the pods without a node use that placement does not model.

    Args:
        cluster: The cluster.
        schedulers: Names of the schedulers that place pods.
        version: Kubernetes release.
    """
    release = releases.parse(version, profiles.OLDEST_VERSION, profiles.NEWEST_VERSION)
    waiting = (pod for pod in cluster.pods if not (pod.node_name or pod.terminating))
    used = ((pod.key, tuple(_kinds(pod, cluster, schedulers, release))) for pod in waiting)
    return NotModelled(tuple((key, kinds) for key, kinds in used if kinds))


def _kinds(
    pod: pods.Pod,
    cluster: clusters.Cluster,
    schedulers: Collection[str],
    release: tuple[int, int],
) -> Iterator[str]:
    if pods.RESOURCE_CLAIMS in pod.spec.beyond:
        yield DEVICES
    fields = (name for name in pod.spec.beyond if name in _GROUP_FIELDS)
    known = any(_GROUP_FIELDS[f][0] <= release <= _GROUP_FIELDS[f][1] for f in fields)
    if known or any(key in pod.labels or key in pod.annotations for key in _GROUP_KEYS):
        yield GANGS
    if pod.spec.gates:
        yield GATES
    if pod.spec.scheduler_name not in schedulers:
        yield SCHEDULERS
    keys = (f"{pod.namespace}/{volume.claim_of(pod.name)}" for volume in pod.volumes)
    claims = (cluster.storage.claims.get(key) for key in keys)
    if any(claim is not None and claim.unknown for claim in claims):
        yield CLASSES
