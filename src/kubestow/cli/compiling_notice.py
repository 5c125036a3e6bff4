"""One line on a terminal while functions are compiled for this machine."""

from __future__ import annotations

import sys

from kubestow.policies import compile_events

_QUIET = 3  # functions; a few more are no reason to say anything


class CompilingNotice:
    """Counts functions on one line of standard error, which is there only while it compiles."""

    def __init__(self) -> None:
        self._count = 0
        self._depth = 0

    def announce(self, starts: bool) -> None:
        """Show or remove the line."""
        self._depth += 1 if starts else -1
        self._count += starts
        if self._count <= _QUIET:
            return
        line = f"compiling for this machine, once: {self._count} functions so far ..."
        sys.stderr.write(f"\r\033[K{line if self._depth > 0 else ''}")
        sys.stderr.flush()


def show() -> None:
    """Show the notice from now on, if standard error is a terminal."""
    if sys.stderr.isatty():
        compile_events.listener = CompilingNotice().announce
