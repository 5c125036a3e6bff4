"""The packing simulations of Schubert 2023, repeated: appendix A.4 and Table 5.1.

Twelve tables: nine of the first simulation (E4: first-fit, k8s-least, k8s-most, permutation-pack,
vector-dot), three of the second (E5: first-fit, k8s-vector-dot, k8s-reweighted, k8s-most), each
with its own lists as in the thesis, and `adaptive` in every cell. Table 5.1 (E6) uses measured pods
that are not published; synthetic pods replace them, see ``demands.draw_empirical``.
"""

from collections.abc import Sequence
from typing import Any, Final

from kubestow.model.progress import Progress
from kubestow.studies.options import StudyOptions
from kubestow.studies.schubert.packing import cells, demands, page, statements, tables
from kubestow.workflows import comparing, files

OURS: Final = "adaptive"
QUICK_LISTS: Final = 8

LARGEST_Z: Final = 3.5
"""With about 750 cells and no difference, the expected maximum of |z| is about 3.2."""

SECOND_SEED_OFFSET: Final = 7_000_003
"""Added to the seed for the second simulation, which has its own lists."""

RULES: Final = {
    "z": "z = (mean - thesis) / sqrt(se^2 (1 + n/1500)): the thesis' mean is taken to have the "
    "spread measured here",
    "within-3.5-se": "reproduced if |z| < 3.5, else not reproduced",
    "paired-with-best": "adaptive against the best thesis heuristic of the same table row, on the "
    "same lists: beaten if the paired 95 % interval of the difference lies below zero, reproduced "
    "if it contains zero, else not reproduced",
    "stand-in": "Table 5.1 rests on unpublished data, so it cannot be reproduced; opposite_to "
    "names the heuristics that stand the other way round on the stand-in, by the paired 95 % "
    "interval",
}


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json, timings.json and report.html."""
    lists = options.sample(tables.LISTS, QUICK_LISTS)
    sources = (*tables.synthetic_cells(), tables.empirical_cell())
    tasks = [make_task(cell, options.seed, lists) for cell in sources]
    results = cells.run_cells(tasks, options.out / "cells", options.jobs, watch)
    report = make_report(sources, results, options.seed, lists)
    files.write_json(options.out / "results.json", report)
    files.write_json(options.out / "timings.json", cells.timings(results))
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def make_task(cell: tables.PrintedCell, seed: int, lists: int) -> cells.PackingTask:
    """Return the task that repeats one row of a table."""
    second = cell.experiment == tables.SECOND_SIMULATION
    return cells.PackingTask(
        setting=demands.DemandSetting(cell.generator, cell.dimensions, float(cell.a)),
        heuristics=(*cell.nodes, OURS),
        lists=lists,
        seed=seed + SECOND_SEED_OFFSET if second else seed,
    )


def make_report(
    sources: Sequence[tables.PrintedCell],
    results: Sequence[cells.PackingCell],
    seed: int,
    lists: int,
) -> dict[str, Any]:
    """Return the content of results.json."""
    rows = []
    for cell, result in zip(sources, results, strict=True):
        if cell.experiment == tables.EMPIRICAL:
            rows += make_empirical_rows(cell, result)
        else:
            rows += [make_row(cell, result, name) for name in cell.nodes]
            rows.append(make_own_row(cell, result))
    return {
        "study": "schubert-packing",
        "seed": seed,
        "lists": lists,
        "rules": RULES,
        "tables": statements.summarise_tables(rows),
        "statements": statements.check_statements(rows),
        "rows": rows,
    }


def make_row(cell: tables.PrintedCell, result: cells.PackingCell, name: str) -> dict[str, Any]:
    """Return the row of a thesis heuristic in one cell."""
    summary = comparing.summarise_counts(result.counts[name])
    z = comparing.score_against(summary, cell.nodes[name], tables.LISTS)
    return {
        **_head(cell, name, summary, cell.nodes[name]),
        "z": comparing.rounded(z),
        "verdict": "reproduced" if abs(z) < LARGEST_Z else "not reproduced",
        "rule": "within-3.5-se",
    }


def make_own_row(cell: tables.PrintedCell, result: cells.PackingCell) -> dict[str, Any]:
    """Return the row of `adaptive` in one cell, compared with the best heuristic of the table."""
    best = min(cell.nodes, key=lambda name: int(result.counts[name].sum()))
    mean, low, high = comparing.paired_interval(result.counts[OURS], result.counts[best])
    base = comparing.summarise_counts(result.counts[best]).mean
    verdict = "beaten" if high < 0.0 else "not reproduced" if low > 0.0 else "reproduced"
    return {
        **_head(
            cell, OURS, comparing.summarise_counts(result.counts[OURS]), min(cell.nodes.values())
        ),
        "best": best,
        "excess": comparing.rounded(mean / base),
        "interval": [comparing.rounded(low / base), comparing.rounded(high / base)],
        "verdict": verdict,
        "rule": "paired-with-best",
    }


def make_empirical_rows(
    cell: tables.PrintedCell, result: cells.PackingCell
) -> list[dict[str, Any]]:
    """Return Table 5.1 and the synthetic pods: means, savings over k8s-least, order."""
    least = comparing.summarise_counts(result.counts["k8s-least"]).mean
    rows = []
    for name in (*cell.nodes, OURS):
        summary = comparing.summarise_counts(result.counts[name])
        thesis = cell.nodes.get(name, min(cell.nodes.values()))
        row = {
            **_head(cell, name, summary, thesis),
            "saving": comparing.rounded(1.0 - summary.mean / least),
            "thesis_saving": comparing.rounded(1.0 - thesis / cell.nodes["k8s-least"]),
        }
        if name == OURS:
            own = make_own_row(cell, result)
            row |= {key: own[key] for key in ("best", "excess", "interval", "verdict", "rule")}
        else:
            row |= {
                "opposite_to": find_opposite(cell, result, name),
                "verdict": "not reproduced",
                "rule": "stand-in",
            }
        rows.append(row)
    return rows


def find_opposite(cell: tables.PrintedCell, result: cells.PackingCell, name: str) -> list[str]:
    """Return the heuristics whose order relative to this one is opposite to the thesis."""
    opposite = []
    for other in cell.nodes:
        _, low, high = comparing.paired_interval(result.counts[name], result.counts[other])
        difference = cell.nodes[name] - cell.nodes[other]
        if (difference < 0.0 < low) or (high < 0.0 < difference):
            opposite.append(other)
    return opposite


def _head(
    cell: tables.PrintedCell, name: str, summary: comparing.CountSummary, thesis: float
) -> dict[str, Any]:
    return {
        "table": cell.table,
        "experiment": cell.experiment,
        "generator": cell.generator,
        "dimensions": cell.dimensions,
        "a": cell.a,
        "heuristic": name,
        "thesis": thesis,
        "mean": comparing.rounded(summary.mean),
        "standard_error": comparing.rounded(summary.standard_error),
        "n": summary.n,
    }
