"""What can go wrong when asking an API server."""

from __future__ import annotations

NOT_FOUND, CONFLICT, GONE, UNAUTHORIZED = 404, 409, 410, 401


class ApiError(Exception):
    """An answer of the API server that is not the one asked for.

    Attributes:
        status: HTTP status; 0 if there was no answer.
        reason: Its word for the kind of error, e.g. ``NotFound``.
        message: Its sentence.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{reason} ({status}): {message}" if status else message)
        self.status, self.reason, self.message = status, reason, message

    @property
    def is_passing(self) -> bool:
        """Tell whether asking again later may help: no answer, too many requests, server faults."""
        return self.status == 0 or self.status == 429 or self.status >= 500
