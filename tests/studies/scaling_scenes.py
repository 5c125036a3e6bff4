"""Runs made by hand, and studies cut down to seconds, for tests of the scaling studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubestow.simulation import outcomes, run
from kubestow.studies import scaling_runs

SCRIPT = "vegaEmbed"


def make_run(
    columns: Mapping[str, Sequence[float | None]], measures: Mapping[str, Any] | None = None
) -> scaling_runs.ScalingRun:
    """Return a run with some columns; others are zero."""
    length = len(columns["time_s"])
    every: dict[str, list[float | None]] = {name: [0.0] * length for name in scaling_runs.COLUMNS}
    every |= {name: list(values) for name, values in columns.items()}
    return scaling_runs.ScalingRun("key", dict(measures or {}), every)


def forbid_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every simulation fail from now on: all runs have to be on disk."""

    def refuse(*_: Any) -> outcomes.RunOutcome:
        raise AssertionError("a finished run was computed again")

    monkeypatch.setattr(run, "run", refuse)


def check_page(path: Path, *texts: str) -> None:
    """Check that a page draws its charts without a network and shows some texts."""
    page = path.read_text(encoding="utf-8")
    assert SCRIPT in page
    assert 'src="http' not in page
    for text in texts:
        assert f"<td>{text}</td>" in page or f">{text}<" in page, text


def verdict(rows: Sequence[Mapping[str, Any]], beginning: str) -> str:
    """Return the verdict of the one row whose statement begins so."""
    (result,) = [row["verdict"] for row in rows if row["statement"].startswith(beginning)]
    return str(result)
