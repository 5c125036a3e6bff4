"""Results of evaluating a run, written in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kubestow.live.stores import agents, claims, decisions, faults, recommendations
from kubestow.live.stores.agents import AgentState
from kubestow.live.stores.engines import Store
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.model.decisions import DecisionRecord

_ATTEMPTS = 100  # in each round of conflicts one worker succeeds


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """The results of one run.

    Attributes:
        states: New states by resource, each with the version it was computed from.
        recommendations: New recommendations.
        decisions: Decision records that explain them.
    """

    states: Mapping[str, AgentState] = field(default_factory=dict)
    recommendations: tuple[StoredRecommendation, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()


def complete(store: Store, held: claims.Claim, results: StoredEvaluation, now_s: float) -> None:
    """Write the results of a run and mark it as evaluated, all or nothing.

    Raises:
        ClaimLostError: If the run was evaluated, or claimed by another; nothing is written.
        StateConflictError: If another run of this container changed a state; nothing is written,
            and the claim still holds.
    """
    with store.writing() as connection:
        done = {"evaluated_at_s": now_s, "claimed_by": None, "claimed_until_s": None}
        claims.change(connection, held, done)
        for resource, state in sorted(results.states.items()):
            agents.put(connection, held.container_id, resource, state, now_s)
        recommendations.put_recommendations(connection, held.container_id, results.recommendations)
        decisions.put_decisions(connection, results.decisions, now_s)


def evaluate(
    store: Store,
    held: claims.Claim,
    decide: Callable[[Mapping[str, AgentState]], StoredEvaluation],
    now_s: float,
) -> StoredEvaluation:
    """Evaluate a run from the newest states; retry if they change meanwhile.

    So two runs of one container that are evaluated at the same time both count.

    Args:
        store: The store.
        held: The claim on the run.
        decide: Computes the results from the states by resource; called again after a conflict.
        now_s: Current time, seconds since the epoch.

    Raises:
        ClaimLostError: If the run was evaluated, or claimed by another; nothing is written.
    """
    attempts_left = _ATTEMPTS
    while True:
        results = decide(agents.read(store, held.run.key.container))
        try:
            complete(store, held, results, now_s)
        except faults.StateConflictError:
            attempts_left -= 1
            if not attempts_left:
                raise
        else:
            return results
