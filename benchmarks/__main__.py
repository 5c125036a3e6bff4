"""Run all benchmarks, print each figure with its floor, and fail below a floor.

Floors are ratios and counts in ``floors.json``, not seconds, so they hold on any machine.

    python -m benchmarks [FILE]     also writes the figures to FILE as JSON
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

FLOORS = Path(__file__).parent / "floors.json"


def main() -> int:
    """Run the benchmarks named in the floors; return 1 if a figure is below its floor."""
    floors: dict[str, dict[str, float]] = json.loads(FLOORS.read_text(encoding="utf-8"))
    measured_all: dict[str, dict[str, float]] = {}
    table = Table("BENCHMARK", "FIGURE", "MEASURED", "FLOOR", "")
    failed = False
    for name, required in floors.items():
        figures, problem = _measure(name)
        measured_all[name] = figures
        for figure, measured in figures.items():
            floor = required.get(figure)
            below = floor is not None and measured < floor
            failed |= below
            verdict = "" if floor is None else ("below the floor" if below else "ok")
            shown = "-" if floor is None else f"{floor:g}"
            table.add_row(name, figure, f"{measured:,.4g}", shown, verdict)
        missing = sorted(set(required) - set(figures))
        failed |= bool(missing)
        for figure in missing:
            table.add_row(name, figure, "-", f"{required[figure]:g}", f"not measured{problem}")
    Console().print(table)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(measured_all, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def _measure(name: str) -> tuple[dict[str, float], str]:
    """Return figures, or why there are none: some benchmarks need a Go toolchain or root."""
    try:
        return importlib.import_module(f"benchmarks.{name}").measure(), ""
    except RuntimeError as err:
        return {}, f": {err}"


if __name__ == "__main__":
    sys.exit(main())
