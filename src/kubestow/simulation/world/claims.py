"""The claims of simulated pods: created with a pod, and deleted with it or kept."""

from __future__ import annotations

from dataclasses import replace

from kubestow.model import pods, volumes
from kubestow.simulation import kernel
from kubestow.simulation import scenarios as spec
from kubestow.simulation.world.actors import LivePod, LiveWorkload
from kubestow.simulation.world.world import World


def with_volumes(world: World, workload: LiveWorkload, pod: pods.Pod) -> pods.Pod:
    """Return a pod with its volumes; claims that do not exist yet are created."""
    wanted = workload.spec.pod.volumes
    if not wanted:
        return pod
    table = world.state.volumes
    named = {volume.name: _claim_name(workload, pod.name, volume.name) for volume in wanted}
    for volume in wanted:
        wanted_spec = volumes.ClaimSpec(
            volume.storage_class, volume.size, frozenset(("ReadWriteOnce",))
        )
        claim = volumes.VolumeClaim(named[volume.name], pod.namespace, wanted_spec)
        if claim.key not in table.claims:
            table.add_claims([claim])
            _provision_now(world, workload, claim)
    return replace(
        pod, volumes=tuple(volumes.PodVolume(name, claim=claim) for name, claim in named.items())
    )


def drop_volumes(world: World, live: LivePod) -> None:
    """Delete the volumes of a pod that is gone, unless a StatefulSet keeps them."""
    if live.pod.volumes and live.workload.spec.kind != spec.STATEFUL_SET:
        for key in world.state.volumes.claims_of(live.pod):
            world.state.volumes.drop_claim(key)


def _claim_name(workload: LiveWorkload, pod: str, volume: str) -> str:
    """Return the name that the StatefulSet controller or the one of ephemeral volumes gives."""
    return f"{volume}-{pod}" if workload.spec.kind == spec.STATEFUL_SET else f"{pod}-{volume}"


def _provision_now(world: World, workload: LiveWorkload, claim: volumes.VolumeClaim) -> None:
    """Provision a claim that does not wait for its pod, for a random node."""
    kind = world.state.volumes.storage.classes[claim.storage_class]
    possible = [
        row
        for row, node in enumerate(world.state.nodes)
        if kind.topologies is None
        or any(term.matches(node.name, node.labels) for term in kind.topologies)
    ]
    if not kind.waits and possible:
        rng = kernel.make_generator(workload.stream, "volume", claim.name)
        world.state.volumes.provision(claim.key, possible[int(rng.integers(len(possible)))])
