"""Label selectors and node selectors as immutable values.

``None`` stands for a null selector, which matches nothing; an empty selector matches everything
(``metav1.LabelSelectorAsSelector``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]

IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT = "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_INTEGER = re.compile(r"[+-]?[0-9]+")


def is_label_value(text: str) -> bool:
    """Return whether a text is a valid label value; at most 63 characters, possibly none."""
    return _LABEL_VALUE.fullmatch(text) is not None


def parse_int64(text: str) -> int | None:
    """Parse like Go's ``strconv.ParseInt(text, 10, 64)``; ``None`` where that fails."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label: key, operator, values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Return whether a set of labels fulfils the condition."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                # Upstream: an absent label is "not in" any set.
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        left, right = parse_int64(value), parse_int64(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator == GT else left < right


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the selector has no requirement."""
        return not self.requirements

    def matches(self, labels: Labels) -> bool:
        """Return whether a set of labels fulfils all requirements."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def and_also(self, *requirements: Requirement) -> LabelSelector:
        """Return the selector with more requirements."""
        return LabelSelector(self.requirements + requirements)


def from_labels(labels: Labels) -> LabelSelector:
    """Return the selector that requires these labels."""
    return LabelSelector(
        tuple(Requirement(key, IN, (value,)) for key, value in sorted(labels.items()))
    )


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """A term of a node affinity: all label and field expressions must match.

    ``valid`` is false for a term kube-scheduler cannot parse; such a term matches no node.
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    valid: bool = True

    @property
    def empty(self) -> bool:
        """Whether the term has no expression; an empty term matches no node."""
        return not self.expressions and not self.fields

    def matches(self, name: str, labels: Labels) -> bool:
        """Return whether a node, given by its name and labels, fulfils the term."""
        if self.empty or not self.valid:
            return False
        own_fields = {"metadata.name": name}
        return all(expression.matches(labels) for expression in self.expressions) and all(
            field.matches(own_fields) for field in self.fields
        )


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A node affinity term with the weight it adds to the score of a matching node."""

    weight: int
    term: NodeSelectorTerm
