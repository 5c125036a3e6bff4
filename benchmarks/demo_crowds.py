"""The demo with its own flash crowd and with larger ones.

The sized cluster is smaller, so that a crowd nobody expected finds less room in it. This runs the
demo's day with several peaks of the crowd and writes every row of its table, by variant.

    python -m benchmarks.demo_crowds [FILE]     also writes the figures to FILE as JSON
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from kubestow.workflows import comparing, demonstrating

PEAKS: Final = (2000, 2600)
_JOBS: Final = 2
_MEMORY: Final = comparing.RunMeasure("eru.memory", "memory used of requested", "%", 100.0)


def measure(peak: int, folder: Path) -> dict[str, Any]:
    """Return the verdict and the rows of the demo with a crowd of so many requests per second."""
    path = "workloads[1].demand.segments"  # the other services follow these segments
    changes = (f"{path}[4].end={peak}", f"{path}[5].start={peak}")
    grid = demonstrating.plan(changes=changes)
    comparison = demonstrating.run(grid, folder, _JOBS, lambda *_: None)
    return {
        "peak": peak,
        "seeds": len(grid.seeds),
        "conclusion": demonstrating.verdict(comparison),
        "variants": [_figures(one) for one in comparison.results],
    }


def _figures(one: comparing.ComparisonResult) -> dict[str, Any]:
    shown: dict[str, Any] = {"variant": one.label}
    for row in (*demonstrating.ROWS, _MEMORY):
        stated = (comparing.value_of(record.measures, row.path) for record in one.records)
        values = [row.factor * value for value in stated if value is not None]
        shown[row.path.replace(".", "_")] = {"mean": sum(values) / len(values), "seeds": values}
    return shown


def main() -> int:
    """Run all crowds and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        figures = {"crowds": [measure(peak, Path(folder)) for peak in PEAKS]}
    text = json.dumps(figures, indent=1)
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
