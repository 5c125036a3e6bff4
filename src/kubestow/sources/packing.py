"""Read packing problems from files: ``.vbp`` text and CSV with Kubernetes quantities.

Readers return plain numbers; the command line turns them into an instance. Errors name file, line,
column, value and what was expected.

Some public ``.vbp`` sets contain a few negative sizes. They are read as 0, which only makes packing
harder: every packing of the input is also one of the file. ``PackingInput.relief`` keeps the
difference per resource; a lower bound for the file holds for capacities raised by it.
"""

import csv
import dataclasses
import io
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from kubestow.model import errors, quantities
from kubestow.model.arrays import Floats

MOST_ITEMS: Final = 10_000_000
"""Most items after expanding counts; more is probably a typing error and would exhaust memory."""

PODS: Final = "pods"
"""A capacity without a column: every item is one pod."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PackingInput:
    """Items, and the capacity of the identical nodes to pack them on.

    Attributes:
        name: The file's name without its suffix.
        resources: Names of the ``d`` resources.
        demands: Demand per item and resource, ``[n, d]``, counts expanded.
        capacity: Capacity of a node per resource, in the unit of the demands.
        items: Names of the items; for ``.vbp`` their zero-based index.
        relief: Sum of the negative sizes that were read as 0, per resource, as positive numbers.
    """

    name: str
    resources: tuple[str, ...]
    demands: Floats
    capacity: Floats
    items: tuple[str, ...]
    relief: tuple[float, ...]


def read_packing(path: Path, capacity: Mapping[str, str] | None = None) -> PackingInput:
    """Read a packing problem; the format follows from the file's suffix.

    Args:
        path: A ``.vbp`` or ``.csv`` file.
        capacity: Capacity of a node as quantities, for CSV.
    """
    text = _read_text(path)
    if path.suffix == ".csv":
        if not capacity:
            raise errors.InputError(
                str(path), "CSV needs the capacity of a node, e.g. cpu=16,memory=64Gi"
            )
        return parse_csv(text, str(path), capacity)
    if path.suffix == ".vbp":
        return parse_vbp(text, str(path))
    raise errors.InputError(str(path), f"suffix {path.suffix!r}: must be .vbp or .csv")


def parse_capacity(text: str) -> dict[str, str]:
    """Parse a list of resources with quantities.

    >>> parse_capacity("cpu=16,memory=64Gi")
    {'cpu': '16', 'memory': '64Gi'}
    """
    capacity: dict[str, str] = {}
    for part in text.split(","):
        resource, sign, amount = part.strip().partition("=")
        if not sign or not resource or not amount or resource in capacity:
            raise errors.InputError(
                "capacity", f"{part!r}: must be RESOURCE=QUANTITY, each resource once"
            )
        _quantity("capacity", f"{resource}={amount}", amount)
        capacity[resource] = amount
    return capacity


def parse_vbp(text: str, place: str) -> PackingInput:
    """Parse ``.vbp`` text: dimensions, capacities, number of rows, then sizes and count per row."""
    lines = [(n, line.split()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 3:
        raise errors.InputError(
            place, f"{len(lines)} lines: must have dimensions, capacities, number of rows and rows"
        )
    dimensions = _single(place, lines[0], "the number of dimensions", 1)
    number, fields = lines[1]
    _expect_fields(place, number, fields, dimensions, "capacities")
    capacity = [_size(place, number, c, field, 0.0) for c, field in enumerate(fields, 1)]
    rows = _single(place, lines[2], "the number of item rows", 0)
    if len(lines) - 3 != rows:
        raise errors.InputError(
            f"{place}:{lines[2][0]}", f"{rows} rows announced, {len(lines) - 3} present"
        )
    sizes, counts = [], []
    for number, fields in lines[3:]:
        _expect_fields(place, number, fields, dimensions + 1, "sizes and a count")
        row = [_size(place, number, c, field) for c, field in enumerate(fields[:-1], 1)]
        for c, (size, most) in enumerate(zip(row, capacity, strict=True), 1):
            _refuse_oversized(f"{place}:{number}:{c}", fields[c - 1], size, most, f"{most:g}")
        sizes.append(row)
        counts.append(_whole(place, number, dimensions + 1, fields[-1], 0))
    _check_total(place, counts)
    raw = np.array(sizes, dtype=np.float64).reshape(rows, dimensions)
    demands = np.repeat(np.maximum(raw, 0.0), counts, axis=0)
    relief = (np.maximum(-raw, 0.0) * np.array(counts, dtype=np.float64)[:, None]).sum(axis=0)
    return PackingInput(
        name=Path(place).stem,
        resources=tuple(f"resource-{j}" for j in range(dimensions)),
        demands=demands,
        capacity=np.array(capacity, dtype=np.float64),
        items=tuple(str(item) for item in range(len(demands))),
        relief=tuple(relief.tolist()),
    )


def parse_csv(text: str, place: str, capacity: Mapping[str, str]) -> PackingInput:
    """Parse CSV with the columns ``name``, one per resource, and optionally ``count``."""
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(field.strip() for field in row)]
    except csv.Error as error:
        raise errors.InputError(f"{place}:{reader.line_num}", f"is not CSV: {error}") from error
    if not rows:
        raise errors.InputError(place, "is empty: must have a header name,<resource>,...[,count]")
    header = [field.strip() for field in rows[0][1]]
    resources = _resources(f"{place}:{rows[0][0]}", header, capacity)
    counted = header[-1] == "count"
    names: list[str] = []
    known_names: set[str] = set()
    counts: list[int] = []
    amounts: list[list[int]] = []
    for number, row in rows[1:]:
        _expect_fields(place, number, row, len(header), "fields")
        fields = [field.strip() for field in row]
        if not fields[0] or fields[0] in known_names:
            raise errors.InputError(
                f"{place}:{number}: name", f"{fields[0]!r}: must be a unique name"
            )
        known_names.add(fields[0])
        names.append(fields[0])
        counts.append(_whole(place, number, len(header), fields[-1], 0) if counted else 1)
        amounts.append(_amounts(f"{place}:{number}", header, fields, resources, capacity))
    _check_total(place, counts)
    limits = [_quantity("capacity", resource, capacity[resource]) for resource in resources]
    table = _common_units([*amounts, limits], len(resources))
    return PackingInput(
        name=Path(place).stem,
        resources=resources,
        demands=np.repeat(table[:-1], counts, axis=0),
        capacity=table[-1],
        items=tuple(name for name, count in zip(names, counts, strict=True) for _ in range(count)),
        relief=(0.0,) * len(resources),
    )


def write_assignments(
    path: Path, assignments: Iterable[tuple[str, Sequence[str], Sequence[str]]]
) -> None:
    """Write ``heuristic,item,node``, one line per item, so that packings can be checked.

    Args:
        path: The file; written atomically.
        assignments: Heuristic, items and their nodes, empty without one.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["heuristic", "item", "node"])
            for heuristic, items, nodes in assignments:
                for item, node in zip(items, nodes, strict=True):
                    writer.writerow([heuristic, item, node])
        # Temporary files are private to their owner; results are readable for all.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise errors.InputError(str(path), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise errors.InputError(str(path), f"byte {error.start}: must be UTF-8 text") from error


def _single(place: str, line: tuple[int, list[str]], what: str, least: int) -> int:
    _expect_fields(place, line[0], line[1], 1, f"number, {what}")
    return _whole(place, line[0], 1, line[1][0], least)


def _expect_fields(place: str, line: int, fields: Sequence[str], expected: int, what: str) -> None:
    if len(fields) != expected:
        raise errors.InputError(
            f"{place}:{line}", f"{len(fields)} fields: must be {expected} {what}"
        )


def _whole(place: str, line: int, column: int, field: str, least: int) -> int:
    # int() alone would accept "1_0" and digits of other scripts.
    if not (field.isascii() and field.isdecimal()) or int(field) < least:
        raise errors.InputError(
            f"{place}:{line}:{column}", f"{field!r}: must be a whole number >= {least}"
        )
    return int(field)


def _size(place: str, line: int, column: int, field: str, least: float = -np.inf) -> float:
    try:
        value = float(field) if "_" not in field else np.nan
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or value < least:
        expected = "a number" if least < 0.0 else f"a number >= {least:g}"
        raise errors.InputError(f"{place}:{line}:{column}", f"{field!r}: must be {expected}")
    return value


def _refuse_oversized(place: str, field: str, size: float, most: float, shown: str) -> None:
    if size > most:
        raise errors.InputError(place, f"{field}: must be <= {shown}, the capacity of a node")


def _check_total(place: str, counts: list[int]) -> None:
    if sum(counts) > MOST_ITEMS:
        raise errors.InputError(place, f"{sum(counts)} items: must be at most {MOST_ITEMS}")


def _resources(place: str, header: list[str], capacity: Mapping[str, str]) -> tuple[str, ...]:
    """Return the resources of a CSV header, plus ``pods`` if only the capacity has it."""
    columns = header[1:-1] if header[-1] == "count" else header[1:]
    if header[0] != "name" or not columns or len(set(columns)) < len(columns):
        raise errors.InputError(
            place, f"{','.join(header)!r}: must be name,<resource>,...[,count], each once"
        )
    for resource in columns:
        if resource not in capacity:
            raise errors.InputError(
                f"{place}: {resource}", f"has no capacity; given: {', '.join(capacity)}"
            )
    for resource in capacity:
        if resource not in columns and resource != PODS:
            raise errors.InputError(
                "capacity", f"{resource}: is not a column of {place}; columns: {', '.join(columns)}"
            )
    return (*columns, PODS) if PODS in capacity and PODS not in columns else tuple(columns)


def _amounts(
    place: str,
    header: list[str],
    fields: list[str],
    resources: tuple[str, ...],
    capacity: Mapping[str, str],
) -> list[int]:
    """Return the demands of a row in nano-units."""
    given = dict(zip(header, fields, strict=True))
    amounts = []
    for resource in resources:
        field = given.get(resource, "1")
        amount = _quantity(place, resource, field)
        most = _quantity("capacity", resource, capacity[resource])
        _refuse_oversized(f"{place}: {resource}", field, amount, most, capacity[resource])
        amounts.append(amount)
    return amounts


def _quantity(place: str, resource: str, field: str) -> int:
    """Return a quantity in nano-units."""
    try:
        nano = quantities.parse(field).nano
    except ValueError as error:
        raise errors.InputError(f"{place}: {resource}", str(error)) from error
    if nano < 0:
        raise errors.InputError(f"{place}: {resource}", f"{field}: must be >= 0")
    return nano


def _common_units(amounts: list[list[int]], columns: int) -> Floats:
    """Express each column in the largest unit that makes all values integers, for exact sums."""
    table = np.empty((len(amounts), columns))
    for j in range(columns):
        column = [row[j] for row in amounts]
        unit = next(
            u for u in (quantities.NANO, 10**6, 10**3, 1) if all(a % u == 0 for a in column)
        )
        table[:, j] = [a // unit for a in column]
    return table
