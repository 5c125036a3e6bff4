"""Compiled functions: what Python calls has a wrapper, what compiled functions call has none."""

from __future__ import annotations

from typing import Any

from numba import types

from kubestow.policies.compiling import compiled, inlined


@compiled
def raised(value: float) -> float:
    return value + 1.0


@compiled
def doubled(value: float) -> float:
    return 2.0 * raised(value)


@inlined
def halved(value: float) -> float:
    return value / 2.0


def test_compiled_functions_call_each_other_and_python_calls_both() -> None:
    # 2 x (3 + 1) = 8, and 3 + 1 = 4.
    assert doubled(3.0) == 8.0
    assert raised(3.0) == 4.0
    assert halved(3.0) == 1.5


def test_a_compiled_caller_gets_a_variant_without_the_wrapper_for_python() -> None:
    for function in (raised, halved):
        dispatcher: Any = function
        before = list(dispatcher.signatures)
        # What a caller of integers asks for while it is compiled.
        template, *_ = dispatcher.get_call_template((types.int64,), {})
        assert (types.int64,) in [case.args for case in template.cases]
        assert dispatcher.signatures == before
