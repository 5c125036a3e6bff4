"""Compiled kernels against the same code in plain Python: whole short runs, number for number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubestow.simulation import run
from kubestow.workflows import scenario_files
from kubestow.workflows.comparing import measures

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"
NARROW = "{cpu: 8, memory: 32Gi, pods: 110, kubestow.io/network: 60Mi, kubestow.io/disk-io: 1Gi}"
CASES: dict[str, tuple[str, list[str]]] = {
    "lost nodes": ("node-failure", ["duration=15m"]),
    "leaks, kills, evictions": (
        "memory-leak",
        ["duration=3h", "step=60s", "metrics.scrape=60s", "metrics.lag=60s"],
    ),
    "crowded cores": ("noisy-neighbour", ["duration=20m", "workloads[1].start=5m"]),
    "limits": ("traffic-step-ladder", ["duration=8m"]),
    "every request played": (
        "traffic-step-ladder",
        ["duration=8m", "workloads[0].service.model=requests"],
    ),
    "played beside unlimited jobs": (
        "noisy-neighbour",
        ["duration=1m", "workloads[1].start=20s", "workloads[0].service.model=requests"],
    ),
    "one queue for all pods, narrow links": (
        "noisy-neighbour",
        [
            "duration=10m",
            "workloads[0].service.balancing=pooled",
            "workloads[0].service.networkPerRequest=1Mi",
            "workloads[0].service.diskPerRequest=1Ki",
            f"cluster.nodes[0].allocatable={NARROW}",
        ],
    ),
    "missing samples": ("flash-crowd", ["duration=40m", "metrics.missing=0.2"]),
}

# Hashes are meant to wrap around; NumPy says so when it is not compiled.
WRAPPING = "ignore:overflow encountered:RuntimeWarning"
SCRIPT = """
import json, sys
from kubestow.simulation import run
from kubestow.workflows import scenario_files
loaded = scenario_files.load(sys.argv[1], sys.argv[2:])
print(json.dumps(run.run(loaded.scenario, loaded.inputs).measures))
"""


def interpreted(source: str, changes: list[str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", WRAPPING, "-c", SCRIPT, source, *changes],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("name", "changes"), CASES.values(), ids=CASES)
def test_compiled_and_plain_python_agree(name: str, changes: list[str]) -> None:
    source = str(EXAMPLES / f"{name}.yaml")
    loaded = scenario_files.load(source, changes)
    compiled = measures.flatten(run.run(loaded.scenario, loaded.inputs).measures)
    plain = measures.flatten(interpreted(source, changes))
    assert compiled.keys() == plain.keys()
    for key, value in compiled.items():
        expected = None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)
        assert plain[key] == expected, key
