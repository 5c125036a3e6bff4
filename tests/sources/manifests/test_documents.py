"""Documents out of files, folders and streams."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kubestow.model import errors
from kubestow.sources.manifests import documents


def test_yaml_json_and_lists_become_single_documents() -> None:
    text = "a: 1\n---\n---\nkind: PodList\nitems:\n- {metadata: {name: x}}\n- {kind: Odd}\n"
    result = documents.parse_documents(text, "f.yaml")
    assert [d.place for d in result] == ["f.yaml#1", "f.yaml#2: items[0]", "f.yaml#2: items[1]"]
    assert result[1].value == {"apiVersion": "", "kind": "Pod", "metadata": {"name": "x"}}
    assert result[2].value == {"kind": "Odd"}
    lines = documents.parse_documents('{"a": 1}\n{"a": 2}\n', "f.jsonl")
    assert [d.value["a"] for d in lines] == [1, 2]


def test_flow_style_yaml_is_not_mistaken_for_json() -> None:
    assert documents.parse_documents("{a: b}", "f.yaml")[0].value == {"a": "b"}


def test_a_folder_is_read_recursively_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("n: 2")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.json").write_text('{"n": 1}')
    (tmp_path / "notes.txt").write_text("not yaml: [")
    result = documents.read_documents(str(tmp_path))
    assert [(d.place, d.value["n"]) for d in result] == [("a/x.json#1", 1), ("b.yaml#1", 2)]


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n: 1"))
    assert documents.read_documents("-")[0].place == "<stdin>#1"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("a: [1", "f.yaml: line ", "broken YAML"),
        ("a: 1\n  b: 2", "f.yaml: line 2", "broken YAML"),
        ("a: !!python/object:os.system {}", "f.yaml: line 1", "broken YAML"),
        ("&x [*x]", "f.yaml#1", "contains itself"),
        ("a: *nobody", "f.yaml: line 1", "broken YAML"),
        ("kind: List\nitems: 3", "f.yaml#1: items", "expected a list"),
        ("t: \x01", "f.yaml", "broken YAML"),
    ],
)
def test_broken_documents_are_refused_with_their_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        documents.parse_documents(text, "f.yaml")
    assert str(caught.value).startswith(place)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_broken_json_is_refused_with_line_and_column() -> None:
    with pytest.raises(errors.InputError, match=r"f.json: line 2, column 1: broken JSON"):
        documents.parse_documents('{"a": 1,\n}', "f.json")


def test_an_alias_bomb_is_refused_before_it_unfolds() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(errors.InputError, match="unfolds to more than"):
        documents.parse_documents("\n".join(levels), "bomb.yaml")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(errors.InputError):
        documents.parse_documents("- " * 300 + "x", "deep.yaml")
    with pytest.raises(errors.InputError, match="nested too deeply"):
        documents.parse_documents("[" * 100_000 + "]" * 100_000, "deep.json")


def test_missing_files_and_empty_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match="no such file"):
        documents.read_documents(str(tmp_path / "nothing"))
    with pytest.raises(errors.InputError, match=r"no .yaml"):
        documents.read_documents(str(tmp_path))
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(errors.InputError, match="cannot be read"):
        documents.read_documents(str(tmp_path / "x.yaml"))
