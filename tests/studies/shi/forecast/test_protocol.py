"""The protocols of comparison, and published figures that prove them on the data themselves."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from kubestow.model import time_series
from kubestow.policies.forecasting import baselines, registry
from kubestow.studies.shi.forecast import protocol as compared

DATA = Path(__file__).parents[5] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


def make_grid(points: int, step_s: float = 60.0) -> time_series.TimeGrid:
    values = np.cumsum(np.random.default_rng(1).normal(size=(2, points)), axis=1)
    return time_series.TimeGrid(("a", "b"), 0.0, step_s, values)


@pytest.mark.parametrize(
    ("step_s", "horizons"),
    [(60.0, (1, 5, 15)), (300.0, (1, 3)), (10.0, (6, 30, 90)), (900.0, (1,))],
)
def test_horizons_are_minutes(step_s: float, horizons: tuple[int, ...]) -> None:
    assert compared.choose_horizons(step_s) == horizons


def test_the_share_protocol_by_hand() -> None:
    grid = make_grid(100)
    result = compared.score(
        compared.ForecastTrace("f", "t", grid), lambda _: baselines.Persistence(), clock=lambda: 1.0
    )
    v = grid.values
    scale = np.abs(np.diff(v[:, :70], axis=1)).mean(axis=1)
    five = np.abs(v[:, 74:] - v[:, 69:-5]).mean(axis=1)
    np.testing.assert_allclose(result.mase[:, 1], five / scale)
    assert result.horizons == (1, 5, 15)
    assert result.mean() == pytest.approx(float(result.mase.mean()))
    part = compared.score(
        compared.ForecastTrace("f", "t", grid),
        lambda _: baselines.Persistence(),
        share=0.5,
        until=0.7,
    )
    last = np.abs(v[:, 54:70] - v[:, 49:65]).mean(axis=1)
    scale = np.abs(np.diff(v[:, :50], axis=1)).mean(axis=1)
    np.testing.assert_allclose(part.mase[:, 1], last / scale)


def test_traces_of_a_family_count_alike() -> None:
    traces = [compared.ForecastTrace("f", str(n), make_grid(n)) for n in (100, 300)]
    result = compared.compare(traces, ("persistence", "drift"))
    each = [compared.score(one, lambda _: baselines.Persistence()).mean() for one in traces]
    assert result["f"]["persistence"] == pytest.approx(sum(each) / 2)
    assert set(result["f"]) == {"persistence", "drift"}


@pytest.mark.parametrize(
    ("points", "steps", "windows"), [(8834, 60, 15), (31968, 48, 20), (100, 48, 1), (1000, 10, 10)]
)
def test_windows_fill_the_last_tenth(points: int, steps: int, windows: int) -> None:
    assert compared.place_windows(points, steps) == windows


@pytest.mark.parametrize("refit_every", [0, 2])
def test_the_window_protocol_by_hand(refit_every: int) -> None:
    grid = make_grid(200)
    result = compared.score_windows(
        grid, lambda _: baselines.Persistence(), 10, 4, refit_every=refit_every
    )
    v, terms = grid.values, []
    for begin in (180, 190):
        scale = np.abs(v[:, 4:begin] - v[:, : begin - 4]).mean(axis=1)
        terms.append(
            np.abs(v[:, begin : begin + 10] - v[:, begin - 1 : begin]).mean(axis=1) / scale
        )
    np.testing.assert_allclose(result.mase.mean(axis=1), np.mean(terms, axis=0))


def test_traces_that_are_not_there_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "crane_dsp"
    folder.mkdir()
    (folder / "input0.csv.gz").write_bytes(gzip.compress(b"ts,value\n0,1\n60,2\n"))
    result = list(compared.read_traces(tmp_path))
    assert [(one.family, one.name) for one in result] == [("crane_dsp", "input0")]
    assert list(compared.read_traces(tmp_path, ("req_nasa",))) == []


@pytest.mark.data
@needs_data
@pytest.mark.parametrize(
    ("model", "published"), [("naive", 3.764), ("seasonal", 2.242)], ids=["naive", "seasonal"]
)
def test_published_figures_of_the_application_set(model: str, published: float) -> None:
    grid = compared.read_application(DATA / "bizitobs")
    point = baselines.Persistence() if model == "naive" else baselines.SeasonalNaive(360)
    result = compared.score_windows(grid, lambda _: point, 60, 360)
    assert result.mean() == pytest.approx(published, abs=0.0006)


@pytest.mark.data
@needs_data
@pytest.mark.parametrize(
    ("model", "published"), [("naive", 0.283), ("seasonal", 0.986)], ids=["naive", "seasonal"]
)
def test_published_figures_of_the_order_set(model: str, published: float) -> None:
    grid = compared.read_orders(DATA / "bizitobs")
    assert grid.values.shape == (7, 31968)
    point = baselines.Persistence() if model == "naive" else baselines.SeasonalNaive(288)
    result = compared.score_windows(grid, lambda _: point, 48, 288)
    assert result.mean() == pytest.approx(published, abs=0.0006)


@pytest.mark.data
@needs_data
def test_auto_reaches_its_marks_on_both_sets() -> None:
    make = registry.FORECASTERS.get("auto").make
    application = compared.read_application(DATA / "bizitobs")
    assert compared.score_windows(application, make, 60, 360).mean() <= 1.2
    orders = compared.read_orders(DATA / "bizitobs")
    assert compared.score_windows(orders, make, 48, 288).mean() <= 0.28


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("family", ["req_worldcup98", "req_twitter", "dc_aggregates"])
def test_auto_beats_the_simple_models_on_real_traces(family: str) -> None:
    names = ("persistence", "seasonal-naive", "holt-winters", "auto")
    totals = dict.fromkeys(names, 0.0)
    for trace in compared.read_traces(DATA, (family,)):
        for name in names:
            totals[name] += compared.score(trace, registry.FORECASTERS.get(name).make).mean()
    assert totals["auto"] <= 1.02 * min(totals.values())


@pytest.mark.data
@needs_data
def test_intervals_cover_real_requests() -> None:
    trace = next(compared.read_traces(DATA, ("req_nasa",)))
    values = trace.grid.values
    begin = int(0.7 * values.shape[1])
    model = registry.FORECASTERS.get("theta").make_intervals(registry.ForecastTask(60.0, 5, (1, 5)))
    rolled = model.fit(values[:, :begin]).roll(values[:, begin:], 5, (0.05, 0.95))
    for h in (1, 5):
        truth = values[0, begin + h :]
        quantiles = rolled.quantiles[0, : len(truth), h - 1]
        inside = (truth >= quantiles[:, 0]) & (truth <= quantiles[:, 1])
        assert inside.mean() == pytest.approx(0.9, abs=0.02)
