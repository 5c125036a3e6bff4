"""Terms by name, for profiles, the command line and the extender in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kubestow.model import decoding
from kubestow.policies import registries
from kubestow.policies.placing.terms import clbp, clbp_parameters, load_aware, packing, protocol

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TermEntry:
    """A registered term.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        parameters: Its parameters, a frozen dataclass whose fields have defaults.
        make: Creates it from its parameters.
        measured: Whether it uses measured loads, or requests alone.
        filters: Whether it may reject a node; kube-scheduler need not call the filter of one that
            does not.
        decisive: Whether only its best node matters (``TermScores.decisive``). Its filter then
            returns only that node, and the others need no scores.
    """

    name: str
    summary: str
    parameters: type[Any]
    make: Callable[[Any], protocol.Term]
    measured: bool = False
    filters: bool = False
    decisive: bool = False


_ALL = (
    TermEntry(
        clbp.NAME,
        "Balances five resources and keeps load below 80 % (Shi 2023), corrected or as printed.",
        clbp_parameters.ClbpParameters,
        clbp.Clbp,
        measured=True,
        filters=True,
    ),
    TermEntry(
        load_aware.NAME,
        "Prefers nodes with the lowest load, measured plus assumed for pods not measured yet.",
        load_aware.LoadAwareParameters,
        load_aware.LoadAware,
        measured=True,
        filters=True,
    ),
    TermEntry(
        packing.VECTOR_DOT,
        "The node whose free capacity points most in the direction of the demand.",
        packing.VectorParameters,
        packing.make_vector_dot,
        decisive=True,
    ),
    TermEntry(
        packing.K8S_VECTOR_DOT,
        "The fullest node less twice the angle of vector-dot.",
        packing.VectorParameters,
        packing.make_k8s_vector_dot,
        decisive=True,
    ),
    TermEntry(
        packing.ADAPTIVE,
        "Fills when pods are large, balances when they are small.",
        packing.AdaptiveTermParameters,
        packing.make_adaptive,
        decisive=True,
    ),
)

TERMS = registries.Registry("term", TermEntry, _ALL, group="kubestow.placing_terms")
"""All terms by name."""


def make_term(name: str, parameters: Mapping[str, Any] = _NOTHING) -> protocol.Term:
    """Create a term.

    Args:
        name: Its name.
        parameters: Its parameters, with the keys of files (``strict``, ``negligible``, ...).

    Raises:
        InputError: If there is no such term, or a parameter is invalid.
    """
    entry = TERMS.get(name)
    place = decoding.Field(dict(parameters), f"term {name}")
    return entry.make(decoding.read_structure(entry.parameters, place))
