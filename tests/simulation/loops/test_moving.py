"""Movers in the loop."""

from __future__ import annotations

from typing import Any

from kubestow.simulation import outcomes
from kubestow.simulation import run as simulation_run
from tests.simulation import make


def run(enabled: bool, **more: Any) -> outcomes.RunOutcome:
    """Return a run of a cluster whose first workload goes away and leaves thin nodes behind."""
    gone = make.workload("gone", replicas=8, scaling=down())
    stays = make.workload("stays", replicas=4, **more)
    policies = {
        "placing": {"profile": "most-allocated"},
        "moving": {"enabled": enabled, "interval": "1m", "parameters": {"threshold": 0.6}},
    }
    return make.run(make.document(gone, stays, nodes=4, policies=policies, duration="20m"))


def down() -> dict[str, Any]:
    return {"scaler": "static", "min": 1, "parameters": {"replicas": 1}}


def test_pods_move_together_and_none_is_lost() -> None:
    apart = {"pod": make.pods(spread=[{"hard": False}])}
    still, moved = run(False, **apart), run(True, **apart)
    assert still.measures["moves"] == 0
    assert moved.measures["near_empty_nodes"] >= still.measures["near_empty_nodes"]
    for outcome in (still, moved):
        existing, replicas = (outcome.workload_columns[k][-1] for k in ("existing", "replicas"))
        assert existing.tolist() == replicas.tolist()


def test_nothing_is_moved_while_pods_wait() -> None:
    big = make.workload("big", pod=make.pods(cpu="100"))
    thin = make.workload("thin", replicas=1)
    policies = {"moving": {"enabled": True, "interval": "1m", "parameters": {"threshold": 0.9}}}
    outcome = make.run(make.document(big, thin, nodes=3, policies=policies))
    assert outcome.measures["pending_pods_at_end"] == 1
    assert outcome.measures["moves"] == 0


def test_decisions_are_written_down_with_their_time() -> None:
    policies = {
        "placing": {"profile": "most-allocated"},
        "moving": {"enabled": True, "interval": "1m", "parameters": {"threshold": 0.9}},
    }
    loaded = make.load(
        make.document(
            make.workload("one", replicas=1, pod=make.pods(nodeSelector={})),
            make.workload("two", replicas=2, pod=make.pods(apart={})),
            nodes=3,
            policies=policies,
        )
    )
    outcome = simulation_run.run(loaded.scenario, loaded.inputs)
    records = [r for r in outcome.decisions if r.kind == "moving"]
    assert records
    assert all(r.time is not None and r.time % 60.0 == 0.0 for r in records)
