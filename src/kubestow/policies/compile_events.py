"""Tells whoever wants to know that functions are being compiled.

Compilation happens on the first use on a machine and can take many seconds. A host that shows
progress sets ``listener``; this module imports nothing, so that it may do so at any time. JAX
compiles in each process anew, for each shape of arrays, and reports how long it took: a host that
measures time subtracts ``durations_s``.
"""

from __future__ import annotations

from collections.abc import Callable

listener: Callable[[bool], None] | None = None
"""Called with true before a function is compiled and with false after it; not for cached code."""


durations_s: list[float] = []
"""How long each compilation by JAX took."""


def announce(*, starts: bool) -> None:
    """Call the listener, if there is one."""
    if listener is not None:
        listener(starts)
