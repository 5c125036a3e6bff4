"""The door to terms, opened only by profiles that have an extension.

Terms that pack are compiled, and loading the compiler takes longer than a scheduler without any
extension needs for all it does.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, cast

from kubestow.policies.placing import profiles, terms

_REGISTRY = "kubestow.policies.placing.term_registry"


class _Registry(Protocol):
    """What the module behind the door offers."""

    def make(self, name: str, parameters: Mapping[str, Any]) -> terms.Term:
        """Return a term."""
        ...


def open_term(extension: profiles.Extension | None) -> terms.Term | None:
    """Return the term of an extension; ``None`` for no extension.

    Raises:
        InputError: If there is no such term, or a parameter is wrong.
    """
    if extension is None:
        return None
    registry = cast("_Registry", importlib.import_module(_REGISTRY))
    return registry.make(extension.term, extension.parameters)
