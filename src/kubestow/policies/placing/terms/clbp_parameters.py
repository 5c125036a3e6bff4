"""Parameters of ``clbp``: resources, thresholds, weights by type of pod (Shi 2023, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import errors, resources
from kubestow.model.arrays import Floats
from kubestow.model.decoding import ValueBounds

Judgements = tuple[tuple[float, ...], ...]

PRINTED: Judgements = (
    (1, 3, 3, 5, 7),
    (1 / 3, 1, 2, 4, 7),
    (1 / 3, 1 / 2, 1, 3, 4),
    (1 / 5, 1 / 4, 1 / 3, 1, 3),
    (1 / 7, 1 / 7, 1 / 4, 1 / 3, 1),
)
"""(4.13) of the thesis: CPU, memory, network, disk I/O, disk space of a compute pod."""

RECOVERED: Judgements = (
    (1, 3, 3, 5, 7),
    (1 / 3, 1, 2, 4, 7),
    (1 / 3, 1 / 2, 1, 1, 3),
    (1 / 5, 1 / 4, 1, 1, 3),
    (1 / 7, 1 / 7, 1 / 3, 1 / 3, 1),
)
"""The matrix that the published weights (table 4.5) come from."""

MOST_RATIO = 0.1  # (4.17): a matrix is accepted below this
STRICT_INDEX_OF_FIVE = 1.11  # the thesis' random index of five; tables usually have 1.12
# Random indices by size of the matrix (Saaty 1980); up to size two a matrix is always consistent.
_RANDOM_INDICES = (0.0, 0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45, 1.49)
_RECIPROCAL = 0.01  # tolerance: 0.33 is accepted for 1/3


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """The result of an analytic hierarchy process: weights and consistency.

    Attributes:
        means: Geometric means of the rows, (4.14).
        weights: The means normalised to sum 1, (4.15).
        largest: Estimate of the largest eigenvalue.
        index: Consistency index, (4.16).
        ratio: Consistency ratio, (4.17); below 0.1 is consistent enough.
    """

    means: Floats
    weights: Floats
    largest: float
    index: float
    ratio: float


def analyze_judgements(judgements: Judgements, *, strict: bool = False) -> Hierarchy:
    """Compute weights and consistency of a matrix of pairwise judgements.

    Args:
        judgements: How much more important each row is than each column.
        strict: Whether to use the thesis' random index for five resources.

    Raises:
        InputError: If the matrix is not square, positive and reciprocal.
    """
    matrix = _check(judgements)
    size = len(matrix)
    means = np.prod(matrix, axis=1) ** (1.0 / size)
    weights = means / means.sum()
    largest = float(np.mean(matrix @ weights / weights))
    index = (largest - size) / (size - 1) if size > 1 else 0.0
    random = _RANDOM_INDICES[size]
    if strict and size == 5:
        random = STRICT_INDEX_OF_FIVE
    return Hierarchy(means, weights, largest, index, index / random if random else 0.0)


def weigh(judgements: Judgements, size: int) -> Floats:
    """Return the weights of a matrix, after checking that it is consistent enough.

    Args:
        judgements: How much more important each row is than each column.
        size: Required number of rows.

    Raises:
        InputError: If the matrix has another size or is inconsistent.
    """
    if len(judgements) != size:
        raise errors.InputError("judgements", f"{len(judgements)} rows: must be {size}")
    hierarchy = analyze_judgements(judgements)
    if hierarchy.ratio >= MOST_RATIO:
        raise errors.InputError(
            "judgements",
            f"consistency ratio {hierarchy.ratio:.3f}: must be < {MOST_RATIO}; the judgements "
            "contradict each other",
        )
    return hierarchy.weights


def _check(judgements: Judgements) -> Floats:
    size = len(judgements)
    if not 1 <= size < len(_RANDOM_INDICES) or any(len(row) != size for row in judgements):
        raise errors.InputError(
            "judgements",
            f"rows of {[len(row) for row in judgements]} numbers: must be a square matrix of at "
            f"most {len(_RANDOM_INDICES) - 1}",
        )
    matrix = np.array(judgements, dtype=np.float64)
    if not (np.isfinite(matrix) & (matrix > 0.0)).all():
        raise errors.InputError("judgements", "must be finite numbers > 0")
    wrong = np.argwhere(np.abs(matrix * matrix.T - 1.0) > _RECIPROCAL)
    if len(wrong):
        row, column = wrong[0]
        raise errors.InputError(
            f"judgements[{row}][{column}]",
            f"{matrix[row, column]:g}: must be 1 / {matrix[column, row]:g}, the reciprocal of "
            f"judgements[{column}][{row}]",
        )
    return matrix


NETWORK = "kubestow.io/network"
DISK_IO = "kubestow.io/disk-io"
COUNT = 5  # resources, always in the order CPU, memory, network, disk I/O, disk space

ORDINARY, COMPUTE, DISK_BOUND, NETWORK_BOUND = range(4)
TYPES = ("ordinary", "compute", "disk-io", "network")

# Resources of each type from the most to the least important (4.11 and L964, L983). The thesis
# gives no order for pods bound by disk I/O; this is that of network pods with the two exchanged.
_ORDERS = {COMPUTE: (0, 1, 2, 3, 4), DISK_BOUND: (3, 0, 1, 2, 4), NETWORK_BOUND: (2, 0, 1, 3, 4)}
_ORDINARY = (0.30, 0.30, 0.20, 0.10, 0.10)
# Table 4.5 as the thesis rounds it: 4.347 % became 5 %, so that the sum is 1.
_PUBLISHED = (0.46, 0.26, 0.13, 0.10, 0.05)

Share = Annotated[float, ValueBounds(above=0, most=1)]


@dataclass(frozen=True, slots=True)
class ClbpResources:
    """Names of the five resources.

    Attributes:
        cpu: Processor.
        memory: Memory.
        network: Network, bytes per second: an extended resource, which nodes must offer.
        disk_io: Disk throughput, bytes per second: also an extended resource.
        disk: Disk space.
    """

    cpu: str = resources.CPU
    memory: str = resources.MEMORY
    network: str = NETWORK
    disk_io: str = DISK_IO
    disk: str = resources.EPHEMERAL_STORAGE

    def names(self) -> tuple[str, ...]:
        """Return the names in order."""
        return self.cpu, self.memory, self.network, self.disk_io, self.disk


@dataclass(frozen=True, slots=True)
class ClbpThresholds:
    """Upper limits of load as shares of a node, per resource; 80 % each in the thesis (4.1).

    Attributes:
        cpu: Processor.
        memory: Memory.
        network: Network.
        disk_io: Disk throughput.
        disk: Disk space.
    """

    cpu: Share = 0.8
    memory: Share = 0.8
    network: Share = 0.8
    disk_io: Share = 0.8
    disk: Share = 0.8

    def shares(self) -> tuple[float, ...]:
        """Return the shares in order."""
        return self.cpu, self.memory, self.network, self.disk_io, self.disk


@dataclass(frozen=True, slots=True)
class ClbpParameters:
    """Parameters of ``clbp``.

    Attributes:
        strict: Score exactly as printed: the published weights, the deviation among nodes that pass
            the filter, every resource stretched to 0..10, without pods that metrics do not cover
            yet.
        resources: Names of the resources.
        thresholds: Load with the pod must stay below these shares.
        intensive: A pod that takes this share of a node's free amount of a resource is bound by
            that resource (4.3).
        judgements: Pairwise importance of the resources for a pod bound by the first one, most
            important first (recovered matrix of table 4.5); unused with ``strict``.
        negligible: Load differences below this share of a node count proportionally less; our
            choice, there is no source for 1 %; unused with ``strict``.
        assume: Whether to count pods that metrics do not cover yet; unused with ``strict``.
    """

    strict: bool = False
    resources: ClbpResources = ClbpResources()
    thresholds: ClbpThresholds = ClbpThresholds()
    intensive: Share = 0.15
    judgements: tuple[tuple[float, ...], ...] = RECOVERED
    negligible: Annotated[float, ValueBounds(least=0, most=1)] = 0.01
    assume: bool = True

    def weights(self) -> Floats:
        """Return the weights by type, ``[types, resources]``.

        Raises:
            InputError: If the judgements are inconsistent.
        """
        ranked = np.array(_PUBLISHED) if self.strict else weigh(self.judgements, COUNT)
        weights = np.tile(np.array(_ORDINARY), (len(TYPES), 1))
        for kind, order in _ORDERS.items():
            weights[kind, list(order)] = ranked
        return weights
