"""Folders with usage, as users hand them in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

HEADER = "timestamp,namespace,kind,workload,pod,container,cpu_cores,memory_bytes"
REQUESTS = "namespace,kind,workload,container,cpu_request,memory_request,cpu_limit,memory_limit"
BEGIN_S = 1_760_000_000
STEP_S = 300
MIB = 2**20


def row(
    number: float,
    cpu: object,
    memory: object,
    pod: str = "web-0",
    key: str = "shop,Deployment,web",
    container: str = "app",
) -> str:
    """Return a line of usage, some steps after the beginning."""
    return f"{BEGIN_S + number * STEP_S:.0f},{key},{pod},{container},{cpu},{memory}"


def write(folder: Path, rows: Sequence[str], header: str = HEADER, name: str = "usage.csv") -> Path:
    """Write a table and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return folder
