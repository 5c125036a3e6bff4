"""Errors of requests to an API server."""

from __future__ import annotations

FORBIDDEN, NOT_FOUND, CONFLICT, GONE, UNAUTHORIZED = 403, 404, 409, 410, 401


class ApiError(Exception):
    """A failed request to the API server.

    Attributes:
        status: HTTP status; 0 if there was no response.
        reason: Machine-readable reason, e.g. ``NotFound``.
        message: Human-readable message.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{reason} ({status}): {message}" if status else message)
        self.status, self.reason, self.message = status, reason, message

    @property
    def is_passing(self) -> bool:
        """Return whether a retry may help: no response, too many requests, or a server error."""
        return self.status == 0 or self.status == 429 or self.status >= 500
