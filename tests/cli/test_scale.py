"""The scale command as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kubestow.cli import main
from tests.policies.scaling import recorded

FOLDER = Path(__file__).parents[2] / "examples" / "scale"
HPA, SEEN = str(FOLDER / "hpa.yaml"), str(FOLDER / "observations.jsonl")


def run(*arguments: str) -> int:
    return main.run(["scale", *arguments])


def test_the_example_is_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(HPA, SEEN, "-o", "json") == 0
    caught = capsys.readouterr()
    result = json.loads(caught.out)
    assert [entry["desired"] for entry in result] == [2, 5, 5, 5, 5, 4, 4]
    # 96.2 / 20 per pod = 4.81; a failed read blocks scaling down; 60 s of stabilisation, then one
    # pod per 30 s.
    assert [entry["reason"] for entry in result][1:] == [
        "external metric rps(nil) above target",
        "DesiredWithinRange",
        "FailedGetResourceMetric",
        "ScaleDownStabilized",
        "All metrics below target",
        "ScaleDownLimit",
    ]
    assert (result[3]["proposed"], result[1]["t"]) == (None, 15.02)
    assert "record" not in result[0]
    assert caught.err == ""


def test_the_table_shows_what_was_decided(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(HPA, SEEN) == 0
    shown = capsys.readouterr().out
    assert "ScaleDownStabilized" in shown
    assert "7 syncs, 2 of them change the replicas." in shown


def test_records_are_added_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(HPA, SEEN, "-o", "json", "--records") == 0
    record = json.loads(capsys.readouterr().out)[1]["record"]
    assert (record["kind"], record["subject"]) == ("scaling", "horizontalpodautoscaler/shop/web")


@pytest.mark.parametrize("scaler", ["static", "threshold", "hpa-legacy"])
def test_other_scalers_see_the_same(scaler: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(HPA, SEEN, "--scaler", scaler, "-o", "json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 7


def test_the_version_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A ratio of exactly 1.1: within the tolerance of 1.33, not of 1.32.
    seen = tmp_path / "o.jsonl"
    seen.write_text('{"t": 0, "currentReplicas": 10, "metrics": {"rps": 220}}\n')
    file = tmp_path / "h.yaml"
    text = Path(HPA).read_text().partition("  - type: Resource")[0]
    file.write_text(text)
    for version, desired in (("1.32", 11), ("1.37", 10)):
        assert run(str(file), str(seen), "--version", version, "-o", "json") == 0
        assert json.loads(capsys.readouterr().out)[0]["desired"] == desired


def test_recorded_syncs_come_out_the_same_through_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for case in recorded.load("random_syncs.jsonl.gz")[:15]:
        (tmp_path / "h.json").write_text(json.dumps(case["hpa"]))
        lines = "".join(json.dumps(line) + "\n" for line in case["observations"])
        (tmp_path / "o.jsonl").write_text(lines)
        assert run(str(tmp_path / "h.json"), str(tmp_path / "o.jsonl"), "-o", "json") == 0
        result = json.loads(capsys.readouterr().out)
        got = [(entry["proposed"], entry["desired"]) for entry in result]
        assert got == [(sync["proposed"], sync["desired"]) for sync in case["syncs"]]


def test_selectors_in_reasons_do_not_disturb_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(HPA).read_text().partition("  - type: Resource")[0]
    selector = "selector: {matchExpressions: [{key: q, operator: In, values: [bold, b]}]}"
    file = tmp_path / "h.yaml"
    file.write_text(text.replace("{name: rps}", f"{{name: rps, {selector}}}"))
    seen = tmp_path / "o.jsonl"
    seen.write_text('{"t": 0, "currentReplicas": 3, "metrics": {"rps": 900}}\n')
    assert run(str(file), str(seen)) == 0
    # The cell is wrapped; without frames and spaces the text is whole again.
    assert "Values:[boldb]" in re.sub(r"[\s│]", "", capsys.readouterr().out)


def test_a_metric_nobody_saw_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = tmp_path / "o.jsonl"
    seen.write_text('{"t": 0, "currentReplicas": 3, "metrics": {"rsp": 1, "cpu": "error"}}\n')
    assert run(HPA, str(seen)) == 0
    assert capsys.readouterr().err == "note: no observation has the metric 'rps'; seen: cpu, rsp\n"


BAD = [
    ("maxReplicas: 12", "maxReplicas: 1", "", "must be >= minReplicas"),
    ("averageUtilization: 70", "averageUtilization: lots", "", "expected a whole number"),
    ("kind: Hor", "kind: Ver", "", "found none"),
    ("", "", '{"t": 0}', "o.jsonl: line 1: currentReplicas: None: expected a whole number"),
    ("", "", "{", "o.jsonl: line 1: broken JSON"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), BAD, ids=[m for *_, m in BAD])
def test_bad_input_is_one_readable_line_and_exit_code_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    line: str,
    message: str,
) -> None:
    file, seen = tmp_path / "h.yaml", tmp_path / "o.jsonl"
    file.write_text(Path(HPA).read_text().replace(old, new) if old else Path(HPA).read_text())
    seen.write_text(line or Path(SEEN).read_text())
    assert run(str(file), str(seen)) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.count("\n") == 1
    assert caught.err.startswith("error: ")
    assert message in caught.err


@pytest.mark.parametrize(
    "arguments",
    [
        [HPA],
        [HPA, "nowhere.jsonl"],
        ["nowhere.yaml", SEEN],
        [HPA, SEEN, "--scaler", "hqa"],
        [HPA, SEEN, "--version", "1.20"],
        [HPA, SEEN, "--name", "other"],
    ],
    ids=["one file", "no lines", "no manifest", "no scaler", "no version", "no name"],
)
def test_bad_arguments_leave_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert "examples/scale/hpa.yaml" in capsys.readouterr().out
