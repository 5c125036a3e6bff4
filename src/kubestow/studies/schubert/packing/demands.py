"""Random lists of pod demands for packing studies, in shares of a node.

The generators are those of Schubert 2023, section 5.1.2 (uniform, exponential, split, empirical),
two more (lognormal, correlated), and six that only served to tune `adaptive`. All have a mean
demand of ``1/a`` per resource and ``100 a`` pods per list, so that about 100 nodes are needed for
any ``a``.

Random numbers: every chunk of ``CHUNK`` lists has its own seed, derived from the generator, the
number of resources and ``a``. In a chunk every resource has its own PCG64 stream, as in the thesis,
and so do values of whole pods. So results do not depend on the order of drawing.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from scipy import special

from kubestow.model import errors
from kubestow.model.arrays import Floats

CHUNK: Final = 50
"""Lists per seed. Changing it changes all results."""

PODS_PER_WEIGHT: Final = 100
"""Pods per list divided by ``a`` (thesis, section 5.1.2)."""


@dataclasses.dataclass(frozen=True, slots=True)
class DemandSetting:
    """The demands of one cell.

    Attributes:
        generator: A name in ``GENERATORS``.
        dimensions: Number of resources.
        a: 1 / mean demand; a whole number for ``split``.
        shape: Last parameter of the generator; see ``GENERATORS``.
    """

    generator: str
    dimensions: int
    a: float
    shape: float = 0.0

    @property
    def pods(self) -> int:
        """Pods per list."""
        if self.generator == "empirical":
            return EMPIRICAL_PODS
        return round(PODS_PER_WEIGHT * self.a)


@dataclasses.dataclass(frozen=True, slots=True)
class Streams:
    """Random numbers of one chunk: one stream per resource and one for whole pods."""

    resources: tuple[np.random.Generator, ...]
    pods: np.random.Generator


Draw = Callable[[Streams, int, DemandSetting], Floats]


def draw(setting: DemandSetting, lists: int, seed: int, chunk: int) -> Floats:
    """Draw the lists of one chunk.

    Args:
        setting: The demands to draw.
        lists: Number of lists, at most ``CHUNK``.
        seed: Seed of the study.
        chunk: Index of the chunk.

    Returns:
        Demands, ``[lists, pods, dimensions]``, each between 0 and 1.
    """
    if setting.generator not in GENERATORS:
        known = ", ".join(GENERATORS)
        raise errors.InputError("generator", f"{setting.generator!r}: must be one of {known}")
    return GENERATORS[setting.generator](open_streams(setting, seed, chunk), lists, setting)


def draw_chunks(setting: DemandSetting, lists: int, seed: int) -> Iterator[Floats]:
    """Draw any number of lists, chunk by chunk."""
    for chunk in range(math.ceil(lists / CHUNK)):
        yield draw(setting, min(CHUNK, lists - chunk * CHUNK), seed, chunk)


def open_streams(setting: DemandSetting, seed: int, chunk: int) -> Streams:
    """Return the independent streams of one chunk."""
    key = (
        list(GENERATORS).index(setting.generator),
        setting.dimensions,
        round(setting.a * 1000),
        round(setting.shape * 1000),
        chunk,
    )
    children = np.random.SeedSequence(seed, spawn_key=key).spawn(setting.dimensions + 1)
    streams = tuple(np.random.Generator(np.random.PCG64(child)) for child in children)
    return Streams(streams[:-1], streams[-1])


def _per_resource(streams: Streams, sample: Callable[[np.random.Generator], Floats]) -> Floats:
    return np.stack([sample(stream) for stream in streams.resources], axis=-1)


def draw_uniform(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw every component from U(0, 2/a)."""
    if setting.a < 2.0:
        raise errors.InputError("a", f"{setting.a}: must be >= 2, or demands would exceed a node")
    size = (lists, setting.pods)
    return _per_resource(streams, lambda stream: stream.random(size) * (2.0 / setting.a))


def draw_exponential(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw every component from an exponential distribution of mean 1/a, clipped to one node."""
    size = (lists, setting.pods)
    return _per_resource(
        streams, lambda stream: np.minimum(stream.exponential(1.0 / setting.a, size), 1.0)
    )


def draw_split(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Cut 100 full nodes into ``a`` pods each, every resource at its own random points.

    Cut points are multiples of 2**-53, so the pieces are exact and sum to exactly 100 nodes.
    """
    parts = round(setting.a)
    if parts != setting.a or parts < 1:
        raise errors.InputError("a", f"{setting.a}: must be a whole number >= 1 for split")

    def cut(stream: np.random.Generator) -> Floats:
        points = np.sort(stream.random((lists, PODS_PER_WEIGHT, parts - 1)), axis=-1)
        pieces = np.diff(points, axis=-1, prepend=0.0, append=1.0)
        return pieces.reshape(lists, setting.pods)

    pods = _per_resource(streams, cut)
    return np.stack([streams.pods.permutation(one) for one in pods])


def draw_lognormal(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw every component from a lognormal distribution of mean 1/a, clipped to one node.

    ``shape`` is the standard deviation of the logarithm, 1 by default.
    """
    size = (lists, setting.pods)
    sigma = setting.shape or 1.0
    mu = -math.log(setting.a) - sigma * sigma / 2.0
    return _per_resource(streams, lambda stream: np.minimum(stream.lognormal(mu, sigma, size), 1.0))


def draw_correlated(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw exponential components (clipped) that rise and fall together.

    A Gaussian copula with one common factor: ``shape`` is the correlation of any two resources
    before the transformation, 0.5 by default.
    """
    size = (lists, setting.pods)
    rho = setting.shape or 0.5
    common = streams.pods.standard_normal(size)

    def one(stream: np.random.Generator) -> Floats:
        normal = math.sqrt(rho) * common + math.sqrt(1.0 - rho) * stream.standard_normal(size)
        upper: Floats = special.log_ndtr(-normal)
        return np.minimum(-upper / setting.a, 1.0)

    return _per_resource(streams, one)


def draw_gamma(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw every component from a gamma distribution of mean 1/a, clipped to one node."""
    size = (lists, setting.pods)
    shape = setting.shape or 0.4
    return _per_resource(
        streams,
        lambda stream: np.minimum(stream.gamma(shape, 1.0 / (setting.a * shape), size), 1.0),
    )


def draw_weibull(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw every component from a Weibull distribution of mean 1/a, clipped to one node."""
    size = (lists, setting.pods)
    shape = setting.shape or 0.6
    scale = 1.0 / (setting.a * math.gamma(1.0 + 1.0 / shape))
    return _per_resource(
        streams, lambda stream: np.minimum(stream.weibull(shape, size) * scale, 1.0)
    )


def draw_bimodal(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw small pods from U(0, 1/a) and, one in five, large ones from U(0, 6/a), clipped."""
    uniform = draw_uniform(streams, lists, setting)
    large = streams.pods.random((lists, setting.pods, 1)) < 0.2
    return np.minimum(np.where(large, 3.0 * uniform, 0.5 * uniform), 1.0)


def draw_skewed(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw uniform components whose means fall from 1/a to ``shape`` (0.3) times that."""
    lowest = setting.shape or 0.3
    return draw_uniform(streams, lists, setting) * np.linspace(1.0, lowest, setting.dimensions)


def draw_tilted(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw exponential components (clipped) whose means fall from 1/a to ``shape`` (0.8) of it."""
    lowest = setting.shape or 0.8
    return draw_exponential(streams, lists, setting) * np.linspace(1.0, lowest, setting.dimensions)


def draw_shared(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Draw components that are half their own and half common to the pod, both U(0, 2/a)."""
    own = draw_uniform(streams, lists, setting)
    common = streams.pods.random((lists, setting.pods, 1)) * (2.0 / setting.a)
    return np.asarray(0.5 * (own + common))


EMPIRICAL_PODS: Final = 6487
"""Pods of the cluster the thesis measured (section 5.1.4)."""

EMPIRICAL_NODES: Final = (41.0, 44.5)
"""Total CPU and memory demand of the synthetic pods, in nodes: 0.63 % and 0.69 % per pod."""

EMPIRICAL_SIGMA: Final = (2.2, 1.4)
"""Standard deviations of the logarithm."""

EMPIRICAL_CORRELATION: Final = 0.94
"""Correlation of the logarithms."""

EMPIRICAL_LARGEST: Final = 0.1
"""Maximum demand of a synthetic pod, as a share of a node."""

EMPIRICAL_SEED: Final = 3
"""Seed of the synthetic pods, independent of the seed of the study."""


@functools.cache
def empirical_pods() -> Floats:
    """Return synthetic pods that replace the measured pods of the thesis, in shares of a node.

    The data of the thesis are not published. Known are the number of pods and, from Table 5.1, that
    the scarcer resource needs about 45 nodes. The synthetic pods are lognormal and correlated,
    clipped, and scaled to that; spread, correlation and seed were chosen among about 200 sets so
    that the heuristics differ about as much as in Table 5.1. They show how the heuristics treat
    many small pods of very different size, and cannot confirm the numbers of the thesis.
    """
    stream = np.random.Generator(np.random.PCG64(EMPIRICAL_SEED))
    normal = stream.standard_normal((EMPIRICAL_PODS, 2))
    rest = math.sqrt(1.0 - EMPIRICAL_CORRELATION**2)
    normal[:, 1] = EMPIRICAL_CORRELATION * normal[:, 0] + rest * normal[:, 1]
    pods = np.exp(np.array(EMPIRICAL_SIGMA) * normal)
    # Clipping lowers the total, scaling lifts pods above the limit again; this converges quickly.
    for _ in range(30):
        pods = np.minimum(pods / pods.sum(axis=0) * np.array(EMPIRICAL_NODES), EMPIRICAL_LARGEST)
    pods.setflags(write=False)
    return pods


def draw_empirical(streams: Streams, lists: int, setting: DemandSetting) -> Floats:
    """Shuffle the fixed set of pods for every list."""
    if setting.dimensions != 2:
        raise errors.InputError(
            "dimensions", f"{setting.dimensions}: must be 2 for the empirical pods"
        )
    return np.stack([streams.pods.permutation(empirical_pods()) for _ in range(lists)])


# New generators go to the end: the position is part of every seed.
GENERATORS: Final[dict[str, Draw]] = {
    "uniform": draw_uniform,
    "exponential": draw_exponential,
    "split": draw_split,
    "empirical": draw_empirical,
    "lognormal": draw_lognormal,
    "correlated": draw_correlated,
    "gamma": draw_gamma,
    "weibull": draw_weibull,
    "bimodal": draw_bimodal,
    "skewed": draw_skewed,
    "tilted": draw_tilted,
    "shared": draw_shared,
}
"""Generators by name."""
