"""Recognises files that are not manifests yet: Helm charts, kustomizations, templates.

Rendering is left to the tools that define these formats; a hint names the command.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from kubestow.sources.manifests import documents

CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PLACEHOLDER = "{{"


def kind_of_file(document: documents.Document) -> str:
    """Return what a document without kind is by the name of its file; empty if it is not known."""
    if isinstance(document.value, dict) and "kind" in document.value:
        return ""
    name = PurePath(document.place.partition("#")[0]).name
    if name in KUSTOMIZATIONS:
        return "Kustomization"
    return "Helm chart file" if name in (CHART, "values.yaml") else ""


def template_problem(path: Path) -> str:
    """Return why a file is unreadable if it is a template; empty otherwise."""
    if _PLACEHOLDER in path.read_text(encoding="utf-8", errors="replace"):
        return f"is a template with placeholders ({_PLACEHOLDER} ... }}}}); render it first"
    return ""


def hints_for_file(path: Path) -> Iterator[str]:
    """Yield how to render the chart that an unreadable file belongs to."""
    chart = next((folder for folder in path.parents if (folder / CHART).is_file()), None)
    if chart is not None:
        yield _helm(chart)


def hints_for_folder(folder: Path) -> Iterator[str]:
    """Yield how to render the charts and kustomizations in a folder."""
    if not folder.is_dir():
        return
    for chart in sorted(folder.rglob(CHART)):
        yield _helm(chart.parent)
    tops = sorted({p.parent for name in KUSTOMIZATIONS for p in folder.rglob(name)})
    if tops:
        more = "" if len(tops) == 1 else f", one of {len(tops)} in this input"
        yield f"{tops[0]} is a kustomization{more}: kubectl kustomize {tops[0]} | kubestow place -"


def _helm(chart: Path) -> str:
    return f"{chart} is a Helm chart: helm template RELEASE {chart} | kubestow place -"
