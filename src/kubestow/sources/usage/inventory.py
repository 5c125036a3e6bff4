"""Read the inventory of a folder of usage files: requests, nodes, autoscalers.

- ``requests.csv``: ``namespace,kind,workload,container,cpu_request,memory_request,cpu_limit,
  memory_limit`` in Kubernetes notation, empty for unset; optionally ``replicas``, ``image``,
  ``command`` (one text) and ``labels`` (``key=value`` pairs, separated by commas).
- ``nodes.csv``: ``name,cpu,memory`` and optionally ``pods``.
- ``hpas.csv``: ``namespace,kind,workload,resource,target`` with the target utilisation in percent.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from kubestow.model import errors, quantities, resources, usage
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.sources.usage import files

_AMOUNTS: Final = {
    "cpu_request": ("requests", resources.CPU),
    "memory_request": ("requests", resources.MEMORY),
    "cpu_limit": ("limits", resources.CPU),
    "memory_limit": ("limits", resources.MEMORY),
}
_CONTAINERS: Final = (*files.KEY, *_AMOUNTS)
_NODES: Final = ("name", "cpu", "memory")
_HPAS: Final = ("namespace", "kind", "workload", "resource", "target")


def read_inventory(folder: Path) -> usage.Inventory:
    """Read the tables of a folder, or beside a file; a missing table leaves its part empty.

    Raises:
        InputError: If a table does not have its format.
    """
    folder = folder.parent if folder.is_file() else folder
    containers, replicas, labels = _containers(folder)
    return usage.Inventory(containers, replicas, labels, _nodes(folder), _hpas(folder))


Row = Mapping[str, str]


def _rows(folder: Path, stem: str, needed: tuple[str, ...]) -> Iterator[tuple[str, Row]]:
    """Iterate over the rows of a table as texts, each with its location for messages."""
    path = files.find(folder, stem)
    if path is None:
        return
    table = files.load(path)
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise errors.InputError(
            str(path), f"has no column {', '.join(missing)}; expected {', '.join(needed)}"
        )
    texts = table.select(pl.all().cast(pl.String).fill_null(""))
    for number, row in enumerate(texts.iter_rows(named=True), start=2):
        yield f"{path}:{number}", row


def _containers(
    folder: Path,
) -> tuple[
    dict[ContainerKey, usage.ContainerFacts],
    dict[WorkloadKey, int],
    dict[WorkloadKey, dict[str, str]],
]:
    facts: dict[ContainerKey, usage.ContainerFacts] = {}
    replicas: dict[WorkloadKey, int] = {}
    labels: dict[WorkloadKey, dict[str, str]] = {}
    for place, row in _rows(folder, "requests", _CONTAINERS):
        key = ContainerKey(*(row[name] for name in files.KEY))
        if key in facts:
            raise errors.InputError(place, f"{key}: duplicate row")
        amounts: dict[str, dict[str, quantities.Quantity]] = {"requests": {}, "limits": {}}
        for column, (part, resource) in _AMOUNTS.items():
            if row[column]:
                amounts[part][resource] = _quantity(f"{place}: {column}", row[column])
        command = tuple(_split(f"{place}: command", row.get("command", "")))
        image = row.get("image", "")
        facts[key] = usage.ContainerFacts(amounts["requests"], amounts["limits"], image, command)
        if row.get("replicas"):
            replicas[key.of] = _whole(f"{place}: replicas", row["replicas"])
        if row.get("labels"):
            labels[key.of] = _labels(f"{place}: labels", row["labels"])
    return facts, replicas, labels


def _nodes(folder: Path) -> dict[str, resources.ResourceList]:
    nodes: dict[str, resources.ResourceList] = {}
    for place, row in _rows(folder, "nodes", _NODES):
        amounts = {
            name: _quantity(f"{place}: {name}", row[name])
            for name in (resources.CPU, resources.MEMORY, resources.PODS)
            if row.get(name)
        }
        for name in (resources.CPU, resources.MEMORY):
            if name not in amounts:
                raise errors.InputError(f"{place}: {name}", "is empty; expected a quantity")
        nodes[row["name"]] = amounts
    return nodes


def _hpas(folder: Path) -> dict[WorkloadKey, dict[str, int]]:
    targets: dict[WorkloadKey, dict[str, int]] = {}
    for place, row in _rows(folder, "hpas", _HPAS):
        key = WorkloadKey(row["namespace"], row["kind"], row["workload"])
        targets.setdefault(key, {})[row["resource"]] = _whole(f"{place}: target", row["target"])
    return targets


def _quantity(place: str, text: str) -> quantities.Quantity:
    try:
        quantity = quantities.parse(text)
    except ValueError as err:
        raise errors.InputError(
            place, f"{text!r}: expected a quantity such as 500m or 1Gi"
        ) from err
    if quantity.nano < 0:
        raise errors.InputError(place, f"{text}: must not be negative")
    return quantity


def _whole(place: str, text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0.0 and number.is_integer()):
        raise errors.InputError(place, f"{text!r}: expected a whole number")
    return int(number)


def _split(place: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as err:
        raise errors.InputError(place, f"{text!r}: {err}") from err


def _labels(place: str, text: str) -> dict[str, str]:
    labels = {}
    for pair in text.split(","):
        key, separator, value = pair.strip().partition("=")
        if not separator or not key:
            raise errors.InputError(place, f"{pair!r}: expected key=value")
        labels[key] = value
    return labels
