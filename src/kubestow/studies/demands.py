"""Random lists of pod demands for packing studies, in shares of a node.

Generators of Schubert 2023, section 5.1.2 (uniform, exponential, split, empirical), and two that
the thesis did not try (lognormal, correlated). All aim at a mean demand of ``1/a`` per resource and
``100 a`` pods per list, so that about 100 nodes are needed whatever ``a`` is.

Random numbers: every chunk of ``CHUNK`` lists has its own seed, derived from the generator, the
number of resources and ``a``; in it every resource has its own PCG64 stream, as in the thesis, and
so has everything that concerns whole pods. Results therefore do not depend on who draws what when.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from kubestow.model import errors

FloatArray = npt.NDArray[np.float64]

CHUNK: Final = 50
"""Lists per seed; a number that no one should need to change, since it changes all results."""

PODS_PER_WEIGHT: Final = 100
"""Pods per list divided by ``a`` (thesis, section 5.1.2)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """One cell of a study: which demands to draw.

    Attributes:
        generator: A name in ``GENERATORS``.
        dimensions: Number of resources.
        a: One over the mean demand; whole for ``split``.
        shape: What the generator's last parameter is set to; see ``GENERATORS``.
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


Draw = Callable[[Streams, int, Setting], FloatArray]


def draw(setting: Setting, lists: int, seed: int, chunk: int) -> FloatArray:
    """Draw the lists of one chunk.

    Args:
        setting: What to draw.
        lists: How many lists, at most ``CHUNK``.
        seed: Seed of the whole study.
        chunk: Which chunk.

    Returns:
        Demands, ``[lists, pods, dimensions]``, each between 0 and 1.
    """
    if setting.generator not in GENERATORS:
        known = ", ".join(GENERATORS)
        raise errors.InputError("generator", f"{setting.generator!r}: must be one of {known}")
    return GENERATORS[setting.generator](open_streams(setting, seed, chunk), lists, setting)


def draw_chunks(setting: Setting, lists: int, seed: int) -> Iterator[FloatArray]:
    """Draw any number of lists, chunk by chunk."""
    for chunk in range(math.ceil(lists / CHUNK)):
        yield draw(setting, min(CHUNK, lists - chunk * CHUNK), seed, chunk)


def open_streams(setting: Setting, seed: int, chunk: int) -> Streams:
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


def _per_resource(
    streams: Streams, sample: Callable[[np.random.Generator], FloatArray]
) -> FloatArray:
    return np.stack([sample(stream) for stream in streams.resources], axis=-1)


def draw_uniform(streams: Streams, lists: int, setting: Setting) -> FloatArray:
    """Draw every component from U(0, 2/a)."""
    size = (lists, setting.pods)
    return _per_resource(streams, lambda stream: stream.random(size) * (2.0 / setting.a))


def draw_exponential(streams: Streams, lists: int, setting: Setting) -> FloatArray:
    """Draw every component from an exponential distribution of mean 1/a, clipped to one node."""
    size = (lists, setting.pods)
    return _per_resource(
        streams, lambda stream: np.minimum(stream.exponential(1.0 / setting.a, size), 1.0)
    )


def draw_split(streams: Streams, lists: int, setting: Setting) -> FloatArray:
    """Cut 100 full nodes into ``a`` pods each, every resource at its own random points.

    Cut points are multiples of 2**-53, so the pieces are exact and sum to exactly 100 nodes.
    """
    parts = round(setting.a)
    if parts != setting.a or parts < 1:
        raise errors.InputError("a", f"{setting.a}: must be a whole number >= 1 for split")

    def cut(stream: np.random.Generator) -> FloatArray:
        points = np.sort(stream.random((lists, PODS_PER_WEIGHT, parts - 1)), axis=-1)
        pieces = np.diff(points, axis=-1, prepend=0.0, append=1.0)
        return pieces.reshape(lists, setting.pods)

    pods = _per_resource(streams, cut)
    return np.stack([streams.pods.permutation(one) for one in pods])


def draw_lognormal(streams: Streams, lists: int, setting: Setting) -> FloatArray:
    """Draw every component from a lognormal distribution of mean 1/a, clipped to one node.

    ``shape`` is the standard deviation of the logarithm, 1 when it is not given.
    """
    size = (lists, setting.pods)
    sigma = setting.shape or 1.0
    mu = -math.log(setting.a) - sigma * sigma / 2.0
    return _per_resource(streams, lambda stream: np.minimum(stream.lognormal(mu, sigma, size), 1.0))


def draw_correlated(streams: Streams, lists: int, setting: Setting) -> FloatArray:
    """Draw exponential components (clipped) that rise and fall together.

    A Gaussian copula with one common factor: ``shape`` is the correlation of any two resources
    before the transformation, 0.5 when it is not given.
    """
    size = (lists, setting.pods)
    rho = setting.shape or 0.5
    common = streams.pods.standard_normal(size)

    def one(stream: np.random.Generator) -> FloatArray:
        normal = math.sqrt(rho) * common + math.sqrt(1.0 - rho) * stream.standard_normal(size)
        upper: FloatArray = special.log_ndtr(-normal)
        return np.minimum(-upper / setting.a, 1.0)

    return _per_resource(streams, one)


EMPIRICAL_PODS: Final = 6487
"""Pods of the cluster the thesis measured (section 5.1.4)."""


def draw_empirical(streams: Streams, lists: int, setting: Setting) -> FloatArray:
    """Todo."""
    raise NotImplementedError


GENERATORS: Final[dict[str, Draw]] = {
    "uniform": draw_uniform,
    "exponential": draw_exponential,
    "split": draw_split,
    "empirical": draw_empirical,
    "lognormal": draw_lognormal,
    "correlated": draw_correlated,
}
