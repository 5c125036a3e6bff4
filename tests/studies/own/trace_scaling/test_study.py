"""Scaling on request traces: overloaded requests, verdicts on the gap, data."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kubestow.model import errors
from kubestow.studies import public_data, scaling_runs, tradeoffs
from kubestow.studies.options import StudyOptions
from kubestow.studies.own.trace_scaling import page as trace_scaling_page
from kubestow.studies.own.trace_scaling import study as trace_scaling
from kubestow.studies.scaling_runs import ScalingVariant
from tests.reports import browsers
from tests.studies import scaling_scenes

DATA = Path(__file__).parents[5] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


def make_trace(
    rates: Sequence[float], warm_s: int = 0, block_s: int = 30
) -> trace_scaling.DemandTrace:
    return trace_scaling.DemandTrace(
        "hand", np.array(rates, dtype=np.float64), warm_s, block_s, True
    )


def test_a_replica_can_do_a_28th_of_the_99th_percentile_after_the_warm_up() -> None:
    trace = make_trace([1e6] * 50 + [56.0] * 200, warm_s=50)
    assert trace.capacity == 2.0


def test_requests_beyond_what_ready_pods_can_do_are_overloaded() -> None:
    # 28 requests a second and a capacity of 1: as many pods as requests are needed.
    trace = make_trace([28.0] * 90, warm_s=30)
    run = scaling_scenes.make_run(
        {
            "time_s": [15.0, 30.0, 45.0, 60.0, 75.0, 90.0],
            "ready": [28.0, 14.0, 28.0, 28.0, 21.0, 28.0],
            "existing": [28.0, 28.0, 20.0, 30.0, 40.0, 50.0],
        }
    )
    cost, share = trace_scaling.measure(trace, run)
    # Seconds 30 to 60: what is seen at 30 s, 14 pods, holds until 45 s, then 28: 14 of 28 requests
    # for half of the time. Seconds 60 to 90: 28 pods, then 21 of 28 for half of the time.
    assert share == pytest.approx([0.25, 0.125])
    assert cost.tolist() == [25.0, 45.0]


def test_overloaded_requests_of_blocks_add_up_to_the_share_in_the_whole() -> None:
    # 1 request a second, then 3; one pod of capacity 3/28. All but 3/28 a second are overloaded.
    trace = make_trace([1.0] * 30 + [3.0] * 30)
    run = scaling_scenes.make_run(
        {"time_s": [15.0, 30.0, 45.0, 60.0], "ready": [1.0] * 4, "existing": [1.0] * 4}
    )
    _, share = trace_scaling.measure(trace, run)
    capacity = 3.0 / 28.0
    # The mean block has 60 requests; 30 x (1 - capacity) and 30 x (3 - capacity) are too many.
    assert share == pytest.approx([(1.0 - capacity) / 2.0, (3.0 - capacity) / 2.0])
    assert share.mean() == pytest.approx((120.0 - 60.0 * capacity) / 120.0)


def test_requests_answered_late_or_never_are_a_share_of_all() -> None:
    # Blocks of 30 s with 28 requests a second. First block: 7 late, then 7 dropped; second: none.
    run = scaling_scenes.make_run(
        {
            "time_s": [15.0, 30.0, 45.0, 60.0],
            "existing": [4.0, 6.0, 8.0, 8.0],
            "late": [7.0, 0.0, 0.0, 0.0],
            "dropped": [0.0, 7.0, 0.0, 0.0],
        }
    )
    cost, share = trace_scaling.measure_late(make_trace([28.0] * 60), run)
    assert share == pytest.approx([0.25, 0.0])
    assert cost.tolist() == [5.0, 8.0]


@pytest.mark.parametrize(
    ("ours", "verdict", "text"),
    [
        ([0.009, 0.09], "beaten", "x 0.90 of `hpa`'s at equal cost (0.90 to 0.90)"),
        ([0.01, 0.1], "no difference", "x 1.00 of `hpa`'s at equal cost (1.00 to 1.00)"),
        ([0.012, 0.12], "not reproduced", "x 1.20 of `hpa`'s at equal cost (1.20 to 1.20)"),
    ],
)
def test_late_requests_have_a_verdict_of_their_own(
    ours: list[float], verdict: str, text: str
) -> None:
    curves = {"hpa": make_curve([0.01, 0.1]), "auto": make_curve(ours)}
    row = trace_scaling.make_late_row(make_trace([28.0] * 60), curves)
    assert (row["verdict"], row["found"]) == (verdict, text)


def test_runs_from_several_starts_are_averaged_block_by_block() -> None:
    traces = [
        make_trace([28.0] * 90),
        dataclasses.replace(make_trace([28.0] * 60), start_s=17),
    ]
    assert [trace.place for trace in traces] == ["hand", "hand-from-17"]
    column = {"time_s": [15.0, 30.0, 45.0, 60.0, 75.0, 90.0], "ready": [28.0] * 6}
    runs = {
        "hand": scaling_scenes.make_run({**column, "existing": [10.0, 10.0, 20.0, 20.0, 9.0, 9.0]}),
        "hand-from-17": scaling_scenes.make_run(
            {name: values[:4] for name, values in {**column, "existing": [30.0] * 6}.items()}
        ),
    }
    by_place = {
        place: [(scaling_runs.ScalingTask({}, place, ScalingVariant("hpa", "hpa"), 0.6, 1), run)]
        for place, run in runs.items()
    }
    curves = trace_scaling.make_all_curves(traces, by_place, trace_scaling.measure)
    # Blocks of 30 s: pods 10 and 30, 20 and 30; the third block is in one of the two only.
    assert curves["hand"]["hpa"].cost.tolist() == [[20.0, 25.0]]


def test_a_block_that_is_cut_short_does_not_count() -> None:
    run = scaling_scenes.make_run(
        {"time_s": [15.0, 30.0, 45.0], "ready": [1.0] * 3, "existing": [1.0] * 3}
    )
    cost, _ = trace_scaling.measure(make_trace([28.0] * 45), run)
    assert len(cost) == 1


def make_curve(
    badness: Sequence[float], costs: Sequence[float] = (40.0, 30.0)
) -> tradeoffs.TradeoffCurve:
    noise = np.array([0.98, 1.0, 1.02])
    return tradeoffs.TradeoffCurve(
        (0.6, 0.8), np.outer(costs, np.ones(3)), np.outer(badness, noise)
    )


def grade(
    ours: Sequence[float], perfect: Sequence[float] = (0.004, 0.04)
) -> list[dict[str, object]]:
    variants = {
        "hpa": make_curve([0.01, 0.1]),
        "perfect": make_curve(perfect),
        "auto": make_curve(ours),
    }
    return trace_scaling.make_rows(make_trace([28.0] * 60), variants)


# `perfect` is at 0.4 of `hpa`: half the way there is 0.7.
GAPS = [
    ([0.0069, 0.069], "beaten", "beaten", 0.31 / 0.6),
    ([0.0071, 0.071], "not reproduced", "beaten", 0.29 / 0.6),
    ([0.012, 0.12], "not reproduced", "not reproduced", -0.2 / 0.6),
    # In the mean half the way, yet worse at one target: 0.3 x 1.5 is 0.45, its root 0.67.
    ([0.003, 0.15], "beaten", "not reproduced", (1.0 - 0.45**0.5) / 0.6),
]


@pytest.mark.parametrize(
    ("ours", "gap", "never", "closed"), GAPS, ids=["more", "less", "worse", "worse somewhere"]
)
def test_both_verdicts(ours: list[float], gap: str, never: str, closed: float) -> None:
    first, second = grade(ours)
    assert (first["verdict"], second["verdict"]) == (gap, never)
    assert first["closed"] == pytest.approx(closed)
    assert first["n"] == second["n"] == 3


def test_what_nobody_would_notice_is_not_held_against_it() -> None:
    # Twice as many as the baseline's, but both below a hundredth of a percent.
    variants = {name: make_curve([2e-5, 2e-5]) for name in ("hpa", "perfect")}
    rows = trace_scaling.make_rows(
        make_trace([28.0] * 60), {**variants, "auto": make_curve([4e-5, 4e-5])}
    )
    assert rows[1]["found"] == "nothing overloaded"
    assert rows[1]["verdict"] == "beaten"
    assert rows[0]["found"] == (
        "x 1.00 (1.00 to 1.00) of `hpa`'s at equal cost, "
        "`perfect` x 1.00 (up to 1.00): no gap shown"
    )


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [([0.0101, 0.101], "beaten"), ([0.0104, 0.104], "not reproduced")],
    ids=["as good", "worse"],
)
def test_where_a_perfect_forecast_gains_nothing_equal_is_enough(
    ours: list[float], verdict: str
) -> None:
    first, _ = grade(ours, perfect=(0.00995, 0.0995))
    assert first["closed"] is None
    assert first["verdict"] == verdict


def test_curves_without_a_common_cost_say_so() -> None:
    variants = {name: make_curve([0.01, 0.1]) for name in ("hpa", "perfect")}
    rows = trace_scaling.make_rows(
        make_trace([28.0] * 60), {**variants, "auto": make_curve([0.001, 0.001], (90.0, 80.0))}
    )
    assert "no common cost" in str(rows[0]["found"])
    assert rows[0]["verdict"] == "not reproduced"


def pack(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(gzip.compress(text.encode(), compresslevel=1))


def write_counts(folder: Path, name: str, count: int, step_s: int) -> None:
    rows = "\n".join(str(k % 7) for k in range(count))
    pack(folder, name, f"# start=1998-04-30T00:00:00 step_s={step_s} n={count}\n{rows}\n")


def test_traces_that_are_not_there_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trace_scaling.read_traces(tmp_path, 1) == []
    monkeypatch.setattr(trace_scaling, "DAY_S", 60)  # else files of days are needed
    write_counts(tmp_path / "req_twitter", "requests_per_sec.txt.gz", 600, 1)
    write_counts(tmp_path / "req_worldcup98", "requests_per_min.txt.gz", 41 * 1440 + 4, 60)
    result = trace_scaling.read_traces(tmp_path, 1)
    assert [(one.name, one.fine, len(one.rates)) for one in result] == [
        ("twitter", True, 120), ("worldcup98", False, 120),
    ]  # fmt: skip
    # Six days on: second 360 has 360 mod 7 requests.
    assert result[0].rates[0] == 360 % 7
    # Minutes after the 41st day, spread over their seconds: 59040 mod 7 is 2.
    assert result[1].rates[[0, 59, 60]].tolist() == [2 / 60, 2 / 60, 3 / 60]


def test_requests_are_counted_by_the_second(tmp_path: Path) -> None:
    stamps = [f"2023-11-16 18:{15 + k // 60:02d}:{k % 60:02d}.5,1,1\n" for k in range(130)]
    folder = tmp_path / "req_azure_llm2023"
    pack(folder, "AzureLLMInferenceTrace_conv.csv.gz", "TIMESTAMP,a,b\n" + "".join(stamps))
    result = trace_scaling.read_traces(tmp_path, 1)[0]
    assert (result.name, result.block_s) == ("azure-llm", 600)
    assert result.rates.tolist() == [1.0] * 120  # whole minutes


def test_the_trace_of_one_hour_begins_several_times(tmp_path: Path) -> None:
    stamps = [f"2023-11-16 18:{15 + k // 60:02d}:{k % 60:02d}.5,1,1\n" for k in range(600)]
    folder = tmp_path / "req_azure_llm2023"
    pack(folder, "AzureLLMInferenceTrace_conv.csv.gz", "TIMESTAMP,a,b\n" + "".join(stamps))
    result = trace_scaling.read_traces(tmp_path, 1)
    assert [one.start_s for one in result] == list(trace_scaling.STARTS_S)
    assert {one.name for one in result} == {"azure-llm"}
    assert len(result[1].rates) == 540  # 600 s less 17, whole minutes


@pytest.mark.data
@needs_data
def test_all_traces_are_there_and_long_enough() -> None:
    result = {one.name: one for one in trace_scaling.read_traces(DATA, 1)}
    assert list(result) == [
        "twitter", "nasa", "azure-llm", "worldcup98", "mongo-01", "mongo-03",
    ]  # fmt: skip
    for trace in result.values():
        assert len(trace.rates) >= trace.warm_s + trace.block_s
        assert np.isfinite(trace.rates).all()
        assert trace.capacity > 0.0
    assert {len(t.rates) for n, t in result.items() if n != "azure-llm"} == {2 * 86400}


def test_series_are_means_of_steps_and_written_once(tmp_path: Path) -> None:
    trace = make_trace([1.0] * 15 + [4.0] * 15 + [9.0] * 7)
    path = trace_scaling.write_series(trace, tmp_path)
    assert path.read_text() == "timestamp,value\n0,1.0\n15,4.0\n"
    before = path.stat().st_mtime_ns
    assert trace_scaling.write_series(trace, tmp_path) == path
    assert path.stat().st_mtime_ns == before
    other = trace_scaling.write_series(make_trace([2.0] * 30), tmp_path)
    assert other != path


def test_the_scenario_has_the_capacity_of_the_trace(tmp_path: Path) -> None:
    trace = make_trace([56.0] * 300)
    spec = trace_scaling.scenario(trace, tmp_path / "s.csv")["spec"]
    # A replica of one core does 2 requests a second: 500 ms each. 56 x 0.5 / 0.6 = 46.7 pods.
    assert spec["workloads"][0]["service"]["cpuPerRequest"] == "500.000000ms"
    assert spec["workloads"][0]["replicas"] == 47
    assert spec["duration"] == "300s"


def small_traces() -> list[trace_scaling.DemandTrace]:
    rng = np.random.default_rng(4)
    wave = 40.0 + 20.0 * np.sin(np.arange(2700) / 180.0)
    return [trace_scaling.DemandTrace("wave", rng.poisson(wave).astype(np.float64), 900, 900, True)]


def test_a_tiny_run_writes_its_files_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = (0.3, 0.5, 0.6, 0.9)
    variants = tuple((ScalingVariant(name, name), targets) for name in ("hpa", "perfect", "auto"))
    monkeypatch.setattr(trace_scaling, "VARIANTS", variants)
    monkeypatch.setattr(public_data, "find", lambda _: tmp_path)
    monkeypatch.setattr(trace_scaling, "read_traces", lambda *_: small_traces())
    options = StudyOptions(tmp_path / "out", quick=True)
    report = trace_scaling.run(options, lambda *_: None)
    # A quick run takes every third target: 0.3 and 0.9.
    points = [(p["way"], p["target"]) for p in report["points"]]
    assert points == [(variant, t) for variant in ("hpa", "perfect", "auto") for t in (0.3, 0.9)]
    assert len(list((options.out / "runs").iterdir())) == 6
    assert {row["n"] for row in report["rows"]} == {2}
    written = (options.out / "results.json").read_bytes()
    assert json.loads(written)["study"] == "trace-scaling"
    scaling_scenes.check_page(
        options.out / "report.html", "overloaded requests on wave", "perfect", "30 %", "90 %"
    )
    scaling_scenes.forbid_runs(monkeypatch)
    trace_scaling.run(options, lambda *_: None)
    assert (options.out / "results.json").read_bytes() == written


def test_more_pods_leave_fewer_requests_overloaded(tmp_path: Path) -> None:
    (trace,) = small_traces()
    document = trace_scaling.scenario(trace, trace_scaling.write_series(trace, tmp_path))
    tasks = [
        scaling_runs.ScalingTask(document, "wave", ScalingVariant("hpa", "hpa"), target, 1)
        for target in (0.3, 0.9)
    ]
    runs = scaling_runs.run_all(tasks, tmp_path / "runs", 1, lambda *_: None)
    (roomy, calm), (tight, bad) = (trace_scaling.measure(trace, run) for run in runs)
    assert (roomy > tight).all()
    assert (calm < bad).all()


def test_without_a_data_folder_the_study_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBESTOW_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(errors.InputError, match=r"nowhere.*KUBESTOW_DATA"):
        trace_scaling.run(StudyOptions(tmp_path / "out", quick=True), lambda *_: None)


def test_the_study_names_the_sets_it_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESTOW_DATA", str(tmp_path))
    with pytest.raises(errors.InputError) as caught:
        trace_scaling.run(StudyOptions(tmp_path / "out", quick=True), lambda *_: None)
    assert "req_twitter" in str(caught.value)


@browsers.needs_browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    curves = {
        "hand": {
            "hpa": make_curve([0.01, 0.1]),
            "perfect": make_curve([0.0, 0.04]),  # nothing overloaded has a place on the axis, too
            "auto": make_curve([0.006, 0.06]),
        }
    }
    report = trace_scaling.make_report([make_trace([28.0] * 60)], curves, curves)
    page = tmp_path / "report.html"
    page.write_text(trace_scaling_page.make_page(report), encoding="utf-8")
    drawn = browsers.open_page(page, tmp_path / "profile")
    assert "<svg" in drawn
    assert "overloaded requests (%)" in drawn
    assert "late or dropped requests (%)" in drawn
