"""Q-tables and their updates: the printed rule, training, and walks.

A table has a row per state and the columns more, less, stay. The rule is (2.8) of Boettcher 2023,
the walk her figure 3.7, the training schedule that of Böttcher 2023, 3.10. Everything is compiled;
random numbers come from a given seed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Words
from kubestow.policies.compiling import compiled
from kubestow.policies.sizing.q_learning import rewards
from kubestow.policies.sizing.q_learning.parameters import QSettings
from kubestow.policies.sizing.q_learning.rewards import Band

ACTIONS: Final = ("more", "less", "stay")
MORE, LESS, STAY = range(3)
# Values that change by less have converged; rewards are of the order of 1.
_REST: Final = 1e-4
# Largest number of passes of a walk, per state.
_MOST_PASSES: Final = 400


@compiled
def draw(seed: Words) -> float:
    """Return a number in [0, 1) and advance the seed (SplitMix64: Steele, Lea, Flood 2014)."""
    seed[0] += np.uint64(0x9E3779B97F4A7C15)
    z = seed[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return float(z >> np.uint64(11)) * 2.0**-53


@compiled
def choose(values: Floats, state: int) -> int:
    """Return the best action of a state; ties prefer stay, then less."""
    best = STAY
    if values[state, LESS] > values[state, best]:
        best = LESS
    if values[state, MORE] > values[state, best]:
        best = MORE
    return best


@compiled
def move(state: int, action: int, states: int) -> int:
    """Return the state an action leads to, within the grid."""
    if action == MORE:
        return min(state + 1, states - 1)
    if action == LESS:
        return max(state - 1, 0)
    return state


@compiled
def learn(
    values: Floats, state: int, action: int, band: Band, settings: QSettings
) -> tuple[int, int]:
    """Take an action and update the table by the printed rule; return next state and action."""
    reached = move(state, action, len(values))
    following = choose(values, reached)
    paid = rewards.reward(rewards.amount_of(reached, settings.step), band, settings)
    new = paid + settings.gamma * values[reached, following]
    values[state, action] = (1.0 - settings.alpha) * values[state, action] + settings.alpha * new
    return reached, following


@compiled
def train(values: Floats, band: Band, settings: QSettings, seed: Words) -> None:
    """Train a table by episodes from random states, with a decaying share of random actions."""
    states = len(values)
    falling = settings.decay_share * settings.episodes
    for episode in range(settings.episodes):
        share = min(episode / falling, 1.0)
        epsilon = settings.first_epsilon + share * (settings.last_epsilon - settings.first_epsilon)
        state = int(draw(seed) * states)
        for _ in range(settings.steps_per_state * states):
            action = choose(values, state)
            if draw(seed) < epsilon:
                action = int(draw(seed) * 3.0)
            state, _ = learn(values, state, action, band, settings)


@compiled
def walk(values: Floats, state: int, band: Band, settings: QSettings) -> int:
    """Make a few passes as printed; return the state they end in."""
    action = choose(values, state)
    for _ in range(settings.passes):
        state, action = learn(values, state, action, band, settings)
    return state


@compiled
def follow(values: Floats, state: int, band: Band, settings: QSettings) -> int:
    """Follow the best actions, learning, until staying is best and its value has converged."""
    for _ in range(_MOST_PASSES * len(values)):
        action = choose(values, state)
        before = values[state, action]
        reached, _ = learn(values, state, action, band, settings)
        at_rest = abs(values[state, action] - before) < _REST
        state = reached
        if action == STAY and at_rest and choose(values, state) == STAY:
            break
    return state
