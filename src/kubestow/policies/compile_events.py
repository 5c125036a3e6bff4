"""Tells whoever wants to know that functions are being compiled.

Compilation happens on the first use on a machine and can take many seconds. A host that shows
progress sets ``listener``; this module imports nothing, so that it may do so at any time.
"""

from __future__ import annotations

from collections.abc import Callable

listener: Callable[[bool], None] | None = None
"""Called with true before a function is compiled and with false after it; not for cached code."""


def announce(*, starts: bool) -> None:
    """Call the listener, if there is one."""
    if listener is not None:
        listener(starts)
