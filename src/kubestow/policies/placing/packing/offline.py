"""Offline heuristics by name: they see all items before they place the first.

First-fit and best-fit decreasing with many measures of size, greedy packing by dot product and by
norm, and bin completion, which is ours and the best of them (docs/evidence/vector-packing).
All take several shapes, limits, and nodes that are there already.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType

from kubestow.model import errors
from kubestow.policies.placing.packing import (
    batches,
    completions,
    greedy,
    heuristics,
    instances,
    knapsacks,
    measures,
    mixtures,
    parameters,
    scores,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Offline:
    """An offline heuristic.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        pack: The heuristic itself.
    """

    name: str
    summary: str
    pack: Callable[[instances.Instance], instances.Packing]


BEST_FIT = heuristics.Heuristic(
    "best-fit", "BF", "The fullest node that has room.", scores.BLEND, parameters.Blend(mean=1.0)
)
"""Best fit: the node whose mean use is highest."""


def pack_decreasing(
    instance: instances.Instance, *, rule: heuristics.Heuristic, measure: measures.Measure
) -> instances.Packing:
    """Place items from large to small with a list heuristic."""
    return heuristics.pack(instance, rule, measures.decreasing(instance, measure))


def pack_completely(
    instance: instances.Instance, *, settings: completions.Parameters = completions.DEFAULT
) -> instances.Packing:
    """Pack by bin completion; with many small items per node, or by first-fit decreasing."""
    if not batches.is_uniform(instance):
        return mixtures.complete_mixture(instance, settings)
    batch = batches.make_batch(instance)
    packing = batches.make_packing(batch, completions.complete(batch, settings))
    depth = knapsacks.deepest_pattern(batch.sizes, batch.counts, batch.room)
    if depth <= completions.MANY:
        return packing
    rule = heuristics.get("first-fit")
    others = [pack_decreasing(instance, rule=rule, measure=measure) for measure in measures.ALL]
    return min([packing, *others], key=lambda found: found.opened)


def _list_all() -> Iterator[Offline]:
    first_fit = heuristics.get("first-fit")
    for measure in measures.ALL:
        by = f"{measure.norm} size, {measure.weights} weights"
        yield Offline(
            f"ffd-{measure.name}",
            f"First fit, largest first by {by}.",
            partial(pack_decreasing, rule=first_fit, measure=measure),
        )
        yield Offline(
            f"bfd-{measure.name}",
            f"Best fit, largest first by {by}.",
            partial(pack_decreasing, rule=BEST_FIT, measure=measure),
        )
    for rule, name in ((greedy.DOT, "dot"), (greedy.NORM, "norm")):
        for weights in ("unit", "average", "exponential"):
            measure = measures.Measure("l2", weights)
            suffix = "" if weights == "unit" else f"-{weights}"
            yield Offline(
                f"{name}-item{suffix}",
                f"Largest item first, to the node of the best {name} score, {weights} weights.",
                partial(greedy.pack_items, rule=rule, measure=measure),
            )
            yield Offline(
                f"{name}-node{suffix}",
                f"Node by node, the item of the best {name} score, {weights} weights.",
                partial(greedy.pack_nodes, rule=rule, weights_name=weights, dynamic=False),
            )
            if weights != "unit":
                yield Offline(
                    f"{name}-node{suffix}-dynamic",
                    f"As {name}-node{suffix}, weights renewed from the items that wait.",
                    partial(greedy.pack_nodes, rule=rule, weights_name=weights, dynamic=True),
                )
    yield Offline(
        "completion",
        "Node by node, the hardest item and the best company for it (bin completion).",
        pack_completely,
    )


REGISTRY = MappingProxyType({heuristic.name: heuristic for heuristic in _list_all()})
"""All offline heuristics by name."""


def get(name: str) -> Offline:
    """Return an offline heuristic by name.

    >>> get("ffd-l2").name
    'ffd-l2'
    """
    if name not in REGISTRY:
        raise errors.InputError("heuristic", f"{name!r}: must be one of {', '.join(REGISTRY)}")
    return REGISTRY[name]
