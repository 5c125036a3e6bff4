"""Build a release into ``dist/`` and test it: wheel, sdist, bill of materials, checksums.

All build tools come from locks. Archives have the time of ``SOURCE_DATE_EPOCH``, so that building
the same commit again gives the same bytes. The wheel is installed into an environment with only the
core lock, and has to pack a cluster there.

    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) python -m tools.release
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Final

from tools import environments

DIST: Final = environments.ROOT / "dist"
SUMS: Final = "SHA256SUMS"
_EXAMPLE: Final = environments.ROOT / "examples" / "first-steps" / "cluster.yaml"


def build(python: Path, out: Path, root: Path = environments.ROOT) -> None:
    """Build sdist and wheel with the locked build requirements."""
    environments.run(python, "-m", "hatchling", "build", "-d", str(out), cwd=root)


def write_sums(folder: Path) -> Path:
    """Write the SHA-256 of every file of a folder for ``sha256sum --check``."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != SUMS
    ]
    written = folder / SUMS
    written.write_text("".join(lines), encoding="utf-8")
    return written


def find_wheel(folder: Path) -> Path:
    """Return the one wheel of a folder.

    Raises:
        FileNotFoundError: If there is none, or more than one.
    """
    wheels = list(folder.glob("kubestow-*.whl"))
    if len(wheels) != 1:
        raise FileNotFoundError(f"{folder}: {len(wheels)} wheels; expected one")
    return wheels[0]


def read_version(root: Path = environments.ROOT) -> str:
    """Return the version that pyproject.toml states."""
    document = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return str(document["project"]["version"])


def _try(wheel: Path, folder: Path) -> Path:
    """Install a wheel with the core lock and run it; return the interpreter."""
    begun = time.perf_counter()
    python = environments.make_environment(folder)
    environments.install_locks(python, "core.txt")
    environments.install_package(python, "--no-index", str(wheel))
    spent_s = time.perf_counter() - begun
    # From another folder, so that the checkout is not used instead of the wheel.
    program, elsewhere = folder / "bin" / "kubestow", folder
    environments.run(program, "--version", cwd=elsewhere)
    environments.run(program, "pack", str(_EXAMPLE), "--heuristic", "online", cwd=elsewhere)
    size = sum(path.lstat().st_size for path in folder.rglob("*"))
    sys.stdout.write(
        f"wheel {wheel.stat().st_size / 1e6:.1f} MB; installed with its dependencies in "
        f"{spent_s:.0f} s, {size / 1e6:.0f} MB\n"
    )
    return python


def _write_bill(python: Path, tools: Path, out: Path) -> None:
    """Write the bill of materials (CycloneDX) of an environment."""
    options = ("--pyproject", str(environments.ROOT / "pyproject.toml"), "--output-reproducible")
    program = tools.parent / "cyclonedx-py"
    environments.run(program, "environment", *options, "-o", str(out), str(python))


def main() -> int:
    """Build and test a release, and write its bill of materials."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        sys.stderr.write("error: SOURCE_DATE_EPOCH is not set; 'make dist' sets it\n")
        return 2
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="kubestow-release-") as scratch:
        builder = environments.make_environment(Path(scratch) / "build")
        environments.install_locks(builder, "build.txt")
        build(builder, DIST)
        tried = _try(find_wheel(DIST), Path(scratch) / "wheel")
        tools = environments.make_environment(Path(scratch) / "tools")
        environments.install_locks(tools, "release.txt")
        _write_bill(tried, tools, DIST / f"kubestow-{read_version()}.cdx.json")
    sys.stdout.write(write_sums(DIST).read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
