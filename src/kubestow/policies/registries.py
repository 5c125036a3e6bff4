"""Policies by name: one registry for every family, open to third-party packages.

A package adds a policy with an entry point. The group is the registry's, the object is an entry of
the registry's type, and the entry point's name is the name users write::

    [project.entry-points."kubestow.recommenders"]
    peak = "my_package:PEAK"

Entry points are read only when a name is not built in or when all names are listed, so built-in
policies do not pay for them.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from typing import Generic, Protocol, TypeVar

from kubestow.model import errors


class PolicyEntry(Protocol):
    """Attributes that every entry of a registry has."""

    @property
    def name(self) -> str:
        """The name users write."""
        ...

    @property
    def summary(self) -> str:
        """One line for listings."""
        ...


E = TypeVar("E", bound=PolicyEntry)


class Registry(Generic[E]):
    """The entries of one family of policies, in the order of definition.

    Args:
        family: Name of one entry in error messages, e.g. ``scaler``.
        kind: The type of the entries.
        entries: The built-in entries.
        group: Entry point group through which packages add entries; empty for none.
        aliases: Alternative names of built-in entries.
    """

    def __init__(
        self,
        family: str,
        kind: type[E],
        entries: Iterable[E],
        *,
        group: str = "",
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.family, self.group = family, group
        self._kind = kind
        self._built_in = {entry.name: entry for entry in entries}
        self._aliases = dict(aliases or {})

    def get(self, name: str, place: str = "") -> E:
        """Return an entry by name.

        Args:
            name: The name, or an alias of a built-in entry.
            place: Where the name was read, for the error message; defaults to the family.

        Raises:
            InputError: If there is no such entry, or a package's entry cannot be used.
        """
        name = self._aliases.get(name, name)
        if name in self._built_in:
            return self._built_in[name]
        points = {point.name: point for point in self._points()}
        if name in points:
            return _load(points[name], self._kind)
        raise errors.InputError(place or self.family, self._unknown(name))

    def names(self) -> tuple[str, ...]:
        """Return all names: built-in first, then those added by packages."""
        extra = sorted({point.name for point in self._points()} - self._built_in.keys())
        return (*self._built_in, *extra)

    def entries(self) -> tuple[E, ...]:
        """Return all entries in the order of their names."""
        return tuple(self.get(name) for name in self.names())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._aliases or name in self.names()

    def _points(self) -> tuple[metadata.EntryPoint, ...]:
        return _entry_points(self.group) if self.group else ()

    def _unknown(self, name: str) -> str:
        names = self.names()
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{name!r}: must be one of {', '.join(names)}{hint}"


@functools.cache
def _entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=group))


def _load(point: metadata.EntryPoint, kind: type[E]) -> E:
    place = f"entry point {point.group}: {point.name} = {point.value}"
    try:
        entry = point.load()
    except (ImportError, AttributeError) as err:
        raise errors.InputError(place, f"cannot be imported: {err}") from err
    if not isinstance(entry, kind):
        kind_name = type(entry).__name__
        raise errors.InputError(place, f"is a {kind_name}: must be a {kind.__name__}")
    if entry.name != point.name:
        raise errors.InputError(place, f"is named {entry.name!r}: must be {point.name!r}")
    return entry
