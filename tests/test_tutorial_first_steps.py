"""The first tutorial shows what its commands answer, and no step is worse than the one before."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from kubestow.cli import main

ROOT = Path(__file__).parents[1]
TUTORIAL = (ROOT / "docs/tutorial/first-steps.md").read_text(encoding="utf-8")


def commands(name: str) -> list[list[str]]:
    """Return the arguments of all calls of a command in the tutorial."""
    return [shlex.split(line) for line in re.findall(rf"^\$ kubestow ({name} .*)$", TUTORIAL, re.M)]


def test_no_packing_needs_more_nodes_than_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    items = re.search(r"^\$ cat > pods.csv <<END\n(.*?)^END$", TUTORIAL, re.M | re.S)
    assert items is not None
    (tmp_path / "pods.csv").write_text(items[1], encoding="utf-8")
    counts = []
    for arguments in commands("pack"):
        assert main.run([*arguments, "-o", "json"]) == 0
        counts.append(min(one["nodes"] for one in json.loads(capsys.readouterr().out)["results"]))
    assert len(counts) == 2
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 5  # "five nodes"
    with (tmp_path / "where.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 70
    assert len({row["node"] for row in rows}) == 5


def test_the_other_profile_chooses_the_same_nodes_with_higher_scores(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    whole = [arguments for arguments in commands("place") if "--pod" not in arguments]
    assert len(whole) == 2
    answers = []
    for arguments in whole:
        assert main.run(arguments) == 0
        answers.append(re.findall(r"(big-[12]) +│ 2/3 +│ ([0-9]+)", capsys.readouterr().out))
    (first, second) = answers
    assert [node for node, _ in first] == [node for node, _ in second] == ["big-1", "big-1"]
    gains = [int(b) - int(a) for (_, a), (_, b) in zip(first, second, strict=True)]
    assert gains == [25, 50]
