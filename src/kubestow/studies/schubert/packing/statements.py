"""Statements of Schubert 2023 on its packing tables, checked on these tables and on our numbers.

Rows are those of ``study``: one per table, weight and heuristic.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from kubestow.workflows import comparing

Row = dict[str, Any]

SMALL_PODS: Final = 6
"""Least ``a`` from which vector-dot is the best of the five in all nine tables (appendix A.4)."""

REPRODUCIBLE_ORDER_DIMENSIONS: Final = 2
"""The thesis describes Permutation-Pack unambiguously only for two resources."""


def summarise_tables(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the z-scores per table: root mean square and maximum.

    permutation-pack with four and eight resources is listed separately: the thesis does not specify
    it fully, and the variant implemented here does not give the numbers of the thesis.
    """
    tables = []
    for table in dict.fromkeys(row["table"] for row in rows if "z" in row):
        scored = [row for row in rows if row["table"] == table and "z" in row]
        doubtful = [row for row in scored if is_doubtful(row)]
        sure = [row["z"] for row in scored if not is_doubtful(row)]
        summary = {
            "table": table,
            "experiment": scored[0]["experiment"],
            "generator": scored[0]["generator"],
            "dimensions": scored[0]["dimensions"],
            "cells": len(sure),
            "rms_z": comparing.rounded(comparing.root_mean_square(sure)),
            "max_abs_z": max(map(abs, sure)),
            "mean_deviation": comparing.rounded(
                sum(row["mean"] - row["thesis"] for row in scored if not is_doubtful(row))
                / len(sure)
            ),
        }
        if doubtful:
            z = [row["z"] for row in doubtful]
            summary["permutation_pack"] = {
                "rms_z": comparing.rounded(comparing.root_mean_square(z)),
                "max_abs_z": max(map(abs, z)),
                "deviation": {
                    str(row["a"]): comparing.rounded(row["mean"] - row["thesis"])
                    for row in doubtful
                },
            }
        tables.append(summary)
    return tables


def is_doubtful(row: Row) -> bool:
    """Return whether a row rests on an interpretation that the numbers of the thesis contradict."""
    many: bool = row["dimensions"] > REPRODUCIBLE_ORDER_DIMENSIONS
    return many and row["heuristic"] == "permutation-pack"


def check_statements(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the statements of the thesis, checked on its tables and on our numbers."""
    first = _cells(rows, "E4")
    second = _cells(rows, "E5")
    small = {key: cell for key, cell in first.items() if key[1] >= SMALL_PODS}
    return [
        _count("k8s-least needs the most nodes in every cell", first, _least_is_worst),
        _count(f"vector-dot is best for a >= {SMALL_PODS}", small, _dot_is_best),
        _count("k8s-most is never worse than first-fit", first, _most_not_worse_than_first),
        _count("k8s-reweighted is at least as good as k8s-most", second, _reweighted_not_worse),
        _savings("k8s-most needs 2-7 % fewer nodes than k8s-least", first),
        _order(
            "Table 5.1: vector-dot based < permutation-pack < k8s-reweighted <= k8s-most"
            " <= first-fit < k8s-least",
            rows,
        ),
        _excess("adaptive against the best thesis heuristic of each cell", rows),
    ]


Means = dict[str, float]
Cells = dict[tuple[str, int], dict[str, Means]]


def _cells(rows: Sequence[Row], experiment: str) -> Cells:
    cells: Cells = {}
    for row in rows:
        if row["experiment"] == experiment and row["heuristic"] != "adaptive":
            cell = cells.setdefault((row["table"], row["a"]), {"thesis": {}, "measured": {}})
            cell["thesis"][row["heuristic"]] = row["thesis"]
            cell["measured"][row["heuristic"]] = row["mean"]
    return cells


def _least_is_worst(nodes: Means) -> bool:
    return all(nodes["k8s-least"] > nodes[name] for name in nodes if name != "k8s-least")


def _dot_is_best(nodes: Means) -> bool:
    return all(nodes["vector-dot"] < nodes[name] for name in nodes if name != "vector-dot")


def _most_not_worse_than_first(nodes: Means) -> bool:
    return nodes["k8s-most"] <= nodes["first-fit"]


def _reweighted_not_worse(nodes: Means) -> bool:
    return nodes["k8s-reweighted"] <= nodes["k8s-most"]


def _count(statement: str, cells: Cells, holds: Callable[[Means], bool]) -> dict[str, Any]:
    measured = sum(holds(cell["measured"]) for cell in cells.values())
    return {
        "statement": statement,
        "cells": len(cells),
        "holds_in_thesis": sum(holds(cell["thesis"]) for cell in cells.values()),
        "holds_here": measured,
        "verdict": "reproduced" if measured == len(cells) else "not reproduced",
        "rule": "reproduced if it holds in every cell",
    }


def _savings(statement: str, cells: Cells) -> dict[str, Any]:
    def span(side: str) -> list[float]:
        savings = [
            1.0 - cell[side]["k8s-most"] / cell[side]["k8s-least"] for cell in cells.values()
        ]
        return [comparing.rounded(min(savings)), comparing.rounded(max(savings))]

    low, high = span("measured")
    return {
        "statement": statement,
        "cells": len(cells),
        "span_in_thesis": span("thesis"),
        "span_here": [low, high],
        "verdict": "reproduced" if low >= 0.02 and high <= 0.07 else "not reproduced",
        "rule": "reproduced if all savings lie between 2 and 7 %; the thesis' own tables do not",
    }


def _order(statement: str, rows: Sequence[Row]) -> dict[str, Any]:
    means = {row["heuristic"]: row["mean"] for row in rows if row["experiment"] == "E6"}
    holds = (
        max(means["vector-dot"], means["k8s-vector-dot"])
        < means["permutation-pack"]
        < means["k8s-reweighted"]
        <= means["k8s-most"]
        <= means["first-fit"]
        < means["k8s-least"]
    )
    return {
        "statement": statement,
        "cells": 1,
        "holds_in_thesis": 1,
        "holds_here": int(holds),
        "verdict": "not reproduced",
        "rule": "never reproduced: the data are unpublished, and a stand-in picked to resemble the "
        "thesis' savings confirms nothing; holds_here tells the order of the means on it",
    }


def _excess(statement: str, rows: Sequence[Row]) -> dict[str, Any]:
    own = [row for row in rows if "excess" in row and row["experiment"] in ("E4", "E5")]
    verdicts = [row["verdict"] for row in own]
    mean = sum(row["excess"] for row in own) / len(own)
    worst = max(row["excess"] for row in own)
    return {
        "statement": statement,
        "cells": len(own),
        "mean_excess": comparing.rounded(mean),
        "worst_excess": worst,
        "better": verdicts.count("beaten"),
        "equal": verdicts.count("reproduced"),
        "worse": verdicts.count("not reproduced"),
        "verdict": "beaten" if mean <= 0.001 and worst <= 0.006 else "not reproduced",
        "rule": "beaten if adaptive is within 0.1 % of the best heuristic of the same table row on "
        "average and 0.6 % at worst; part of these settings served to tune it",
    }
