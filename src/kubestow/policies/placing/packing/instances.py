"""Vector bin packing instances and packings.

Demands and capacities are kept in raw units (millicores, bytes, or fractions of a node). Integers
up to 2**53 are exact in float64, so integer instances are packed without tolerance. Model: Schubert
2023, section 1.3.5 (identical nodes), extended to several node shapes, limits on them, and nodes
that already hold pods.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kubestow.model import errors
from kubestow.model.arrays import Floats, Ints

REAL_TOLERANCE = 1e-9
"""Relative to the capacity: real-valued demands that fill a node may exceed it by rounding."""

UNPLACED = -1
"""Node index of an item that fits on no node, open or to be opened."""

EXISTING = -1
"""Shape index of an existing node."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeTypes:
    """Node shapes that may be opened.

    Attributes:
        capacity: Capacity per shape and resource, ``[s, d]``.
        limits: How many nodes of each shape may be opened; ``None`` for any number.
        costs: Price of one node of each shape; ``None`` makes a node cost its mean capacity.
    """

    capacity: Floats
    limits: tuple[int | None, ...] | None = None
    costs: tuple[float, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Existing:
    """Existing nodes: capacity and usage per node and resource, both ``[m, d]``."""

    capacity: Floats
    used: Floats


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A list of items in order of arrival and the nodes to pack them on.

    Attributes:
        name: Name of the instance in reports.
        resources: Names of the ``d`` resources.
        demands: Demand per item and resource, ``[n, d]``, in order of arrival.
        shapes: Node shapes that may be opened.
        existing: Existing nodes; they have the lowest node indices.
        items: Names of the items; may be empty.
        tolerance: How far a node may exceed its capacity, relative to its capacity.
    """

    name: str
    resources: tuple[str, ...]
    demands: Floats
    shapes: NodeTypes
    existing: Existing | None = None
    items: tuple[str, ...] = ()
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        check(self)

    @property
    def dimensions(self) -> int:
        """Number of resources."""
        return len(self.resources)

    @property
    def existing_count(self) -> int:
        """Number of nodes before the first item."""
        return 0 if self.existing is None else len(self.existing.capacity)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """The node of every item of an instance.

    Attributes:
        node_of_item: Node per item, ``UNPLACED`` for items without one.
        shape_of_node: Shape per node, ``EXISTING`` for existing nodes.
        opened: Number of nodes that were opened.
    """

    node_of_item: Ints
    shape_of_node: Ints
    opened: int

    @property
    def unplaced(self) -> Ints:
        """Items without a node."""
        return np.flatnonzero(self.node_of_item == UNPLACED)


def make_instance(
    demands: npt.ArrayLike,
    capacity: npt.ArrayLike,
    *,
    name: str = "instance",
    resources: Sequence[str] | None = None,
    limits: Sequence[int | None] | None = None,
    costs: Sequence[float] | None = None,
    existing: Existing | None = None,
    items: Sequence[str] = (),
) -> Instance:
    """Build an instance from array-likes; one capacity row is one shape.

    The tolerance is 0 when all numbers are integers and ``REAL_TOLERANCE`` otherwise.

    >>> make_instance([[1, 2], [3, 1]], [4, 4]).tolerance
    0.0
    >>> make_instance([[0.1, 0.2]], [1, 1]).tolerance
    1e-09
    """
    rows = np.ascontiguousarray(demands, dtype=np.float64)
    shapes = np.atleast_2d(np.ascontiguousarray(capacity, dtype=np.float64))
    if rows.ndim != 2:
        raise errors.InputError(f"{name}: demands", f"has {rows.ndim} axes, expected 2")
    names = tuple(resources or (f"resource-{j}" for j in range(rows.shape[1])))
    arrays = [rows, shapes]
    if existing is not None:
        arrays += [existing.capacity, existing.used]
    return Instance(
        name=name,
        resources=names,
        demands=rows,
        shapes=NodeTypes(
            shapes,
            None if limits is None else tuple(limits),
            None if costs is None else tuple(costs),
        ),
        existing=existing,
        items=tuple(items),
        tolerance=0.0 if all(map(_is_integral, arrays)) else REAL_TOLERANCE,
    )


def check(instance: Instance) -> None:
    """Refuse an instance whose arrays have inconsistent shapes or invalid numbers."""
    d = len(instance.resources)
    _check_matrix(f"{instance.name}: demands", instance.demands, d)
    _check_matrix(f"{instance.name}: shapes", instance.shapes.capacity, d)
    for key in ("limits", "costs"):
        given = getattr(instance.shapes, key)
        if given is not None and len(given) != len(instance.shapes.capacity):
            raise errors.InputError(
                f"{instance.name}: {key}",
                f"{len(given)} values for {len(instance.shapes.capacity)} shapes",
            )
    if instance.existing is not None:
        _check_matrix(f"{instance.name}: existing capacity", instance.existing.capacity, d)
        _check_matrix(f"{instance.name}: existing use", instance.existing.used, d)
        if instance.existing.used.shape != instance.existing.capacity.shape:
            raise errors.InputError(
                f"{instance.name}: existing use", "must have one row per existing node"
            )
    if instance.items and len(instance.items) != len(instance.demands):
        raise errors.InputError(
            f"{instance.name}: items",
            f"{len(instance.items)} names for {len(instance.demands)} items",
        )


def _check_matrix(place: str, matrix: Floats, columns: int) -> None:
    if matrix.ndim != 2 or matrix.shape[1] != columns:
        raise errors.InputError(place, f"has shape {matrix.shape}, expected (rows, {columns})")
    wrong = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0.0)))
    if len(wrong):
        row, column = wrong[0]
        raise errors.InputError(
            f"{place}[{row}][{column}]",
            f"{matrix[row, column]}: must be a finite number >= 0",
        )


def _is_integral(matrix: Floats) -> bool:
    return bool(np.all(matrix == np.floor(matrix)))
