"""Files are replaced whole or not at all."""

import pathlib

import pytest

from kubestow.workflows import files


def test_json_is_written_with_keys_in_order(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "new" / "r.json"
    files.write_json(path, {"b": 1, "a": [1.5]}, indent=0)
    assert path.read_text() == '{"b":1,"a":[1.5]}\n'


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.txt"
    files.write_text(path, "old")

    def fail(self: pathlib.Path, target: pathlib.Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(pathlib.Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["r.txt"]


def test_others_may_read_results(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "r.txt"
    files.write_text(path, "x")
    assert path.stat().st_mode & 0o044 == 0o044
