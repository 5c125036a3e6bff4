"""How an answer says no."""

from __future__ import annotations


class RefusedError(Exception):
    """A question that gets a Status instead of an answer.

    Attributes:
        code: HTTP status.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
