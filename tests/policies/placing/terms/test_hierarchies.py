"""Weights out of judgements: both matrices of the thesis, and the gate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.policies.placing.terms import clbp_parameters

# Published in table 4.5: eigenvector, weights in percent, largest eigenvalue, CI, CR.
PUBLISHED = ((3.16, 1.796, 0.871, 0.684, 0.296), (46.426, 26.382, 12.791, 10.054, 4.347))


def test_the_recovered_matrix_gives_the_published_numbers() -> None:
    result = clbp_parameters.analyze_judgements(clbp_parameters.RECOVERED, strict=True)
    assert result.means == pytest.approx(PUBLISHED[0], abs=6e-4)
    assert 100 * result.weights == pytest.approx(PUBLISHED[1], abs=5e-4)
    assert result.largest == pytest.approx(5.169, abs=5e-4)
    assert result.index == pytest.approx(0.0422, abs=5e-5)
    assert result.ratio == pytest.approx(0.0380, abs=5e-5)


def test_the_printed_matrix_does_not() -> None:
    result = clbp_parameters.analyze_judgements(clbp_parameters.PRINTED, strict=True)
    assert result.means == pytest.approx((3.1598, 1.7956, 1.1487, 0.5493, 0.2793), abs=5e-5)
    assert result.weights == pytest.approx((0.4558, 0.2590, 0.1657, 0.0792, 0.0403), abs=5e-5)
    assert result.largest == pytest.approx(5.195, abs=5e-4)
    assert result.index == pytest.approx(0.0488, abs=5e-5)
    assert result.ratio == pytest.approx(0.0440, abs=5e-5)


def test_the_usual_random_index_of_five_is_the_default() -> None:
    strict = clbp_parameters.analyze_judgements(clbp_parameters.PRINTED, strict=True)
    usual = clbp_parameters.analyze_judgements(clbp_parameters.PRINTED)
    assert usual.ratio * 1.12 == pytest.approx(strict.ratio * 1.11)


def test_judgements_that_contradict_each_other_are_refused() -> None:
    # The first is 9 times the second, the second 9 times the third, the third 9 times the first.
    circle = ((1, 9, 1 / 9), (1 / 9, 1, 9), (9, 1 / 9, 1))
    with pytest.raises(errors.InputError, match=r"consistency ratio .* must be < 0.1"):
        clbp_parameters.weigh(circle, 3)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (((1, 2), (0.5,)), "must be a square matrix"),
        (((1, 0), (1, 1)), "must be finite numbers > 0"),
        (((1, 2), (2, 1)), r"judgements\[0\]\[1\]: 2: must be 1 / 2"),
        (((2,),), r"judgements\[0\]\[0\]"),
    ],
    ids=["ragged", "zero", "not reciprocal", "diagonal"],
)
def test_what_is_no_matrix_of_judgements_is_refused(
    matrix: clbp_parameters.Judgements, message: str
) -> None:
    with pytest.raises(errors.InputError, match=message):
        clbp_parameters.analyze_judgements(matrix)


@given(st.lists(st.floats(0.1, 10.0), min_size=2, max_size=8))
def test_consistent_judgements_give_back_their_weights(weights: list[float]) -> None:
    given_weights = np.array(weights)
    matrix = given_weights[:, None] / given_weights[None, :]
    result = clbp_parameters.analyze_judgements(tuple(map(tuple, matrix.tolist())))
    assert result.weights == pytest.approx(given_weights / given_weights.sum())
    assert result.ratio == pytest.approx(0.0, abs=1e-9)
