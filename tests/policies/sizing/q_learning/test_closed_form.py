"""Requests in closed form: worked numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kubestow.model.usage import Usage
from kubestow.policies.sizing.q_learning import closed_form
from tests.policies.sizing import scenes


def runs_of(peaks_mb: list[float], mean_cores: float = 0.2) -> Usage:
    cpu = [[mean_cores / 2.0, mean_cores * 1.5] for _ in peaks_mb]
    memory = [[peak * 5e5, peak * 1e6] for peak in peaks_mb]
    return dataclasses.replace(scenes.usage(cpu, memory, [0] * len(peaks_mb)), runs=True)


@pytest.mark.parametrize(
    ("peak_mb", "expected_mb"),
    [(515.0, 640.0), (512.0, 576.0), (1000.0, 1152.0), (10_665.0, 11_776.0)],
    ids=["515 + 64 = 579", "512 + 64 on the grid", "1100", "11731.5"],
)
def test_memory_is_the_maximum_with_its_buffer_on_the_grid(
    peak_mb: float, expected_mb: float
) -> None:
    result = closed_form.ClosedForm().estimate(runs_of([9_000.0, peak_mb]))
    assert result.memory_bytes[0] == expected_mb * 1e6


def test_cpu_is_the_average_of_the_run_on_the_grid() -> None:
    # 195 m, largest 292 m: 256 m.
    result = closed_form.ClosedForm().estimate(runs_of([500.0], 0.195))
    assert result.cpu_cores[0] == pytest.approx(0.256)


def test_the_one_line_rule_takes_the_largest_of_the_last_five_runs() -> None:
    # Of 900, 500, 510, 520, 505, 515 the first is forgotten: 1.06 x 520 = 551.2.
    rule = closed_form.ClosedForm(closed_form.LAST_FIVE, closed_form.LAST_RUNS)
    result = rule.estimate(runs_of([900.0, 500.0, 510.0, 520.0, 505.0, 515.0]))
    assert result.memory_bytes[0] == 576e6
    assert rule.name == "last-runs"


def test_without_runs_there_is_no_answer() -> None:
    result = closed_form.ClosedForm().estimate(scenes.usage([[scenes.NAN, scenes.NAN]]))
    assert np.isnan(result.memory_bytes).all()
    assert np.isnan(result.cpu_cores).all()
