"""Decorators that compile hot loops with numba, all with the same options.

The wrappers keep the static types. Numba caches machine code in ``__pycache__`` and only detects
changes of the module that holds the outermost function: after editing a module whose compiled
functions are called from another module, delete ``__pycache__``. Tests compare compiled results
with plain Python and would fail on stale code.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from kubestow.policies import compile_events

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function of numbers and arrays on first use and cache the result on disk.

    Compiled functions release the interpreter lock, so threads run them in parallel.
    Division by zero gives NaN or infinity as in NumPy, never an exception.
    """
    return cast("Function", _njit()(function))


def inlined(function: Function) -> Function:
    """Compile like ``compiled`` and inline the code into every caller.

    For functions of the innermost loops: tuples of arrays are passed by value, which costs more
        than the few operations on them.
    """
    return cast("Function", _njit(forceinline=True)(function))


def compiled_inner(function: Function) -> Function:
    """Compile like ``inlined``, for compiled callers only: Python cannot call the result.

    Omitting the Python wrapper shortens compilation considerably.
    """
    return cast("Function", _njit(forceinline=True, no_cpython_wrapper=True)(function))


def compiled_finite(function: Function) -> Function:
    """Compile like ``compiled``, on the assumption that no number is NaN.

    The compiler can then vectorize minima and maxima; no result changes.
    """
    return cast("Function", _njit(fastmath={"nnan", "nsz"})(function))


def _njit(**further: Any) -> Callable[[Callable[..., object]], object]:
    """Return numba's decorator with the options that all functions share.

    Nobody calls these functions from C, and omitting the wrapper for it shortens compilation.
    """
    # Numba's type stubs lack some of the options.
    options: dict[str, Any] = {"no_cfunc_wrapper": True, **further}
    decorator: Any = numba.njit(cache=True, nogil=True, error_model="numpy", **options)
    return cast("Callable[[Callable[..., object]], object]", decorator)


class _Announcer(event.Listener):
    """Passes numba's events on."""

    def on_start(self, _: Any) -> None:
        """Announce that a function is about to be compiled."""
        compile_events.announce(starts=True)

    def on_end(self, _: Any) -> None:
        """Announce that it is compiled."""
        compile_events.announce(starts=False)


_register: Callable[[str, event.Listener], None] = event.register
_register("numba:compile", _Announcer())
