"""Where public data lies: beside the checkout, or where an environment variable says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kubestow.model import errors

VARIABLE: Final = "KUBESTOW_DATA"
"""Environment variable that names the folder of the public data."""

DEFAULT: Final = Path("../shared/data")


def folder() -> Path:
    """Return the folder of public data, whether it is there or not."""
    return Path(os.environ.get(VARIABLE, DEFAULT))


def find(files: Sequence[str], *, every: bool = False) -> Path:
    """Return the folder of public data.

    Args:
        files: What a study reads, relative to the folder.
        every: All of them are needed; otherwise one is enough.

    Raises:
        InputError: If what is needed is not there, with its name.
    """
    data = folder()
    missing = [name for name in files if not (data / name).exists()]
    if missing and (every or len(missing) == len(files)):
        wanted = missing[0] if every else f"one of {', '.join(missing)}"
        raise errors.InputError(
            str(data),
            f"{wanted} is needed by this study and is not there; name the folder that holds it "
            f"with {VARIABLE}",
        )
    return data
