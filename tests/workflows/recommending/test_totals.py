"""What advice adds up to."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.model import usage
from kubestow.workflows.recommending import totals
from kubestow.workflows.recommending.totals import Severity
from tests.workflows.recommending.scenes import MIB, advice, amounts, facts, key

GIB = 1024 * MIB


@pytest.mark.parametrize(
    ("now", "requests", "more", "expected"),
    [
        (("500m", "1Gi"), {"cpu": 450, "memory": GIB}, {}, Severity.NONE),
        (("500m", "1Gi"), {"cpu": 400, "memory": GIB}, {}, Severity.LOW),
        (("500m", "1Gi"), {"cpu": 500, "memory": GIB - 250 * MIB}, {}, Severity.MEDIUM),
        (("500m", "1Gi"), {"cpu": 1000, "memory": GIB}, {}, Severity.HIGH),
        (("500m", "1Gi"), {"cpu": 500, "memory": GIB}, {"oom_kills": 1}, Severity.CRITICAL),
        (("500m", "1Gi"), {"cpu": 500, "memory": GIB + MIB}, {"peak_bytes": GIB + 1.0},
         Severity.CRITICAL),
        (("500m", "1Gi"), {"cpu": 500, "memory": GIB + MIB}, {"peak_bytes": GIB - 1.0},
         Severity.NONE),
        (("500m", "1Gi"), {"cpu": 500, "memory": GIB}, {"peak_bytes": 2.0 * GIB}, Severity.NONE),
        (("", ""), {"cpu": 100, "memory": 50 * MIB}, {}, Severity.LOW),
        (("500m", "1Gi"), {}, {}, Severity.NONE),
    ],
    ids=["none", "low", "medium", "high", "killed", "too small", "grows in time", "kept", "unset",
         "no advice"],
)  # fmt: skip
def test_severity_follows_the_change_unless_something_fails_now(
    now: tuple[str, str], requests: dict[str, int], more: dict[str, Any], expected: Severity
) -> None:
    result = advice(key("web"), facts(*now), requests, **more)
    assert totals.severity(result) is expected


def test_urgency_is_compared_by_rank() -> None:
    low = advice(key("web"), facts("500m", "1Gi"), {"cpu": 400})
    wanted = [totals.is_urgent(low, least) for least in Severity]
    assert wanted == [False, False, False, True, True]


WEB = advice(key("web"), facts("2", "1Gi"), {"cpu": 500, "memory": GIB // 2}, replicas=4)
SIDE = advice(key("web", "side"), facts("1", "1Gi"), {"cpu": 500, "memory": GIB}, replicas=4)
DB = advice(key("db"), facts("3", "4Gi"), {"cpu": 3500, "memory": 4 * GIB}, replicas=2)
# Three small nodes of 4 cores are more usual than one of 64.
NODES = usage.Inventory(
    nodes={
        **{f"n{number}": {**amounts("4", "16Gi")} for number in range(3)},
        "large": {**amounts("64", "256Gi")},
    }
)


def test_amounts_are_added_over_all_pods() -> None:
    result = totals.add_up([WEB, SIDE, DB], usage.Inventory())
    # web 4 * 1500, side 4 * 500, db 2 * -500.
    assert result.cpu_freed_m == 6000 + 2000 - 1000
    assert result.memory_freed_bytes == 4 * GIB // 2
    assert result.cpu_now_m == 8000 + 4000 + 6000
    assert result.memory_now_bytes == (4 + 4 + 8) * GIB
    assert (result.containers, result.suitable, result.unknown) == (3, 3, 0)
    assert (result.nodes_now, result.nodes_then) == (None, None)


def test_pods_are_packed_as_they_are_and_as_they_would_be() -> None:
    result = totals.add_up([WEB, SIDE, DB], NODES)
    # Now: four pods of 3 cores and two of 3 cores, one per node of 4. Then: four pods of 1 core on
    # one node, or beside nothing else, and two of 3.5 cores.
    assert (result.nodes_now, result.nodes_then) == (6, 3)


def test_pods_whose_advice_is_not_followed_stay_on_their_nodes() -> None:
    result = totals.add_up([WEB, SIDE], NODES, others=[DB])
    # Four pods of 1 core: one fits beside each of the two of 3 cores, two share a third node.
    assert (result.nodes_now, result.nodes_then) == (6, 3)
    assert result.cpu_freed_m == 8000


def test_a_pod_larger_than_any_node_takes_one_of_its_own() -> None:
    huge = advice(key("huge"), facts("9", "1Gi"), {"cpu": 1000, "memory": GIB})
    result = totals.add_up([huge], NODES)
    assert (result.nodes_now, result.nodes_then) == (1, 1)


def test_what_requests_nothing_now_is_counted_apart() -> None:
    unset = advice(key("new"), facts(), {"cpu": 100, "memory": GIB})
    result = totals.add_up([unset, WEB], NODES)
    assert (result.containers, result.unknown, result.cpu_freed_m) == (2, 1, 6000)
    assert totals.add_up([unset], NODES).nodes_now is None
