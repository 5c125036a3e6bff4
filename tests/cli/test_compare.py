"""The compare command as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubestow.cli import main
from kubestow.simulation import run as simulation_run
from tests.studies import scenarios


def run(folder: Path, *arguments: str, vary: str = scenarios.TARGETS) -> int:
    return main.run(["compare", scenarios.write(folder), "--vary", vary, *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_table_shows_variants_intervals_marks_and_a_legend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert run(tmp_path, "--seeds", "4", "--jobs", "1") == 0
    shown = capsys.readouterr().out
    assert "tiny: 2 variants, seeds 3 to 6; baseline 0.5" in shown
    assert "±" in shown
    assert "same in all variants: cost 1" in shown
    assert "± 95 % interval; * differs from the baseline (paired t-test, Holm, 5 %)" in shown
    assert "Pareto front of pod hours and late or lost" in shown
    # The last line is the conclusion.
    assert re.match(
        r"0\.8 needs [0-9]+ % fewer pod hours than 0\.5 \(.* → .*, in all 4 seeds\)[,;] ",
        shown.splitlines()[-1],
    )
    line = next(line for line in shown.splitlines() if line.startswith("0.8"))
    assert "*" in line  # a higher target surely needs fewer pods


def test_one_seed_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--seeds", "1", "--jobs", "1") == 0
    shown = capsys.readouterr().out
    assert "One seed gives no intervals" in " ".join(shown.split())
    assert "±" not in shown


def test_files_are_written_and_json_is_what_is_in_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(tmp_path, "--seeds", "2", "--jobs", "1", "--out", str(out), "-o", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == json.loads((out / "results.json").read_text())
    assert {path.name for path in out.iterdir()} == {
        "results.json",
        "comparison.csv",
        "report.html",
        "cells",
    }
    assert len(list((out / "cells").iterdir())) == 4
    assert [variant["label"] for variant in answer["variants"]] == ["0.5", "0.8"]
    assert answer["seeds"] == [3, 4]
    assert answer["conclusion"].startswith("0.8 ")
    page = (out / "report.html").read_text()
    assert '<h1>Comparison of tiny</h1>\n<p class="verdict">0.8 ' in page


def test_without_a_folder_nothing_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path, "--seeds", "1", "--jobs", "1") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


@pytest.mark.timeout(600)
def test_results_are_the_same_to_the_byte_for_one_job_two_jobs_and_ray(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = {"one": ["--jobs", "1"], "two": ["--jobs", "2"], "ray": ["--engine", "ray"]}
    for name, options in engines.items():
        assert run(tmp_path, "--seeds", "2", "--out", str(tmp_path / name), *options) == 0
    one = contents(tmp_path / "one")
    assert len(one) == 7
    assert contents(tmp_path / "two") == one
    assert contents(tmp_path / "ray") == one


def test_an_interrupt_leaves_with_130_and_the_next_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, count = simulation_run.run, 0

    def interrupted(*arguments: Any, **named: Any) -> object:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(simulation_run, "run", interrupted)
    arguments = ["--seeds", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert run(tmp_path, *arguments) == 130
    assert "finished parts are kept" in capsys.readouterr().err
    assert list(contents(tmp_path / "out")) != []
    assert not (tmp_path / "out" / "results.json").exists()
    assert run(tmp_path, *arguments) == 0
    assert count == 5  # two finished, one interrupted, two computed afterwards
    assert run(tmp_path, *arguments) == 0
    assert count == 5
    assert run(tmp_path, "--seeds", "2", "--jobs", "1", "--out", str(tmp_path / "fresh")) == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")


BAD = [
    (["--vary", "policies.scaling.max"], "--vary: 'policies.scaling.max': expected path=v1,v2"),
    (["--vary", "policies.scaling.max=1,,2"], "a value is missing"),
    (["--vary", "policies.scaling.max=0"], "spec.policies.scaling.max: 0: must be >= 1"),
    (["--vary", "policies.scaling.scaler=hpa,hqa"], "hqa"),
    (["--baseline", "7"], "--baseline: '7': expected one of 0.5; 0.8"),
    (["--engine", "spark"], "--engine: 'spark': expected one of local, ray"),
    (["--seeds", "0"], "--seeds: 0: must be >= 1"),
    (["--jobs", "0"], "--jobs: 0: must be >= 1"),
    (["--set", "nothing"], "expected path=value"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_one_readable_line_and_exit_code_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    out = tmp_path / "out"
    assert run(tmp_path, *arguments, "--out", str(out)) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.startswith("error: ")
    assert message in caught.err
    assert not out.exists()


def test_no_vary_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["compare", scenarios.write(tmp_path)]) == 2
    assert "--vary: expected at least one path=v1,v2,..." in capsys.readouterr().err
