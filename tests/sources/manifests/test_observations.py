"""Lines of OBSERVATIONS.jsonl."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kubestow.model import errors
from kubestow.sources.manifests import observations


def test_lines_keep_their_numbers_and_blank_ones_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "seen.jsonl"
    file.write_text('{"t": 1, "a": 1}\n\n{"t": 1.5}\n')
    result = observations.read_observations(str(file))
    assert [line.place for line in result] == ["seen.jsonl: line 1", "seen.jsonl: line 3"]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"t": 0}\n'))
    assert observations.read_observations("-")[0].place == "<stdin>: line 1"


BAD = [
    ("", "expected one JSON object per line"),
    ('{"t": 1', "line 1: broken JSON"),
    ("[1]", "line 1: [1]: expected an object"),
    ('{"a": 1}', "line 1: t: None: expected a time in seconds"),
    ('{"t": true}', "expected a time in seconds"),
    ('{"t": NaN}', "expected a time in seconds"),
    ('{"t": 2}\n{"t": 1}', "line 2: t: 1: must not be before the line above, which has 2.0"),
    ("[" * 100_000, "nested too deeply"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[m for _, m in BAD])
def test_broken_lines_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "seen.jsonl"
    file.write_text(text)
    with pytest.raises(errors.InputError) as caught:
        observations.read_observations(str(file))
    assert message in str(caught.value)


def test_a_missing_file_is_told() -> None:
    with pytest.raises(errors.InputError, match="no such file"):
        observations.read_observations("nowhere.jsonl")


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "seen.jsonl"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(errors.InputError, match="cannot be read"):
        observations.read_observations(str(file))
