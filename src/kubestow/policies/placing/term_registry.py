"""Terms by name, for profiles, the command line and the extender in a cluster alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kubestow.model import errors, fields, structures
from kubestow.policies.placing import clbp, clbp_parameters, load_aware, terms, vector_terms

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Entry:
    """A term that can be asked for.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        parameters: Its parameters, a frozen dataclass whose fields have defaults.
        make: Makes it.
        measured: Whether it looks at loads, or at requests alone.
        filters: Whether it may refuse a node; kube-scheduler need not ask one that does not.
        decisive: Whether only its best node matters (``terms.Weighed``). Asked which nodes may take
            a pod it then names that one, and nobody has to score the others.
    """

    name: str
    summary: str
    parameters: type[Any]
    make: Callable[[Any], terms.Term]
    measured: bool = False
    filters: bool = False
    decisive: bool = False


_ALL = (
    Entry(
        clbp.NAME,
        "Keeps loads of five resources alike and below 80 % (Shi 2023), soundly or as printed.",
        clbp_parameters.ClbpParameters,
        clbp.Clbp,
        measured=True,
        filters=True,
    ),
    Entry(
        load_aware.NAME,
        "Where measured load, and that of pods not measured yet, leaves most room.",
        load_aware.LoadAwareParameters,
        load_aware.LoadAware,
        measured=True,
        filters=True,
    ),
    Entry(
        vector_terms.VECTOR_DOT,
        "The node whose free capacity points most in the direction of the demand.",
        vector_terms.VectorParameters,
        vector_terms.make_vector_dot,
        decisive=True,
    ),
    Entry(
        vector_terms.K8S_VECTOR_DOT,
        "The fullest node less twice the angle of vector-dot.",
        vector_terms.VectorParameters,
        vector_terms.make_k8s_vector_dot,
        decisive=True,
    ),
    Entry(
        vector_terms.ADAPTIVE,
        "Fills when pods are large, balances when they are small.",
        vector_terms.AdaptiveTermParameters,
        vector_terms.make_adaptive,
        decisive=True,
    ),
)

REGISTRY: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ALL})
"""All terms by name."""

NAMES = tuple(REGISTRY)


def get(name: str) -> Entry:
    """Return a term by name.

    Raises:
        InputError: If there is none of that name.
    """
    if name not in REGISTRY:
        raise errors.InputError("term", f"{name!r}: must be one of {', '.join(NAMES)}")
    return REGISTRY[name]


def make(name: str, parameters: Mapping[str, Any] = _NOTHING) -> terms.Term:
    """Return a term.

    Args:
        name: Its name.
        parameters: Its parameters with the keys of documents (``strict``, ``negligible``, ...).

    Raises:
        InputError: If there is none of that name, or a parameter is wrong.
    """
    entry = get(name)
    place = fields.Field(dict(parameters), f"term {name}")
    return entry.make(structures.read(entry.parameters, place))
