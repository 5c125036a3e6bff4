"""Small instances drawn by hypothesis."""

import numpy as np
from hypothesis import strategies as st

from kubestow.policies.placing.packing import instances


@st.composite
def uniform(draw: st.DrawFn, most_items: int = 7, largest: int = 12) -> instances.Instance:
    """Draw integer items for any number of equal nodes; every item fits."""
    d = draw(st.integers(1, 3))
    capacity = draw(st.lists(st.integers(4, largest), min_size=d, max_size=d))
    row = st.tuples(*(st.integers(0, c) for c in capacity))
    demands = draw(st.lists(row, min_size=1, max_size=most_items))
    return instances.make_instance(np.array(demands).reshape(-1, d), capacity)


@st.composite
def real(draw: st.DrawFn, most_items: int = 7) -> instances.Instance:
    """Draw items in tenths of a node, whose sums are not exact in binary."""
    d = draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 10), min_size=d, max_size=d)
    demands = draw(st.lists(row, min_size=1, max_size=most_items))
    return instances.make_instance(np.array(demands) / 10.0 + 0.0, np.full(d, 1.0))


@st.composite
def mixed(draw: st.DrawFn, most_items: int = 5) -> instances.Instance:
    """Draw items for several shapes, limits, and nodes that are there already."""
    d = draw(st.integers(1, 2))
    shapes = draw(
        st.lists(st.lists(st.integers(4, 10), min_size=d, max_size=d), min_size=1, max_size=2)
    )
    largest = np.array(shapes).max(axis=0).tolist()
    row = st.tuples(*(st.integers(0, c) for c in largest))
    demands = draw(st.lists(row, min_size=1, max_size=most_items))
    limits = draw(
        st.lists(
            st.one_of(st.none(), st.integers(0, 2)), min_size=len(shapes), max_size=len(shapes)
        )
    )
    count = draw(st.integers(0, 2))
    existing = None
    if count:
        used = draw(
            st.lists(
                st.lists(st.integers(0, 8), min_size=d, max_size=d),
                min_size=count,
                max_size=count,
            )
        )
        existing = instances.Existing(np.full((count, d), 8.0), np.array(used, dtype=np.float64))
    return instances.make_instance(
        np.array(demands).reshape(-1, d), shapes, limits=limits, existing=existing
    )
