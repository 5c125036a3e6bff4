"""The rule that finds a limit, on made-up times."""

import numpy as np
import pytest

from kubestow.studies.schubert.limits import rules
from kubestow.studies.schubert.limits.rules import Level


def make_levels(factors: dict[float, float], spread: float = 0.01, n: int = 60) -> list[Level]:
    """Return times around 100 ms times a factor, all levels with numbers of their own."""
    rng = np.random.default_rng(7)
    return [
        Level(load, 0.1 * factor * (1.0 + spread * rng.standard_normal(n)))
        for load, factor in factors.items()
    ]


def test_the_memory_of_the_thesis_gives_its_limit() -> None:
    # Times rise from 27 GiB of background load on; 30 GiB is a little better than 29 again.
    held = {float(gib): 1.0 for gib in (0, 8, 16, 20, 24, 25, 26)}
    held |= {27.0: 1.3, 28.0: 1.5, 29.0: 1.9, 30.0: 1.4}
    limit = rules.find_limit(make_levels(held))
    assert (limit.last_good, limit.first_bad) == (26.0, 27.0)
    # 26 to 27 GiB and 1 GiB of the task are 27 to 28 of 32: 4 to 5 GiB, 12.5 to 15.6 %, stay free.
    free = limit.free_shares(32.0, 1.0)
    assert free == pytest.approx((0.125, 0.15625))


def test_scatter_alone_is_a_rise_too() -> None:
    levels = make_levels({0.0: 1.0, 50.0: 1.0})
    rng = np.random.default_rng(1)
    levels.append(Level(90.0, 0.1 * (1.0 + 0.3 * rng.standard_normal(60))))
    limit = rules.find_limit(levels)
    assert (limit.last_good, limit.first_bad) == (50.0, 90.0)
    assert limit.changes[1].wider
    assert not limit.changes[1].slower


@pytest.mark.parametrize(
    "factors",
    [
        {0.0: 1.0, 50.0: 1.0, 100.0: 1.0},
        {0.0: 1.0, 50.0: 1.05, 100.0: 1.08},
        {0.0: 1.0, 50.0: 1.5, 100.0: 1.0},
    ],
    ids=["nothing-rises", "rises-below-a-tenth", "the-highest-level-is-as-idle"],
)
def test_no_limit_is_an_answer(factors: dict[float, float]) -> None:
    limit = rules.find_limit(make_levels(factors))
    assert limit.first_bad is None
    assert limit.last_good == 100.0
    assert limit.free_shares(100.0, 0.0) is None


def test_everything_above_idle_may_be_bad() -> None:
    limit = rules.find_limit(make_levels({0.0: 1.0, 20.0: 1.4, 40.0: 1.6}))
    assert (limit.last_good, limit.first_bad) == (0.0, 20.0)


def test_few_noisy_values_prove_nothing() -> None:
    # The median is 30 % higher, but three against three values cannot be below p = 1/20.
    levels = [
        Level(0.0, np.array([1.0, 1.1, 0.9])),
        Level(100.0, np.array([1.3, 1.4, 1.2])),
    ]
    limit = rules.find_limit(levels)
    assert limit.changes[0].median_ratio == pytest.approx(1.3)
    assert limit.first_bad is None


def test_values_that_are_all_alike_are_no_rise() -> None:
    levels = [Level(load, np.full(5, 0.1)) for load in (0.0, 1.0)]
    change = rules.find_limit(levels).changes[0]
    assert (change.p_median, change.p_range, change.risen) == (1.0, 1.0, False)
