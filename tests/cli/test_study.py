"""`kubestow study` as a user meets it."""

import json
import pathlib

import pytest
from typer.testing import CliRunner

from kubestow.cli import study
from kubestow.model import errors
from kubestow.model.progress import Progress
from kubestow.studies import options, registry

RUNNER = CliRunner()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[options.StudyOptions]:
    """Put a study in the registry that only notes its options."""
    seen: list[options.StudyOptions] = []

    def run(given: options.StudyOptions, watch: Progress) -> dict[str, object]:
        watch(1, 2, "half")
        seen.append(given)
        return {"study": "toy", "statements": [{"verdict": "reproduced", "statement": "it runs"}]}

    monkeypatch.setattr(registry, "REGISTRY", {"toy": registry.Study("toy", "A toy.", run)})
    return seen


def test_options_reach_the_study(toy: list[options.StudyOptions], tmp_path: pathlib.Path) -> None:
    arguments = ["toy", "--out", str(tmp_path), "--seed", "9", "--jobs", "2", "--lists", "50"]
    result = RUNNER.invoke(study.app, arguments)
    assert result.exit_code == 0, result.output
    assert toy == [options.StudyOptions(tmp_path, seed=9, jobs=2, lists=50)]
    assert "it runs" in result.output


def test_json_is_the_report_itself(toy: list[options.StudyOptions]) -> None:
    result = RUNNER.invoke(study.app, ["toy", "-o", "json"])
    assert json.loads(result.stdout)["study"] == "toy"


def test_the_list_names_all_studies() -> None:
    result = RUNNER.invoke(study.app, ["--list", "-o", "json"])
    names = {one["name"] for one in json.loads(result.stdout)}
    assert names == set(registry.REGISTRY)
    assert {"mcnaughton-scaling", "shi-forecast", "shi-scaling", "trace-scaling"} <= names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name is missing"),
        (["schubert-unpacking"], "'schubert-unpacking': must be one of"),
        (["schubert-packing", "--lists", "1"], "lists: 1: must be >= 2"),
        (["schubert-packing", "--jobs", "0"], "jobs: 0: must be >= 1"),
    ],
    ids=["no-name", "unknown", "lists", "jobs"],
)
def test_bad_input_is_refused(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(study.app, arguments)
    assert isinstance(result.exception, errors.InputError)
    assert message in str(result.exception)


def test_quick_and_full_samples_are_overruled_by_a_number() -> None:
    out = pathlib.Path("out")
    assert options.StudyOptions(out).sample(1500, 12) == 1500
    assert options.StudyOptions(out, quick=True).sample(1500, 12) == 12
    assert options.StudyOptions(out, quick=True, lists=7).sample(1500, 12) == 7
