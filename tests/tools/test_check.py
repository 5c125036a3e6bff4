"""Which tests and commands a changed file asks for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import check


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/kubestow/cli/pack.py", ["tests/cli/test_pack.py"]),
        ("src/kubestow/cli/__init__.py", ["tests/cli/test_pack.py", "tests/cli/test_place.py"]),
        ("src/kubestow/cli/untested.py", []),
        ("tools/check.py", ["tests/tools/test_check.py"]),
        ("tests/cli/test_place.py", ["tests/cli/test_place.py"]),
        ("tests/cli/conftest.py", []),
        ("tests/e2e/test_scheduler.py", []),
        ("docs/how-to/pack.md", ["tests/test_docs.py", "tests/test_figures.py"]),
        ("README.md", ["tests/test_figures.py"]),
        ("requirements/dev.txt", ["tests/test_locks.py"]),
        ("CHANGELOG.md", []),
    ],
)
def test_changed_files_lead_to_their_tests(changed: str, tests: list[str], tmp_path: Path) -> None:
    write(
        tmp_path, "tests/cli/test_pack.py", "tests/cli/test_place.py", "tests/tools/test_check.py",
        "tests/e2e/test_scheduler.py", "tests/test_docs.py", "tests/test_figures.py",
        "tests/test_locks.py",
    )  # fmt: skip
    assert check.find_tests([changed], tmp_path) == tests


def test_a_test_is_named_once_however_many_files_lead_to_it(tmp_path: Path) -> None:
    write(tmp_path, "tests/cli/test_pack.py")
    changed = ["src/kubestow/cli/pack.py", "tests/cli/test_pack.py"]
    assert check.find_tests(changed, tmp_path) == ["tests/cli/test_pack.py"]


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True)


def test_changed_and_new_files_count_and_deleted_ones_do_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, "kept.py", "edited.py", "deleted.py", ".gitignore")
    (tmp_path / ".gitignore").write_text("ignored.py\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "begin")
    (tmp_path / "edited.py").write_text("x = 2\n", encoding="utf-8")
    (tmp_path / "deleted.py").unlink()
    write(tmp_path, "new.py", "ignored.py")
    assert check.changed_files(tmp_path) == ["edited.py", "new.py"]


def test_commits_since_the_upstream_branch_count(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, "old.py")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "begin")
    git(tmp_path, "update-ref", f"refs/remotes/{check.UPSTREAM}", "HEAD")
    write(tmp_path, "committed.py")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "go on")
    assert check.changed_files(tmp_path) == ["committed.py"]
    assert check.changed_files(tmp_path, "HEAD") == []


def test_only_what_is_needed_runs(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_docs.py", "tests/cli/test_pack.py")
    assert check.steps([], tmp_path) == []
    (tested,) = check.steps(["docs/index.md"], tmp_path)
    assert tested[-1] == "tests/test_docs.py"
    programs = [
        Path(command[0]).name for command in check.steps(["src/kubestow/cli/pack.py"], tmp_path)
    ]
    assert programs[:3] == ["ruff", "ruff", "dmypy"]
    assert len(programs) == 4
