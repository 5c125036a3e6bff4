"""Atomic writes: a file is either the old one or the new one, never half of it."""

import os
import pathlib
import tempfile
from typing import Any

import msgspec


def write_text(path: pathlib.Path, text: str) -> None:
    """Write text under a temporary name in the same folder, then rename."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: pathlib.Path, content: bytes) -> None:
    """Write bytes under a temporary name in the same folder, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = pathlib.Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        # Temporary files are private; results are for everyone with access to the folder.
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: pathlib.Path, value: Any, *, indent: int = 1) -> None:
    """Write a value as JSON with keys in the order given; no indent makes it compact."""
    text = msgspec.json.encode(value)
    if indent:
        text = msgspec.json.format(text, indent=indent)
    write_text(path, text.decode() + "\n")
