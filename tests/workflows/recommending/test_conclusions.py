"""What recommendations come to, in one sentence."""

from __future__ import annotations

from kubestow.policies.sizing.recommendations import Recommendation
from kubestow.workflows.recommending import conclude_recommendations
from tests.workflows.recommending.scenes import advice, facts, key

GIB = 2**30


def size(
    name: str, cpu_m: int, memory_gib: float, *, now: bool = True, suitable: bool = True
) -> Recommendation:
    """Return advice for two pods that request one core and 1 GiB, or nothing, now."""
    stated = facts("1", "1Gi") if now else facts()
    amounts = {"cpu": cpu_m, "memory": round(memory_gib * GIB)}
    return advice(key(name), stated, amounts, replicas=2, suitable=suitable)


def test_every_group_of_containers_is_counted() -> None:
    told = conclude_recommendations(
        [
            size("a", 200, 0.25),
            size("b", 400, 0.5),
            size("c", 500, 2.0),  # less CPU, more memory
            size("d", 1500, 1.0),
            size("e", 1000, 1.0),
            size("f", 100, 0.1, now=False),
            size("g", 100, 0.1, suitable=False),
        ]
    )
    # CPU: 2 x (800 + 600 + 500 - 500 m) of 2 x 5 cores; memory: 2 x (0.75 + 0.5 - 1) of 10 GiB.
    assert told == (
        "3 of 7 containers request more than they need: applying this frees 2.8 of 10.0 cores and "
        "0.5 of 10.0 GiB; 1 needs more memory; 1 needs more CPU; 1 keeps what it requests now; "
        "1 has no request yet; 1 is not suitable and stays as it is: the past is no guide."
    )


def test_where_more_is_needed_that_is_said() -> None:
    told = conclude_recommendations([size("a", 500, 3.0), size("b", 500, 3.0)])
    assert told == (
        "2 of 2 containers request more than they need: applying this frees 2.0 of 4.0 cores and "
        "takes 8.0 GiB more; 2 need more memory."
    )


def test_nothing_to_free_is_no_saving() -> None:
    told = conclude_recommendations([size("a", 1000, 1.0), size("b", 1000, 1.0)])
    assert told == "None of 2 containers should request less; 2 keep what they request now."
    assert conclude_recommendations([]) == "No container is left to recommend anything for."
