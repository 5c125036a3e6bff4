"""Names of resources and arithmetic on lists of them."""

from __future__ import annotations

import pytest

from kubestow.model import resources
from kubestow.model.quantities import parse


@pytest.mark.parametrize(
    ("name", "extended", "scalar", "counted"),
    [
        ("cpu", False, False, True),
        ("memory", False, False, True),
        ("ephemeral-storage", False, False, True),
        ("pods", False, False, False),
        ("nvidia.com/gpu", True, True, True),
        ("kubestow.io/network", True, True, True),
        ("hugepages-2Mi", False, True, True),
        ("attachable-volumes-csi", False, True, True),
        ("kubernetes.io/batch", False, True, True),
        ("requests.example.com/x", False, False, False),
        ("example.com/", False, False, False),
        ("storage", False, False, False),
    ],
)
def test_resources_are_told_apart_by_name(
    name: str, extended: bool, scalar: bool, counted: bool
) -> None:
    assert resources.is_extended(name) is extended
    assert resources.is_scalar(name) is scalar
    assert resources.is_counted(name) is counted


def test_cpu_counts_in_millicores_and_all_else_in_whole_units() -> None:
    result = {"cpu": parse("1.5"), "memory": parse("1Ki"), "pods": parse("3"), "a.b/c": parse("2")}
    assert resources.amounts(result) == {"cpu": 1500, "memory": 1024, "a.b/c": 2}


def test_sums_and_maxima_go_name_by_name() -> None:
    left = {"cpu": parse("1"), "memory": parse("1Gi")}
    right = {"cpu": parse("500m"), "a.b/c": parse("1")}
    assert resources.add([left, right]) == {
        "cpu": parse("1500m"),
        "memory": parse("1Gi"),
        "a.b/c": parse("1"),
    }
    assert resources.maximum([left, right])["cpu"] == parse("1")


@pytest.mark.parametrize(
    ("name", "qualified"),
    [
        ("a", True),
        ("a.b/c", True),
        ("A.b/c", False),
        ("a/", False),
        ("-a", False),
        ("x" * 64, False),
    ],
)
def test_qualified_names_have_an_optional_domain_and_a_short_name(
    name: str, qualified: bool
) -> None:
    assert resources.is_qualified_name(name) is qualified
