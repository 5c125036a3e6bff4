"""The grid of a comparison: every combination of the varied values, each with the same seeds."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kubestow.model import errors
from kubestow.workflows import scenario_files

_OPENING, _CLOSING, _QUOTES = "{[", "}]", "'\""


@dataclass(frozen=True, slots=True)
class GridAxis:
    """A path of the scenario, its values, and how the user wrote them."""

    path: str
    texts: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """One combination of values.

    Attributes:
        label: Its values as the user wrote them.
        changes: The values by path.
        loaded: The checked scenario with these values.
    """

    label: str
    changes: dict[str, Any]
    loaded: scenario_files.Loaded


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonGrid:
    """Everything a comparison runs.

    Attributes:
        name: Name of the scenario.
        folder: Where the files it refers to are.
        axes: What is varied.
        variants: All combinations, the last axis changing fastest.
        seeds: Seeds of every variant.
        baseline: Label of the variant the others are compared with.
    """

    name: str
    folder: Path
    axes: tuple[GridAxis, ...]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    baseline: str


def plan_grid(
    source: str | Mapping[str, Any],
    varied: Sequence[str],
    *,
    changes: Iterable[str] = (),
    seeds: int = 1,
    baseline: str | None = None,
) -> ComparisonGrid:
    """Read a scenario and plan the grid; every variant is checked before any runs.

    Args:
        source: Path of the scenario, ``-``, or the document.
        varied: Texts ``path=v1,v2,...``; values are YAML.
        changes: Texts ``path=value`` that hold for all variants.
        seeds: Number of seeds, counted from the scenario's.
        baseline: Label of the baseline; default: the first variant.

    Raises:
        InputError: If the scenario, the grid or one of the variants is invalid.
    """
    if not varied:
        raise errors.InputError("varied", "expected at least one path=v1,v2,...")
    axes = tuple(read_axis(text) for text in varied)
    _refuse_repetition([axis.path for axis in axes], "varied")
    base = scenario_files.load(source, changes)
    path = Path(source) if isinstance(source, str) and source != "-" else Path("scenario")
    folder = path.parent.absolute()
    variants = tuple(
        _vary(base.value, path.name, folder, axes, chosen)
        for chosen in itertools.product(*(range(len(axis.values)) for axis in axes))
    )
    labels = [variant.label for variant in variants]
    _refuse_repetition(labels, "varied")
    if baseline is not None and baseline not in labels:
        raise errors.InputError("baseline", f"{baseline!r}: expected one of {'; '.join(labels)}")
    first = base.scenario.spec.seed
    return ComparisonGrid(
        name=base.scenario.metadata.name,
        folder=folder,
        axes=axes,
        variants=variants,
        seeds=tuple(range(first, first + seeds)),
        baseline=labels[0] if baseline is None else baseline,
    )


def read_axis(text: str) -> GridAxis:
    """Read ``path=v1,v2,...``.

    >>> read_axis("policies.scaling.target={cpu: 0.6, memory: 0.8},{cpu: 0.7}").values
    ({'cpu': 0.6, 'memory': 0.8}, {'cpu': 0.7})
    """
    path, sign, listed = text.partition("=")
    if not sign or not path.strip():
        raise errors.InputError("varied", f"{text!r}: expected path=v1,v2,...")
    path = path.strip()
    if path.removeprefix("spec.") == "seed":
        raise errors.InputError(
            f"varied {text}", "every variant runs with the same seeds; expected another path"
        )
    texts = split_values(listed, f"varied {text}")
    _refuse_repetition(texts, f"varied {text}")
    return GridAxis(path, texts, tuple(_parse(value, f"varied {text}") for value in texts))


def split_values(listed: str, place: str) -> tuple[str, ...]:
    """Split at commas that are outside of brackets, braces and quotes."""
    pieces, piece, open_ones, quote = [], "", 0, ""
    for character in listed:
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES and (not piece or piece[-1] in " {[,:"):
            quote = character  # within a word it is an apostrophe
        elif character in _OPENING:
            open_ones += 1
        elif character in _CLOSING:
            open_ones -= 1
        elif character == "," and open_ones == 0:
            pieces.append(piece.strip())
            piece = ""
            continue
        piece += character
    pieces.append(piece.strip())
    if not all(pieces):
        raise errors.InputError(place, "a value is missing; expected v1,v2,... (null for none)")
    return tuple(pieces)


def _parse(text: str, place: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as err:
        raise errors.InputError(place, f"{text!r}: expected a YAML value") from err


def _refuse_repetition(texts: Sequence[str], place: str) -> None:
    for index, text in enumerate(texts):
        if text in texts[:index]:
            raise errors.InputError(place, f"{text!r} is given twice")


def _vary(
    document: Any, name: str, folder: Path, axes: Sequence[GridAxis], chosen: Sequence[int]
) -> Variant:
    value = copy.deepcopy(document)
    changes = {}
    for axis, index in zip(axes, chosen, strict=True):
        place = f"varied {axis.path}={axis.texts[index]}"
        # Variants share values; a later change must not affect another variant.
        new = copy.deepcopy(axis.values[index])
        scenario_files.set_value(value, axis.path, new, place)
        changes[axis.path] = axis.values[index]
    label = ", ".join(axis.texts[index] for axis, index in zip(axes, chosen, strict=True))
    return Variant(label, changes, scenario_files.read(value, f"{name} ({label})", folder))
