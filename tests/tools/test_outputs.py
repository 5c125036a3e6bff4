"""The comparison of captured outputs: what counts as equal, and what is listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools import outputs


def keep(side: Path, name: str, answer: Any, **files: Any) -> None:
    """Store a captured case as ``capture`` does."""
    (side / name / "out").mkdir(parents=True)
    (side / name / "result.json").write_text(json.dumps({"exit": 0}), encoding="utf-8")
    (side / name / "stdout").write_text(json.dumps(answer), encoding="utf-8")
    for stem, content in files.items():
        path = side / name / "out" / f"{stem}.json"
        path.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture(name="sides")
def make_sides(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "before", tmp_path / "after"


def test_durations_do_not_count(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for number, side in enumerate(sides):
        keep(side, "pack", {"nodes": 3, "seconds": number}, results={"fit_seconds": number})
    assert outputs.compare(*sides) == 0
    assert "1 cases, 1 equal, 0 different" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "files", "problem"),
    [
        ({"nodes": 4}, {"results": {"a": 1}}, "stdout: 1 lines differ"),
        ({"nodes": 3}, {"results": {"a": 2}}, "results.json: 1 lines differ"),
        ({"nodes": 3}, {"other": {"a": 1}}, "files ['other.json', 'results.json']"),
    ],
    ids=["answer", "file", "name of a file"],
)
def test_any_other_difference_is_listed(
    sides: tuple[Path, Path],
    answer: Any,
    files: dict[str, Any],
    problem: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep(sides[0], "pack", {"nodes": 3}, results={"a": 1})
    keep(sides[1], "pack", answer, **files)
    assert outputs.compare(*sides) == 1
    assert f"pack: {problem}" in capsys.readouterr().out


def test_a_case_of_one_side_is_named(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    keep(sides[0], "pack", {})
    sides[1].mkdir()
    assert outputs.compare(*sides) == 0
    assert "captured on one side only: pack" in capsys.readouterr().out


def test_inputs_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        outputs.write_inputs(tmp_path / name)
    for name in ("usage.csv", "requests.csv", "series.csv", "items.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
