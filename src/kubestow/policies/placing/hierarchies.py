"""Weights out of pairwise judgements: the Analytic Hierarchy Process, root method.

Shi 2023, (4.12)-(4.17): every pair of resources is judged on Saaty's scale (1 equally important, 9
extremely more important), weights are normalised geometric means of the rows, and a matrix that
contradicts itself too much is refused. The thesis prints one matrix (``PRINTED``) and results that
come exactly from another one (``RECOVERED``: equal weight for both kinds of I/O, 3 instead of 4
over disk space); the latter is what ``clbp`` goes by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubestow.model import errors
from kubestow.policies.placing.terms import Floats

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

MOST_RATIO = 0.1  # (4.17): a matrix is accepted below
STRICT_INDEX_OF_FIVE = 1.11  # the thesis' random index of five; tables usually have 1.12
# Random indices by size of the matrix (Saaty 1980); up to two a matrix cannot contradict itself.
_RANDOM_INDICES = (0.0, 0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45, 1.49)
_RECIPROCAL = 0.01  # 0.33 is accepted for a third


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """What a matrix of judgements gives.

    Attributes:
        means: Geometric means of the rows, (4.14).
        weights: The same in shares, (4.15).
        largest: Estimate of the largest eigenvalue.
        index: Consistency index, (4.16).
        ratio: Consistency ratio, (4.17); below 0.1 is consistent enough.
    """

    means: Floats
    weights: Floats
    largest: float
    index: float
    ratio: float


def judge(judgements: Judgements, *, strict: bool = False) -> Hierarchy:
    """Work out weights and consistency.

    Args:
        judgements: How much more important each row is than each column.
        strict: Whether the thesis' random index counts for five resources.

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
    """Return the weights of a matrix that is consistent enough.

    Args:
        judgements: How much more important each row is than each column.
        size: How many rows there must be.

    Raises:
        InputError: If it has another size or contradicts itself.
    """
    if len(judgements) != size:
        raise errors.InputError("judgements", f"{len(judgements)} rows: must be {size}")
    found = judge(judgements)
    if found.ratio >= MOST_RATIO:
        raise errors.InputError(
            "judgements",
            f"consistency ratio {found.ratio:.3f}: must be < {MOST_RATIO}; the judgements "
            "contradict each other",
        )
    return found.weights


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
