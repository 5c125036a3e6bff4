"""Parameters of the recommender ``q-learning``.

Boettcher 2023 prints the update rule, the states, the actions and what rewards have to favour, but
no number other than the grid of 64. The numbers are those of the reference set in Böttcher 2023,
3.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from kubestow.model import decoding

CONVERGING: Final = "converging"
STRICT: Final = "strict"

Share = Annotated[float, decoding.ValueBounds(least=0.0, most=1.0)]
Positive = Annotated[float, decoding.ValueBounds(above=0.0)]
Amount = Annotated[float, decoding.ValueBounds(least=0.0)]
Count = Annotated[int, decoding.ValueBounds(least=1)]


@dataclass(frozen=True, slots=True)
class QParameters:
    """Parameters of the agents' learning.

    Units are those of the grid: megabytes of 10^6 bytes for memory, millicores for CPU.

    Attributes:
        variant: ``strict`` makes a few passes per run and takes the state they end in, as printed;
            ``converging`` continues until the state is stable, and trains again if that is outside
            the band.
        step: Distance of two states (Böttcher 2023, formula 3.2).
        alpha: Learning rate (2.8).
        gamma: Discount factor (2.8).
        episodes: Episodes of the first training.
        steps_per_state: Steps of an episode, by number of states.
        first_epsilon: Share of random actions in the first episode.
        last_epsilon: Share of random actions in the last ones.
        decay_share: Share of the episodes over which epsilon decays.
        passes: Passes per later run of ``strict``.
        buffer_least: Smallest buffer of memory above its maximum.
        buffer_share: Buffer as a share of the maximum.
        too_small: Reward of a state below the band, or not above a request that failed.
        too_large: Reward of a state above the band.
        cpu_slope: How much less reward the upper edge of the CPU band has than the lower one, whose
            reward is 1: results of the thesis lie at the lower edge (3.9).
        memory_slope: How much less reward the lower edge of the memory band has than the upper one,
            whose reward is 1; 0 is flat. The thesis allows both (3.10); a request at the lower edge
            is exceeded by every run that needs a little more than the last ones.
        cpu_quarter: Position of CPU after a shortage, as a share of the range from average to
            maximum (recovered from the tables, 3.9).
        last_runs: Number of runs whose statistics count; the thesis uses only the last (1), which
            triples the misses (5.7).
        kill_runs: Number of runs for which memory stays above a request that was OOM-killed; then
            the kill is forgotten, because demand may have changed (F22).
        window_s: Length of a run, in seconds, of a pod that does not end.
        most_states: Largest number of states of an agent: 262 GB, 262 cores.
    """

    variant: Annotated[str, decoding.OneOf((CONVERGING, STRICT))] = CONVERGING
    step: Positive = 64.0
    alpha: Annotated[float, decoding.ValueBounds(above=0.0, most=1.0)] = 0.5
    gamma: Annotated[float, decoding.ValueBounds(least=0.0, below=1.0)] = 0.9
    episodes: Count = 300
    steps_per_state: Count = 2
    first_epsilon: Share = 1.0
    last_epsilon: Share = 0.05
    decay_share: Annotated[float, decoding.ValueBounds(above=0.0, most=1.0)] = 0.8
    passes: Count = 2
    buffer_least: Amount = 64.0
    buffer_share: Amount = 0.10
    too_small: float = -10.0
    too_large: float = -1.0
    cpu_slope: Share = 0.5
    memory_slope: Share = 0.5
    cpu_quarter: Share = 0.25
    last_runs: Count = 5
    kill_runs: Count = 20
    window_s: Annotated[decoding.Seconds, decoding.ValueBounds(above=0.0)] = 86_400.0
    most_states: Count = 4096


AS_PRINTED: Final = QParameters(variant=STRICT, memory_slope=0.0, last_runs=1, kill_runs=1)
"""The operator of the thesis, as far as it is documented."""


class QSettings(NamedTuple):
    """The parameters for compiled functions, for memory or CPU."""

    memory: bool
    strict: bool
    step: float
    alpha: float
    gamma: float
    episodes: int
    steps_per_state: int
    first_epsilon: float
    last_epsilon: float
    decay_share: float
    passes: int
    buffer_least: float
    buffer_share: float
    too_small: float
    too_large: float
    slope: float
    quarter: float
    last_runs: int
    kill_runs: int
    most_states: int


def settle(p: QParameters, *, memory: bool) -> QSettings:
    """Return the settings of the agents of one resource."""
    return QSettings(
        memory, p.variant == STRICT, float(p.step), float(p.alpha), float(p.gamma), p.episodes,
        p.steps_per_state, float(p.first_epsilon), float(p.last_epsilon), float(p.decay_share),
        p.passes, float(p.buffer_least), float(p.buffer_share), float(p.too_small),
        float(p.too_large), float(p.memory_slope if memory else p.cpu_slope), float(p.cpu_quarter),
        p.last_runs, p.kill_runs, p.most_states,
    )  # fmt: skip
