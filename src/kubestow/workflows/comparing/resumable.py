"""Runs long work in parts and keeps every finished part on disk, so an interrupted run resumes.

The file of a part holds a record with the fingerprint of everything its numbers depend on. A file
that is truncated, or has another fingerprint, counts as missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from kubestow.model.progress import Progress
from kubestow.workflows import files
from kubestow.workflows.comparing import engines


class KeyedRecord(Protocol):
    """The record of a part."""

    @property
    def key(self) -> str:
        """Fingerprint of everything the part depends on."""
        ...


TaskT = TypeVar("TaskT")
RecordT = TypeVar("RecordT", bound=KeyedRecord)


@dataclass(frozen=True, slots=True)
class Part(Generic[TaskT]):
    """One part of a long run.

    Attributes:
        task: What to compute, in values that can be sent to another process.
        key: Fingerprint of everything its numbers depend on.
        file: Name of its file.
        label: Its name in progress reports.
        weight: Amount of work, in any common unit.
    """

    task: TaskT
    key: str
    file: str
    label: str
    weight: float = 1.0


def run_parts(
    parts: Sequence[Part[TaskT]],
    folder: Path | None,
    kind: type[RecordT],
    compute: Callable[[TaskT], bytes],
    progress: Progress,
    *,
    engine: engines.Engine | None = None,
    jobs: int = 1,
) -> list[RecordT]:
    """Return the records of all parts in their order; those on disk are not computed again.

    Args:
        parts: The parts.
        folder: Folder that keeps finished parts; ``None`` keeps nothing.
        kind: Type of the records.
        compute: Returns a part's record as JSON.
        progress: Called with the weight that is done, first for the parts on disk.
        engine: Runs the parts; default: processes of this machine.
        jobs: Number of parallel parts; results do not depend on it.
    """
    records = [None if folder is None else read_record(folder, part, kind) for part in parts]
    missing = [index for index, record in enumerate(records) if record is None]
    total = sum(part.weight for part in parts)
    done = total - sum(parts[index].weight for index in missing)
    progress(done, total, "")
    computed = (engine or engines.run_local)(compute, [parts[i].task for i in missing], jobs)
    with contextlib.closing(computed):
        for position, content in computed:
            part = parts[missing[position]]
            if folder is not None:
                files.write_bytes(folder / part.file, content)
            records[missing[position]] = msgspec.json.decode(content, type=kind)
            done += part.weight
            progress(done, total, part.label)
    return [record for record in records if record is not None]


def read_record(folder: Path, part: Part[Any], kind: type[RecordT]) -> RecordT | None:
    """Return the record of a part if its file is there, whole, and of the same fingerprint."""
    try:
        record = msgspec.json.decode((folder / part.file).read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return record if record.key == part.key else None


def encode(record: KeyedRecord) -> bytes:
    """Return a record as one line of JSON."""
    return msgspec.json.encode(record) + b"\n"
