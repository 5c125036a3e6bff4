"""Lock files: complete, hashed, without index addresses, and of one mind about versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NAMES = [path.name for path in LOCKS]


def pins(name: str) -> dict[str, set[str]]:
    """Return the pinned versions, with their markers, by package."""
    result: dict[str, set[str]] = {}
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    for package, pin in re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(.+?) \\$", text, re.M):
        result.setdefault(package, set()).add(pin)
    return result


def versions(result: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: {pin.partition(" ;")[0] for pin in given} for name, given in result.items()}


@pytest.mark.parametrize("path", LOCKS, ids=NAMES)
def test_every_package_has_a_hash_and_no_line_names_an_index(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if re.search(r"--index|--find-links|https?:", line)]
    heads = [index for index, line in enumerate(lines) if re.match(r"[A-Za-z0-9]", line)]
    assert heads
    assert all(lines[index + 1].startswith("    --hash=sha256:") for index in heads)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "dev.txt"])
def test_locks_agree_on_versions(name: str) -> None:
    developer, other = versions(pins("dev.txt")), versions(pins(name))
    assert other
    differing = {p: v for p, v in other.items() if p in developer and not v <= developer[p]}
    assert not differing


def test_whoever_has_the_developer_lock_has_the_core_lock() -> None:
    # 'make demo' after 'make test' installs nothing.
    assert pins("core.txt").keys() - pins("dev.txt").keys() == set()


def test_the_core_lock_has_every_dependency_and_nothing_of_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[<>=;~! ]", text, maxsplit=1)[0] for text in project["dependencies"]}
    core = pins("core.txt").keys()
    assert names <= core
    assert not core & {"jax", "ray", "psycopg", "uvicorn", "mypy", "pytest"}
