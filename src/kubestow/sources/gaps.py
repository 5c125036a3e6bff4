"""Fills gaps of series with the last known value."""

from __future__ import annotations

import numpy as np

from kubestow.model import errors, time_series
from kubestow.model.arrays import Floats


def fill_grid(
    place: str, names: tuple[str, ...], means: Floats
) -> tuple[Floats, time_series.Mended]:
    """Repeat the last known value in empty steps (``nan``), and count the filled ones.

    Raises:
        InputError: If a series has no value at all.
    """
    empty = ~np.isfinite(means)
    for name, hollow in zip(names, empty, strict=True):
        if hollow.all():
            raise errors.InputError(f"{place}: {name}", "has no values")
    first = np.argmin(empty, axis=1)
    steps = np.arange(means.shape[1])
    source = np.maximum.accumulate(np.where(empty, 0, steps), axis=1)
    source = np.maximum(source, first[:, None])
    begins = empty & ~np.concatenate((np.zeros((len(means), 1), bool), empty[:, :-1]), axis=1)
    mended = time_series.Mended(int(begins.sum()), int(empty.sum()))
    return np.take_along_axis(means, source, axis=1), mended
