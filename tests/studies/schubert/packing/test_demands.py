"""Generators: how many pods, which mean, which seeds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.studies.schubert.packing import demands

SYNTHETIC = [name for name in demands.GENERATORS if name != "empirical"]


@pytest.mark.parametrize("name", SYNTHETIC)
@settings(max_examples=15, deadline=None)
@given(d=st.integers(1, 6), a=st.integers(2, 30), seed=st.integers(0, 2**32))
def test_every_list_has_100_a_pods_that_fit_a_node(name: str, d: int, a: int, seed: int) -> None:
    lists = demands.draw(demands.DemandSetting(name, d, float(a)), 2, seed, 0)
    assert lists.shape == (2, 100 * a, d)
    assert lists.min() >= 0.0
    assert lists.max() <= 1.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("uniform", 0.1),
        # Clipping takes the tail off: 0.1 (1 - exp(-10)) is 0.1 to four digits.
        ("exponential", 0.1),
        ("split", 0.1),
        ("lognormal", 0.1),
        ("correlated", 0.1),
        ("gamma", 0.1),
        ("weibull", 0.1),
        # 0.8 * 0.5 + 0.2 * 3 of 0.1
        ("bimodal", 0.1),
        ("shared", 0.1),
    ],
)
def test_the_mean_demand_is_one_over_a(name: str, expected: float) -> None:
    lists = demands.draw(demands.DemandSetting(name, 3, 10.0), 50, 7, 0)
    # 150 000 numbers with a standard deviation of at most twice the mean: 0.0006 on the mean,
    # somewhat more where components of a pod depend on each other.
    assert lists.mean() == pytest.approx(expected, abs=0.003)


def test_exponential_demands_are_clipped_to_one_node() -> None:
    lists = demands.draw(demands.DemandSetting("exponential", 2, 2.0), 50, 1, 0)
    # P(X > 1) = exp(-2) = 13.5 % (thesis digest, 2.5); the mean falls to 0.5 (1 - exp(-2)).
    assert np.mean(lists == 1.0) == pytest.approx(math.exp(-2), abs=0.01)
    assert lists.mean() == pytest.approx(0.5 * (1 - math.exp(-2)), abs=0.01)


@pytest.mark.parametrize("a", [1, 2, 7, 25])
def test_split_pods_sum_to_exactly_100_nodes_in_every_resource(a: int) -> None:
    for one in demands.draw(demands.DemandSetting("split", 3, float(a)), 3, 5, 0):
        assert [math.fsum(one[:, j]) for j in range(3)] == [100.0, 100.0, 100.0]


def test_split_refuses_fractions_of_pods() -> None:
    with pytest.raises(errors.InputError, match=r"2\.5: must be a whole number"):
        demands.draw(demands.DemandSetting("split", 2, 2.5), 1, 0, 0)


def test_uniform_refuses_demands_above_a_node() -> None:
    with pytest.raises(errors.InputError, match=r"1\.5: must be >= 2"):
        demands.draw(demands.DemandSetting("uniform", 2, 1.5), 1, 0, 0)


def test_correlated_demands_rise_together() -> None:
    def correlation(rho: float) -> float:
        lists = demands.draw(demands.DemandSetting("correlated", 2, 10.0, rho), 20, 1, 0)
        first, second = lists.reshape(-1, 2).T
        return float(
            np.mean((first - first.mean()) * (second - second.mean()))
            / (first.std() * second.std())
        )

    assert 0.35 < correlation(0.5) < 0.55
    assert correlation(0.9) > 0.8


def test_resources_have_unequal_means_when_skewed() -> None:
    lists = demands.draw(demands.DemandSetting("skewed", 2, 10.0), 50, 1, 0)
    assert lists.mean(axis=(0, 1)) == pytest.approx([0.1, 0.03], abs=0.002)


def test_the_same_seed_gives_the_same_lists_however_they_are_drawn() -> None:
    setting = demands.DemandSetting("uniform", 2, 3.0)
    whole = np.concatenate(list(demands.draw_chunks(setting, 120, 9)))
    second = demands.draw(setting, 50, 9, 1)
    assert np.array_equal(whole[50:100], second)
    # A shorter sample is the beginning of a longer one as far as whole chunks go.
    shorter = np.concatenate(list(demands.draw_chunks(setting, 50, 9)))
    assert np.array_equal(whole[:50], shorter)


def test_cells_resources_chunks_and_seeds_do_not_share_random_numbers() -> None:
    drawn = [
        demands.draw(demands.DemandSetting("uniform", d, 3.0), 2, seed, chunk)
        for d, seed, chunk in [(2, 1, 0), (2, 1, 1), (2, 2, 0), (3, 1, 0)]
    ]
    columns = [one[..., j].ravel() for one in drawn for j in range(one.shape[2])]
    firsts = {float(column[0]) for column in columns}
    assert len(firsts) == len(columns)


def test_the_empirical_stand_in_is_one_set_in_many_orders() -> None:
    first, second = demands.draw(demands.DemandSetting("empirical", 2, 0.0), 2, 4, 0)
    assert first.shape == (6487, 2)
    assert not np.array_equal(first, second)
    assert np.array_equal(np.sort(first, axis=0), np.sort(second, axis=0))
    # About 0.7 % of a node in the scarcer resource, with a heavy tail: the mean is far above
    # the median.
    assert first.mean(axis=0)[1] == pytest.approx(0.007, abs=0.0005)
    assert np.all(first.mean(axis=0) > 2 * np.median(first, axis=0))


def test_the_empirical_stand_in_has_two_resources() -> None:
    with pytest.raises(errors.InputError, match="3: must be 2"):
        demands.draw(demands.DemandSetting("empirical", 3, 0.0), 1, 0, 0)


def test_unknown_generators_are_refused() -> None:
    with pytest.raises(errors.InputError, match="'pareto': must be one of uniform"):
        demands.draw(demands.DemandSetting("pareto", 2, 3.0), 1, 0, 0)
