"""The forecast study: rules of its verdicts both ways, and a tiny run without networks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubestow.model import time_series
from kubestow.policies import registries
from kubestow.policies.forecasting import baselines, registry
from kubestow.policies.forecasting.smoothing import models
from kubestow.studies.options import StudyOptions
from kubestow.studies.shi.forecast import groups as forecast_groups
from kubestow.studies.shi.forecast import page as forecast_page
from kubestow.studies.shi.forecast import protocol
from kubestow.studies.shi.forecast import study as shi_forecast
from tests.reports import browsers
from tests.studies import scaling_scenes

DATA = Path(__file__).parents[5] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


def score(errors: Mapping[str, float], kind: str = forecast_groups.SYNTHETIC) -> dict[str, Any]:
    """Return what the study keeps of a group, with one error for all metrics of a model."""
    models = {
        name: {
            **{metric: [errors.get(name, 1.0)] * 2 for metric in shi_forecast.METRICS},
            "fit_s": 2.0,
            "predict_s": 0.1,
        }
        for name in shi_forecast.MODELS
    }
    return {"kind": kind, "group": "g", "series": ["cpu", "memory"], "models": models}


def groups(ours: Sequence[float], **others: float) -> list[dict[str, Any]]:
    """Return one group per error of the combined model; groups differ in size."""
    return [
        score({name: (1.0 + 0.1 * k) * v for name, v in {**others, "arima-gru": own}.items()})
        for k, own in enumerate(ours)
    ]


ROW = "arima-gru by arima, MAE of cpu"
SIX = [0.7, 0.71, 0.72, 0.69, 0.68, 0.7]
CASES = [
    # Published: -42.3 %; half of it is -21.2 %. Six of six: signed-rank p = 2 / 64.
    (SIX, "reproduced", "lower in 6 of 6 groups, p 0.031"),
    ([0.8, 0.81, 0.82, 0.79, 0.78, 0.8], "not reproduced", "lower in 6 of 6 groups, p 0.031"),
    # Five of five is p = 2 / 32.
    (SIX[:5], "not reproduced", "lower in 5 of 5 groups, p 0.062"),
    ([*SIX[:5], 1.2], "not reproduced", "lower in 5 of 6 groups, p 0.062"),
    ([1.3, 1.31, 1.32, 1.29, 1.28, 1.3], "not reproduced", "lower in 0 of 6 groups, p 0.031"),
]


@pytest.mark.parametrize(
    ("ours", "verdict", "result"),
    CASES,
    ids=["large gain", "small gain", "few groups", "one exception", "worse"],
)
def test_a_gain_has_to_be_sure_and_half_of_the_published_one(
    ours: list[float], verdict: str, result: str
) -> None:
    rows = shi_forecast.combined_rows(groups(ours, arima=1.0))
    # Two kinds of series, three other models, three metrics; there are no real groups.
    assert len(rows) == 2 * 3 * 3
    (row,) = [row for row in rows if row["statement"].startswith(ROW)]
    assert row["verdict"] == verdict
    assert row["found"].endswith(result)
    assert row["thesis"] == "-42.3 %"


def test_where_nothing_was_published_a_sure_gain_is_enough() -> None:
    small = [0.98, 0.97, 0.99, 0.98, 0.97, 0.96]
    rows = shi_forecast.combined_rows(groups(small, persistence=1.0, gru=1.0))
    row = next(r for r in rows if r["statement"].startswith("arima-gru by persistence"))
    assert (row["thesis"], row["verdict"]) == ("-", "reproduced")
    assert scaling_scenes.verdict(rows, "arima-gru by gru, RMSE of memory") == "not reproduced"


def test_real_groups_have_rows_of_their_own() -> None:
    made = groups(SIX, arima=1.0)
    real = [{**one, "kind": forecast_groups.REAL, "series": ["load"]} for one in made]
    rows = shi_forecast.combined_rows([*made, *real])
    assert len(rows) == 3 * 3 * 3
    (row,) = [r for r in rows if r["statement"] == "arima-gru by arima, MAE of load (real)"]
    assert (row["n"], row["thesis"]) == (6, "-")


@pytest.mark.parametrize(
    ("fit_s", "verdict"), [(60.0, "beaten"), (60.5, "not reproduced")], ids=["short", "long"]
)
def test_training_is_judged_by_the_longest_group(fit_s: float, verdict: str) -> None:
    scored = groups(SIX, arima=1.0)
    scored[3]["models"]["arima-gru"]["fit_s"] = fit_s
    row = shi_forecast.training_row(scored)
    assert row["verdict"] == verdict
    assert f"(at most {fit_s:.1f})" in row["found"]
    # A slow rival is not held against the combined model.
    scored[3]["models"]["gru"]["fit_s"] = 500.0
    assert shi_forecast.training_row(scored)["verdict"] == verdict


def trace(family: str, auto: float, best: float) -> dict[str, Any]:
    scores = dict.fromkeys(shi_forecast.MODELS, 2.0) | {"auto": auto, "holt-winters": best}
    return {
        "family": family,
        "trace": "t",
        "models": {name: {"mase": value, "fit_s": 0.1} for name, value in scores.items()},
    }


def test_families_go_by_the_mean_over_their_traces() -> None:
    rows = shi_forecast.family_rows(
        [
            trace("near", 1.05, 1.0), trace("near", 0.98, 1.0),  # 1.015 against 1.0
            trace("far", 1.05, 1.0), trace("far", 1.0, 1.0),  # 1.025
            trace("best", 0.9, 1.0),
        ]
    )  # fmt: skip
    assert [(row["statement"].split()[-1], row["n"], row["verdict"]) for row in rows] == [
        ("near", 2, "beaten"), ("far", 2, "not reproduced"), ("best", 1, "beaten"),
    ]  # fmt: skip
    assert rows[0]["found"].endswith("best other: holt-winters")


@pytest.mark.parametrize(
    ("mase", "verdict"), [(1.2, "beaten"), (1.21, "not reproduced")], ids=["reached", "missed"]
)
def test_windows_go_by_the_figure_asked_for(mase: float, verdict: str) -> None:
    _, steps, season, limit, published = shi_forecast.WINDOWS["application"]
    assert (steps, season, limit) == (60, 360, 1.2)
    row = {"set": "application", "limit": limit, "published": published, "mase": {"auto": mase}}
    (result,) = shi_forecast.window_rows([row])
    assert result["verdict"] == verdict
    assert "persistence 3.764" in result["thesis"]


def test_without_data_the_report_says_so() -> None:
    scored = groups(SIX, arima=1.0)
    result = shi_forecast.make_report(scored, [], [], has_data=False)
    assert result["rows"][-1]["verdict"] == "not measured"
    assert "KUBESTOW_DATA" in result["rows"][-1]["found"]
    whole = shi_forecast.make_report(scored, [], [], has_data=True)
    assert len(whole["rows"]) == len(result["rows"]) - 1


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put light models in place of the three that take minutes."""
    stand_ins: dict[str, registry.Make] = {
        "arima": lambda task: models.Ses(task.knots()),
        "gru": lambda _: baselines.Persistence(),
        "arima-gru": lambda task: models.Holt(horizons=task.knots()),
    }
    entries = {entry.name: entry for entry in registry.FORECASTERS.entries()}
    for name, make in stand_ins.items():
        entries[name] = registry.ForecasterEntry(name, "light", make)
    known = registries.Registry("model", registry.ForecasterEntry, entries.values())
    monkeypatch.setattr(registry, "FORECASTERS", known)


@pytest.mark.usefixtures("light")
def test_a_group_is_scored_one_step_ahead_on_its_last_part() -> None:
    values = np.cumsum(np.random.default_rng(2).normal(size=(1, 400)), axis=1) + 50.0
    grid = time_series.TimeGrid(("cpu",), 0.0, 10.0, values)
    result = shi_forecast.score_group(forecast_groups.UsageGroup("made up", "g", grid))
    assert list(result["models"]) == list(shi_forecast.MODELS)
    errors = np.abs(np.diff(values[0, 279:]))  # 70 % of 400 points are fitted to
    naive = result["models"]["persistence"]
    assert naive["mae"] == [pytest.approx(errors.mean())]
    assert naive["mase"] == [pytest.approx(errors.mean() / np.abs(np.diff(values[0, :280])).mean())]


@pytest.mark.usefixtures("light")
def test_a_tiny_run_without_data_writes_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBESTOW_DATA", str(tmp_path / "nowhere"))
    seen: list[tuple[float, float]] = []
    out = tmp_path / "out"
    report = shi_forecast.run(
        StudyOptions(out, seed=2, quick=True), lambda done, total, _: seen.append((done, total))
    )
    assert seen == [(1, 2), (2, 2)]
    assert [row["group"] for row in report["groups"]] == ["group 1", "group 2"]
    assert {row["kind"] for row in report["groups"]} == {forecast_groups.SYNTHETIC}
    assert len(report["rows"]) == 2 * 3 * 3 + 1 + 1
    written = json.loads((out / "results.json").read_text())
    assert written["rows"][0] == json.loads(json.dumps(report["rows"][0]))
    scaling_scenes.check_page(out / "report.html", "training time per group", "not measured")
    # The same seed makes the same errors; seconds are those of the machine.
    again = shi_forecast.run(StudyOptions(out, seed=2, quick=True), lambda *_: None)
    for one, two in zip(report["groups"], again["groups"], strict=True):
        for name in shi_forecast.MODELS:
            assert one["models"][name]["mae"] == two["models"][name]["mae"]


@pytest.mark.data
@needs_data
@pytest.mark.usefixtures("light")
def test_one_real_trace_is_scored_by_all_models() -> None:
    one = next(protocol.read_traces(DATA, ("crane_dsp",)))
    cut = time_series.TimeGrid(
        one.grid.names, one.grid.start_s, one.grid.step_s, one.grid.values[:, :2000]
    )
    result = shi_forecast.score_trace(protocol.ForecastTrace(one.family, one.name, cut))
    assert set(result["models"]) == set(shi_forecast.MODELS)
    assert result["models"]["auto"]["mase"] <= 1.1 * result["models"]["persistence"]["mase"]


def test_values_without_a_scale_are_not_drawn() -> None:
    made = groups(SIX, arima=1.0)
    made[0]["models"]["gru"]["mase"] = [float("nan"), None]
    chart = forecast_page.error_chart(made).to_dict()
    (drawn,) = chart["datasets"].values()
    assert len(drawn) == 6 * len(shi_forecast.MODELS) * 2 - 2


@browsers.needs_browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    report = shi_forecast.make_report(groups(SIX, arima=1.0), [], [], has_data=False)
    page = tmp_path / "report.html"
    page.write_text(forecast_page.make_page(report), encoding="utf-8")
    drawn = browsers.open_page(page, tmp_path / "profile")
    assert "<svg" in drawn
    assert "MASE" in drawn
