"""Trade-off curves over a whole period, with intervals from resampling its blocks.

Where replicates are blocks of one period, a ratio per block says little: most blocks have hardly
any overload. Here cost and badness are means over all blocks, the ratio is of these means, and its
interval comes from drawing blocks with replacement, the same for both curves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats
from kubestow.studies import tradeoffs
from kubestow.studies.tradeoffs import Point, TradeoffCurve

# Enough that the ends of a 95 % interval are stable to the printed digits.
_DRAWS = 2000
_SEED = 1


def pool(curve: TradeoffCurve, blocks: NDArray[np.int64]) -> TradeoffCurve:
    """Return the curve of the means over some blocks, as one replicate."""
    return TradeoffCurve(
        curve.targets,
        curve.cost[:, blocks].mean(axis=1, keepdims=True),
        curve.badness[:, blocks].mean(axis=1, keepdims=True),
    )


def compare(curve: TradeoffCurve, baseline: TradeoffCurve, floor: float) -> list[Point]:
    """Return each target of a scaler with its ratio to the baseline at the same cost."""
    ratios, drawn = _ratios(curve, baseline, floor)
    whole = pool(curve, np.arange(curve.cost.shape[1]))
    points = []
    for row, target in enumerate(curve.targets):
        low, high = _interval(drawn[:, row])
        ratio = None if np.isnan(ratios[row]) else float(ratios[row])
        badness = float(whole.badness[row, 0])
        points.append(
            Point(
                target=float(target),
                cost=float(whole.cost[row, 0]),
                badness=badness,
                # ratio = badness / baseline badness, so baseline badness = badness / ratio.
                baseline=None if ratio is None else max(badness, floor) / ratio,
                ratio=ratio,
                low=low,
                high=high,
            )
        )
    return points


def overall(
    curve: TradeoffCurve, baseline: TradeoffCurve, floor: float
) -> tuple[float | None, float | None, float | None]:
    """Return the geometric mean of the ratios over targets, and its 95 % interval."""
    ratios, drawn = _ratios(curve, baseline, floor)
    known = np.isfinite(ratios)
    if not known.any():
        return None, None, None
    means = np.array([_mean(row) for row in drawn])
    return (_mean(ratios), *_interval(means))


def ratio_at(
    curve: TradeoffCurve, baseline: TradeoffCurve, costs: Floats, floor: float
) -> tuple[float | None, float | None, float | None]:
    """Return badness / baseline badness at given costs, as geometric mean with its interval.

    Args:
        curve: The curve, by target and block.
        baseline: The baseline, by target and block.
        costs: Costs by row and block; rows outside a curve are left out.
        floor: Lower bound of badness.
    """
    count = curve.cost.shape[1]
    ratio = _mean(_ratio_at(curve, baseline, costs, floor, np.arange(count)))
    if np.isnan(ratio):
        return None, None, None
    drawn = [_mean(_ratio_at(curve, baseline, costs, floor, rows)) for rows in _draw(count)]
    return (ratio, *_interval(np.array(drawn)))


def _ratio_at(
    curve: TradeoffCurve,
    baseline: TradeoffCurve,
    costs: Floats,
    floor: float,
    blocks: NDArray[np.int64],
) -> Floats:
    ours, theirs = pool(curve, blocks), pool(baseline, blocks)
    means = costs[:, blocks].mean(axis=1)
    return np.array(
        [
            tradeoffs.interpolate(ours, 0, float(cost), floor)
            / tradeoffs.interpolate(theirs, 0, float(cost), floor)
            for cost in means
        ]
    )


def _ratios(curve: TradeoffCurve, baseline: TradeoffCurve, floor: float) -> tuple[Floats, Floats]:
    """Return the ratio by target, and those of the draws, by draw and target."""
    count = curve.cost.shape[1]
    whole = np.arange(count)
    ratios = tradeoffs.ratios(pool(curve, whole), pool(baseline, whole), floor)[:, 0]
    drawn = [
        tradeoffs.ratios(pool(curve, rows), pool(baseline, rows), floor)[:, 0]
        for rows in _draw(count)
    ]
    return ratios, np.array(drawn)


def _draw(count: int) -> NDArray[np.int64]:
    draws: NDArray[np.int64] = np.random.default_rng(_SEED).integers(0, count, (_DRAWS, count))
    return draws


def _mean(ratios: Floats) -> float:
    known = ratios[np.isfinite(ratios)]
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")


def _interval(values: Floats) -> tuple[float | None, float | None]:
    known = values[np.isfinite(values)]
    # With most draws outside the overlap, the interval would not be about this ratio.
    if len(known) < len(values) / 2:
        return None, None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)
