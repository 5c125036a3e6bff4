"""The verdict of the demo follows from the numbers, and says what is worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubestow.workflows import comparing, demonstrating
from tests.workflows.comparing.made_comparisons import make

NAMES = [variant.name for variant in demonstrating.VARIANTS]


def compare(
    stock: Mapping[str, Sequence[float]],
    last: Mapping[str, Sequence[float]],
    seeds: int = 3,
    currency: str = "USD",
) -> comparing.Comparison:
    """Return a demo whose last variant has other numbers than the first three."""
    return make(dict(zip(NAMES, (stock, stock, stock, last), strict=True)), seeds, currency)


def test_the_verdict_is_one_sentence_with_money_nodes_response_kills_and_waiting() -> None:
    stock = {"cost": [104.0, 105.0, 103.0], "nodes_mean": [15.2, 15.3, 15.1]}
    last = {
        "cost": [61.0, 62.0, 60.0],  # 41 % less
        "nodes_mean": [9.1, 9.2, 9.0],
        "pod_wait": [18.0, 18.5, 17.5],  # three times as long
    }
    assert demonstrating.verdict(compare(stock, last)) == (
        "kubestow runs this day for $61 instead of $104 (41 % less): 9.1 instead of 15.2 nodes on "
        "average, no OOM kills; worse in how long pods wait for a node (18 s instead of 6 s); no "
        "clear difference in the 95th percentile of response times (50.0 ms as before) and the "
        "share of requests late or lost (0.000 % as before)."
    )


def test_dearer_is_called_worse() -> None:
    result = compare({"cost": [100.0, 101.0, 102.0]}, {"cost": [110.0, 111.0, 112.0]})
    assert "for $111 instead of $101 (10 % more: worse)" in demonstrating.verdict(result)


def test_a_difference_with_both_signs_is_not_claimed() -> None:
    result = compare({"cost": [100.0, 90.0, 95.0]}, {"cost": [80.0, 99.0, 95.5]})
    assert "(no clear difference)" in demonstrating.verdict(result)
    assert demonstrating.table(result)[0][1][3].verdict == ""


def test_a_difference_whose_interval_contains_0_is_not_claimed() -> None:
    # Less in every seed, by 1, 1 and 40: 14 ± 55.9 (t = 4.303, deviation 22.5, root of 3).
    result = compare({"cost": [100.0, 100.0, 100.0]}, {"cost": [99.0, 99.0, 60.0]})
    assert demonstrating.table(result)[0][1][3].verdict == ""


def test_equal_values_have_no_colour() -> None:
    # Higher by less than is printed, in every seed: neither green nor red.
    late = {"slo_violation_ratio": [0.0100001, 0.0100002, 0.0100001]}
    result = compare({"slo_violation_ratio": [0.01] * 3}, late)
    row = dict(demonstrating.table(result))["requests late or lost (%)"]
    assert {cell.text for cell in row} == {"1.000"}
    assert {cell.verdict for cell in row} == {""}


def test_what_differs_in_every_seed_is_coloured() -> None:
    last = {"oom_kills": [3.0, 4.0, 3.0], "eru.cpu": [0.3, 0.31, 0.3]}
    rows = dict(demonstrating.table(compare({}, last)))
    assert [cell.verdict for cell in rows["OOM kills"]] == ["", "", "", "bad"]
    assert [cell.verdict for cell in rows["CPU used of requested (%)"]] == ["", "", "", "good"]
    assert "worse in OOM kills (3.3 instead of 0)" in demonstrating.verdict(compare({}, last))


def test_each_step_says_what_it_changes_or_that_it_changes_nothing() -> None:
    last = {"cost": [90.0, 91.0, 90.0], "pod_wait": [8.0, 8.5, 8.0]}
    first, second, third = demonstrating.steps(compare({}, last))
    assert first.endswith(" No clear effect in any row.")
    assert second.endswith(" No clear effect in any row.")
    assert third.endswith(" Better: cost of the day 100 → 90 USD. Worse: wait for a node 6 → 8 s.")


def test_a_currency_without_a_symbol_is_written_out() -> None:
    values = {"cost": [100.0, 101.0, 102.0]}, {"cost": [50.0, 51.0, 52.0]}
    assert "for 51 CHF instead of 101 CHF" in demonstrating.verdict(
        compare(*values, currency="CHF")
    )
    assert "for 51 instead of 101 (" in demonstrating.verdict(compare(*values, currency=""))


def test_rows_are_at_most_seven() -> None:
    assert len(demonstrating.ROWS) <= 7
