"""Verdicts on the demonstration, and the tables of its figures, on made-up nodes."""

from typing import Any

import pytest

from kubestow.studies.schubert.limits import drain_figures, drain_rows
from kubestow.studies.schubert.limits.drain import FIXED, RECOMMENDED, SPREADING, DrainRun, NodeRow

EMPTY = NodeRow(3.0, 4.0, 0.6, 2.5, 0, 0)
HALF = NodeRow(5.0, 24.0, 1.0, 15.0, 9, 0)
FULL = NodeRow(6.7, 40.5, 1.5, 26.0, 20, 0)
BIG = NodeRow(7.2, 14.0, 1.6, 9.0, 3, 1)
OVER = NodeRow(7.9, 47.0, 1.8, 30.0, 25, 0)


def make_run(profile: str, seed: int, after: list[NodeRow], **changes: Any) -> DrainRun:
    values: dict[str, Any] = {
        "key": "",
        "profile": profile,
        "setting": "usual",
        "seed": seed,
        "before": [HALF] * 4,
        "after": after,
        "pending_s": 0.0,
        "longest_s": 0.0,
        "unschedulable": 0,
        "pending_all_s": 1.0,
        "pending_at_end": 0,
        "drained": 4,
        "drain_hours": 1.0,
    }
    return DrainRun(**(values | changes))


def make_runs(packed: list[NodeRow], profile: str = RECOMMENDED) -> list[DrainRun]:
    """Return three seeds; the drain alone leaves one node empty under spreading."""
    spreading = [make_run(SPREADING, seed, [EMPTY, HALF, HALF, BIG]) for seed in (1, 2, 3)]
    return spreading + [make_run(profile, seed, packed) for seed in (1, 2, 3)]


def verdicts(runs: list[DrainRun]) -> dict[str, str]:
    return {row["rule"]: row["verdict"] for row in drain_rows.make_rows(runs)}


def test_a_cluster_like_that_of_the_thesis_reproduces_it() -> None:
    rows = drain_rows.make_rows(make_runs([EMPTY, EMPTY, FULL, BIG]))
    assert {row["verdict"] for row in rows} == {"reproduced"}
    assert len(rows) == 5
    first = rows[0]
    # Two empty nodes; none before, one after the drain alone.
    assert (first["mean"], first["n"]) == (2.0, 3)
    assert first["against_before"]["difference"] == 2.0
    assert first["against_drain_alone"]["difference"] == 1.0


def test_what_the_drain_does_alone_is_no_effect_of_the_profile() -> None:
    result = verdicts(make_runs([EMPTY, HALF, HALF, BIG]))
    assert result["more-near-empty"] == "not reproduced"


def test_nodes_over_the_limits_that_no_big_pod_explains() -> None:
    rows = drain_rows.make_rows(make_runs([EMPTY, EMPTY, OVER, BIG], FIXED))
    by_statement = {row["statement"].split(" (")[0]: row for row in rows}
    memory = by_statement["memory limit of 85 % respected, requested"]
    assert (memory["verdict"], memory["mean"], memory["share_of_nodes"]) == (
        "not reproduced",
        1.0,
        0.25,
    )
    assert by_statement["memory limit of 85 % respected, used"]["verdict"] == "reproduced"
    cpu = by_statement["CPU limit of 6.8 cores exceeded on a few nodes, by 4-core pods"]
    assert (cpu["verdict"], cpu["mean"]) == ("not reproduced", 2.0)
    assert cpu["without_big_pod"]["mean"] == 1.0


def test_between_85_and_86_percent_the_scheduler_sees_85() -> None:
    node = NodeRow(6.0, 41.0, 1.0, 20.0, 5, 0)  # 41 of 48 GiB are 85.4 %
    runs = {RECOMMENDED: [make_run(RECOMMENDED, 1, [node])]}
    row = drain_rows.memory_row(runs, RECOMMENDED, "usual", "requested")
    assert (row["mean"], row["above_whole_percent"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("spreading", "packing", "stuck", "verdict"),
    [
        ([900.0, 1700.0, 1200.0], [0.1, 0.1, 0.1], 0, "reproduced"),
        ([0.1, 0.1, 0.1], [0.1, 0.1, 0.1], 0, "not reproduced"),
        ([900.0, 1700.0, 1200.0], [50.0, 0.1, 0.1], 1, "not reproduced"),
        ([0.1, 0.1, 5000.0], [0.1, 0.1, 0.1], 0, "not reproduced"),
    ],
    ids=["waits-less", "no-difference", "still-unschedulable", "one-seed-proves-nothing"],
)
def test_waiting_of_big_pods_is_compared_seed_by_seed(
    spreading: list[float], packing: list[float], stuck: int, verdict: str
) -> None:
    runs = [
        make_run(profile, seed, [HALF], setting="maintenance", pending_s=s, unschedulable=n)
        for profile, times, n in ((SPREADING, spreading, 3), (RECOMMENDED, packing, stuck))
        for seed, s in enumerate(times, start=1)
    ]
    (row,) = drain_rows.make_rows(runs)
    assert row["verdict"] == verdict
    assert row["n"] == 3
    assert row["rule"] in drain_rows.RULES


def test_histograms_are_means_over_seeds_and_full_nodes_are_in_the_last_bin() -> None:
    full = NodeRow(8.0, 48.0, 0.0, 4.0, 5, 0)
    result = drain_figures.bins([[EMPTY, full], [full, full]], "requested_memory")
    # 4 GiB belongs to the first bin of 4 GiB; 48 GiB to the twelfth.
    assert result["nodes"] == [0.5] + [0.0] * 10 + [1.5]
    assert sum(drain_figures.bins([[EMPTY, full]], "used_cpu")["nodes"]) == 2.0


def test_figures_show_before_and_after_of_the_profiles_that_were_run() -> None:
    runs = make_runs([EMPTY, EMPTY, FULL, BIG])
    shown = {(row["profile"], row["state"]) for row in drain_figures.make_histograms(runs)}
    assert shown == {(SPREADING, "before"), (SPREADING, "after"), (RECOMMENDED, "after")}
    nodes = drain_figures.make_nodes(runs, 1)
    assert len(nodes) == 3 * 4
    assert [row["near_empty_after"] for row in drain_figures.make_runs(runs)] == [1, 1, 1, 2, 2, 2]
