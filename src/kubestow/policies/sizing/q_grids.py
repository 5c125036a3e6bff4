"""The grid of states of ``q-learning``: multiples of 64 units (theses/001 formula 3.2).

State ``k`` of a table stands for ``(k + 1)`` steps, so that the smallest amount is one step.
"""

from __future__ import annotations

import numpy as np

from kubestow.policies.compiling import compiled


@compiled
def round_up(amount: float, step: float) -> float:
    """Return the smallest amount of the grid that is not below, at least one step."""
    # A millionth of a step is noise of floating point, not usage.
    return max(float(np.ceil(amount / step - 1e-6)), 1.0) * step


@compiled
def step_above(amount: float, step: float) -> float:
    """Return the smallest amount of the grid that is larger."""
    return (float(np.floor(amount / step + 1e-6)) + 1.0) * step


@compiled
def count_states(request: float, largest: float, step: float, most: int) -> int:
    """Return how many states an agent has: up to twice what is requested or used."""
    wanted = int(np.ceil(2.0 * max(request, largest) / step))
    return min(max(wanted, 2), most)


@compiled
def find_state(amount: float, step: float, states: int) -> int:
    """Return the state nearest to an amount."""
    nearest = int(np.floor(amount / step + 0.5)) - 1
    return min(max(nearest, 0), states - 1)


@compiled
def amount_of(state: int, step: float) -> float:
    """Return the amount a state stands for."""
    return (state + 1.0) * step
