"""Run-time errors of the store; bad input is a ``model.errors.InputError``."""

from __future__ import annotations

from kubestow.model import errors


class StoreUnavailableError(errors.UnavailableError):
    """The database is not available, or too slow; a retry may succeed.

    Args:
        place: URL of the database, without secrets.
        problem: Message of the database or its driver.
    """


class ClaimLostError(RuntimeError):
    """Another worker evaluated or claimed a run; the result must be dropped."""


class StateConflictError(RuntimeError):
    """A state was changed since it was read; read it again and recompute."""
