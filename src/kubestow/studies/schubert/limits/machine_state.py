"""Size and current usage of this machine, from /proc and the memory control group.

Used by the limit study (``background_load``, ``measurements``). A container may have less memory
than the machine: the limit of its control group (version 1 or 2) is read as well as
``MemAvailable``, and the smaller one counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PROC: Final = Path("/proc")
GROUPS: Final = Path("/sys/fs/cgroup")

_IDLE_FIELDS: Final = (3, 4)  # idle and iowait of a cpu line in /proc/stat
_STEAL_FIELD: Final = 7
_GUEST_FIELDS: Final = 8  # guest times are already included in user and nice
# Usage and limit files of the memory group, by version of control groups.
_MEMORY_FILES: Final = (
    ("memory", "memory.usage_in_bytes", "memory.limit_in_bytes"),
    ("", "memory.current", "memory.max"),
)


@dataclass(frozen=True, slots=True)
class Ticks:
    """CPU time of the whole machine since boot, in clock ticks."""

    busy: int
    stolen: int
    total: int


def read_ticks(proc: Path = PROC) -> Ticks:
    """Return the CPU time from the first line of /proc/stat."""
    line = (proc / "stat").read_text(encoding="ascii").splitlines()[0]
    fields = [int(field) for field in line.split()[1:]][:_GUEST_FIELDS]
    idle = sum(fields[index] for index in _IDLE_FIELDS)
    return Ticks(sum(fields) - idle, fields[_STEAL_FIELD], sum(fields))


def busy_share(before: Ticks, after: Ticks) -> float:
    """Return the busy share of all cores between two readings; stolen time is busy."""
    total = after.total - before.total
    return (after.busy - before.busy) / total if total > 0 else 0.0


def process_seconds(pid: int, proc: Path = PROC) -> float:
    """Return the CPU time of a process, in seconds."""
    text = (proc / str(pid) / "stat").read_text(encoding="utf-8")
    # The name in parentheses may contain spaces; field 3 follows it.
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_memory(proc: Path = PROC) -> dict[str, int]:
    """Return /proc/meminfo in bytes."""
    amounts = {}
    for line in (proc / "meminfo").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        fields = value.split()
        amounts[name] = int(fields[0]) * (1024 if fields[-1] == "kB" else 1)
    return amounts


def available_bytes(proc: Path = PROC, groups: Path = GROUPS) -> int:
    """Return the available memory: of the machine or of the own group, whichever is less."""
    free = read_memory(proc)["MemAvailable"]
    own = group_headroom_bytes(proc, groups)
    return free if own is None else min(free, own)


def total_bytes(proc: Path = PROC, groups: Path = GROUPS) -> int:
    """Return the memory of the machine, or the limit of the own group if that is less."""
    group = _group_memory(proc, groups)
    total = read_memory(proc)["MemTotal"]
    return total if group is None else min(total, group[1])


def group_headroom_bytes(proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """Return the remaining memory of the own group; ``None`` without a limit."""
    group = _group_memory(proc, groups)
    return None if group is None else max(group[1] - group[0], 0)


def _group_memory(proc: Path, groups: Path) -> tuple[int, int] | None:
    """Return usage and limit of the own memory group."""
    for controller, usage, limit in _MEMORY_FILES:
        path = own_group(controller, proc)
        if path is None:
            continue
        folder = groups / controller / path
        try:
            text = (folder / limit).read_text(encoding="ascii").strip()
            used = int((folder / usage).read_text(encoding="ascii"))
        except OSError:
            continue
        if text.isdigit() and int(text) < read_memory(proc)["MemTotal"]:
            return used, int(text)
    return None


def own_group(controller: str, proc: Path = PROC) -> str | None:
    """Return the path of the own group of a controller; empty controller for version 2."""
    for line in (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return path.strip("/")
    return None


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0))


def describe() -> dict[str, Any]:
    """Return the size and load of the machine, without its name."""
    return {
        "cores": cores(),
        "memory_gib": round(total_bytes() / 2**30, 2),
        "available_gib": round(available_bytes() / 2**30, 2),
        "swap_gib": round(read_memory()["SwapTotal"] / 2**30, 2),
        "load_average": round(os.getloadavg()[0], 2),
    }
