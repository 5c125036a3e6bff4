"""What becomes of the claims of a pod once it is placed."""

from __future__ import annotations

from kubestow.model import pods, states
from kubestow.policies.placing import profiles
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle
from kubestow.policies.placing.scheduler.volumes import binding


def assume_volumes(
    pod: pods.Pod,
    state: states.ClusterState,
    row: int,
    profile: profiles.Profile,
    features: profiles.SchedulerFeatures,
) -> None:
    """Bind or provision the volumes of a pod that was placed on a node.

    The scheduler reserves volumes and asks for new ones; the volume controller and the provisioner
    behind it finish the work before the next pod needs it.

    Args:
        pod: The pod.
        state: The cluster; updated.
        row: The node's row.
        profile: The profile that placed the pod; without VolumeBinding nothing is bound.
        features: The release.
    """
    if not pod.volumes or profiles.VOLUMES not in profile.filters:
        return
    try:
        decision = binding.decide(Cycle(pod, state, profile, features))
    except Conflict:
        return
    for match in decision.matches:
        # A pod may name a claim twice.
        if match.matched[row] and not state.volumes.claims[match.claim.key].bound:
            chosen = match.volumes[match.chosen[row]]
            state.volumes.bind(match.claim.key, chosen.name)
    for provision in decision.provisions:
        if provision.rows[row]:
            state.volumes.provision(provision.claim.key, row)
