"""Control groups for the limit study: weights as requests set them, quotas as limits do.

A request of R mCPU becomes ``cpu.shares`` R x 1024 / 1000 in version 1, and in version 2
``cpu.weight`` 1 + (shares - 2) x 9999 / 262142; a limit becomes a quota per 100 ms (Schubert 2023,
equations 1.16 to 1.18; ``pkg/kubelet/cm/helpers_linux.go``, 1.27). Only groups
created here are changed, below the group of this process, and they are removed afterwards.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubestow.studies.schubert.limits import machine_state

PERIOD_US: Final = 100_000
_LEAST_SHARES: Final = 2
_LEAST_QUOTA_US: Final = 1000


@dataclass(frozen=True, slots=True)
class Parent:
    """Where groups can be created: a folder, and the version of control groups."""

    folder: Path
    version: int


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A group created by this study."""

    folder: Path
    version: int

    def request(self, cpu_m: int) -> None:
        """Set the weight of the group from a CPU request."""
        if self.version == 1:
            self._write("cpu.shares", str(shares(cpu_m)))
        else:
            self._write("cpu.weight", str(weight(cpu_m)))

    def limit(self, cpu_m: int) -> None:
        """Set the quota of the group from a CPU limit."""
        quota_us = max(cpu_m * PERIOD_US // 1000, _LEAST_QUOTA_US)
        if self.version == 1:
            self._write("cpu.cfs_period_us", str(PERIOD_US))
            self._write("cpu.cfs_quota_us", str(quota_us))
        else:
            self._write("cpu.max", f"{quota_us} {PERIOD_US}")

    def add(self, pid: int) -> None:
        """Move a process into the group."""
        self._write("cgroup.procs", str(pid))

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="ascii")


def shares(cpu_m: int) -> int:
    """Return cpu.shares of a request.

    >>> shares(900)
    921
    """
    return max(cpu_m * 1024 // 1000, _LEAST_SHARES)


def weight(cpu_m: int) -> int:
    """Return cpu.weight of a request.

    >>> weight(1000)  # 1 + 1022 x 9999 / 262142
    39
    """
    return 1 + (shares(cpu_m) - 2) * 9999 // 262142


def find_parent(
    proc: Path = machine_state.PROC, groups: Path = machine_state.GROUPS
) -> Parent | str:
    """Return where groups can be created, or the reason why they cannot."""
    unified = machine_state.own_group("", proc)
    if unified is not None and (groups / "cgroup.controllers").exists():
        folder = groups / unified
        enabled = folder / "cgroup.subtree_control"
        if not enabled.exists() or "cpu" not in enabled.read_text(encoding="ascii").split():
            return "the cpu controller is not delegated to groups below the own one"
        return _writable(Parent(folder, 2))
    path = machine_state.own_group("cpu", proc)
    if path is None:
        return "there is no cpu controller of control groups"
    name = "cpu" if (groups / "cpu").exists() else "cpu,cpuacct"
    return _writable(Parent(groups / name / path, 1))


def _writable(parent: Parent) -> Parent | str:
    try:
        with make(parent, "probe"):
            return parent
    except OSError as err:
        return f"control groups cannot be made here: {err.strerror}"


@contextlib.contextmanager
def make(parent: Parent, name: str) -> Iterator[ControlGroup]:
    """Create a group and remove it at the end; its processes must have ended by then."""
    folder = parent.folder / f"kubestow-{os.getpid()}-{name}"
    folder.mkdir()
    try:
        yield ControlGroup(folder, parent.version)
    finally:
        folder.rmdir()
