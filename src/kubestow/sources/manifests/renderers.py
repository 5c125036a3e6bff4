"""Recognises folders that are not manifests yet: Helm charts and kustomizations.

Rendering is left to the tools that define these formats; a hint names the command.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PLACEHOLDER = "{{"


def hint_for_template(path: Path) -> str:
    """Return how to render an unreadable file; empty if it does not look like a template."""
    chart = next((folder for folder in path.parents if (folder / CHART).is_file()), None)
    if chart is not None:
        return _helm(chart)
    if _PLACEHOLDER in path.read_text(encoding="utf-8", errors="replace"):
        return f"{path} has placeholders ({_PLACEHOLDER} ... }}}}): render the template first."
    return ""


def hints_for_folder(folder: Path) -> Iterator[str]:
    """Yield how to render the charts and kustomizations in a folder."""
    if not folder.is_dir():
        return
    for chart in sorted(folder.rglob(CHART)):
        yield _helm(chart.parent)
    tops = sorted({p.parent for name in KUSTOMIZATIONS for p in folder.rglob(name)})
    if tops:
        more = "" if len(tops) == 1 else f" (or one of {len(tops) - 1} others below it)"
        yield f"{tops[0]} is a kustomization{more}: kubectl kustomize {tops[0]} | kubestow place -"


def _helm(chart: Path) -> str:
    return f"{chart} is a Helm chart: helm template RELEASE {chart} | kubestow place -"
