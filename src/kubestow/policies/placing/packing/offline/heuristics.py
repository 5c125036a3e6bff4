"""Offline heuristics by name: they know all items before they place the first.

First-fit and best-fit decreasing with many measures of size, greedy packing by dot product and by
norm, and bin completion, which is ours and the best of them (docs/evidence/vector-packing).
All support several shapes, limits, and existing nodes.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial

from kubestow.policies import registries
from kubestow.policies.placing.packing import heuristics, instances, parameters, scores
from kubestow.policies.placing.packing.offline import (
    bin_completion,
    greedy,
    item_classes,
    item_sizes,
    knapsack,
    mixed_nodes,
)


@dataclasses.dataclass(frozen=True, slots=True)
class OfflineHeuristic:
    """An offline heuristic.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        pack: The heuristic itself.
        rule: The list heuristic, if it only sorts the items for one.
        measure: What it sorts by, largest first.
        slow: Whether its time grows with the square of the number of items.
    """

    name: str
    summary: str
    pack: Callable[[instances.Instance], instances.Packing]
    rule: heuristics.Heuristic | None = None
    measure: item_sizes.ItemSize | None = None
    slow: bool = False


BEST_FIT = heuristics.Heuristic(
    "best-fit", "BF", "The fullest node that has room.", scores.BLEND, parameters.Blend(mean=1.0)
)
"""Best fit: the node with the highest mean utilisation."""


def pack_decreasing(
    instance: instances.Instance, *, rule: heuristics.Heuristic, measure: item_sizes.ItemSize
) -> instances.Packing:
    """Place items from large to small with a list heuristic."""
    return heuristics.pack(instance, rule, item_sizes.decreasing(instance, measure))


def pack_completely(
    instance: instances.Instance,
    *,
    settings: bin_completion.CompletionParameters = bin_completion.DEFAULT_COMPLETION,
) -> instances.Packing:
    """Pack by bin completion; with many small items per node also try first-fit decreasing."""
    if not item_classes.is_uniform(instance):
        return mixed_nodes.complete_mixture(instance, settings)
    batch = item_classes.classify_items(instance)
    packing = item_classes.make_packing(batch, bin_completion.complete(batch, settings))
    depth = knapsack.deepest_pattern(batch.sizes, batch.counts, batch.room)
    if depth <= bin_completion.MANY:
        return packing
    rule = heuristics.HEURISTICS.get("first-fit")
    others = [pack_decreasing(instance, rule=rule, measure=measure) for measure in item_sizes.ALL]
    return min([packing, *others], key=lambda candidate: candidate.opened)


def _list_all() -> Iterator[OfflineHeuristic]:
    first_fit = heuristics.HEURISTICS.get("first-fit")
    for measure in item_sizes.ALL:
        by = f"{measure.norm} size, {measure.weights} weights"
        yield OfflineHeuristic(
            f"ffd-{measure.name}",
            f"First fit, largest first by {by}.",
            partial(pack_decreasing, rule=first_fit, measure=measure),
            first_fit,
            measure,
        )
        yield OfflineHeuristic(
            f"bfd-{measure.name}",
            f"Best fit, largest first by {by}.",
            partial(pack_decreasing, rule=BEST_FIT, measure=measure),
            BEST_FIT,
            measure,
        )
    for rule, name in ((greedy.DOT, "dot"), (greedy.NORM, "norm")):
        for weights in ("unit", "average", "exponential"):
            measure = item_sizes.ItemSize("l2", weights)
            suffix = "" if weights == "unit" else f"-{weights}"
            yield OfflineHeuristic(
                f"{name}-item{suffix}",
                f"Largest item first, to the node of the best {name} score, {weights} weights.",
                partial(greedy.pack_items, rule=rule, measure=measure),
            )
            yield OfflineHeuristic(
                f"{name}-node{suffix}",
                f"Node by node, the item of the best {name} score, {weights} weights.",
                partial(greedy.pack_nodes, rule=rule, weights_name=weights, dynamic=False),
                slow=True,
            )
            if weights != "unit":
                yield OfflineHeuristic(
                    f"{name}-node{suffix}-dynamic",
                    f"As {name}-node{suffix}, weights renewed from the items that wait.",
                    partial(greedy.pack_nodes, rule=rule, weights_name=weights, dynamic=True),
                    slow=True,
                )
    yield OfflineHeuristic(
        "completion",
        "Node by node, the hardest item and the best company for it (bin completion).",
        pack_completely,
        slow=True,
    )


OFFLINE_HEURISTICS = registries.Registry(
    "heuristic", OfflineHeuristic, _list_all(), group="kubestow.heuristics"
)
"""All offline heuristics by name."""
