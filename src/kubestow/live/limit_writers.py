"""Writes limits into a tree of cgroups, remembers what was there, and can take it back.

The API server knows nothing of it: requests and limits of the pod stay as they are, and kubelet may
set its own values again. Memory is never set below what is used at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kubestow.model import errors
from kubestow.policies.sizing.limit_plans import Write

_USED = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done.

    Attributes:
        done: Old contents of the files that were written, in the order of writing.
        refused: Files that were left alone, with the reason.
    """

    done: tuple[Write, ...]
    refused: tuple[tuple[str, str], ...] = ()


def apply(root: Path, writes: Sequence[Write]) -> Applied:
    """Write limits; if one cannot be written, what was written before is taken back.

    Args:
        root: The root of the cgroup tree.
        writes: What to write, in order.

    Raises:
        InputError: If a file is not there or cannot be written; the tree is then as before.
    """
    done: list[Write] = []
    refused: list[tuple[str, str]] = []
    for write in writes:
        file = root / write.path
        try:
            reason = _danger(file, write.text)
            if reason:
                refused.append((write.path, reason))
                continue
            before = file.read_text(encoding="ascii").strip()
            file.write_text(write.text, encoding="ascii")
        except OSError as err:
            undo(root, Applied(tuple(done)))
            raise errors.InputError(str(file), f"cannot be written: {err.strerror}") from err
        done.append(Write(write.path, before))
    return Applied(tuple(done), tuple(refused))


def undo(root: Path, applied: Applied) -> None:
    """Write the old contents back, the last one first; files that are gone are passed over."""
    for write in reversed(applied.done):
        file = root / write.path
        if file.is_file():
            file.write_text(write.text, encoding="ascii")


def _danger(file: Path, text: str) -> str:
    """Return why a memory limit must not be set; empty if it may."""
    beside = _USED.get(file.name)
    if beside is None or not text.isdecimal():
        return ""
    used = int((file.parent / beside).read_text(encoding="ascii"))
    return f"{used} bytes are in use" if int(text) <= used else ""
