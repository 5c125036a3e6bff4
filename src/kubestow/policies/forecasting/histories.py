"""Histories of series: validation, and the tail that a model keeps.

Every point model calls ``check`` first and keeps no more of the history than it needs: a *tail*,
one row per series. Rolling along new points then means sliding a window over tail and points.
"""

from __future__ import annotations

import numpy as np

from kubestow.model import arrays, errors


def check(values: arrays.Floats, least: int, name: str) -> arrays.Floats:
    """Return the history as contiguous rows of floats.

    Args:
        values: One row per series, one column per point.
        least: Minimum number of points.
        name: Name of the model, for the message.

    Raises:
        InputError: If there are too few points, or one is not a finite number.
    """
    rows = as_rows(values)
    if rows.shape[1] < least:
        raise errors.InputError(
            name, f"{rows.shape[1]} points are too few; expected at least {least}"
        )
    if not np.isfinite(rows).all():
        series, point = np.argwhere(~np.isfinite(rows))[0]
        raise errors.InputError(
            name,
            f"series {series}, point {point}: {rows[series, point]} is not a finite number; "
            "expected gaps to be filled before",
        )
    return rows


def as_rows(values: arrays.Floats) -> arrays.Floats:
    """Return points as contiguous rows of floats, without checking their values."""
    rows = np.ascontiguousarray(values, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"expected one row per series, got an array of shape {rows.shape}")
    return rows


def extend(tail: arrays.Floats, points: arrays.Floats) -> arrays.Floats:
    """Return the tail after new points, with the same length."""
    return np.concatenate((tail, as_rows(points)), axis=1)[:, -tail.shape[1] :]


def take_tail(values: arrays.Floats, length: int) -> arrays.Floats:
    """Return the last points; a shorter history is padded with its first point."""
    missing = max(0, length - values.shape[1])
    padding = np.repeat(values[:, :1], missing, axis=1)
    return np.concatenate((padding, values[:, values.shape[1] - (length - missing) :]), axis=1)


def sliding_tails(tail: arrays.Floats, points: arrays.Floats) -> arrays.Floats:
    """Return the tail after each point: one entry per series, point and position."""
    joined = np.concatenate((tail, as_rows(points)), axis=1)
    return np.lib.stride_tricks.sliding_window_view(joined, tail.shape[1], axis=1)[:, 1:]
