"""Ctrl-C ends the program within two seconds, with one line, whatever it is doing.

Python runs its signal handler between two instructions of the main thread, so an import, a compiled
loop or a pool of processes can delay or garble an interrupt. Here the signal also writes a byte to
a pipe, and a thread that reads it gives the program a moment to end by itself: finished parts are
kept, files are renamed or removed. Then it ends the process. Servers have signal handlers of their
own, which replace this one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any, Final

CODE: Final = 130
LINE: Final = "interrupted; finished parts are kept\n"
GRACE_S: Final = 1.2
_seen = threading.Event()


def watch() -> None:
    """Start to watch for interrupts; for the main thread of the program."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(reading,), daemon=True, name="interrupts").start()


def seen() -> bool:
    """Return whether the program was interrupted."""
    return _seen.is_set()


def leave() -> None:
    """End an interrupted program, without waiting for threads or processes."""
    _seen.set()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    _end_children()
    os._exit(CODE)


def _wait(reading: int) -> None:
    while os.read(reading, 1) != bytes([signal.SIGINT]):
        continue
    _seen.set()
    # Python itself reports an interrupt inside a destructor; one line is enough.
    sys.unraisablehook = _ignore
    time.sleep(GRACE_S)
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, LINE.encode())
    _end_children()
    os._exit(CODE)


def _ignore(_: Any) -> None:
    """Say nothing about an exception that cannot be raised."""


def _end_children() -> None:
    multiprocessing = sys.modules.get("multiprocessing")
    for child in multiprocessing.active_children() if multiprocessing else ():
        child.kill()
