"""Read selectors, affinities and spread constraints from decoded documents."""

from __future__ import annotations

from collections.abc import Mapping

from kubestow.model import decoding, pods, selectors

_LABEL_OPERATORS = (
    selectors.IN,
    selectors.NOT_IN,
    selectors.EXISTS,
    selectors.DOES_NOT_EXIST,
)
_NODE_OPERATORS = (*_LABEL_OPERATORS, selectors.GT, selectors.LT)
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"


def label_selector(field: decoding.Field) -> selectors.LabelSelector | None:
    """Read a label selector; a null one, which matches nothing, is ``None``."""
    if field.missing:
        return None
    selector = selectors.from_labels(field["matchLabels"].labels())
    expressions = []
    for item in field["matchExpressions"].items():
        expression = _requirement(item, _LABEL_OPERATORS)
        if not _parses(expression):
            raise item["values"].refuse("expected label values (letters, digits, '-', '_', '.')")
        expressions.append(expression)
    return selector.and_also(*expressions)


def _requirement(field: decoding.Field, operators: tuple[str, ...]) -> selectors.Requirement:
    operator = field["operator"].choice(operators)
    values = field["values"].texts()
    if operator in (selectors.IN, selectors.NOT_IN) and not values:
        raise field["values"].refuse(f"operator {operator} needs at least one value")
    if operator in (selectors.EXISTS, selectors.DOES_NOT_EXIST) and values:
        raise field["values"].refuse(f"operator {operator} takes no values")
    if operator in (selectors.GT, selectors.LT) and len(values) != 1:
        raise field["values"].refuse(f"operator {operator} takes exactly one value")
    return selectors.Requirement(field["key"].text(), operator, values)


def _node_term(field: decoding.Field) -> selectors.NodeSelectorTerm:
    expressions = tuple(
        _requirement(item, _NODE_OPERATORS) for item in field["matchExpressions"].items()
    )
    names = tuple(_field_requirement(item) for item in field["matchFields"].items())
    # The API server accepts values that the scheduler cannot parse: the term matches no node.
    valid = all(map(_parses, expressions)) and all(len(name.values) == 1 for name in names)
    return selectors.NodeSelectorTerm(expressions, names, valid)


def _parses(expression: selectors.Requirement) -> bool:
    if expression.operator in (selectors.GT, selectors.LT):
        return selectors.parse_int64(expression.values[0]) is not None
    return all(map(selectors.is_label_value, expression.values))


def _field_requirement(field: decoding.Field) -> selectors.Requirement:
    if field["key"].text() != "metadata.name":
        raise field["key"].refuse("only metadata.name can be selected by field")
    return _requirement(field, (selectors.IN, selectors.NOT_IN))


def node_terms(field: decoding.Field) -> tuple[selectors.NodeSelectorTerm, ...]:
    """Read the terms of a node selector."""
    return tuple(_node_term(term) for term in field["nodeSelectorTerms"].items())


def required_nodes(affinity: decoding.Field) -> tuple[selectors.NodeSelectorTerm, ...] | None:
    """Read the required node affinity; ``None`` where there is none."""
    field = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    return None if field.missing else node_terms(field)


def preferred_nodes(affinity: decoding.Field) -> tuple[selectors.PreferredTerm, ...]:
    """Read the preferred node affinity."""
    return tuple(
        selectors.PreferredTerm(item["weight"].integer(least=0), _node_term(item["preference"]))
        for item in affinity["preferredDuringSchedulingIgnoredDuringExecution"].items()
    )


def _pod_term(field: decoding.Field, labels: Mapping[str, str]) -> pods.PodAffinityTerm:
    selector = label_selector(field["labelSelector"])
    if selector is not None:
        selector = _with_label_keys(selector, field["matchLabelKeys"], labels, selectors.IN)
        selector = _with_label_keys(selector, field["mismatchLabelKeys"], labels, selectors.NOT_IN)
    return pods.PodAffinityTerm(
        topology_key=field["topologyKey"].text(),
        selector=selector,
        namespaces=field["namespaces"].texts(),
        namespace_selector=label_selector(field["namespaceSelector"]),
    )


def _with_label_keys(
    selector: selectors.LabelSelector,
    keys: decoding.Field,
    labels: Mapping[str, str],
    operator: str,
) -> selectors.LabelSelector:
    """Require the pod's own value (or another one) of each label key that the pod has."""
    requirements = [
        selectors.Requirement(key, operator, (labels[key],))
        for key in keys.texts()
        if key in labels
    ]
    return selector.and_also(*(r for r in requirements if r not in selector.requirements))


def required_pods(
    affinity: decoding.Field, labels: Mapping[str, str]
) -> tuple[pods.PodAffinityTerm, ...]:
    """Read the required terms of a pod affinity or anti-affinity."""
    field = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    return tuple(_pod_term(item, labels) for item in field.items())


def preferred_pods(
    affinity: decoding.Field, labels: Mapping[str, str]
) -> tuple[pods.WeightedPodAffinityTerm, ...]:
    """Read the preferred terms of a pod affinity or anti-affinity."""
    return tuple(
        pods.WeightedPodAffinityTerm(
            item["weight"].integer(least=1, most=100), _pod_term(item["podAffinityTerm"], labels)
        )
        for item in affinity["preferredDuringSchedulingIgnoredDuringExecution"].items()
    )


def spread_constraint(field: decoding.Field, labels: Mapping[str, str]) -> pods.SpreadConstraint:
    """Read a topology spread constraint of a pod with these labels."""
    selector = label_selector(field["labelSelector"])
    if selector is not None:
        selector = _with_label_keys(selector, field["matchLabelKeys"], labels, selectors.IN)
    return pods.SpreadConstraint(
        max_skew=field["maxSkew"].integer(least=1),
        topology_key=field["topologyKey"].text(),
        hard=field["whenUnsatisfiable"].choice((_HARD, _SOFT)) == _HARD,
        selector=selector,
        min_domains=field["minDomains"].integer(1, least=1),
        honor_affinity=field["nodeAffinityPolicy"].choice(("Honor", "Ignore"), "Honor") == "Honor",
        honor_taints=field["nodeTaintsPolicy"].choice(("Honor", "Ignore"), "Ignore") == "Honor",
    )
