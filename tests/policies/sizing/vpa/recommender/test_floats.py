"""Logarithms and powers are Go's to the last bit, in Python and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from kubestow.policies.sizing.vpa.recommender import floats
from tests.policies.sizing.vpa import recorded

FACTS = recorded.load("go_floats.jsonl.gz")
PLAIN: dict[str, Callable[..., float]] = {
    "log": floats.log,
    "exp2": floats.exp2,
    "power": floats.power,
}
COMPILED: dict[str, Callable[..., float]] = {
    "log": floats.inlined_log,
    "exp2": floats.inlined_exp2,
    "power": floats.inlined_power,
}


@pytest.mark.parametrize("name", PLAIN)
def test_results_are_those_of_go(name: str) -> None:
    facts = [fact for fact in FACTS if fact[0] == name]
    assert len(facts) >= 300
    for _, *given, expected in facts:
        arguments = [float(given[0]), *(int(more) for more in given[1:])]
        assert PLAIN[name](*arguments) == float(expected), arguments
        assert COMPILED[name](*arguments) == float(expected), arguments


def test_the_last_bit_differs_from_the_c_library_now_and_then() -> None:
    # Were it not so, the functions of Python would do and this module could go.
    mathematical = {"log": math.log, "exp2": lambda x: 2.0**x}
    different = [
        fact
        for fact in FACTS
        if fact[0] in mathematical and mathematical[fact[0]](fact[1]) != float(fact[2])
    ]
    assert different


def test_powers_of_infinity_are_zero_or_infinite() -> None:
    assert floats.power(math.inf, -2) == 0.0
    assert floats.power(math.inf, 2) == math.inf
    assert floats.exp2(2000.0) == math.inf
    assert floats.exp2(-2000.0) == 0.0
