"""Integer arithmetic shared by the score plugins."""

from __future__ import annotations

import numpy as np

from kubestow.model import arrays

MAX_SCORE = 100  # framework.MaxNodeScore


def proportional(raw: arrays.Ints, *, reverse: bool) -> arrays.Ints:
    """Scale scores so that the largest becomes 100 (``helper.DefaultNormalizeScore``).

    Args:
        raw: Scores of the feasible nodes, not negative.
        reverse: Whether a small raw score is better.
    """
    largest = int(raw.max(initial=0))
    if largest == 0:
        return np.full_like(raw, MAX_SCORE) if reverse else raw.copy()
    scaled = MAX_SCORE * raw // largest
    return MAX_SCORE - scaled if reverse else scaled


def truncating_divide(numerator: arrays.Ints, denominator: int) -> arrays.Ints:
    """Divide like Go: truncate towards zero, also for negative numbers."""
    quotient: arrays.Ints = np.sign(numerator) * (np.abs(numerator) // denominator)
    return quotient


def round_half_up(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> arrays.Ints:
    """Round non-negative numbers like Go's ``math.Round``: halves go up."""
    whole = np.floor(values)
    return (whole + (values - whole >= 0.5)).astype(np.int64)
