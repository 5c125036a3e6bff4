"""Read frozen dataclasses from decoded documents, and generate their JSON schema.

One dataclass defines the parser, the schema, the defaults and, with its docstring, the reference
page. Names are camelCase in documents and snake_case here; unknown keys are refused. Types:
``bool``, ``int``, ``float``, ``str``, ``Quantity``, ``Seconds``, ``X | None``, ``tuple[X, ...]``,
``dict[str, X]``, ``Any`` for values that are read later, other such dataclasses, and ``Annotated``
with ``ValueBounds`` or ``OneOf``. A class may have a method ``check(field)`` for rules that span
several members.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from kubestow.model import errors, quantities
from kubestow.model.decoding import durations, fields

Made = TypeVar("Made")


@dataclasses.dataclass(frozen=True, slots=True)
class ValueBounds:
    """Smallest and largest allowed number; ``above`` and ``below`` exclude the bound itself."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def broken_by(self, number: float) -> str | None:
        """Return the violated bound as text; ``None`` if the number complies."""
        if self.least is not None and not number >= self.least:
            return f"must be >= {self.least:g}"
        if self.above is not None and not number > self.above:
            return f"must be > {self.above:g}"
        if self.most is not None and not number <= self.most:
            return f"must be <= {self.most:g}"
        if self.below is not None and not number < self.below:
            return f"must be < {self.below:g}"
        return None

    def schema(self) -> dict[str, Any]:
        """Return the bounds as JSON schema."""
        words = {
            "minimum": self.least,
            "exclusiveMinimum": self.above,
            "maximum": self.most,
            "exclusiveMaximum": self.below,
        }
        # 0 and 0.0 are equal in Python, so that either of them may be kept.
        return {
            word: int(bound) if float(bound).is_integer() else bound
            for word, bound in words.items()
            if bound is not None
        }


@dataclasses.dataclass(frozen=True, slots=True)
class OneOf:
    """Allowed values of a text; a function is called when a document is read."""

    words: tuple[str, ...] | Callable[[], tuple[str, ...]]

    @property
    def options(self) -> tuple[str, ...]:
        """The allowed values."""
        return self.words() if callable(self.words) else self.words


@dataclasses.dataclass(frozen=True, slots=True)
class _Duration:
    """Marks seconds that documents contain as a duration."""


Seconds = Annotated[float, _Duration()]
"""A duration such as 90s, 15m, 1h30m or 250ms; a bare number is seconds."""

_DURATION_PATTERN = r"([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$"
_QUANTITY_PATTERN = r"^[+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|[eE][+-]?[0-9]+)?$"


def read_structure(kind: type[Made], field: fields.Field) -> Made:
    """Read a dataclass from a document.

    Raises:
        InputError: With path, value and expectation of the first invalid value.
    """
    made: Made = _read_structure(kind, field)
    return made


def key_of(name: str) -> str:
    """Return the key of a member in documents.

    >>> key_of("cpu_per_request")
    'cpuPerRequest'
    """
    head, *tail = name.rstrip("_").split("_")
    return head + "".join(word.capitalize() for word in tail)


def write_structure(value: Any) -> Any:
    """Return a structure as plain values with the keys of documents; ``None`` is left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, quantities.Quantity):
            return str(value)
        return {
            key_of(member.name): write_structure(getattr(value, member.name))
            for member in dataclasses.fields(value)
            if getattr(value, member.name) is not None
        }
    if isinstance(value, dict):
        return {key: write_structure(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [write_structure(item) for item in value]
    return value


@functools.cache
def _members(kind: type) -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {key_of(f.name): (f, hints[f.name]) for f in dataclasses.fields(kind)}


def _required(member: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return member.default is missing and member.default_factory is missing


def _read_structure(kind: Any, field: fields.Field) -> Any:
    if not isinstance(field.value, dict):
        raise field.refuse("expected a mapping" if field.value is not None else "is missing")
    members = _members(kind)
    for key, member_field in field.members():
        if key not in members:
            near = difflib.get_close_matches(key, members, n=1)
            hint = (
                f"; did you mean {near[0]}?" if near else f"; expected one of {', '.join(members)}"
            )
            where = f"{member_field.place}: {member_field.path}"
            raise errors.InputError(where, f"unknown key{hint}")
    values = {}
    for key, (member, hint) in members.items():
        inner = field[key]
        if inner.missing and not _required(member):
            continue
        if inner.missing and not _optional(hint):
            where = f"{inner.place}: {inner.path}"
            raise errors.InputError(where, f"is missing; expected {_expected(hint)}")
        values[member.name] = _read_value(hint, inner)
    made = kind(**values)
    if hasattr(made, "check"):
        made.check(field)
    return made


def _optional(hint: Any) -> bool:
    return types.NoneType in typing.get_args(hint)


def _plain(hint: Any) -> Any:
    """Return a type without ``| None``."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = [part for part in typing.get_args(hint) if part is not types.NoneType]
        return inner[0]
    return hint


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type and its annotations; a ``Literal`` is a text with ``OneOf``."""
    if typing.get_origin(hint) is typing.Literal:
        return str, (OneOf(typing.get_args(hint)),)
    if typing.get_origin(hint) is Annotated:
        base, *marks = typing.get_args(hint)
        return base, tuple(marks)
    return hint, ()


def _read_value(hint: Any, field: fields.Field) -> Any:
    base, marks = _parts(_plain(hint))
    if field.missing:
        return None
    origin = typing.get_origin(base)
    if origin is tuple:
        inner = typing.get_args(base)[0]
        return tuple(_read_value(inner, item) for item in field.items())
    if origin is dict:
        inner = typing.get_args(base)[1]
        return {key: _read_value(inner, item) for key, item in field.members()}
    if base is Any:
        return field.value
    if base is quantities.Quantity:
        return field.quantity()
    if base is str:
        return _read_text(field, marks)
    if base is bool:
        return field.truth()
    if base in (int, float):
        return _read_number(base, field, marks)
    return _read_structure(base, field)


def _read_text(field: fields.Field, marks: tuple[Any, ...]) -> str:
    for mark in marks:
        if isinstance(mark, OneOf):
            return field.choice(mark.options)
    return field.text("")


def _read_number(base: type, field: fields.Field, marks: tuple[Any, ...]) -> float:
    number: float
    if any(isinstance(mark, _Duration) for mark in marks):
        number = durations.parse_duration(field)
    elif base is int and isinstance(field.value, float) and field.value.is_integer():
        number = int(field.value)  # as in JSON schema, 3.0 is an integer
    elif base is int:
        number = field.integer()
    else:
        number = field.number()
    for mark in marks:
        problem = mark.broken_by(number) if isinstance(mark, ValueBounds) else None
        if problem:
            raise field.refuse(problem)
    return number


def _expected(hint: Any) -> str:
    base, marks = _parts(_plain(hint))
    for mark in marks:
        if isinstance(mark, OneOf):
            return f"one of {', '.join(mark.options)}"
        if isinstance(mark, _Duration):
            return "a duration such as 90s"
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    if base is quantities.Quantity:
        return "a quantity such as 500m or 2Gi"
    if typing.get_origin(base) is tuple:
        return "a list"
    return names.get(base, "a mapping")


def structure_schema(kind: type) -> dict[str, Any]:
    """Return the JSON schema of a dataclass, nested ones under ``$defs``."""
    definitions: dict[str, Any] = {}
    _define(kind, definitions)
    top = definitions.pop(kind.__name__)
    return {**top, "$defs": dict(sorted(definitions.items()))}


def _define(kind: Any, definitions: dict[str, Any]) -> None:
    if kind.__name__ in definitions:
        return
    definitions[kind.__name__] = {}  # placeholder, in case it contains itself
    described = describe_members(kind)
    properties, required = {}, []
    for key, (member, hint) in _members(kind).items():
        entry = _schema_of(hint, definitions)
        if described.get(member.name):
            entry = {**entry, "description": described[member.name]}
        if _required(member):
            required.append(key)
        elif member.default not in (None, dataclasses.MISSING):
            entry = {**entry, "default": write_structure(member.default)}
        properties[key] = entry
    definitions[kind.__name__] = {
        "type": "object",
        "description": (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " "),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _schema_of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    base, marks = _parts(_plain(hint))
    origin = typing.get_origin(base)
    if origin is tuple:
        inner = typing.get_args(base)[0]
        return {"type": "array", "items": _schema_of(inner, definitions)}
    if origin is dict:
        inner = typing.get_args(base)[1]
        return {"type": "object", "additionalProperties": _schema_of(inner, definitions)}
    if base is Any:
        return {}
    if base is quantities.Quantity:
        return {"type": ["string", "number"], "pattern": _QUANTITY_PATTERN, "minimum": 0}
    if base is str:
        options = [list(mark.options) for mark in marks if isinstance(mark, OneOf)]
        return {"type": "string", **({"enum": options[0]} if options else {})}
    if base is bool:
        return {"type": "boolean"}
    if base in (int, float):
        limits = [mark.schema() for mark in marks if isinstance(mark, ValueBounds)]
        bounds = limits[0] if limits else {}
        if any(isinstance(mark, _Duration) for mark in marks):
            # Bounds apply to bare numbers; for texts the pattern requires a non-zero digit.
            start = "^(?=.*[1-9])" if "exclusiveMinimum" in bounds else "^"
            pattern = start + _DURATION_PATTERN
            return {"type": ["string", "number"], "pattern": pattern, "minimum": 0, **bounds}
        return {"type": "integer" if base is int else "number", **bounds}
    _define(base, definitions)
    return {"$ref": f"#/$defs/{base.__name__}"}


@functools.cache
def describe_members(kind: type) -> dict[str, str]:
    """Return the descriptions of members in the ``Attributes`` of a class's docstring."""
    text = inspect.getdoc(kind) or ""
    _, heading, rest = text.partition("Attributes:\n")
    if not heading:
        return {}
    described: dict[str, str] = {}
    current = ""
    for line in rest.splitlines():
        start = re.match(r"^ {4}(\w+): (.*)$", line)
        if start:
            current = start[1]
            described[current] = start[2]
        elif line.startswith("        ") and current:
            described[current] += " " + line.strip()
        elif line.strip():
            break
    return described
