"""Series of any size: right numbers, or an error that says what was expected."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubestow.cli import main
from kubestow.model import arrays, errors, time_series
from kubestow.workflows import forecasting, magnitudes

BASE = 1.0 + 0.1 * np.random.default_rng(1).random(80)


def forecast(values: arrays.Floats, model: str = "auto") -> dict[str, Any]:
    grid = time_series.TimeGrid(("load",), 0.0, 300.0, values[None, :], time_series.Mended(0, 0, 0))
    request = forecasting.ForecastRequest(model, horizon_s=900.0, backtest=True)
    return forecasting.run(grid, request).as_json()


@settings(max_examples=25)
@given(
    exponent=st.integers(-1040, 1023),
    sign=st.sampled_from([1.0, -1.0]),
    model=st.sampled_from(["persistence", "holt", "theta", "arima", "auto"]),
)
def test_a_series_of_another_size_has_the_same_forecast(
    exponent: int, sign: float, model: str
) -> None:
    # Near 2**-1040 numbers have few digits: 2**-1074 is the smallest.
    digits = max(2.0 ** (-1074 - exponent), 1e-6)
    usual = forecast(sign * BASE, model)
    other = forecast(np.ldexp(sign * BASE, exponent), model)
    for expected, given_ in zip(usual["forecast"], other["forecast"], strict=True):
        for name in ("mean", "q10", "q50", "q90"):
            assert given_[name] == pytest.approx(
                math.ldexp(expected[name], exponent), rel=max(digits, 1e-3)
            )
    for row in other["results"]:
        assert row["mae"] is not None
        assert row["rmse"] is not None
        assert row["pinball"] is not None


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 99), sizes=st.lists(st.integers(-320, 308), min_size=1, max_size=4))
def test_the_command_prints_numbers_or_an_error(
    seed: int, sizes: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(seed)
    parts = np.array([float(f"1e{size}") for size in sizes])
    values = rng.choice(parts, 60) * rng.uniform(-1.0, 1.0, 60)
    path = tmp_path / "series.csv"
    lines = [f"{300 * k},{value!r}" for k, value in enumerate(values.tolist())]
    path.write_text("timestamp,load\n" + "\n".join(lines) + "\n", encoding="utf-8")
    code = main.run(["forecast", str(path), "--horizon", "15m", "--model", "holt", "-o", "json"])
    caught = capsys.readouterr()
    if code == 0:
        for row in json.loads(caught.out)["forecast"]:
            assert all(isinstance(row[name], float | int) for name in ("mean", "q10", "q90"))
    else:
        assert code == 2
        assert "load: its forecast or an error is beyond 1.8e308" in caught.err


def test_a_forecast_beyond_all_numbers_is_refused() -> None:
    values = np.where(np.arange(60) % 2, 1.7e308, -1.7e308)
    with pytest.raises(errors.InputError, match=r"^load: .*expected smaller values"):
        forecast(values, "persistence")


def test_ordinary_values_are_not_touched() -> None:
    for values in (BASE, np.zeros(5), np.array([1e99, -3.0]), np.array([np.nan])):
        rescaled, exponent = magnitudes.rescale(values)
        assert rescaled is values
        assert exponent == 0


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("inf", "load: row 3: inf: expected a finite number, or nothing for a gap"),
        ("1e999", "load: row 3: inf: expected a finite number, or nothing for a gap"),
        ("many", "load: row 3: 'many': expected a number"),
    ],
)
def test_what_is_no_number_is_refused_with_its_row(
    value: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_with(tmp_path, value)
    assert main.run(["forecast", str(path)]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "NaN", ""])
def test_not_a_number_is_a_gap(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_with(tmp_path, value)
    assert main.run(["forecast", str(path), "--model", "persistence", "-o", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["gaps"], result["filled"]) == (1, 1)


def write_with(folder: Path, value: str) -> Path:
    path = folder / "series.csv"
    rows = [f"{300 * k},{value if k == 2 else 1.5}" for k in range(20)]
    path.write_text("timestamp,load\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path
