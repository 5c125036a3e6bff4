"""Results become frames, plain values and notebook cells, with the keys of ``-o json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import kubestow
from kubestow import testing
from kubestow.cli import forecast as forecast_command
from kubestow.cli import pack as pack_command
from kubestow.cli import place as place_command
from kubestow.cli import recommend as recommend_command
from kubestow.cli import simulate as simulate_command

RUNNER = CliRunner()
ROOT = Path(__file__).parents[2]
CLUSTER = str(ROOT / "examples" / "first-steps" / "cluster.yaml")
SECONDS = {"seconds", "fit_seconds", "predict_seconds", "wall_seconds", "decisions"}


def command(module: Any, *arguments: str) -> Any:
    done = RUNNER.invoke(module.app, [*arguments, "-o", "json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def timeless(value: Any) -> Any:
    """Leave out what depends on the clock."""
    if isinstance(value, dict):
        return {key: timeless(member) for key, member in value.items() if key not in SECONDS}
    return [timeless(member) for member in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def check(result: Any, expected: Any) -> None:
    assert timeless(plain(result.to_dict())) == timeless(expected)
    frame = result.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert list(result.to_pandas().columns) == frame.columns
    assert frame.columns[0] in result._repr_html_()
    assert result.summary() in repr(result)


def test_place_has_the_keys_of_the_command() -> None:
    check(kubestow.place(CLUSTER), command(place_command, CLUSTER))


def test_pack_has_the_keys_of_the_command() -> None:
    actual = kubestow.pack(CLUSTER, heuristic="online")
    check(actual, command(pack_command, CLUSTER, "--heuristic", "online"))


def test_forecast_and_backtest_have_the_keys_of_the_command(tmp_path: Path) -> None:
    wave = 10 + np.sin(np.arange(240) / 12)
    frame = pl.DataFrame({"timestamp": np.arange(240) * 60, "value": wave})
    frame.write_csv(tmp_path / "wave.csv")
    arguments = (str(tmp_path / "wave.csv"), "--model", "holt", "--horizon", "5m")
    check(
        kubestow.forecast(frame, model="holt", horizon="5m"), command(forecast_command, *arguments)
    )
    check(
        kubestow.backtest(frame, model="holt", horizon="5m"),
        command(forecast_command, *arguments, "--backtest"),
    )


def test_recommend_has_the_keys_of_the_command(tmp_path: Path) -> None:
    usage, requests = testing.usage_frame(containers=2), testing.requests_frame(containers=2)
    usage.write_csv(tmp_path / "usage.csv")
    requests.write_csv(tmp_path / "requests.csv")
    expected = command(recommend_command, "--csv", str(tmp_path), "--strategy", "percentile")
    check(kubestow.recommend(tmp_path, strategy="percentile"), expected)
    check(kubestow.recommend(usage, requests=requests, strategy="percentile"), expected)


def test_simulate_has_the_keys_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(testing.scenario(duration="10m")))
    actual = kubestow.simulate(path, seed=4, changes={"policies.scaling.max": 5})
    expected = command(
        simulate_command, str(path), "--seed", "4", "--set", "policies.scaling.max=5"
    )
    check(actual, expected)
    assert actual.events().columns == ["time_s", "event", "subject", "detail"]
    assert "node" in actual.nodes().columns


def test_compare_shows_every_variant_and_seed() -> None:
    vary: dict[str, list[Any]] = {
        "policies.scaling.scaler": ["hpa", "static"],
        "policies.scaling.max": [4, 8],
    }
    actual = kubestow.compare(testing.scenario(duration="5m"), vary, seeds=2)
    labels = [variant["label"] for variant in actual.to_dict()["variants"]]
    assert labels == ["hpa, 4", "hpa, 8", "static, 4", "static, 8"]
    seeds = actual.to_polars().filter(pl.col("measure") == "node_hours")["seed"].to_list()
    assert seeds == [1, 2] * 4


def test_a_texts_with_commas_or_digits_stays_a_text() -> None:
    vary = {"metadata.name": ["a,b", "1"]}
    actual = kubestow.compare(testing.scenario(duration="1m"), vary, seeds=1)
    names = [variant.changes["metadata.name"] for variant in actual.comparison.results]
    assert names == ["a,b", "1"]


def test_pandas_frames_are_taken_as_polars_frames_are() -> None:
    usage = testing.usage_frame(days=3)
    frame = pd.DataFrame(usage.to_dict(as_series=False))
    ours, theirs = (kubestow.recommend(u, strategy="percentile") for u in (usage, frame))
    assert ours.to_dict() == theirs.to_dict()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kubestow.forecast(np.ones(30)), "step: is missing"),
        (lambda: kubestow.forecast(np.ones((3, 30)), step=60), "2 dimensions"),
        (lambda: kubestow.forecast(np.ones(30), step=60, horizon="soon"), "horizon: 'soon'"),
        (lambda: kubestow.forecast(np.ones(30), step=-1), "step: -1"),
        (lambda: kubestow.backtest(np.ones(30), step=60, tested=1.5), "tested: 1.5"),
        (lambda: kubestow.pack({"name": ["a"], "cpu": ["1"]}), "capacity: is missing"),
        (lambda: kubestow.pack(np.ones((2, 2)), capacity={"cpu": 1}), "capacity: must be one"),
        (lambda: kubestow.pack(np.ones((2, 2)), capacity=[2, 2], exact=-1), "exact: -1"),
        (lambda: kubestow.place(testing.pod()), "cluster: no Node"),
        (lambda: kubestow.place(testing.node(), profile="x"), "profile: 'x': must be one of"),
        (lambda: kubestow.place(testing.node(), profile="x", config={}), "together with config"),
        (lambda: kubestow.read_cluster([cast("Any", "no object")]), "object 1: str: expected"),
        (lambda: kubestow.read_usage(7), "usage: int: expected a path"),
        (lambda: kubestow.read_usage(pl.DataFrame({"a": [1]})), "usage: has no column timestamp"),
        (lambda: kubestow.read_usage("nowhere", requests={}), "need a frame"),
        (lambda: kubestow.recommend(testing.usage_frame(), strategy="x"), "'x': must be one of"),
        (lambda: kubestow.compare(testing.scenario(), {}), "expected at least one path"),
        (lambda: kubestow.compare(testing.scenario(), {"seed": [1]}, seeds=0), "seeds: 0"),
        (lambda: kubestow.simulate({"kind": "Scenario"}), "scenario: apiVersion"),
    ],
)
def test_bad_input_is_refused_with_its_place(call: Any, message: str) -> None:
    with pytest.raises(kubestow.InputError) as caught:
        call()
    assert message in str(caught.value)
    assert "/tmp" not in str(caught.value)  # noqa: S108  # the folder behind a frame


def test_the_face_is_lazy_and_complete() -> None:
    assert set(kubestow.__all__) <= set(dir(kubestow))
    for name in kubestow.__all__:
        assert getattr(kubestow, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        kubestow.nonsense  # noqa: B018
