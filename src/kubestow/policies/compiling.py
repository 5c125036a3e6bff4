"""Decorators that compile hot loops with numba, all with the same options.

The wrappers keep the static types. Numba caches machine code in ``__pycache__`` and only detects
changes of the module that holds the outermost function: after editing a module whose compiled
functions are called from another module, delete ``__pycache__``. Tests compare compiled results
with plain Python and would fail on stale code.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function of numbers and arrays on first use and cache the result on disk.

    Compiled functions release the interpreter lock, so threads run them in parallel.
    Division by zero gives NaN or infinity as in NumPy, never an exception.
    """
    return cast("Function", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile like ``compiled`` and inline the code into every caller.

    For functions of the innermost loops: tuples of arrays are passed by value, which costs more
        than the few operations on them.
    """
    return cast(
        "Function",
        numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function),
    )


def compiled_inner(function: Function) -> Function:
    """Compile like ``inlined``, for compiled callers only: Python cannot call the result.

    Omitting the Python wrapper shortens compilation considerably.
    """
    # Numba's type stubs lack the last two options.
    options: dict[str, Any] = {
        "cache": True,
        "nogil": True,
        "error_model": "numpy",
        "forceinline": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    return cast("Function", numba.njit(**options)(function))


def compiled_finite(function: Function) -> Function:
    """Compile like ``compiled``, on the assumption that no number is NaN.

    The compiler can then vectorize minima and maxima; no result changes.
    """
    return cast(
        "Function",
        numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})(function),
    )
