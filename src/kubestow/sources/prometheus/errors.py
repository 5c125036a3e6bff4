"""Errors of queries to Prometheus."""

from __future__ import annotations

from kubestow.model import errors

DOWN = "down"
TIMEOUT = "timeout"
REFUSED = "refused"
TOO_LARGE = "too large"
UNREADABLE = "unreadable"
CREDENTIALS = "credentials"


class ReadError(errors.InputError):
    """A query without a valid response, with the kind of fault.

    Args:
        place: Address of the server without credentials, or the file that could not be read.
        problem: What happened, and what was expected.
        kind: One of the kinds above, for callers that continue without the response.
    """

    def __init__(self, place: str, problem: str, kind: str) -> None:
        self.kind = kind
        super().__init__(place, problem)
