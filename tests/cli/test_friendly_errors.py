"""Mistakes that people make, and what they are told; input that they expect to work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kubestow import testing
from kubestow.cli import main, options
from kubestow.model import errors

ROOT = Path(__file__).parents[2]
REPLAY = (str(ROOT / "examples/scale/hpa.yaml"), str(ROOT / "examples/scale/observations.jsonl"))


@pytest.fixture(name="usage")
def write_usage(tmp_path: Path) -> Path:
    folder = tmp_path / "usage"
    folder.mkdir()
    testing.usage_frame(containers=2, days=3).write_csv(folder / "usage.csv")
    testing.requests_frame(containers=2).write_csv(folder / "requests.csv")
    return folder


def test_a_misspelt_namespace_is_named_with_the_nearest(
    usage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["recommend", "--csv", str(usage), "-n", "defualt"]) == 2
    expected = "no container matches namespace defualt; did you mean namespace default?"
    assert expected in capsys.readouterr().err


def test_another_namespace_is_answered_with_those_that_exist(
    usage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["recommend", "--csv", str(usage), "-n", "x"]) == 2
    assert "there is usage of default\n" in capsys.readouterr().err


def test_a_file_of_usage_counts_like_its_folder(
    usage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = []
    (usage / "other.csv").write_bytes((usage / "usage.csv").read_bytes())
    for source in (usage, usage / "usage.csv", usage / "other.csv"):
        command = ["recommend", "--csv", str(source), "--strategy", "percentile", "-o", "json"]
        assert main.run(command) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0]["current"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "usage.txt").write_text("x", encoding="utf-8")
    assert main.run(["recommend", "--csv", str(tmp_path / "usage.txt")]) == 2
    assert "expected a file that ends with .parquet, .csv, .csv.gz" in capsys.readouterr().err
    assert main.run(["recommend", "--csv", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no such file or folder" in capsys.readouterr().err


def test_explain_creates_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "typo.db"
    assert main.run(["explain", "pod/web-0", "--store", f"sqlite:///{path}"]) == 2
    assert "typo.db: no such file; expected an existing store" in capsys.readouterr().err
    assert not path.exists()


def test_the_store_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBESTOW_STORE", f"sqlite:///{tmp_path / 'none.db'}")
    assert main.run(["explain", "pod/web-0"]) == 2
    assert "none.db: no such file" in capsys.readouterr().err


def test_every_store_may_come_from_the_environment() -> None:
    taking = []
    for name in main.COMMANDS:
        for parameter in main.load_command(name).params:
            if "--store" in parameter.opts:
                taking.append(name)
                assert parameter.envvar == "KUBESTOW_STORE", name
    assert {"admission", "explain", "extender", "recommend"} <= set(taking)


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (("place",), "INPUT..."),
        (("pack",), "INPUT..."),
        (("scale", REPLAY[0]), "OBSERVATIONS.jsonl"),
        (("explain", "pod/x"), "--store"),
    ],
)
def test_a_missing_argument_is_called_as_the_help_calls_it(
    arguments: tuple[str, ...], missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 2
    command = arguments[0]
    expected = f"error: {missing} is missing (see 'kubestow {command} --help')\n"
    assert capsys.readouterr().err == expected


def test_several_inputs_are_one_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes, pods = tmp_path / "nodes.yaml", tmp_path / "workloads"
    pods.mkdir()
    nodes.write_text(yaml.safe_dump_all([testing.node("n1"), testing.node("n2", cpu="1")]))
    (pods / "web.yaml").write_text(yaml.safe_dump(testing.pod("web", cpu="2")))
    assert main.run(["place", str(nodes), str(pods), "-o", "json"]) == 0
    (pod,) = json.loads(capsys.readouterr().out)["pods"]
    assert (pod["pod"], pod["node"]) == ("default/web", "n1")
    assert main.run(["pack", str(nodes), str(pods), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 1


def test_tables_of_items_are_not_combined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["pack", "a.yaml", "b.csv"]) == 2
    assert "b.csv: expected it alone; only manifests can be combined" in capsys.readouterr().err


def test_scale_takes_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["scale", *REPLAY, "-o", "json"]) == 0
    usual = json.loads(capsys.readouterr().out)
    assert main.run(["scale", *REPLAY, "--set", "tolerance=0.9", "-o", "json"]) == 0
    tolerant = json.loads(capsys.readouterr().out)
    assert [one["desired"] for one in usual] != [one["desired"] for one in tolerant]
    assert main.run(["scale", *REPLAY, "--set", "tolerence=0.9"]) == 2
    assert "tolerence: unknown key; did you mean tolerance?" in capsys.readouterr().err


def test_parameters_of_one_path_twice_contradict() -> None:
    with pytest.raises(errors.InputError, match="'a' is not a mapping"):
        options.read_parameters(["a=1", "a.b=2"])


def test_the_example_of_the_extender_has_valid_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    help_text = main.load_command("extender").help or ""
    (line,) = [one for one in help_text.splitlines() if "--set" in one]
    arguments = line.split()[1:]
    # Parameters are checked before the cluster is reached, which does not exist here.
    nowhere = ["--kubeconfig", str(tmp_path / "none")]
    assert main.run([*arguments, *nowhere]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err
