"""The stored outputs of the example scenarios: ``python -m tests.rewrite_examples`` renews them.

Look at the difference before it is kept: a number that moves is a change of behaviour.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubestow.simulation import run
from kubestow.workflows import scenario_files

EXAMPLES = Path(__file__).parents[1] / "examples"
OUTPUTS = EXAMPLES / "scenarios" / "outputs"
_DIGITS = 6
_MEASURES = (
    "simulated_seconds",
    "eru",
    "response",
    "slo_violation_ratio",
    "requests",
    "node_hours",
    "nodes_peak",
    "pod_hours",
    "cost",
    "pending_pod_seconds",
    "pending_pods_at_end",
    "throttled_ratio",
    "oom_kills",
    "evictions",
    "restarts",
    "scale_actions",
    "preemptions",
    "pods_created",
    "imbalance",
    "fragmentation",
)


def scenarios() -> list[Path]:
    """Return all example files that are scenarios."""
    result = sorted(EXAMPLES.rglob("*.yaml"))
    return [path for path in result if "kind: Scenario" in path.read_text(encoding="utf-8")]


def stored(path: Path) -> Path:
    """Return where the output of a scenario is stored."""
    return OUTPUTS / f"{path.stem}.json"


def compact(measures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measures that are compared, with six significant digits."""
    return {name: _rounded(measures[name]) for name in _MEASURES}


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def simulate(path: Path) -> dict[str, Any]:
    """Run an example and return its output."""
    loaded = scenario_files.load(str(path))
    return compact(run.run(loaded.scenario, loaded.inputs).measures)


def main() -> None:
    """Run all examples and store their outputs."""
    OUTPUTS.mkdir(exist_ok=True)
    for path in scenarios():
        text = json.dumps(simulate(path), indent=2) + "\n"
        stored(path).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{stored(path).relative_to(EXAMPLES)}\n")


if __name__ == "__main__":
    main()
