"""The plugin package of the examples, installed as a user would, and used everywhere by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kubestow import testing

ROOT = Path(__file__).parents[2]
PROGRAM = "from kubestow.cli.main import main; main()"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into a folder of its own."""
    target = tmp_path_factory.mktemp("plugin")
    source = tmp_path_factory.mktemp("source")
    for path in (ROOT / "examples" / "plugin").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            copy = source / path.relative_to(ROOT / "examples" / "plugin")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, "--target", str(target), str(source)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


def run(installed: Path, code: str, *arguments: str) -> str:
    path = os.pathsep.join([str(installed), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(installed: Path, *arguments: str) -> Any:
    return json.loads(run(installed, PROGRAM, *arguments, "-o", "json"))


def test_the_recommender_is_there_on_the_command_line(installed: Path, tmp_path: Path) -> None:
    usage = testing.usage_frame(days=3)
    usage.write_csv(tmp_path / "usage.csv")
    arguments = ("recommend", "--csv", str(tmp_path), "--strategy", "peak")
    (plain,) = command(installed, *arguments)
    (more,) = command(installed, *arguments, "--set", "margin=1.0")
    # The largest sample in cores, 10 % more, rounded up to millicores.
    peak = float(usage["cpu_cores"].max())  # type: ignore[arg-type]  # a number, for floats
    expected = -int(-(peak * 1.1 * 1000 - 1e-6) // 1)
    assert plain["strategy"] == "peak"
    assert plain["recommended"]["requests"]["cpu"] == f"{expected}m"
    assert more["recommended"]["requests"]["cpu"] != plain["recommended"]["requests"]["cpu"]


def test_the_recommender_is_there_in_scenarios(installed: Path, tmp_path: Path) -> None:
    sizing = {"recommender": "peak", "mode": "in-place-or-recreate", "interval": "10m"}
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(testing.scenario(policies={"sizing": sizing})))
    result = command(installed, "simulate", str(path))
    assert result["policies"]["sizing"]["recommender"] == "peak"
    assert result["resizes"] > 0


def test_the_forecaster_is_there_on_the_command_line(installed: Path, tmp_path: Path) -> None:
    values = [1.0, 2.0, 9.0] * 20
    frame = pl.DataFrame({"timestamp": [60 * i for i in range(60)], "value": values})
    frame.write_csv(tmp_path / "series.csv")
    model = ("--model", "rolling-median", "--horizon", "2m")
    result = command(installed, "forecast", str(tmp_path / "series.csv"), *model)
    assert result["chosen"] == "rolling-median"
    assert [row["mean"] for row in result["forecast"]] == [2.0, 2.0]


def test_both_are_there_in_the_library(installed: Path) -> None:
    code = (
        "import kubestow; from kubestow import testing; import numpy as np;"
        "print(kubestow.recommend(testing.usage_frame(days=2), strategy='peak').summary());"
        "print(kubestow.forecast(np.arange(40.0), step=60, model='rolling-median').summary())"
    )
    assert run(installed, code).splitlines() == [
        "1 containers, requests recommended by peak",
        "5 steps ahead by rolling-median",
    ]


def test_without_the_package_the_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    testing.usage_frame(days=2).write_csv(tmp_path / "usage.csv")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "recommend", "--csv", str(tmp_path), "--strategy", "peak"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "'peak': must be one of keep, percentile" in done.stderr
