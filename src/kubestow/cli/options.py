"""Options that several commands read alike."""

from __future__ import annotations

from kubestow.model import errors


def read_duration(option: str, text: str) -> float:
    """Return a duration in seconds.

    Raises:
        InputError: If the text is not a duration, or is 0.
    """
    from kubestow.model import decoding

    try:
        seconds = decoding.duration_seconds(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0.0:
        raise errors.InputError(option, f"{text!r}: expected a duration such as 90s, 5m or 1h")
    return seconds
