"""The forecast study of Schubert 2023: worked curves, rules of verdicts both ways, a tiny run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kubestow.model.arrays import Floats
from kubestow.model.usage import arrange
from kubestow.policies.sizing.margins import arima
from kubestow.studies import public_data
from kubestow.studies.options import StudyOptions
from kubestow.studies.schubert.forecast import checks, curves, methods, page, rows
from kubestow.studies.schubert.forecast import study as schubert_forecast
from kubestow.studies.schubert.forecast import windows as forecast_windows


def make_windows(
    past: Floats, real: Floats, resource: forecast_windows.Resource = "memory"
) -> forecast_windows.Windows:
    """Return one window per series."""
    count = len(past)
    return forecast_windows.Windows(
        "made-up", resource, 60.0, tuple(f"s{k}" for k in range(count)), np.arange(count),
        np.zeros(count, dtype=np.int64), past, real,
    )  # fmt: skip


def make_curve(short: list[float], over: list[float], copies: int = 40) -> curves.ShortageCurve:
    """Return a curve of equal series, settings 1, 2, ..."""
    settings = tuple(float(k) for k in range(1, len(short) + 1))
    many = [np.tile(np.array(part), (copies, 1)) for part in (short, over, over, short, over)]
    return curves.ShortageCurve(settings, *many)


def test_factors_of_vpa_are_its_default_at_the_settings_of_the_thesis() -> None:
    assert methods.vpa_memory_factor(4.0) == pytest.approx(1.15)
    assert methods.vpa_memory_factor(1.0) == pytest.approx(1.03)
    assert methods.vpa_cpu_factor(1.0) == pytest.approx(1.15)


def test_windows_do_not_overlap_and_leave_out_constants_and_gaps() -> None:
    values = np.tile(np.arange(260.0), (3, 1))
    values[1, 135:] = 7.0
    values[2, 200] = np.nan
    batch = arrange(["a", "b", "c"], np.arange(3), 60.0, 0.0, np.full_like(values, np.nan), values)
    result = forecast_windows.cut("made-up", "memory", batch, 5)
    # Points 135 to 259 and 10 to 134: the last window of b is constant, that of c has a gap.
    assert list(zip(result.series.tolist(), result.places.tolist(), strict=True)) == [
        (0, 0), (0, 1), (1, 1), (2, 1),
    ]  # fmt: skip
    assert result.past[0, [0, -1]].tolist() == [135.0, 254.0]
    assert result.real.tolist() == [259.0, 134.0, 134.0, 134.0]


def test_answers_by_hand() -> None:
    past = np.array([np.arange(1.0, 121.0)]) * 2.0**20
    windows = make_windows(past, np.array([121.0 * 2**20]))
    fits = arima.fit(past, arima.ArimaMarginParameters())
    result = {one.method: one for one in methods.answer(windows, fits)}

    def at(method: str, setting: float) -> float:
        one = result[method]
        return float(one.amounts[0, one.settings.index(setting)]) / 2**20

    assert at(methods.VPA, 4.0) == pytest.approx(1.15 * 120.0)
    # P90 of 1 .. 120: rank 0.9 x 119 = 107.1.
    assert at(methods.BARE_VPA, 4.0) == pytest.approx(1.15 * 108.1)
    # Mean 60.5, deviation sqrt((120^2 - 1) / 12) = 34.64; and 2 x 2 MiB.
    assert at(methods.SIGMA, 2.0) == pytest.approx(60.5 + 2.0 * 34.6398 + 4.0, rel=1e-5)
    # Changes do not vary.
    assert at(methods.PERSISTENCE, 2.0) == pytest.approx(120.0 + 4.0)
    assert at(methods.MAXIMUM, 5.0) == 120.0
    assert result[methods.OURS].amounts.shape == result[methods.EVEN].amounts.shape


def test_windows_of_a_series_count_as_one() -> None:
    windows = forecast_windows.Windows(
        "made-up", "memory", 60.0, ("a", "b"), np.array([0, 0, 1]), np.array([0, 1, 0]),
        np.full((3, 120), 10.0), np.array([8.0, 14.0, 9.0]),
    )  # fmt: skip
    result = curves.measure(windows, methods.MethodAnswers("m", (1.0,), np.full((3, 1), 10.0)))
    # a: beyond by 2 and short by 4; b: beyond by 1.
    assert result.short[:, 0].tolist() == [0.5, 0.0]
    assert result.over[:, 0].tolist() == [1.0, 1.0]
    assert result.net[:, 0].tolist() == [-1.0, 1.0]
    assert result.lack[:, 0].tolist() == [2.0, 0.0]
    assert result.loss[:, 0] == pytest.approx([0.1, 0.1])


def test_methods_are_compared_at_as_few_shortages() -> None:
    ours = make_curve([0.5, 0.2, 0.1], [1.0, 2.0, 4.0])
    theirs = make_curve([0.3, 0.05], [4.0, 5.0])
    result = curves.compare(ours, theirs, [1.0, 2.0], np.ones((1, 40)))
    # At 0.3 the second setting is enough, 2 by 4; 0.05 is never reached.
    assert result[0].tolist() == [0.5, np.inf]
    assert curves.cheapest(ours, 1.0) == 0
    # 0.5 p + 1, 0.2 p + 2, 0.1 p + 4: at 5 the second, at 30 the third.
    assert curves.cheapest(ours, 5.0) == 1
    assert curves.cheapest(ours, 30.0) == 2


def test_intervals_keep_what_is_never_reached() -> None:
    result = curves.summarise(np.array([0.5, *[0.4] * 90, *[np.inf] * 10]))
    assert (result.value, result.low, result.high) == (0.5, 0.4, np.inf)


def make_group(
    result: dict[str, curves.ShortageCurve], resource: str = "memory"
) -> rows.SeriesGroup:
    """Return a group of equal series, half of them reported."""
    copies = len(next(iter(result.values())).short)
    reported = np.arange(copies) % 2 == 0
    draws = curves.resample(copies, 50, np.random.default_rng(1))
    half = curves.resample(copies // 2, 50, np.random.default_rng(2))
    return rows.SeriesGroup("made-up", resource, result, reported, draws, half)


def at_thesis(short: list[float], over: list[float]) -> curves.ShortageCurve:
    """Return a curve at the seven settings of the thesis for memory."""
    result = make_curve(short, over)
    return curves.ShortageCurve(
        methods.MEMORY_N, result.short, result.over, result.net, result.lack, result.loss
    )


STEPS = [0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
COSTS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0]


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.4, "reproduced"), (0.5, "reproduced"), (0.8, "not reproduced"),
                            (1.5, "not reproduced")],
)  # fmt: skip
def test_a_saving_has_to_reach_half(factor: float, verdict: str) -> None:
    group = make_group(
        {
            methods.VPA: at_thesis(STEPS, COSTS),
            methods.PRINTED: at_thesis(STEPS, [factor * c for c in COSTS]),
        }
    )
    row = rows.saving_row(group, methods.PRINTED)
    assert row["verdict"] == verdict
    assert row["saving"][0] == pytest.approx(1.0 - factor)


def test_what_never_gets_as_safe_saves_nothing() -> None:
    group = make_group(
        {
            methods.VPA: at_thesis(STEPS, COSTS),
            methods.PRINTED: at_thesis([s + 0.2 for s in STEPS], COSTS),
        }
    )
    row = rows.saving_row(group, methods.PRINTED)
    assert (row["verdict"], row["saving"]) == ("not reproduced", [None, None, None])
    assert row["found"].startswith("saves never reached")


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [([0.9] * 7, "beaten"), ([0.9] * 6 + [1.1], "not reproduced")],
    ids=["everywhere", "but for one"],
)
def test_ours_has_to_be_better_at_every_setting(factors: list[float], verdict: str) -> None:
    costs = [f * c for f, c in zip(factors, COSTS, strict=True)]
    group = make_group(
        {methods.VPA: at_thesis(STEPS, COSTS), methods.OURS: at_thesis(STEPS, costs)}
    )
    row = rows.dominance_row(group, methods.VPA)
    assert row["verdict"] == verdict
    assert row["n"] == 20


@pytest.mark.parametrize(
    ("more", "verdict", "both"), [(0.0, "beaten", 7), (0.05, "not reproduced", 0)]
)
def test_settings_found_on_one_half_have_to_hold_on_the_other(
    more: float, verdict: str, both: int
) -> None:
    ours = at_thesis(STEPS, [0.9 * c for c in COSTS])
    # Series of even numbers are reported; there ours is short more often than where it was set.
    short = ours.short + np.where(np.arange(40) % 2 == 0, more, 0.0)[:, np.newaxis]
    group = make_group(
        {methods.VPA: at_thesis(STEPS, COSTS), methods.CAPPED: replace(ours, short=short)}
    )
    row = rows.transfer_row(group, methods.VPA)
    assert row["verdict"] == verdict
    assert row["found"].endswith(f"better in both at {both} of 7 settings")
    assert row["ratios"][0] == pytest.approx([0.9, 0.9, 0.9])


def test_the_worst_needs_most_at_every_setting() -> None:
    cheap = [0.5 * c for c in COSTS]
    result = {
        methods.BARE_VPA: at_thesis(STEPS, COSTS),
        methods.VPA: at_thesis(STEPS, cheap),
        methods.PRINTED: at_thesis(STEPS, cheap),
    }
    assert rows.worst_row(make_group(result))["verdict"] == "reproduced"
    result[methods.VPA] = at_thesis(STEPS, [*cheap[:6], 11.0])
    assert rows.worst_row(make_group(result))["verdict"] == "not reproduced"


def test_settings_are_chosen_on_the_other_half() -> None:
    # Tuned on series with few shortages at setting 1; the reported ones have many there.
    short = np.where(np.arange(40)[:, np.newaxis] % 2 == 0, [[0.9, 0.0]], [[0.0, 0.0]])
    over = np.tile([[0.1, 1.0]], (40, 1))
    curve = curves.ShortageCurve((1.0, 2.0), short, over, over, over, over)
    group = make_group(dict.fromkeys((methods.OURS, methods.EVEN, methods.VPA), curve))
    row = rows.loss_row(group, 5.0)
    assert row["settings"][methods.VPA] == 1.0
    assert row["losses"][methods.VPA] == pytest.approx(0.1 + 5.0 * 0.9)
    assert row["verdict"] == "not reproduced"


def test_white_noise_is_outside_at_five_percent_of_lags_and_dependence_at_more() -> None:
    rng = np.random.default_rng(2)
    white = rng.normal(size=(400, 120))
    # Correlations at finite length are a little smaller than 1 / sqrt(T).
    assert 0.025 < checks.outside(white).mean() < 0.055
    chained = white.copy()
    for t in range(1, 120):
        chained[:, t] += 0.9 * chained[:, t - 1]
    assert checks.outside(chained).mean() > 0.25


def test_normal_residuals_are_rejected_as_often_as_stated_and_others_more() -> None:
    rng = np.random.default_rng(3)
    normal = checks.not_normal(rng.normal(size=(4000, 110)))
    assert 0.035 < normal.mean() < 0.075
    assert checks.not_normal(rng.standard_t(2, size=(400, 110))).mean() > 0.9


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of public data with made-up jobs."""
    rng = np.random.default_rng(4)
    cube = np.empty((24, 288, 2))
    cube[:] = 30.0 + np.cumsum(rng.normal(scale=0.3, size=(24, 288, 2)), axis=1)
    target = tmp_path / "google2011_vms"
    target.mkdir()
    names = np.array([f"vm{k}" for k in range(24)])
    np.savez(target / "vms.npz", names=names, data=np.clip(cube, 1.0, 99.0))
    monkeypatch.setenv(public_data.VARIABLE, str(tmp_path))
    return tmp_path


def test_a_tiny_run_writes_its_files_twice_the_same(folder: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    texts = []
    for name in ("one", "two"):
        options = StudyOptions(tmp_path / name, quick=True, lists=20)
        report = schubert_forecast.run(options, lambda *printed: seen.append(printed[2]))
        texts.append((tmp_path / name / "results.json").read_text())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["study"] == "schubert-forecast"
    assert seen[:2] == ["google2011_vms memory", "google2011_vms cpu"]
    assert {line["resource"] for line in report["curves"]} == {"memory", "cpu"}
    times = json.loads((tmp_path / "one" / "timings.json").read_text())
    assert len(times["fit_ms_per_window"]) == 2
    page = (tmp_path / "one" / "report.html").read_text()
    assert "google2011_vms" in page
    assert "http://" not in page.split("<script>")[0]


def test_pages_leave_out_what_a_logarithm_has_no_place_for(folder: Path, tmp_path: Path) -> None:
    report = schubert_forecast.run(StudyOptions(tmp_path, quick=True, lists=20), lambda *_: None)
    lines = [line for line in report["curves"] if line["resource"] == "memory"]
    chart = page.curve_chart(lines, "short", "shortages").to_dict()
    drawn = [point["x"] for points in chart["datasets"].values() for point in points]
    assert drawn
    assert min(drawn) > 0.0


def test_a_handful_of_series_settles_nothing() -> None:
    better = at_thesis(STEPS, [0.5 * c for c in COSTS])
    group = make_group({methods.VPA: at_thesis(STEPS, COSTS), methods.OURS: better})
    few = np.arange(40) < 12
    small = rows.SeriesGroup(
        "made-up", "memory", {name: one.where(few) for name, one in group.by_method.items()},
        np.arange(12) % 2 == 0, group.draws[:, :12], np.ones((5, 6)),
    )  # fmt: skip
    assert rows.dominance_row(group, methods.VPA)["verdict"] == "beaten"
    assert rows.dominance_row(small, methods.VPA)["verdict"] == rows.TOO_FEW
