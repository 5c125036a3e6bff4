"""Agents of ``q-learning``: one per container and resource, one evaluation per run.

Train once, walk from the current request, then apply the safety rules: memory never stays below its
maximum (Böttcher 2023, F21); CPU below its average, or short, is set a quarter of the way from
average to maximum (3.9). Beyond the thesis: an OOM kill is an evaluation even if nothing else is
known of the run, and the request stays above the one that failed for some runs; where the upper
edge of the memory band is preferred, a result in its lower half is lifted to that edge.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Words
from kubestow.policies.compiling import compiled
from kubestow.policies.sizing.q_learning import rewards, tables
from kubestow.policies.sizing.q_learning.parameters import QSettings
from kubestow.policies.sizing.q_learning.rewards import Band

# How often ``converging`` trains again before the safety rules alone decide.
_ROUNDS: Final = 5


@compiled
def grow(values: Floats, states: int) -> Floats:
    """Return a table with more states, initialised to 0; never with fewer."""
    if states <= len(values):
        return values
    grown = np.zeros((states, 3))
    grown[: len(values)] = values
    return grown


@compiled
def protect(
    request: float, average: float, largest: float, band: Band, settings: QSettings
) -> float:
    """Return the request after the safety rules."""
    step = settings.step
    short = band.failed > 0.0
    if settings.memory and (request < largest or request <= band.failed):
        buffered = largest + rewards.buffer_of(largest, settings)
        request = rewards.round_up(buffered, step)
    if settings.memory and settings.slope > 0.0 and request < (band.low + band.high) / 2.0:
        request = max(request, float(np.floor(band.high / step + 1e-6)) * step)
    if not settings.memory and (request < average or short):
        request = max(average + settings.quarter * (largest - average), step)
    if short and request <= band.failed:
        request = rewards.step_above(band.failed, step)
    return request


@compiled
def search(values: Floats, state: int, band: Band, settings: QSettings, seed: Words) -> int:
    """Return the state a converging agent settles in; it trains again if outside the band."""
    settled = tables.follow(values, state, band, settings)
    for _ in range(_ROUNDS):
        if rewards.is_inside(rewards.amount_of(settled, settings.step), band):
            break
        tables.train(values, band, settings, seed)
        settled = tables.follow(values, state, band, settings)
    return settled


@compiled
def evaluate(
    values: Floats,
    request: float,
    average: float,
    largest: float,
    failed: float,
    settings: QSettings,
    seed: Words,
) -> tuple[float, Floats]:
    """Evaluate a run: return the new request and the table, which is changed in place if it fits.

    Args:
        values: The table; empty before the first training.
        request: Current request; NaN if there is none.
        average: Average usage.
        largest: Largest usage.
        failed: Request of the run if it was short, else 0.
        settings: Settings of the agent's resource.
        seed: State of the random numbers; advanced.
    """
    step = settings.step
    band = rewards.find_band(average, largest, failed, settings)
    if np.isnan(request):
        # There is no request: begin with usage.
        request = rewards.round_up(max(largest, failed), step)
    states = rewards.count_states(max(request, failed), largest, step, settings.most_states)
    first = len(values) == 0
    values = grow(values, states)
    if first:
        tables.train(values, band, settings, seed)
    state = rewards.find_state(request, step, len(values))
    if settings.strict:
        state = tables.walk(values, state, band, settings)
    else:
        state = search(values, state, band, settings, seed)
    amount = rewards.amount_of(state, step)
    return protect(amount, average, largest, band, settings), values


@compiled
def replay(
    averages: Floats,
    maxima: Floats,
    failures: Floats,
    requests: Floats,
    settings: QSettings,
    seeds: Words,
    out: Floats,
) -> None:
    """Evaluate the runs of many agents in order.

    Args:
        averages: Average usage by agent and run; NaN where a run was not measured.
        maxima: Largest usage by agent and run.
        failures: Requests of runs that were short, by agent and run; 0 for the others. A run that
            was killed before it was measured is evaluated as well: it needed at least its request.
        requests: Request before the first run, by agent; NaN if there is none.
        settings: Settings of the agents' resource.
        seeds: One seed per agent.
        out: Output: the request after each run; NaN before the first one.
    """
    runs = averages.shape[1]
    for agent in range(len(averages)):
        values = np.zeros((0, 3))
        request = requests[agent]
        seed = seeds[agent : agent + 1].copy()
        for run in range(runs):
            if not np.isnan(maxima[agent, run]) or failures[agent, run] > 0.0:
                average, largest = last_statistics(
                    averages[agent], maxima[agent], run, settings.last_runs
                )
                failed = last_failure(failures[agent], run, settings)
                if np.isnan(largest):
                    average, largest = failed, failed
                request, values = evaluate(
                    values, request, average, largest, failed, settings, seed
                )
            out[agent, run] = request


@compiled
def last_statistics(averages: Floats, maxima: Floats, run: int, count: int) -> tuple[float, float]:
    """Return the mean of averages and the largest maximum of the last measured runs, or NaN."""
    total, largest, measured, place = 0.0, 0.0, 0, run
    while place >= 0 and measured < count:
        if not np.isnan(maxima[place]):
            total += averages[place]
            largest = max(largest, maxima[place])
            measured += 1
        place -= 1
    if not measured:
        return np.nan, np.nan
    return total / measured, largest


@compiled
def last_failure(failures: Floats, run: int, settings: QSettings) -> float:
    """Return the largest request that failed and is remembered; of CPU, that of the run itself."""
    first = max(run - settings.kill_runs + 1, 0) if settings.memory else run
    return float(np.max(failures[first : run + 1]))
