"""The compiled loop against plain Python, and what must hold for every packing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kubestow.model import arrays
from kubestow.policies.placing.packing import heuristics, instances, verification
from tests.policies.placing.packing import references

NAMES = sorted(heuristics.HEURISTICS)


def reference_of(name: str, d: int) -> references.Score | None:
    scores: dict[str, references.Score | None] = {
        "first-fit": None,
        "k8s-least": references.least,
        "k8s-most": references.most,
        "k8s-reweighted": references.reweighted,
        "vector-dot": references.dot,
        "k8s-vector-dot": references.most_dot,
        "permutation-pack": references.permutation(min(4, d)),
        "choose-pack": references.choice(min(4, max(1, d // 2))),
        "adaptive-pack": references.adaptive_window,
        "adaptive": references.adaptive,
    }
    return scores[name]


@pytest.mark.parametrize("d", [1, 2, 3, 8])
@pytest.mark.parametrize("name", NAMES)
def test_compiled_heuristics_place_every_pod_as_plain_python_does(name: str, d: int) -> None:
    rng = np.random.default_rng([d, 5])
    # Small and large pods, so that windows and weights move while the list is packed.
    pods = rng.random((120, d)) * rng.choice([0.1, 0.4, 0.99], size=(120, 1))
    packing = heuristics.pack(
        instances.make_instance(pods, np.ones(d)), heuristics.HEURISTICS.get(name)
    )
    assert packing.node_of_item.tolist() == references.best_fit(pods, reference_of(name, d))


@pytest.mark.parametrize("name", NAMES)
def test_many_lists_at_once_need_as_many_nodes_as_one_by_one(name: str) -> None:
    lists = np.random.default_rng(3).random((4, 90, 3)) * 0.6
    chosen = heuristics.HEURISTICS.get(name)
    single = [heuristics.pack(instances.make_instance(one, np.ones(3)), chosen) for one in lists]
    assert heuristics.count_nodes(lists, chosen).tolist() == [one.opened for one in single]


integers = hnp.arrays(
    np.float64,
    st.tuples(st.integers(0, 40), st.integers(1, 4)),
    elements=st.integers(0, 50).map(float),
)


@settings(deadline=None, max_examples=60)
@given(demands=integers, name=st.sampled_from(NAMES), data=st.data())
def test_packings_of_mixed_clusters_pass_the_independent_check(
    demands: arrays.Floats, name: str, data: st.DataObject
) -> None:
    d = demands.shape[1]
    vectors = st.lists(st.integers(0, 80).map(float), min_size=d, max_size=d)
    shapes = data.draw(st.lists(vectors, min_size=1, max_size=3))
    limits = data.draw(
        st.lists(st.none() | st.integers(0, 5), min_size=len(shapes), max_size=len(shapes))
    )
    there = np.array(data.draw(st.lists(vectors, max_size=3)), dtype=float).reshape(-1, d)
    instance = instances.make_instance(
        demands,
        shapes,
        limits=limits,
        existing=instances.Existing(there, np.floor(there / 2)) if len(there) else None,
    )
    packing = heuristics.pack(instance, heuristics.HEURISTICS.get(name))
    verification.verify(instance, packing, allow_unplaced=True)
    # An item is left out only if it fits nowhere: then no unlimited shape can hold it.
    for item in packing.unplaced:
        for shape, limit in zip(shapes, limits, strict=True):
            assert limit is not None or np.any(demands[item] > np.array(shape))


@settings(deadline=None, max_examples=60)
@given(
    lists=hnp.arrays(
        np.float64,
        st.tuples(st.just(1), st.integers(1, 60), st.integers(1, 5)),
        elements=st.floats(0.0, 1.0),
    ),
    name=st.sampled_from(NAMES),
)
def test_no_heuristic_needs_fewer_nodes_than_the_total_demand(
    lists: arrays.Floats, name: str
) -> None:
    count = int(heuristics.count_nodes(lists, heuristics.HEURISTICS.get(name))[0])
    assert count >= lists[0].sum(axis=0).max() - 1e-6
    assert count <= lists.shape[1]


def test_first_of_equal_nodes_wins() -> None:
    # Two nodes hold 6 each; the pods of 4 fit on both with the same score.
    demands = [[6], [6], [4], [4]]
    packing = heuristics.pack(
        instances.make_instance(demands, [10]), heuristics.HEURISTICS.get("KM")
    )
    assert packing.node_of_item.tolist() == [0, 1, 0, 1]


def test_a_node_is_opened_only_when_nothing_fits() -> None:
    # k8s-least would prefer an empty node, but an empty node is never a candidate.
    packing = heuristics.pack(
        instances.make_instance([[5], [5], [1]], [10]), heuristics.HEURISTICS.get("KL")
    )
    assert packing.opened == 2
    assert packing.node_of_item.tolist() == [0, 0, 1]


def test_sums_of_integers_up_to_2_53_are_exact() -> None:
    capacity = 2**53
    demands = [[2**52], [2**52 - 1], [1], [1]]
    packing = heuristics.pack(
        instances.make_instance(demands, [capacity]), heuristics.HEURISTICS.get("FF")
    )
    # The first three fill the node to the last unit; nothing is left for the fourth.
    assert packing.node_of_item.tolist() == [0, 0, 0, 1]


def test_real_demands_may_miss_a_full_node_by_rounding() -> None:
    demands = [[0.1]] * 10  # ten times 0.1 is not exactly 1 when added one by one
    packing = heuristics.pack(
        instances.make_instance(demands, [1.0]), heuristics.HEURISTICS.get("FF")
    )
    assert packing.opened == 1


def test_demand_for_a_resource_no_node_has_is_left_unplaced() -> None:
    instance = instances.make_instance([[1, 0], [1, 1]], [4, 0])
    for name in NAMES:
        packing = heuristics.pack(instance, heuristics.HEURISTICS.get(name))
        assert packing.node_of_item.tolist() == [0, -1]
        assert packing.unplaced.tolist() == [1]


def test_existing_nodes_are_filled_first_and_keep_their_indices() -> None:
    existing = instances.Existing(np.array([[8.0], [4.0]]), np.array([[7.0], [1.0]]))
    instance = instances.make_instance([[3], [1], [9]], [10], existing=existing)
    packing = heuristics.pack(instance, heuristics.HEURISTICS.get("KM"))
    # 3 fits on node 1 only (8 - 7 = 1 is too little); 1 goes where utilisation is highest after
    # placement: node 0 (8 of 8) equals node 1 (4 + 1 of 4 does not fit); 9 needs a new node.
    assert packing.node_of_item.tolist() == [1, 0, 2]
    assert packing.shape_of_node.tolist() == [-1, -1, 0]
    assert packing.opened == 1


def test_an_order_changes_the_packing_and_not_the_numbering_of_items() -> None:
    instance = instances.make_instance([[4], [4], [6], [6]], [10])
    arrival = heuristics.pack(instance, heuristics.HEURISTICS.get("FF"))
    sorted_first = heuristics.pack(
        instance, heuristics.HEURISTICS.get("FF"), np.array([2, 3, 0, 1])
    )
    assert arrival.opened == 3  # 4 + 4 | 6 | 6
    assert sorted_first.node_of_item.tolist() == [0, 1, 0, 1]  # 6 + 4 | 6 + 4
