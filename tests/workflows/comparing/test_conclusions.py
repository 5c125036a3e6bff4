"""What a comparison says in plain words follows from its numbers."""

from __future__ import annotations

from kubestow.workflows.comparing import conclusions
from tests.workflows.comparing.made_comparisons import make

STEADY = [100.0, 101.0, 99.0, 100.5, 99.5]


def test_what_is_cheaper_worse_and_the_same_is_said() -> None:
    result = make(
        {
            "a": {"cost": STEADY, "response.p95": [0.051, 0.0512, 0.0508, 0.051, 0.051]},
            "b": {
                # 12 % less in every seed, a little more or less so.
                "cost": [88.0, 88.9, 87.1, 88.5, 87.5],
                "response.p95": [0.060, 0.0601, 0.0599, 0.0602, 0.0598],
                "pending_pod_seconds": [660.0, 540.0, 600.0, 660.0, 540.0],  # up and down
            },
        },
        seeds=5,
    )
    assert conclusions.conclude(result) == (
        "b costs 12 % less than a (100 → 88 USD, in all 5 seeds), is worse in response, p95 "
        "(51.0 → 60.0 ms); no clear difference in late or lost, pods pending or OOM kills."
    )
    assert result.as_json()["conclusion"] == conclusions.conclude(result)


def test_a_difference_that_the_test_does_not_confirm_is_not_claimed() -> None:
    noisy = {"cost": [50.0, 150.0, 90.0, 100.0, 105.0]}
    said = conclusions.conclude(make({"a": {"cost": STEADY}, "b": noisy}, seeds=5))
    assert said.startswith("b does not clearly differ from a in cost; no clear difference in ")
    assert "worse" not in said


def test_values_that_are_printed_alike_are_no_difference() -> None:
    alike = {"cost": [cost + 0.001 for cost in STEADY]}  # the same amount in every seed
    said = conclusions.conclude(make({"a": {"cost": STEADY}, "b": alike}, seeds=5))
    assert "does not clearly differ" in said


def test_one_seed_says_that_it_shows_little() -> None:
    said = conclusions.conclude(make({"a": {"cost": [100.0]}, "b": {"cost": [150.0]}}, seeds=1))
    assert said.startswith("One seed shows what happened once, not what to expect. ")
    assert "b costs 50 % more than a (100 → 150 USD)" in said


def test_where_no_node_is_saved_pod_hours_are_the_price() -> None:
    pods = {"pod_hours": [800.0, 801.0, 802.0]}
    said = conclusions.conclude(make({"a": {"pod_hours": [900.0] * 3}, "b": pods}, seeds=3))
    assert said.startswith("b needs 11 % fewer pod hours than a (900 → 801")


def test_of_many_variants_the_best_ones_are_described() -> None:
    many = {name: {"cost": [100.0 + number] * 2} for number, name in enumerate("abcdef")}
    said = conclusions.conclude(make(many, seeds=2))
    assert [name for name in "bcdef" if f"{name} costs" in said] == ["b", "c", "d"]
    assert said.endswith("The table has 2 more variants.")


def test_one_variant_alone_is_compared_with_nothing() -> None:
    said = conclusions.conclude(make({"a": {}}, seeds=2))
    assert said == "Only a was run: there is nothing to compare it with."


def test_without_a_currency_the_cost_has_no_unit() -> None:
    values = {"a": {"cost": [100.0, 101.0]}, "b": {"cost": [50.0, 51.0]}}
    assert "(100.5 → 50.5," in conclusions.conclude(make(values, seeds=2, currency=""))
