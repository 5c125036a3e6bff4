"""What holds for every light model: rolling is updating, no leaks, finite on hard series."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import arrays, errors
from kubestow.policies.forecasting import backtests, protocols
from tests.policies.forecasting import light_models
from tests.policies.forecasting.light_models import NAMES, STEPS

POINTS = 150
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def fitted() -> dict[str, protocols.PointFitted]:
    rows = light_models.make_rows(POINTS)
    return {name: light_models.make(name).fit(rows) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(
    count=st.integers(1, 30),
    place=st.integers(0, 29),
    steps=st.integers(1, 2 * STEPS),
    seed=st.integers(0, 9),
)
def test_rolling_equals_updating_and_looking_ahead(
    fitted: dict[str, protocols.PointFitted],
    name: str,
    count: int,
    place: int,
    steps: int,
    seed: int,
) -> None:
    here = min(place, count - 1)
    points = 30.0 * np.random.default_rng(seed).random((3, count))
    rolled = fitted[name].roll(points, steps)
    assert rolled.shape == (3, count, steps)
    one_by_one = fitted[name].update(points[:, : here + 1]).means(steps)
    np.testing.assert_allclose(rolled[:, here], one_by_one, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(cut=st.integers(1, 19), seed=st.integers(0, 5))
def test_updating_in_two_parts_equals_updating_at_once(
    fitted: dict[str, protocols.PointFitted], name: str, cut: int, seed: int
) -> None:
    points = 30.0 * np.random.default_rng(seed).random((3, 20))
    parts = fitted[name].update(points[:, :cut]).update(points[:, cut:])
    whole = fitted[name].update(points)
    np.testing.assert_allclose(
        parts.means(STEPS), whole.means(STEPS), rtol=TOLERANCE, atol=TOLERANCE
    )


@pytest.mark.parametrize("name", NAMES)
def test_updating_leaves_the_model_it_was_called_on_alone(
    fitted: dict[str, protocols.PointFitted], name: str
) -> None:
    before = fitted[name].means(STEPS).copy()
    fitted[name].update(np.full((3, 5), 1e3))
    fitted[name].roll(np.full((3, 5), 1e3), STEPS)
    np.testing.assert_array_equal(fitted[name].means(STEPS), before)


@pytest.mark.parametrize("name", NAMES)
def test_no_forecast_depends_on_what_comes_after_it(name: str) -> None:
    rows = light_models.make_rows(POINTS + 60)
    rng = np.random.default_rng(2)
    model = light_models.make(name)
    assert backtests.find_leak(model, rows, POINTS, (1, 3, STEPS), rng) is None


@pytest.mark.parametrize("name", NAMES)
def test_each_series_is_forecast_on_its_own(
    fitted: dict[str, protocols.PointFitted], name: str
) -> None:
    rows = light_models.make_rows(POINTS)
    for s in range(3):
        alone = light_models.make(name).fit(rows[s : s + 1]).means(STEPS)
        np.testing.assert_allclose(
            alone[0], fitted[name].means(STEPS)[s], rtol=1e-9, atol=1e-9, err_msg=f"series {s}"
        )


def hard_rows() -> dict[str, arrays.Floats]:
    rng = np.random.default_rng(3)
    noise = rng.random(120)
    return {
        "constant": np.full(120, 7.0),
        "zero": np.zeros(120),
        "tiny": 1e-200 * noise,
        "huge": 1e200 * (noise - 0.5),
        "one spike": np.where(np.arange(120) == 100, 1e6, 0.0),
        "a step": np.where(np.arange(120) < 60, 1.0, 1e9),
        "a line": np.arange(120.0),
        "alternating": np.tile([0.0, 1.0], 60),
        "negative": -5.0 - noise,
        "rising fast": np.exp(np.arange(120) / 3.0),
    }


@pytest.mark.parametrize("kind", hard_rows())
@pytest.mark.parametrize("name", NAMES)
def test_forecasts_of_hard_series_are_finite(name: str, kind: str) -> None:
    row = hard_rows()[kind][None, :]
    model = light_models.make(name).fit(row[:, :100])
    assert np.isfinite(model.means(STEPS)).all()
    assert np.isfinite(model.roll(row[:, 100:], STEPS)).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [7.0, 0.0, 3e-150, 2e150], ids=["seven", "zero", "tiny", "huge"])
def test_a_constant_is_forecast_to_stay(name: str, level: float) -> None:
    model = light_models.make(name).fit(np.full((1, 100), level))
    np.testing.assert_allclose(model.means(STEPS), level, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_least_past_is_enough(name: str) -> None:
    model = light_models.make(name)
    rows = light_models.make_rows(model.least_points)
    assert np.isfinite(model.fit(rows).update(rows[:, :1]).means(STEPS)).all()


@pytest.mark.parametrize("name", [n for n in NAMES if light_models.make(n).least_points > 1])
def test_too_short_a_past_is_refused(name: str) -> None:
    model = light_models.make(name)
    with pytest.raises(errors.InputError, match=rf"^{name}: \d+ points are too few; expected at"):
        model.fit(np.ones((2, model.least_points - 1)))


@pytest.mark.parametrize("name", NAMES)
def test_a_hole_in_the_past_is_refused_with_its_place(name: str) -> None:
    rows = light_models.make_rows(POINTS)
    rows[2, 17] = np.nan
    with pytest.raises(errors.InputError, match=r"series 2, point 17: nan is not a finite number"):
        light_models.make(name).fit(rows)


def test_a_single_series_has_to_be_a_row() -> None:
    with pytest.raises(ValueError, match="one row per series"):
        light_models.make("persistence").fit(np.ones(9))
