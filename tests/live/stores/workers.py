"""Workers as processes of their own, some of which are meant to be killed.

Called as ``python -m tests.live.stores.workers MODE URL NAME``.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Mapping

from kubestow.live.stores import agents, claims, engines, evaluations
from kubestow.live.stores.agents import AgentState
from kubestow.live.stores.evaluations import StoredEvaluation
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.model.decisions import DecisionRecord

NOW_S, LEASE_S = 1000.0, 60.0
THREADS = 2


def results(held: claims.Claim, states: Mapping[str, AgentState]) -> StoredEvaluation:
    """Return a state that lists every pod it was computed from, and who did it."""
    old = states.get("cpu", AgentState([]))
    pod = held.run.key.pod_uid
    return StoredEvaluation(
        {"cpu": AgentState([*old.state, pod], old.version)},
        (StoredRecommendation(NOW_S, "test", {}, why=pod),),
        (DecisionRecord("sizing", pod, held.worker, None),),
    )


def drain(store: engines.Store, name: str) -> None:
    """Evaluate runs until none waits."""
    while held := claims.claim_next(store, name, NOW_S, LEASE_S):
        evaluations.evaluate(store, held, functools.partial(results, held), NOW_S)


def drain_in_threads(store: engines.Store, name: str) -> None:
    names = [f"{name}-{number}" for number in range(THREADS)]
    threads = [threading.Thread(target=drain, args=(store, each)) for each in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def hold(store: engines.Store, name: str) -> None:
    """Claim a run and go no further."""
    claims.claim_next(store, name, NOW_S, LEASE_S)
    _wait_to_be_killed()


def stop_halfway(store: engines.Store, name: str) -> None:
    """Claim a run, write half of its results, and go no further."""
    held = claims.claim_next(store, name, NOW_S, LEASE_S)
    assert held is not None
    with store.writing() as connection:
        claims.change(connection, held, {"evaluated_at_s": NOW_S})
        agents.put(connection, held.container_id, "cpu", AgentState(["half"]), NOW_S)
        _wait_to_be_killed()


def _wait_to_be_killed() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


MODES = {"drain": drain_in_threads, "hold": hold, "halfway": stop_halfway}

if __name__ == "__main__":
    mode, url, name = sys.argv[1:]
    with engines.open_store(url) as opened:
        MODES[mode](opened, name)
