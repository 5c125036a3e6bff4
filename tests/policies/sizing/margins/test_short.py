"""``short-margin``: worked choices, what its scores may know, and what its unit of price does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model.arrays import Floats
from kubestow.policies.sizing.margins import last_points, short, short_kernels
from tests.policies.sizing import scenes

NAN = scenes.NAN


def choose(samples: list[float], weights: list[float], price: float) -> float:
    """Return the choice for one row."""
    chosen = np.empty(1)
    short_kernels.choose(np.array([samples]), np.array([weights]), np.array([price]), chosen)
    return float(chosen[0])


@pytest.mark.parametrize(
    ("price", "amount"),
    [
        # Cost of 10: price x 0.5 (20 and 40 are short); of 20: 0.5 x 10 + price x 0.25; of 40:
        # 0.5 x 30 + 0.25 x 20 = 20 and nothing short. 10 and 20 are equal at 20, 20 and 40 at 60.
        (19.0, 10.0),
        (21.0, 20.0),
        (59.0, 20.0),
        (61.0, 40.0),
    ],
)
def test_the_amount_of_least_expected_cost_is_taken(price: float, amount: float) -> None:
    assert choose([10.0, 20.0, 40.0], [0.5, 0.25, 0.25], price) == amount


def noise(rows: int, seed: int = 1) -> Floats:
    """Return rows of different size around a level of ten times their deviation."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(1.0, 100.0, rows)[:, np.newaxis]
    values: Floats = sizes * (10.0 + rng.normal(size=(rows, 125)))
    return values


def test_a_higher_price_never_gives_less() -> None:
    result = short.forecast_amounts(noise(12)[:, :120], short.ShortMarginParameters())
    for unit in ("fleet", "own"):
        amounts = [result.amounts(price, unit) for price in (0.01, 0.1, 1.0, 10.0, 100.0)]
        assert (np.diff(np.stack(amounts), axis=0) >= 0.0).all()


def test_with_a_price_by_own_size_rows_of_different_size_are_treated_alike() -> None:
    line = noise(1)[:, :120]
    values = np.concatenate([line, 64.0 * line])
    result = short.forecast_amounts(values, short.ShortMarginParameters())
    small, large = result.amounts(1.0, "own")
    assert large == pytest.approx(64.0 * small)
    # With one price for all the large one runs more risk.
    fleet_small, fleet_large = result.amounts(1.0, "fleet")
    assert fleet_large / 64.0 < small < fleet_small


def test_shortages_are_as_rare_as_the_price_makes_them() -> None:
    values = noise(400, seed=3)
    result = short.forecast_amounts(values[:, :120], short.ShortMarginParameters())
    peaks = values[:, 120:].max(axis=1)
    shares = [float((peaks > result.amounts(price, "own")).mean()) for price in (0.05, 1.0, 20.0)]
    assert shares[0] > 0.1 > shares[1] > shares[2]
    assert shares[2] < 0.02


def test_the_steadiest_level_is_chosen() -> None:
    rng = np.random.default_rng(5)
    walk = 1000.0 + np.cumsum(rng.normal(size=(1, 120)), axis=1)
    # Noise without memory: the longest mean knows most.
    still = 1000.0 + rng.normal(size=(1, 120))
    result = short.forecast_amounts(np.concatenate([walk, still]), short.ShortMarginParameters())
    assert result.kinds[0] in (0, 1)
    assert result.kinds[1] in (3, 4)


def test_the_level_follows_what_is_known_at_its_time_only() -> None:
    values = noise(3, seed=7)[:, :120]
    changed = values.copy()
    changed[:, -1] *= 1.5
    scores = [_scores(part) for part in (values, changed)]
    # The last peak of the walk is over points 116 to 120: scores before it cannot know.
    assert np.isfinite(scores[0]).all()
    assert (scores[0][:, -1] != scores[1][:, -1]).any()
    kept = [np.argsort(part[:, :-5], axis=1) for part in scores]
    assert (kept[0] == kept[1]).mean() > 0.8


def _scores(values: Floats) -> Floats:
    origins = 120 - short_kernels.FIRST - 5 + 1
    scores, jumps = np.full((len(values), origins), np.nan), np.empty((len(values), origins))
    short_kernels.score(
        values, np.full(len(values), 120), 5, 0.93, 0.5, 1e-4, scores, jumps,
        np.empty((len(values), 3)), np.empty(len(values), dtype=np.int64),
    )  # fmt: skip
    return scores


def test_constant_rows_keep_their_value_beside_steady_ones() -> None:
    result = short.forecast_amounts(np.full((3, 120), 8.0), short.ShortMarginParameters())
    assert result.amounts(1.0, "fleet") == pytest.approx([8.0] * 3)


def test_short_rows_use_what_the_others_have_seen() -> None:
    values = noise(30)[:, :120]
    values[0, :110] = NAN
    result = short.forecast_amounts(values, short.ShortMarginParameters())
    amounts = result.amounts(1.0, "own")
    assert np.isfinite(amounts).all()
    assert amounts[0] > values[0, -1]


def test_without_usage_nothing_is_estimated() -> None:
    result = short.ShortMargin().estimate(
        scenes.usage([[NAN] * 120, [1.0, 2.0] * 60], owners=[0, 1])
    )
    assert np.isnan(result.cpu_cores[0])
    assert result.lower_cpu_cores[1] <= result.cpu_cores[1] <= result.upper_cpu_cores[1]
    # Peaks of five points are always 2.
    assert result.cpu_cores[1] == pytest.approx(2.0, rel=0.01)
    nothing = short.ShortMargin().estimate(scenes.usage([[NAN] * 5]))
    assert np.isnan(nothing.memory_bytes).all()


@given(factor=st.floats(1e-6, 1e6), seed=st.integers(0, 50))
def test_amounts_scale_with_the_unit(factor: float, seed: int) -> None:
    values = noise(4, seed)[:, :120]
    parameters = short.ShortMarginParameters()
    first, second = (
        short.forecast_amounts(values * by, parameters).amounts(1.0, "fleet")
        for by in (1.0, factor)
    )
    assert second == pytest.approx(first * factor, rel=1e-6)


def test_last_points_end_with_the_last_measured_one() -> None:
    values = np.array([[1.0, 2.0, NAN, 4.0, NAN], [NAN, NAN, 7.0, 8.0, 9.0], [NAN] * 5])
    windows, counts = last_points.gather(values, 3)
    # Row 1: 2, the gap carried on, 4. Row 3 has none.
    assert windows.tolist() == [[2.0, 2.0, 4.0], [7.0, 8.0, 9.0], [0.0, 0.0, 0.0]]
    assert counts.tolist() == [3, 3, 0]
