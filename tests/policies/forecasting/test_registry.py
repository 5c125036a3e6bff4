"""Models by name, made for a task."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.model import errors
from kubestow.policies.forecasting import backtests, intervals, registry
from kubestow.policies.forecasting.gru import models
from tests.policies.forecasting import light_models


@pytest.mark.parametrize("name", registry.FORECASTERS)
def test_each_entry_makes_a_model_of_its_name(name: str) -> None:
    entry = registry.FORECASTERS.get(name)
    task = registry.ForecastTask(60.0, 15)
    assert entry.make(task).name == name
    assert entry.make_intervals(task).name == name
    assert entry.make_intervals(task).steps == 15
    assert entry.summary


def test_models_with_few_parameters_can_restart() -> None:
    rows = np.arange(60.0)[None, :] % 7
    for entry in registry.FORECASTERS.entries():
        if entry.few:
            fitted = entry.make(registry.ForecastTask(60.0, 3)).fit(rows)
            assert isinstance(fitted, intervals.Restarting), entry.name


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.InputError, match="'prophet': must be one of persistence, "):
        registry.FORECASTERS.get("prophet")


@pytest.mark.parametrize(
    ("step_s", "hints"),
    [
        (60.0, (1440, 10080, 60)),
        (300.0, (288, 2016, 12)),
        (10.0, (8640, 60480, 360)),
        (3600.0, (24, 168)),
        (86400.0, (7,)),
    ],
)
def test_the_calendar_gives_hints(step_s: float, hints: tuple[int, ...]) -> None:
    assert registry.ForecastTask(step_s).hints() == hints


@pytest.mark.parametrize(
    ("steps", "horizons", "knots"),
    [
        (1, (), (1,)),
        (3, (), (1, 2, 3)),
        (15, (), (1, 2, 3, 5, 8, 12, 15)),
        (15, (15, 1, 5), (1, 5, 15)),
    ],
)
def test_some_horizons_stand_for_all(
    steps: int, horizons: tuple[int, ...], knots: tuple[int, ...]
) -> None:
    assert registry.ForecastTask(60.0, steps, horizons).knots() == knots


def test_candidates_of_auto_are_light() -> None:
    assert registry.CANDIDATES[0] == "persistence"
    assert not {"arima", "gru", "arima-gru", "auto"} & set(registry.CANDIDATES)
    ensemble = registry.make_auto(registry.ForecastTask(60.0, 5), ("persistence", "arima"))
    assert [one.name for one in ensemble.candidates] == ["persistence", "arima"]


@pytest.mark.parametrize("name", ["arima", "gru", "arima-gru"])
def test_heavy_models_do_not_see_the_future_either(name: str) -> None:
    if "gru" in name:
        pytest.importorskip("jax")
    model = registry.FORECASTERS.get(name).make(registry.ForecastTask(300.0, 3))
    rows = light_models.make_rows(130)[:1]
    assert backtests.find_leak(model, rows, 100, (1, 3), np.random.default_rng(1), cuts=2) is None


def test_networks_are_as_long_as_the_task() -> None:
    model = registry.FORECASTERS.get("gru").make(registry.ForecastTask(60.0, 17))
    assert isinstance(model, models.Gru)
    assert model.options.horizon == 17
