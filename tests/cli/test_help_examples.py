"""Examples in help texts: every line is a command that parses, and quick ones run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kubestow.cli import main

ROOT = Path(__file__).parents[2]


def examples(name: str) -> list[list[str]]:
    """Return the arguments of a command's examples, without pipes and redirections."""
    _, result, listed = (main.load_command(name).help or "").partition("Example:")
    assert result
    lines = [line.strip() for line in listed.splitlines() if line.strip()]
    assert lines
    commands = [re.sub(r".*\| *| > .*", "", line) for line in lines]
    return [shlex.split(command.replace("$URL", "sqlite:///x")) for command in commands]


CASES = [(name, words) for name in main.COMMANDS for words in examples(name)]
FLAGS = {"--list", "--print-config", "--render"}
BUNDLED = ("examples/first-steps/", "examples/scale/")
QUICK = [
    (name, words)
    for name, words in CASES
    if FLAGS & set(words) or any(word.startswith(BUNDLED) for word in words)
]


def show(given: object) -> str:
    return " ".join(given[2:5]) if isinstance(given, list) else str(given)


@pytest.mark.parametrize(("name", "words"), CASES, ids=show)
def test_an_example_is_a_command_with_options_that_exist(name: str, words: list[str]) -> None:
    assert words[:2] == ["kubestow", name]
    with main.load_command(name).make_context(name, words[2:]) as context:
        assert context.params
    assert all((ROOT / word).exists() for word in words if word.startswith("examples/"))


@pytest.mark.parametrize(("name", "words"), QUICK, ids=show)
def test_an_example_with_bundled_files_runs(
    name: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main.run([name, *words[2:]]) == 0
    assert capsys.readouterr().out


def test_the_example_of_the_program_itself_is_a_command() -> None:
    _, _, listed = main.HELP.partition("Example:")
    (words,) = [line.split() for line in listed.splitlines() if line.strip().startswith("kubestow")]
    with main.load_command(words[1]).make_context(words[1], words[2:]) as context:
        assert list(context.params["sources"]) == ["cluster.yaml"]
