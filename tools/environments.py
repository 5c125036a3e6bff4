"""Virtual environments from lock files, created as in the Makefile."""

from __future__ import annotations

import subprocess
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
# Locks are complete, so no dependency is resolved.
_PIP: Final = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")


def make_environment(folder: Path, interpreter: str | None = None) -> Path:
    """Create an empty environment and return its interpreter.

    Args:
        folder: Its folder; replaced if it exists.
        interpreter: Python to create it with; by default the running one.
    """
    if interpreter is None:
        venv.create(folder, clear=True, with_pip=True, symlinks=True)
    else:
        run(interpreter, "-m", "venv", "--clear", str(folder))
    return folder / "bin" / "python"


def install_locks(python: Path, *names: str) -> None:
    """Install lock files of ``requirements/``, checking hashes."""
    files = [word for name in names for word in ("-r", str(ROOT / "requirements" / name))]
    run(python, *_PIP, "--no-compile", "--require-hashes", *files)


def install_package(python: Path, *what: str) -> None:
    """Install a package from a file or folder without its dependencies."""
    run(python, *_PIP, "--no-build-isolation", *what)


def run(
    program: str | Path, *arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> None:
    """Run a program; an exit code other than 0 is an error."""
    command: Sequence[str] = [str(program), *arguments]
    subprocess.run(command, check=True, cwd=cwd, env=env)  # noqa: S603 - arguments are our own
