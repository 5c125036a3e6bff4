"""Limits that follow usage: both verdicts on the parts of H6, and a tiny run."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kubestow.studies.options import StudyOptions
from kubestow.studies.shi.limits import study as shi_limits
from tests.studies import scaling_scenes

BASE = {
    "reserved_unused": 500.0,
    "response_mean": 0.1,
    "response_p95": 0.4,
    "oom_kills": 0.0,
    "throttled": 0.07,
    "dropped": 0.0,
    "written": 0.0,
}
COURSE = {
    "time_s": [5.0, 10.0],
    "used": [0.1, 0.2],
    "limit": [0.6, 0.3],
    "memory": [150.0, 160.0],
    "memory_limit": [400.0, 200.0],
    "response_s": [0.05, 0.06],
}


def several(**changes: float) -> list[shi_limits.LimitRun]:
    """Return three seeds that differ by a thousandth."""
    numbers = {**BASE, **changes}
    return [
        shi_limits.LimitRun({k: v * (1.0 + 0.001 * seed) for k, v in numbers.items()}, COURSE)
        for seed in range(3)
    ]


PARTS = ("CPU reserved", "mean response", "p95 of response", "OOM kills", "throttled")
CASES = [
    ({"reserved_unused": 400.0}, ()),
    ({"reserved_unused": 600.0}, ("CPU reserved",)),
    ({"reserved_unused": 400.0, "response_mean": 0.104}, ()),  # up to 5 % is let pass
    ({"reserved_unused": 400.0, "response_mean": 0.106}, ("mean response",)),
    ({"reserved_unused": 400.0, "response_p95": 0.5}, ("p95 of response",)),
    ({"reserved_unused": 400.0, "oom_kills": 1.0}, ("OOM kills",)),
    ({"reserved_unused": 400.0, "throttled": 0.11}, ()),  # four points more
    ({"reserved_unused": 400.0, "throttled": 0.13}, ("throttled",)),
]


@pytest.mark.parametrize(
    ("changes", "missed"),
    CASES,
    ids=["all", "more", "little slower", "slower", "tail", "killed", "some", "throttled"],
)
def test_every_part_is_judged_by_its_rule(
    changes: dict[str, float], missed: tuple[str, ...]
) -> None:
    rows = shi_limits.make_rows({"control": several(), "safe": several(**changes)}, "safe")
    for part in PARTS:
        expected = "not reproduced" if part in missed else "beaten"
        assert scaling_scenes.verdict(rows, part) == expected, part


def test_the_load_is_that_of_the_thesis() -> None:
    spec = shi_limits.scenario(shi_limits.VARIANTS[0])["spec"]
    segments = spec["workloads"][0]["demand"]["segments"]
    assert [one["seconds"] for one in segments] == [330.0, 300, 120, 150]
    assert spec["workloads"][0]["pod"]["requests"] == {"cpu": "600m", "memory": "400M"}
    # 45 requests of 30 ms on three pods: 450 m of 600 m each
    peak = max(one["start"] for one in segments)
    assert peak * 0.030 / shi_limits.REPLICAS == pytest.approx(0.45)


def test_the_control_reserves_its_requests() -> None:
    result = msgspec.json.decode(
        shi_limits.compute(shi_limits.LimitTask(shi_limits.VARIANTS[0], 1)),
        type=shi_limits.LimitRun,
    )
    assert set(result.timeline["limit"]) == {0.6}
    assert result.timeline["time_s"][0] == 5.0
    assert result.timeline["time_s"][-1] == 600.0
    # Three pods of 600 m for 600 s, less what they used
    used = 3 * 5.0 * sum(result.timeline["used"])
    assert result.numbers["reserved_unused"] == pytest.approx(3 * 0.6 * 600.0 - used, rel=1e-3)


def test_a_tiny_run_writes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shi_limits, "VARIANTS", shi_limits.VARIANTS[:3])
    report = shi_limits.run(StudyOptions(tmp_path, quick=True, lists=2), lambda *_: None)
    assert [row["way"] for row in report["table"]] == ["control", "strict", "safe"]
    assert report["table"][1]["oom_kills"] > 0.0  # a limit below use
    assert len(report["rows"]) == 10
    assert json.loads((tmp_path / "results.json").read_text())["seeds"] == [1, 2]
    scaling_scenes.check_page(tmp_path / "report.html", "strict", "verdict", "OOM kills")
