"""A small results file in the place of the published ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.figures import proposals, sources

RESULTS: dict[str, Any] = {
    "seeds": [1, 2, 3, 4],
    "rows": [
        {"way": "hpa", "startup_s": 1.0, "cost": 8.0, "misses": 0, "found": "x 1.00 (0.90 to 1.1)"},
        {"way": "auto", "startup_s": 1.0, "cost": 2.0, "misses": 3, "found": "-21 % (-1,234 to 5)"},
        {"way": "hpa, old", "startup_s": 135.0, "cost": 6.0, "misses": 0, "spread": 0.5},
    ],
    "with. dots": {"all nodes": 0.125},
    "name": "no number",
}


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "results.json").write_text(json.dumps(RESULTS))
    caches = (sources.read_results, sources.evaluate, proposals._index, proposals._leaves)
    for cached in caches:
        cached.cache_clear()
    for module in (sources, proposals):
        monkeypatch.setattr(module, "EVIDENCE", tmp_path)
    yield tmp_path
    for cached in caches:
        cached.cache_clear()
