"""When certificates are made, renewed and forgotten."""

from __future__ import annotations

import pytest

from kubestow.live.certificates.plans import (
    BACKDATED_S,
    DAY_S,
    Held,
    Life,
    RenewalPlan,
    RenewalRules,
    plan,
)

RULES = RenewalRules()
NAMES = frozenset({"web.shop.svc"})
NOW = 1_000 * DAY_S


def life(days_ago: float, days: float) -> Life:
    """Return the validity of a certificate by its age and validity, both in days."""
    made_s = NOW - days_ago * DAY_S
    return Life(made_s - BACKDATED_S, made_s + days * DAY_S)


def held(
    authorities: tuple[Life, ...],
    serving: Life,
    signed_by: int | None = 0,
    names: frozenset[str] = NAMES,
) -> Held:
    return Held(authorities, serving, names, signed_by)


def test_of_nothing_everything_is_made() -> None:
    assert plan(None, NAMES, RULES, NOW) == RenewalPlan(new_authority=True, new_serving=True)


def test_what_is_young_is_left_alone() -> None:
    assert plan(held((life(100, 365),), life(10, 90)), NAMES, RULES, NOW).empty


@pytest.mark.parametrize(("days", "due"), [(59.9, False), (60.0, True), (89.0, True)])
def test_a_certificate_is_renewed_at_two_thirds_of_its_life(days: float, due: bool) -> None:
    # 2/3 of 90 days and an hour are 60 days less 20 minutes after the making.
    result = plan(held((life(100, 365),), life(days, 90)), NAMES, RULES, NOW)
    assert result == RenewalPlan(new_serving=due)


@pytest.mark.parametrize(("days", "due"), [(243.0, False), (243.4, True), (364.0, True)])
def test_an_authority_is_renewed_at_two_thirds_and_signs_nothing_yet(
    days: float, due: bool
) -> None:
    # 2/3 of 365 days are 243.3.
    result = plan(held((life(days, 365),), life(10, 90)), NAMES, RULES, NOW)
    assert result == RenewalPlan(new_authority=due, new_serving=False)


def test_a_new_authority_signs_some_time_after_it_is_published() -> None:
    fresh, old = life(0, 365), life(244, 365)
    two = held((fresh, old), life(70, 90), signed_by=1)
    assert plan(two, NAMES, RULES, NOW + 599.0).empty
    assert plan(two, NAMES, RULES, NOW + 600.0) == RenewalPlan(new_serving=True)


def test_a_new_authority_does_not_sign_before_it_is_published() -> None:
    two = held((life(1, 365), life(244, 365)), life(70, 90), signed_by=1)
    assert plan(two, NAMES, RULES, NOW, announced=False).empty


def test_an_old_authority_is_believed_until_it_ends() -> None:
    young = life(100, 365)
    assert plan(held((young, life(364.9, 365)), life(10, 90)), NAMES, RULES, NOW).empty
    assert plan(held((young, life(365, 365)), life(10, 90)), NAMES, RULES, NOW) == RenewalPlan(
        drop=(1,)
    )


@pytest.mark.parametrize(
    "useless",
    [
        held((life(0, 365),), life(90, 90)),
        held((life(0, 365),), life(1, 90), signed_by=None),
        held((life(0, 365),), life(1, 90), names=frozenset({"other"})),
    ],
    ids=["ended", "of another authority", "for another name"],
)
def test_a_certificate_of_no_use_is_replaced_at_once(useless: Held) -> None:
    assert plan(useless, NAMES, RULES, NOW, announced=False) == RenewalPlan(new_serving=True)


def test_an_authority_that_ended_takes_its_certificate_with_it() -> None:
    result = plan(held((life(365, 365),), life(10, 90)), NAMES, RULES, NOW)
    assert result == RenewalPlan(new_authority=True, new_serving=True, drop=(0,))
