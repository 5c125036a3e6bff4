"""The 600 s experiment of Shi 2023: leads, rise and fall judged both ways, and a tiny run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kubestow.studies import scaling_runs
from kubestow.studies.options import StudyOptions
from kubestow.studies.shi.scaling import page as scaling_page
from kubestow.studies.shi.scaling import study as shi_scaling
from tests.reports import browsers
from tests.studies import scaling_scenes

TIMES_S = [5.0 * k for k in range(1, 181)]  # five minutes before, then 600 s


def make_run(
    reached_s: Sequence[float] = (150.0, 240.0, 330.0),
    response_s: float = 0.5,
    after_fall: float = 8.0,
) -> scaling_runs.ScalingRun:
    """Return a run that orders 4, 6 and 8 replicas at some times of the experiment."""
    since = np.array(TIMES_S) - shi_scaling.BEFORE_S
    ordered = np.full(len(since), 2.0)
    for replicas, time_s in zip(shi_scaling.LEVELS, reached_s, strict=True):
        ordered[since >= time_s] = replicas
    existing = np.where(since > shi_scaling.FALL_S[0], after_fall, ordered)
    return scaling_scenes.make_run(
        {
            "time_s": TIMES_S,
            "replicas": ordered.tolist(),
            "ready": ordered.tolist(),
            "existing": existing.tolist(),
            "demand": [10.0] * len(TIMES_S),
            "response_s": [response_s] * len(TIMES_S),
        }
    )


def several(**changes: float) -> list[scaling_runs.ScalingRun]:
    """Return three seeds that differ a little."""
    reached_s = [150.0, 240.0, 330.0]
    shift_s = changes.get("lead_s", 0.0)
    return [
        make_run(
            [time_s - shift_s - 5.0 * seed for time_s in reached_s],
            changes.get("response_s", 0.5) + 0.001 * seed,
            changes.get("after_fall", 8.0) + 0.01 * seed,
        )
        for seed in range(3)
    ]


def test_a_number_is_reached_when_it_is_first_ordered() -> None:
    run = make_run()
    assert [shi_scaling.reached_s(run, level) for level in (4, 6, 8)] == [150.0, 240.0, 330.0]
    assert shi_scaling.reached_s(run, 2) == 5.0  # before the experiment nothing counts
    assert math.isnan(shi_scaling.reached_s(run, 9))


def test_a_span_counts_what_lies_behind_its_beginning() -> None:
    run = make_run(response_s=0.25)
    result = shi_scaling.over(run, (100.0, 200.0))
    # 105 to 145 s: 9 samples of 2 replicas; 150 to 200 s: 11 of 4; 5 s each
    assert result["replica_seconds"] == 5.0 * (9 * 2 + 11 * 4)
    assert (result["mean_s"], result["p95_s"]) == (0.25, 0.25)


def test_times_without_answers_are_left_out_and_requests_weigh() -> None:
    times_s = [305.0, 310.0, 315.0, 320.0]
    run = scaling_scenes.make_run(
        {
            "time_s": times_s,
            "demand": [1.0, 3.0, 0.0, 1.0],
            "response_s": [1.0, 2.0, None, 9.0],
        }
    )
    result = shi_scaling.over(run, (0.0, 20.0))
    assert result["mean_s"] == pytest.approx((1.0 + 6.0 + 9.0) / 5.0)
    # Cumulated shares of requests: 0.2, 0.8, 1.0
    assert result["p95_s"] == 9.0


@pytest.mark.parametrize(("level", "expected"), [(0.1, 1.0), (0.5, 2.0), (0.8, 2.0), (0.81, 9.0)])
def test_weighted_quantiles(level: float, expected: float) -> None:
    values, weights = np.array([9.0, 1.0, 2.0]), np.array([1.0, 1.0, 3.0])
    assert shi_scaling.weighted_quantile(values, weights, level) == expected


LEAD, RISE = "`auto` orders replicas ahead", ("mean response over", "p95 of response over")
FALL = "replica-seconds over the fall"
CASES = [
    ({"lead_s": 40.0, "response_s": 0.3}, ("beaten", "beaten", "beaten")),
    # 20 s ahead is ahead, but less than asked for.
    ({"lead_s": 20.0, "response_s": 0.3}, ("not reproduced", "beaten", "beaten")),
    ({"lead_s": -40.0, "response_s": 0.3}, ("not reproduced", "beaten", "beaten")),
    ({"lead_s": 40.0, "response_s": 0.7}, ("beaten", "not reproduced", "beaten")),
    # Up to 2 % more counts as not more.
    ({"lead_s": 40.0, "response_s": 0.3, "after_fall": 8.1}, ("beaten", "beaten", "beaten")),
    (
        {"lead_s": 40.0, "response_s": 0.3, "after_fall": 8.4},
        ("beaten", "beaten", "not reproduced"),
    ),
]


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    CASES,
    ids=["all", "short lead", "behind", "slow", "little more", "more"],
)
def test_verdicts_go_by_their_rules(
    changes: dict[str, float], verdicts: tuple[str, str, str]
) -> None:
    result = {"hpa": several(), "auto": several(**changes)}
    rows = shi_scaling.make_rows(result, "auto")
    assert len(rows) == 4
    assert scaling_scenes.verdict(rows, LEAD) == verdicts[0]
    assert [scaling_scenes.verdict(rows, one) for one in RISE] == [verdicts[1]] * 2
    assert scaling_scenes.verdict(rows, FALL) == verdicts[2]


def test_the_lead_is_told_at_every_number() -> None:
    rows = shi_scaling.make_rows({"hpa": several(), "auto": several(lead_s=40.0)}, "auto")
    assert rows[0]["found"] == "40 s at 4, 40 s at 6, 40 s at 8"
    # 0.501 on the mean of three seeds, by itself
    same = shi_scaling.make_rows({"hpa": several(), "auto": several()}, "auto")
    assert same[1]["found"].startswith("0.501 against 0.501, x 1.00")


def test_replicas_that_are_never_reached_are_no_lead() -> None:
    never = [make_run((150.0, 240.0, 9999.0)) for _ in range(3)]
    rows = shi_scaling.make_rows({"hpa": several(), "auto": never}, "auto")
    assert rows[0]["verdict"] == "not reproduced"
    assert rows[0]["found"].endswith("never 8")


def test_the_report_compares_every_way_with_reaction() -> None:
    result = {"hpa": several(), "line-fit": several(lead_s=10.0), "auto": several(lead_s=40.0)}
    report = shi_scaling.make_report(result, (1, 2, 3))
    assert len(report["rows"]) == len(report["statements"]) == 8
    assert [row["way"] for row in report["table"]] == ["hpa", "line-fit", "auto"]
    # Seeds order 0, 5 and 10 s earlier.
    assert report["table"][0]["reached_s"] == {"4": 145.0, "6": 235.0, "8": 325.0}
    assert {row["way"] for row in report["course"]} == {"hpa", "auto"}  # those that are drawn
    assert min(row["time_s"] for row in report["course"]) == 5.0


def test_the_load_takes_all_replicas_at_its_peak() -> None:
    spec = shi_scaling.scenario()["spec"]
    segments = spec["workloads"][0]["demand"]["segments"]
    assert sum(one["seconds"] for one in segments) == 900.0
    peak = max(one["start"] for one in segments)
    # 30 requests of 80 ms are 2.4 cores: 4.8 pods of half a core, 8 at 60 %
    assert peak * 0.080 / 0.5 / shi_scaling.TARGET == pytest.approx(8.0)
    assert spec["policies"]["scaling"]["max"] == 8


def test_a_tiny_run_writes_its_files_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variants = tuple(
        variant
        for variant in shi_scaling.VARIANTS
        if variant.name in ("hpa", "gru as printed", "auto")
    )
    monkeypatch.setattr(shi_scaling, "VARIANTS", variants)
    options = StudyOptions(tmp_path, seed=3, quick=True, lists=2)
    report = shi_scaling.run(options, lambda *_: None)
    # A quick run leaves networks out.
    assert [row["way"] for row in report["table"]] == ["hpa", "auto"]
    assert len(list((tmp_path / "runs").iterdir())) == 4
    written = (tmp_path / "results.json").read_bytes()
    assert json.loads(written)["seeds"] == [3, 4]
    scaling_scenes.check_page(tmp_path / "report.html", "auto", "rise: mean (s)", "verdict")
    scaling_scenes.forbid_runs(monkeypatch)
    shi_scaling.run(options, lambda *_: None)
    assert (tmp_path / "results.json").read_bytes() == written


@browsers.needs_browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    result = {"hpa": several(), "auto": several(lead_s=40.0)}
    page = tmp_path / "report.html"
    report = shi_scaling.make_report(result, (1, 2, 3))
    page.write_text(scaling_page.make_page(report), encoding="utf-8")
    drawn = browsers.open_page(page, tmp_path / "profile")
    assert "<svg" in drawn
    assert "requests per second" in drawn
