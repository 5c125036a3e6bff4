"""What controllers do with claims that no API server has stored yet.

The StatefulSet controller and the controller of ephemeral volumes create claims, admission gives
claims the default class, and the volume controller binds claims that do not wait for a pod. Claims
that an API server has stored stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kubestow.model import pods, volumes, workloads
from kubestow.sources.manifests import storage

_Controllers = Mapping[tuple[str, str, str, str], workloads.Workload]


def with_claims(pod: pods.Pod, controllers: _Controllers) -> pods.Pod:
    """Return a pod with the volumes that the claim templates of its StatefulSet add."""
    owner = pod.owner
    if owner is None or owner.kind != "StatefulSet":
        return pod
    workload = controllers.get((owner.api_version, owner.kind, pod.namespace, owner.name))
    if workload is None or not workload.claims:
        return pod
    added = tuple(volumes.PodVolume(name, claim=f"{name}-{pod.name}") for name in workload.claims)
    own = tuple(volume for volume in pod.volumes if volume.name not in workload.claims)
    return replace(pod, volumes=(*own, *added))


def settle(
    read: storage.StorageReader, made: Iterable[pods.Pod], controllers: _Controllers
) -> volumes.Storage:
    """Return all storage objects, with the claims that controllers create and bind.

    Args:
        read: What was read.
        made: Pods that no API server has stored.
        controllers: All controllers.
    """
    claims = dict(read.claims)
    for pod in made:
        for claim in _created(pod, controllers):
            claims.setdefault(claim.key, claim)
    default = _default_class(read.classes.values())
    known = dict(read.persistent)
    for key, stated in claims.items():
        claim = _with_class(stated, default)
        claims[key] = claim if key in read.stored else _controlled(claim, read.classes, known)
    return volumes.Storage(
        claims=claims,
        volumes=known,
        classes=read.classes,
        csi_nodes=read.csi_nodes,
        drivers=read.drivers,
        capacities=tuple(sorted(read.capacities.values(), key=lambda c: c.name)),
        attachments=tuple(read.attachments),
    )


def _created(pod: pods.Pod, controllers: _Controllers) -> Iterable[volumes.VolumeClaim]:
    owner, templates = pod.owner, {}
    if owner is not None and owner.kind == "StatefulSet":
        workload = controllers.get((owner.api_version, owner.kind, pod.namespace, owner.name))
        templates = dict(workload.claims) if workload is not None else {}
    for volume in pod.volumes:
        name = volume.claim_of(pod.name)
        if volume.template is not None:
            mine = (pod.name, pod.uid)
            yield volumes.VolumeClaim(name, pod.namespace, volume.template, owner=mine)
        elif volume.name in templates:
            yield volumes.VolumeClaim(name, pod.namespace, templates[volume.name])


def _default_class(classes: Iterable[volumes.StorageClass]) -> str | None:
    """Return the default class: the newest, and of these the first by name."""
    defaults = sorted((c for c in classes if c.default), key=lambda c: c.name)
    return max(defaults, key=lambda c: c.created).name if defaults else None


def _with_class(claim: volumes.VolumeClaim, default: str | None) -> volumes.VolumeClaim:
    if claim.spec.storage_class is not None or claim.volume or default is None:
        return claim
    return replace(claim, spec=replace(claim.spec, storage_class=default))


def _controlled(
    claim: volumes.VolumeClaim,
    classes: Mapping[str, volumes.StorageClass],
    known: dict[str, volumes.PersistentVolume],
) -> volumes.VolumeClaim:
    """Bind a claim as the volume controller does, unless it waits for a pod.

    A claim that would be provisioned somewhere, or by a class that is not in the input, is unknown.
    """
    kind = classes.get(claim.storage_class)
    if claim.bound or (kind is not None and kind.waits and not claim.volume):
        return claim
    named = [known[claim.volume]] if claim.volume in known else []
    volume = volumes.smallest_match(claim, named if claim.volume else known.values())
    if volume is not None:
        reference = volumes.ClaimReference(claim.namespace, claim.name, claim.uid)
        known[volume.name] = replace(volume, claim=reference, phase=volumes.BOUND)
        return replace(claim, volume=volume.name, bound=True, phase=volumes.BOUND)
    if claim.volume or claim.spec.storage_class == "":
        return claim
    return replace(claim, unknown=kind is None or kind.provisions)
