"""Location of the public data: next to the checkout, or given by an environment variable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kubestow.model import errors

VARIABLE: Final = "KUBESTOW_DATA"
"""Environment variable with the folder of the public data."""

DEFAULT: Final = Path("../shared/data")


def folder() -> Path:
    """Return the folder of public data, whether or not it exists."""
    return Path(os.environ.get(VARIABLE, DEFAULT))


def find(files: Sequence[str], *, every: bool = False) -> Path:
    """Return the folder of public data.

    Args:
        files: Files that a study reads, relative to the folder.
        every: Whether all of them are required; otherwise one is enough.

    Raises:
        InputError: If a required file is missing, with its name.
    """
    data = folder()
    missing = [name for name in files if not (data / name).exists()]
    if missing and (every or len(missing) == len(files)):
        required = missing[0] if every else f"one of {', '.join(missing)}"
        raise errors.InputError(
            str(data),
            f"{required} is missing, and this study needs it; set {VARIABLE} to the folder that "
            "contains it",
        )
    return data
