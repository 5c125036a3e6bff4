"""Instances refuse what cannot be packed."""

import numpy as np
import pytest

from kubestow.model import errors
from kubestow.policies.placing.packing import instances


@pytest.mark.parametrize(
    ("demands", "capacity", "message"),
    [
        ([[1, -2]], [4, 4], r"demands\[0\]\[1\]: -2.0: must be a finite number >= 0"),
        ([[float("nan")]], [4], r"demands\[0\]\[0\]: nan"),
        ([[1, 2]], [4], r"shapes: has shape \(1, 1\), expected \(rows, 2\)"),
        ([1, 2], [4], "has 1 axes, expected 2"),
    ],
    ids=["negative", "not-a-number", "resources", "axes"],
)
def test_bad_arrays_are_refused_with_place_and_value(
    demands: list[list[float]], capacity: list[float], message: str
) -> None:
    with pytest.raises(errors.InputError, match=message):
        instances.make_instance(demands, capacity)


def test_limits_costs_and_names_must_be_complete() -> None:
    with pytest.raises(errors.InputError, match="limits: 1 values for 2 shapes"):
        instances.make_instance([[1]], [[4], [8]], limits=[1])
    with pytest.raises(errors.InputError, match="costs: 3 values for 2 shapes"):
        instances.make_instance([[1]], [[4], [8]], costs=[1, 2, 3])
    with pytest.raises(errors.InputError, match="items: 1 names for 2 items"):
        instances.make_instance([[1], [2]], [4], items=["a"])


def test_existing_use_needs_one_row_per_node() -> None:
    existing = instances.Existing(np.ones((2, 1)), np.ones((1, 1)))
    with pytest.raises(errors.InputError, match="one row per existing node"):
        instances.make_instance([[1]], [4], existing=existing)


def test_reals_get_a_tolerance_and_integers_do_not() -> None:
    whole = instances.Existing(np.array([[8.0]]), np.array([[1.0]]))
    part = instances.Existing(np.array([[8.0]]), np.array([[0.5]]))
    assert instances.make_instance([[1]], [4], existing=whole).tolerance == 0.0
    assert instances.make_instance([[1]], [4], existing=part).tolerance == 1e-9
