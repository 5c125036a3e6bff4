"""The registry: names are a contract."""

import pytest

from kubestow.model import errors
from kubestow.policies.placing.packing import heuristics, parameters


def test_all_promised_names_are_there() -> None:
    assert set(heuristics.HEURISTICS) == {
        "first-fit",
        "k8s-least",
        "k8s-most",
        "permutation-pack",
        "choose-pack",
        "adaptive-pack",
        "vector-dot",
        "k8s-reweighted",
        "k8s-vector-dot",
        "adaptive",
    }


def test_abbreviations_are_unique_and_found() -> None:
    short = [one.abbreviation for one in heuristics.HEURISTICS.entries()]
    assert len(set(short)) == len(short)
    assert [heuristics.HEURISTICS.get(name) for name in short] == list(
        heuristics.HEURISTICS.entries()
    )


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.InputError, match="'worst-fit': must be one of first-fit"):
        heuristics.HEURISTICS.get("worst-fit")


@pytest.mark.parametrize(
    ("given", "d", "used"),
    [
        (parameters.Window(), 2, 2),
        (parameters.Window(), 8, 4),
        (parameters.Window(3), 8, 3),
        (parameters.HalfWindow(), 2, 1),
        (parameters.HalfWindow(), 6, 3),
        (parameters.HalfWindow(), 1, 1),
    ],
    ids=str,
)
def test_windows_follow_the_number_of_resources(
    given: parameters.Parameters, d: int, used: int
) -> None:
    assert given.encode(d)[0] == used


def test_windows_whose_keys_would_not_be_exact_are_refused() -> None:
    with pytest.raises(errors.InputError, match="30 bits"):
        parameters.Window(16).encode(16)
