"""Check a change in seconds: format, lint, types, and the tests of changed files.

Changed files differ from the merge base with ``origin/main``, or from the last commit if there is
no such branch. Types are checked by a daemon, whose first run takes as long as mypy.

    python -m tools.check [BASE]
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[1]
UPSTREAM: Final = "origin/main"
_SOURCES: Final = ("src", "kubestow")
# Files whose tests do not follow from their names.
_OTHERS: Final = {
    "docs": ("tests/test_docs.py", "tests/test_figures.py"),
    "README.md": ("tests/test_figures.py",),
    "requirements": ("tests/test_locks.py",),
    "pyproject.toml": ("tests/test_locks.py",),
    "deploy": ("tests/test_chart.py",),
}


def find_tests(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the existing tests of changed files.

    ``src/kubestow/a/b.py`` is tested by ``tests/a/test_b.py``, and a package,
    ``src/kubestow/a/__init__.py``, by the tests directly in ``tests/a``. Tests on a real control
    plane are left to ``make e2e``.
    """
    tests: set[str] = set()
    for path in map(PurePosixPath, changed):
        tests.update(str(each) for each in _candidates(path, root))
    return sorted(each for each in tests if (root / each).is_file())


def _candidates(path: PurePosixPath, root: Path) -> list[PurePosixPath]:
    parts = path.parts
    if parts[0] in _OTHERS:
        return [PurePosixPath(test) for test in _OTHERS[parts[0]]]
    if path.suffix != ".py":
        return []
    if parts[:2] == _SOURCES:
        return _tests_in(PurePosixPath("tests", *parts[2:-1]), path, root)
    if parts[0] == "tools":
        return _tests_in(PurePosixPath("tests", *parts[:-1]), path, root)
    own_test = parts[0] == "tests" and path.name.startswith("test_") and "e2e" not in parts
    return [path] if own_test else []


def _tests_in(folder: PurePosixPath, path: PurePosixPath, root: Path) -> list[PurePosixPath]:
    if path.name == "__init__.py":
        return [folder / each.name for each in (root / folder).glob("test_*.py")]
    return [folder / f"test_{path.name}"]


def changed_files(root: Path = ROOT, base: str | None = None) -> list[str]:
    """Return existing files that differ from a commit, including untracked ones."""
    since = base or _branching_point(root)
    listed = _git(root, "diff", "--name-only", "--diff-filter=d", since)
    return sorted({*listed, *_git(root, "ls-files", "--others", "--exclude-standard")})


def _branching_point(root: Path) -> str:
    commits = _git(root, "merge-base", UPSTREAM, "HEAD", check=False)
    return commits[0] if commits else "HEAD"


def _git(root: Path, *arguments: str, check: bool = True) -> list[str]:
    done = subprocess.run(  # noqa: S603 - arguments are our own
        ["git", "-C", str(root), *arguments],  # noqa: S607 - git from the path
        check=check,
        stdout=subprocess.PIPE,
        stderr=None if check else subprocess.DEVNULL,
        text=True,
    )
    return done.stdout.splitlines()


def steps(changed: Sequence[str], root: Path = ROOT) -> list[list[str]]:
    """Return the commands to run for changed files, quick ones first."""
    python = [path for path in changed if path.endswith(".py")]
    tools = Path(sys.executable).parent
    commands = []
    if python:
        commands.append([str(tools / "ruff"), "format", "--check", *python])
        commands.append([str(tools / "ruff"), "check", *python])
        commands.append([str(tools / "dmypy"), "run"])
    tests = find_tests(changed, root)
    if tests:
        commands.append([sys.executable, "-m", "pytest", "-q", "-m", "not e2e", *tests])
    return commands


def main(arguments: Sequence[str]) -> int:
    """Run the steps and return 1 if one fails; all of them run."""
    changed = changed_files(base=arguments[0] if arguments else None)
    planned = steps(changed)
    if not planned:
        sys.stdout.write("no changed file to check\n")
    failed = []
    for command in planned:
        shown = " ".join([Path(command[0]).name, *command[1:3]])
        sys.stdout.write(f"--- {shown} ({len(changed)} changed files)\n")
        sys.stdout.flush()
        if subprocess.run(command, check=False, cwd=ROOT).returncode:  # noqa: S603 - from above
            failed.append(shown)
    for shown in failed:
        sys.stdout.write(f"failed: {shown}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
