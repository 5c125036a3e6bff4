"""The forecast command as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kubestow.cli import main


@pytest.fixture(name="path")
def write_series(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    lines = ["timestamp,web,db"]
    for number in range(240):
        if number in (50, 51, 120):
            continue  # two gaps of three points
        wave = 50.0 + 10.0 * np.sin(2 * np.pi * number / 24) + rng.normal()
        lines.append(f"{1704067200 + 300 * number},{wave:.3f},{number}")
    path = tmp_path / "load.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*arguments: str) -> int:
    return main.run(["forecast", *arguments])


def test_json_is_as_the_contract_says(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(str(path), "--model", "holt-winters", "--horizon", "15m", "--backtest", "-o", "json")
    caught = capsys.readouterr()
    result = json.loads(caught.out)
    assert code == 0
    assert result["series"] == "web"
    assert (result["step_seconds"], result["horizon_seconds"], result["points"]) == (300, 900, 240)
    assert (result["gaps"], result["filled"]) == (2, 3)
    assert [row["model"] for row in result["results"]] == ["persistence", "holt-winters"]
    assert result["results"][1]["mase"] < result["results"][0]["mase"]
    assert result["chosen"] == "holt-winters"
    # the series ends at 2024-01-01T19:55:00Z
    assert [row["timestamp"] for row in result["forecast"]] == [
        "2024-01-01T20:00:00Z",
        "2024-01-01T20:05:00Z",
        "2024-01-01T20:10:00Z",
    ]


def test_the_table_can_be_read(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(path), "--horizon", "1h", "--backtest") == 0
    shown = capsys.readouterr().out
    assert "240 points, one every 5m; 2 gaps (3 points filled with the" in shown
    assert "persistence" in shown
    assert "next 1h by auto:" in shown
    assert "2024-01-01T20:55:00Z" in shown


def test_many_steps_are_thinned_out_in_the_table(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(path), "--model", "ses", "--horizon", "10h") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("2024")]
    assert len(rows) == 13
    assert rows[-1].startswith("2024-01-02T05:55:00Z")


def test_a_column_and_a_step_are_chosen(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--column", "db", "--step", "10m", "--model", "line", "--horizon", "10m")
    assert run(str(path), *arguments, "-o", "json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["series"], result["points"], result["step_seconds"]) == ("db", 120, 600)
    # means of 2 k and 2 k + 1 are 0.5, 2.5, ...; the next is 240.5
    assert result["forecast"][0]["mean"] == pytest.approx(240.5)


def test_results_are_written(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(str(path), "--horizon", "10m", "--backtest", "--out", str(out)) == 0
    assert "written to" in capsys.readouterr().out
    assert sorted(p.name for p in out.iterdir()) == [
        "forecast.csv", "forecast.png", "report.html", "results.json",
    ]  # fmt: skip
    assert (out / "forecast.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    rows = (out / "forecast.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "timestamp,mean,q10,q50,q90"
    assert len(rows) == 3
    kept = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert kept["horizon_seconds"] == 600


def test_the_same_input_gives_the_same_forecast(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for _ in range(2):
        assert run(str(path), "-o", "json") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--horizon", "soon"), "--horizon: 'soon': expected a duration such as 90s, 5m or 1h"),
        (("--horizon", "0s"), "--horizon: '0s': expected a duration"),
        (("--model", "magic"), "--model: 'magic': must be one of persistence"),
        (("--column", "disk"), "has no column 'disk'; expected one of web, db"),
        (("--tested", "1.5"), "--tested: 1.5: expected more than 0 and less than 1"),
        (("--step", "x"), "--step: 'x': expected a duration"),
        (("--season", "-3m"), "--season: '-3m': expected a duration"),
        (("--horizon", "30d"), "--horizon: 30d is 8640 steps of 5m; expected 1 to 2000"),
    ],
)
def test_bad_input_is_refused_with_its_place(
    path: Path, arguments: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(path), *arguments) == 2
    assert problem in capsys.readouterr().err


def test_a_file_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nowhere.csv") == 2
    assert "nowhere.csv: no such file" in capsys.readouterr().err


def test_help_names_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    shown = capsys.readouterr().out
    assert "holt-winters" in shown
    assert "kubestow forecast requests.csv" in shown
