"""Typed reading of decoded documents; errors name the location, the value and the expectation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

from kubestow.model import errors, quantities

_SHOWN = 60  # characters of an offending value that a message quotes


class Field:
    """A value of a document with its path; members have the same class.

    The path is put together when a message needs it: clusters have millions of values.

    Args:
        value: The decoded value.
        place: File and document.
        path: Path of the value in the document.
    """

    __slots__ = ("_parent", "_step", "place", "value")

    def __init__(self, value: Any, place: str, path: str = "") -> None:
        self.value = value
        self.place = place
        self._parent: Field | None = None
        self._step = path

    def _member(self, value: Any, step: str) -> Self:
        member = object.__new__(type(self))
        member.value = value
        member.place = self.place
        member._parent = self
        member._step = step
        return member

    @property
    def path(self) -> str:
        """The path of the value in its document, e.g. ``spec.containers[0].image``."""
        if self._parent is None:
            return self._step
        step = self._step
        if not step.startswith("["):
            step = f"[{step}]" if "/" in step or "." in step else step
        before = self._parent.path
        separator = "." if before and not step.startswith("[") else ""
        return f"{before}{separator}{step}"

    @property
    def where(self) -> str:
        """The location in error messages: file and path."""
        path = self.path
        return f"{self.place}: {path}" if path else self.place

    def refuse(self, expectation: str) -> errors.InputError:
        """Return the error for this value; the caller raises it."""
        shown = repr(self.value)
        if len(shown) > _SHOWN:
            shown = shown[: _SHOWN - 3] + "..."
        return errors.InputError(self.where, f"{shown}: {expectation}")

    def __getitem__(self, key: str) -> Self:
        """Return a member of a mapping; a missing one has the value ``None``."""
        value = self.value
        if value is None:
            return self._member(None, key)
        if not isinstance(value, dict):
            raise self.refuse("expected a mapping")
        return self._member(value.get(key), key)

    @property
    def missing(self) -> bool:
        """Whether the value is absent or null."""
        return self.value is None

    def mapping(self) -> dict[str, Any]:
        """Return the value as a mapping; an absent one is empty."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.refuse("expected a mapping")
        return self.value

    def members(self) -> Iterator[tuple[str, Self]]:
        """Iterate over the members of a mapping."""
        for key in self.mapping():
            if not isinstance(key, str):
                raise self.refuse(f"expected text as key, got {key!r}")
            yield key, self[key]

    def items(self) -> Iterator[Self]:
        """Iterate over the items of a list; an absent list is empty."""
        if self.value is None:
            return
        if not isinstance(self.value, list):
            raise self.refuse("expected a list")
        for index, item in enumerate(self.value):
            yield self._member(item, f"[{index}]")

    def text(self, default: str | None = None) -> str:
        """Return the value as text."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, str) or (default is None and not self.value):
            raise self.refuse("expected text")
        return self.value

    def choice(self, options: tuple[str, ...], default: str | None = None) -> str:
        """Return the value as one of several options."""
        word = self.text(default)
        if word not in options:
            raise self.refuse(f"expected one of {', '.join(options)}")
        return word

    def truth(self, default: bool = False) -> bool:
        """Return the value as a Boolean."""
        if self.value is None:
            return default
        if not isinstance(self.value, bool):
            raise self.refuse("expected true or false")
        return self.value

    def integer(
        self, default: int | None = None, *, least: int | None = None, most: int | None = None
    ) -> int:
        """Return the value as a whole number within bounds."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.refuse("expected a whole number")
        if least is not None and self.value < least:
            raise self.refuse(f"must be >= {least}")
        if most is not None and self.value > most:
            raise self.refuse(f"must be <= {most}")
        return self.value

    def number(self, default: float | None = None) -> float:
        """Return the value as a finite number."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self.refuse("expected a number")
        if not math.isfinite(self.value):
            raise self.refuse("expected a finite number")
        return float(self.value)

    def quantity(self, *, negative: bool = False) -> quantities.Quantity:
        """Return the value as a Kubernetes quantity, non-negative by default."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.refuse("expected a quantity such as 500m or 2Gi")
        try:
            quantity = quantities.parse(_plain(value))
        except ValueError as err:
            raise self.refuse(
                "not a quantity; expected a number with an optional suffix, such as 500m or 2Gi"
            ) from err
        if quantity.nano < 0 and not negative:
            raise self.refuse("must not be negative")
        return quantity

    def quantities(self) -> dict[str, quantities.Quantity]:
        """Return the value as a resource list."""
        return {name: member.quantity() for name, member in self.members()}

    def texts(self) -> tuple[str, ...]:
        """Return the value as a list of texts."""
        return tuple(item.text("") for item in self.items())

    def labels(self) -> dict[str, str]:
        """Return the value as a mapping of texts, such as labels."""
        return {key: member.text("") for key, member in self.members()}


def _plain(value: str | int | float) -> str:
    """Format a YAML number as in a quantity."""
    return repr(value) if isinstance(value, float) else str(value)
