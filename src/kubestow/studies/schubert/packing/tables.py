"""The packing tables of Schubert 2023: appendix A.4 (twelve tables) and Table 5.1.

Mean numbers of nodes over 1500 lists, as printed. The numbers are facts retyped from the thesis;
the data file has one row per table, weight and heuristic.
"""

import csv
import dataclasses
import functools
import importlib.resources
from typing import Final

LISTS: Final = 1500
"""Lists per cell in the thesis (section 5.1.2)."""

SECOND_SIMULATION: Final = "E5"
EMPIRICAL: Final = "E6"


@dataclasses.dataclass(frozen=True, slots=True)
class PrintedCell:
    """One row of a table: all heuristics on the same lists.

    Attributes:
        table: Number of the table, A1 to A12, or 5.1.
        experiment: Simulation of the thesis.
        generator: Distribution of demands.
        dimensions: Number of resources.
        a: 1 / mean demand; 0 for the empirical data.
        nodes: Mean number of nodes per heuristic.
    """

    table: str
    experiment: str
    generator: str
    dimensions: int
    a: int
    nodes: dict[str, float]


@functools.cache
def read_cells() -> tuple[PrintedCell, ...]:
    """Return all cells in the order of the thesis."""
    source = (
        importlib.resources.files("kubestow.studies.schubert.packing")
        / "data"
        / "schubert_packing.csv"
    )
    cells: dict[tuple[str, str], PrintedCell] = {}
    for row in csv.DictReader(source.read_text(encoding="utf-8").splitlines()):
        key = (row["table"], row["a"])
        if key not in cells:
            cells[key] = PrintedCell(
                table=row["table"],
                experiment=row["experiment"],
                generator=row["generator"],
                dimensions=int(row["dimensions"]),
                a=int(row["a"] or 0),
                nodes={},
            )
        cells[key].nodes[row["heuristic"]] = float(row["nodes"])
    return tuple(cells.values())


def synthetic_cells() -> tuple[PrintedCell, ...]:
    """Return the cells of appendix A.4."""
    return tuple(cell for cell in read_cells() if cell.experiment != EMPIRICAL)


def empirical_cell() -> PrintedCell:
    """Return Table 5.1."""
    return next(cell for cell in read_cells() if cell.experiment == EMPIRICAL)
