"""Tiny scenarios that run in a moment, for tests of comparisons and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubestow.workflows.comparing import cells, comparison, engines, grid

TINY = """
apiVersion: kubestow.io/v1alpha1
kind: Scenario
metadata: {name: tiny}
spec:
  seed: 3
  duration: 20m
  cluster:
    nodes:
    - {name: n, count: 3, allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
  workloads:
  - name: web
    replicas: 2
    pod: {requests: {cpu: 500m, memory: 256Mi}, startup: {mean: 20s, jitter: 8s}}
    demand:
      pattern: segments
      noise: 0.1
      segments: [{start: 20, seconds: 5m}, {start: 20, end: 90, seconds: 5m}]
    service: {cpuPerRequest: 15ms, baseMemory: 64Mi, sloMillis: 60}
  - name: db
    kind: StatefulSet
    replicas: 1
    pod: {requests: {cpu: 500m, memory: 1Gi}, usage: {cpu: {mean: 200m}, memory: {mean: 512Mi}}}
  policies:
    scaling: {scaler: hpa, target: {cpu: 0.6}, min: 1, max: 8}
"""

TARGETS = "policies.scaling.target.cpu=0.5,0.8"


def write(folder: Path, text: str = TINY) -> str:
    """Write a scenario and return its path."""
    path = folder / "tiny.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def compare(folder: Path, seeds: int, **options: Any) -> comparison.Comparison:
    """Run variants of the tiny scenario and compare them."""
    options = {"varied": [TARGETS], **options}
    sweep = grid.plan_grid(write(folder), seeds=seeds, **options)
    tasks = cells.make_tasks(sweep)
    records = cells.run_cells(tasks, None, engines.run_local, 1, lambda *_: None)
    return comparison.make_comparison(sweep, records)
