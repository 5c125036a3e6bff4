"""Finding the claims of a pod, and the messages of an API server for what is not there."""

from __future__ import annotations

from collections.abc import Iterator

from kubestow.model import volumes
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle


def named_claims(cycle: Cycle) -> Iterator[volumes.VolumeClaim]:
    """Yield the claims that a pod names; not those of its ephemeral volumes.

    Raises:
        Conflict: If a claim does not exist.
    """
    claims = cycle.state.volumes.claims
    for volume in cycle.pod.volumes:
        if volume.claim:
            claim = claims.get(f"{cycle.pod.namespace}/{volume.claim}")
            if claim is None:
                raise not_found("persistentvolumeclaim", volume.claim)
            yield claim


def all_claims(cycle: Cycle) -> list[volumes.VolumeClaim]:
    """Return all claims of a pod as VolumeBinding finds them.

    Raises:
        Conflict: If a claim does not exist, is lost or being deleted, or is not the pod's own.
    """
    claims = []
    for volume in cycle.pod.volumes:
        name = volume.claim_of(cycle.pod.name)
        if name:
            claims.append(_usable(cycle, volume, name))
    return claims


def _usable(cycle: Cycle, volume: volumes.PodVolume, name: str) -> volumes.VolumeClaim:
    pod = cycle.pod
    claim = cycle.state.volumes.claims.get(f"{pod.namespace}/{name}")
    if claim is None and volume.template is not None:
        text = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
        raise Conflict(f'{text} "{name}"')
    if claim is None:
        raise not_found("persistentvolumeclaim", name)
    if claim.phase == volumes.LOST:
        lost = f'bound to non-existent persistentvolume "{claim.volume}"'
        raise Conflict(f'persistentvolumeclaim "{name}" {lost}')
    if claim.terminating:
        raise Conflict(f'persistentvolumeclaim "{name}" is being deleted')
    if volume.template is not None and not _owns(cycle, claim):
        raise Conflict(f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)")
    return claim


def _owns(cycle: Cycle, claim: volumes.VolumeClaim) -> bool:
    """Return whether a pod owns a claim: by uid where both are known, otherwise by name."""
    if claim.owner is None:
        return False
    name, uid = claim.owner
    return uid == cycle.pod.uid if uid and cycle.pod.uid else name == cycle.pod.name


def not_found(kind: str, name: str) -> Conflict:
    """Return the refusal because an object does not exist."""
    return Conflict(f'{kind} "{name}" not found')
