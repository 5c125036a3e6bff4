"""The study of `adaptive`: settings, excess, verdicts."""

import pathlib

import numpy as np
import pytest

from kubestow.studies.options import StudyOptions
from kubestow.studies.own.adaptive_packing import study as adaptive_packing
from kubestow.studies.schubert.packing import cells, demands


def make_result(counts: dict[str, list[int]]) -> cells.PackingCell:
    task = cells.PackingTask(demands.DemandSetting("uniform", 3, 3.5), tuple(counts), 3, 1)
    arrays = {name: np.array(values) for name, values in counts.items()}
    return cells.PackingCell(task, arrays, dict.fromkeys(counts, 0.0))


def counts(ours: list[int]) -> dict[str, list[int]]:
    baselines: dict[str, list[int]] = {name: [110, 111, 112] for name in adaptive_packing.BASELINES}
    return baselines | {"vector-dot": [100, 100, 100], "adaptive": ours}


def test_tuning_and_judging_share_no_setting_and_no_mean_demand() -> None:
    tuned, held_out = adaptive_packing.TUNED, adaptive_packing.HELD_OUT
    assert not set(tuned) & set(held_out)
    assert not {one.a for one in tuned} & {one.a for one in held_out}
    assert {3, 5, 6} <= {one.dimensions for one in held_out}
    assert {"lognormal", "correlated"} <= {one.generator for one in held_out}
    assert not {"lognormal", "correlated"} & {one.generator for one in tuned}


def test_the_excess_is_relative_to_the_best_baseline() -> None:
    excess = adaptive_packing.measure_excess(make_result(counts([101, 102, 100])), "adaptive")
    assert excess.mean == pytest.approx(0.01)
    assert excess.low < 0.01 < excess.high
    assert adaptive_packing.best_baseline(make_result(counts([90, 90, 90]))) == "vector-dot"


def test_targets_are_missed_when_one_cell_is_bad() -> None:
    good, bad = make_result(counts([100, 100, 100])), make_result(counts([101, 101, 101]))
    met = adaptive_packing.summarise_excess([good] * 3)["targets"]
    assert all(target["met"] for target in met.values()) is False  # vector-dot's mean is zero, too
    assert met["mean_excess"]["met"]
    assert met["worst_excess"]["met"]
    missed = adaptive_packing.summarise_excess([good] * 20 + [bad])["targets"]
    assert missed["mean_excess"]["met"]  # 1 % in one of 21 cells
    assert not missed["worst_excess"]["met"]


def test_the_study_writes_its_files_and_adaptive_is_best_on_average(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A part of the held-out settings; all of them are in `kubestow study adaptive-packing`.
    some = tuple(one for one in adaptive_packing.HELD_OUT if one.dimensions == 3)
    monkeypatch.setattr(adaptive_packing, "HELD_OUT", some)
    report = adaptive_packing.run(StudyOptions(tmp_path, lists=6, jobs=2), lambda *_: None)
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells",
        "results.json",
        "timings.json",
        "report.html",
    }
    excess = report["summary"]["excess"]
    assert min(excess, key=lambda name: excess[name]["mean"]) == "adaptive"
    assert len(report["rows"]) == len(some)
