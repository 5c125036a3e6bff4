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
    options: dict[str, Any] = {
        "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **further,
    }  # fmt: skip

    def decorate(function: Callable[..., object]) -> object:
        decorator: Any = numba.njit(cache=True, **options)
        dispatcher = decorator(function)
        if not options.get("no_cpython_wrapper"):
            _share_with_callers(dispatcher, function, options)
        return dispatcher

    return decorate


def _share_with_callers(
    dispatcher: Any, function: Callable[..., object], options: dict[str, Any]
) -> None:
    """Give compiled callers a variant of a function without the wrapper for calls from Python.

    Most compiled functions are called by others only; the wrapper would be a quarter of their
    compilation. The variant is not cached: the cached code of its callers contains it.
    """
    variant: list[Any] = []

    def inner() -> Any:
        if not variant:
            decorator: Any = numba.njit(**{**options, "no_cpython_wrapper": True})
            variant.append(decorator(function))
        return variant[0]

    dispatcher.get_call_template = lambda args, kws: inner().get_call_template(args, kws)
    dispatcher.get_overload = lambda signature: inner().get_overload(signature)


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
