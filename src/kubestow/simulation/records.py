"""Types of records: rows of arrays whose members are read and set by name."""

from __future__ import annotations

from typing import Any

import numpy as np


def make(members: list[tuple[str, Any]]) -> np.dtype[Any]:
    """Return the type of a record.

    Rows are ``np.record``, so that ``row.member`` means the same to Python and to the compiler.
    """
    return np.dtype((np.record, members))
