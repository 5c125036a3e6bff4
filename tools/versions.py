"""Run the fast tests on every supported Python that is installed.

Interpreters are searched on PATH as ``python3.N``. A shim of a version manager counts if it runs;
pyenv needs the full version, which ``pyenv versions`` lists. Missing versions are skipped with a
message. The exit code is 1 if a test fails on any version, or if no version is installed.

    python -m tools.versions [3.12 ...]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools import environments

FOLDER: Final = environments.ROOT / ".versions"
TESTS: Final = ("tests/model", "tests/policies/placing/scheduler")
_CLASSIFIER: Final = "Programming Language :: Python :: 3."


def supported(root: Path = environments.ROOT) -> list[str]:
    """Return the versions that the package supports, oldest first."""
    document = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    listed = document["project"]["classifiers"]
    return [text.rpartition(" ")[2] for text in listed if text.startswith(_CLASSIFIER)]


def find_interpreter(version: str) -> str | None:
    """Return the path of an interpreter of a version, such as ``3.12``."""
    program = shutil.which(f"python{version}")
    if program is None:
        return None
    own = _ask(program, dict(os.environ))
    if own is not None:
        return own
    # A shim may refuse because another version is selected here.
    for installed in _pyenv_versions():
        if installed == version or installed.startswith(f"{version}."):
            own = _ask(program, {**os.environ, "PYENV_VERSION": installed})
            if own is not None:
                return own
    return None


def _ask(program: str, env: dict[str, str]) -> str | None:
    """Return the real path of an interpreter, or ``None`` if it does not run."""
    return _output([program, "-c", "import sys; print(sys.executable)"], env)


def _pyenv_versions() -> list[str]:
    program = shutil.which("pyenv")
    listed = None if program is None else _output([program, "versions", "--bare"], dict(os.environ))
    return (listed or "").split()


def _output(command: Sequence[str], env: dict[str, str]) -> str | None:
    done = subprocess.run(  # noqa: S603 - arguments are our own
        command, check=False, capture_output=True, text=True, env=env
    )
    return done.stdout.strip() if done.returncode == 0 else None


def _test(version: str, interpreter: str) -> bool:
    """Run the tests in the environment of a version, which is kept for the next run."""
    folder = FOLDER / version
    python, stamp = folder / "bin" / "python", folder / ".complete"
    locks = [environments.ROOT / "requirements" / name for name in ("core.txt", "test.txt")]
    if not stamp.exists() or any(lock.stat().st_mtime > stamp.stat().st_mtime for lock in locks):
        sys.stdout.write(f"Python {version}: setting up {folder} ...\n")
        sys.stdout.flush()
        python = environments.make_environment(folder, interpreter)
        environments.install_locks(python, "core.txt", "build.txt", "test.txt")
        environments.install_package(python, "-e", str(environments.ROOT))
        stamp.touch()
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, check=False, cwd=environments.ROOT)  # noqa: S603 - see above
    return done.returncode == 0


def main(requested: Sequence[str]) -> int:
    """Test on the given versions, or on all supported ones."""
    results: dict[str, str] = {}
    for version in requested or supported():
        interpreter = find_interpreter(version)
        if interpreter is None:
            results[version] = f"skipped: no working python{version} on PATH"
            continue
        results[version] = "passed" if _test(version, interpreter) else "failed"
    for version, result in results.items():
        sys.stdout.write(f"Python {version}: {result}\n")
    passed = [result for result in results.values() if result == "passed"]
    return 0 if passed and "failed" not in results.values() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
