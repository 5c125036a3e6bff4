"""What can go wrong in the store at run time; bad input is a ``model.errors.InputError``."""

from __future__ import annotations

from kubestow.model import errors


class StoreUnavailableError(errors.UnavailableError):
    """The database does not answer, or not in time; the same call may work later.

    Args:
        place: The database's address, without secrets.
        problem: What it or its driver said.
    """


class ClaimLostError(RuntimeError):
    """A run was evaluated, or taken over, by someone else; the result must be thrown away."""


class StateConflictError(RuntimeError):
    """A state was changed since it was read; read it again and compute anew."""
