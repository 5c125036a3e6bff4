"""The one door to the compiler, so that every hot loop is compiled alike and keeps its types.

Numba keeps compiled code beside the source and notices changes of the module that holds the outer
function only; after editing a module whose functions are called from another one, delete
``__pycache__``. The tests compare compiled results with plain Python and would notice.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function of numbers and arrays on first use and keep the result on disk.

    Compiled functions release the interpreter lock, so that threads run them side by side.
    Division by zero gives NaN or infinity as in NumPy, never an exception.
    """
    return cast("Function", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile as ``compiled`` does, and copy the code into every caller.

    For functions of the innermost loops: bundles of arrays are passed by value, which costs more
    than the few operations on them.
    """
    return cast(
        "Function",
        numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function),
    )


def buried(function: Function) -> Function:
    """Compile as ``inlined`` does, for compiled callers only: Python cannot call the result.

    Leaving out the way in from Python saves a good part of the time to compile.
    """
    # Numba's types do not know the last two options.
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
    """Compile as ``compiled`` does, with the promise that no number is NaN.

    That lets the compiler find minima and maxima several numbers at a time; no result changes.
    """
    return cast(
        "Function",
        numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})(function),
    )
