"""The margin of ``conformal``: how far past windows of the fleet exceeded their expected level.

At every past window a *rule* gives a level and a scale; the score of the window is its distance
from the level in scales. The estimate for the next window is its level plus the ``1 - p`` quantile
of the scores times its scale. Under exchangeability that holds with probability ``1 - p`` whatever
the distribution (split conformal prediction: Vovk, Gammerman, Shafer 2005, section 4; normalised
scores: Papadopoulos, Gammerman, Vovk 2008). Eight windows of one container are no evidence of what
happens once in a hundred windows, so scores of all containers count, in classes by how much was
known about the container (Mondrian conformal prediction). Instead of the point at infinity that the
theory adds, a table of scores of public traces (``SCORES``) is added with the weight of a few
windows: without a fleet it is the only evidence, in a large fleet its weight vanishes.

The best rule differs between fleets and probabilities: where windows change slowly it uses the last
one, where they are bursts the largest of many. The rule is chosen by what it would have reserved in
the past at the given probability, so a rule that is not sharp is not chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.sizing.conformal import features as conformal_features

STEP: Final = 0.088
"""Usual step from one window to the next, on the logarithmic scale."""

LEVELS: Final = np.array([0.25, 0.5, 0.7, 0.8, 0.9, 0.94, 0.96, 0.98, 0.99, 0.995, 0.998, 0.999])
"""Quantiles of the table; denser where misses are rare."""

# Every quantile represents the levels nearest to it.
_EDGES: Final = np.concatenate([[0.0], (LEVELS[1:] + LEVELS[:-1]) / 2.0, [1.0]])
WEIGHTS: Final = np.diff(_EDGES)
"""Share of all scores that each quantile represents."""

# fmt: off
SCORES: Final = np.array(
    [
        [-0.11, 0.00, 0.07, 0.18, 0.46, 0.75, 1.07, 1.86, 2.85, 3.83, 5.99, 8.66],
        [-0.14, 0.00, 0.09, 0.21, 0.48, 0.75, 1.05, 1.78, 2.60, 3.37, 4.95, 6.18],
        [-0.16, 0.00, 0.11, 0.25, 0.55, 0.86, 1.16, 1.82, 2.61, 3.33, 4.64, 6.27],
        [-0.28, -0.04, 0.01, 0.07, 0.27, 0.47, 0.70, 1.30, 2.13, 2.94, 4.47, 5.67],
        [-0.48, -0.12, 0.00, 0.02, 0.16, 0.35, 0.54, 1.01, 1.82, 2.63, 4.32, 4.81],
        [-0.19, 0.00, 0.13, 0.30, 0.65, 0.99, 1.30, 1.96, 2.67, 3.45, 4.47, 5.69],
        [-0.30, -0.04, 0.03, 0.12, 0.34, 0.56, 0.77, 1.27, 2.00, 2.79, 3.80, 5.54],
        [-0.50, -0.11, 0.00, 0.06, 0.26, 0.45, 0.64, 1.08, 1.72, 2.42, 3.52, 4.52],
        [-0.76, -0.24, -0.04, 0.00, 0.05, 0.16, 0.28, 0.60, 1.17, 2.06, 3.26, 4.50],
        [-0.85, -0.27, -0.05, 0.00, 0.04, 0.14, 0.26, 0.56, 1.09, 1.95, 3.24, 4.50],
        [-0.03, 0.00, 0.02, 0.06, 0.21, 0.36, 0.52, 0.90, 1.40, 1.92, 3.10, 4.49],
        [-0.04, 0.00, 0.02, 0.07, 0.22, 0.36, 0.51, 0.87, 1.30, 1.68, 2.30, 3.19],
        [-0.05, 0.00, 0.03, 0.09, 0.25, 0.43, 0.58, 0.90, 1.30, 1.66, 2.23, 3.17],
        [-0.10, -0.01, 0.00, 0.02, 0.10, 0.21, 0.33, 0.61, 0.99, 1.37, 2.03, 2.62],
        [-0.20, -0.03, 0.00, 0.00, 0.05, 0.14, 0.24, 0.47, 0.80, 1.17, 1.74, 2.49],
        [-0.06, 0.00, 0.03, 0.10, 0.28, 0.46, 0.65, 0.98, 1.35, 1.71, 2.24, 2.83],
        [-0.11, -0.01, 0.00, 0.03, 0.14, 0.25, 0.36, 0.60, 0.93, 1.28, 1.77, 2.31],
        [-0.20, -0.02, 0.00, 0.01, 0.10, 0.19, 0.29, 0.51, 0.76, 1.10, 1.49, 1.93],
        [-0.33, -0.06, -0.01, 0.00, 0.01, 0.05, 0.10, 0.24, 0.46, 0.79, 1.25, 1.69],
        [-0.37, -0.07, -0.01, 0.00, 0.01, 0.04, 0.09, 0.22, 0.42, 0.73, 1.25, 1.69],
    ]
)
# fmt: on
"""Scores by rule and quantile."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A level and a scale.

    Attributes:
        first: First feature of the level, on the logarithmic scale (``features``).
        second: Second feature; the level is the mean of both.
        power: The scale is the container's step from window to window to this power: with 0 all
            containers get the same factor, with 1 only variable ones get larger margins.
    """

    first: int
    second: int
    power: float


_LEVELS: Final = (
    (conformal_features.LAST, conformal_features.LAST),
    (conformal_features.LAST, conformal_features.RECENT),
    (conformal_features.LAST, conformal_features.MEAN),
    (conformal_features.LAST, conformal_features.MAX4),
    (conformal_features.LAST, conformal_features.MAX16),
    (conformal_features.RECENT, conformal_features.MEAN),
    (conformal_features.MAX4, conformal_features.RECENT),
    (conformal_features.MAX16, conformal_features.RECENT),
    (conformal_features.MAX8, conformal_features.MAX16),
    (conformal_features.MAX16, conformal_features.MAX16),
)
RULES: Final = tuple(
    Rule(first, second, power) for power in (0.5, 0.0) for first, second in _LEVELS
)
DEFAULT: Final = 9
"""The rule where there is too little evidence to choose: the largest of 16, scaled.

It holds best of all rules with the built-in scores alone (tuning halves, each series by itself).
"""

# Classes of containers by number of windows: 1, 2 to 3, 4 to 7, 8 and more.
CLASSES: Final = (1, 2, 4, 8)
# Steps between windows are clipped here (on the logarithmic scale).
_MOST_STEP: Final = 0.3
_LEAST_STEP: Final = 1e-3
# Sizes are clipped at this distance from the median (on the logarithmic scale: a factor of 7).
_SIZES: Final = 2.0
# Safety distance from the target share, in its standard errors.
_CAUTION: Final = 1.0
# Weight of the fleet's step against a container's own, in windows.
_SHRINKING: Final = 2.0


def find_classes(counts: Floats) -> Ints:
    """Return the class by number of windows; -1 without windows."""
    known = np.where(np.isnan(counts), 0.0, counts)
    classes: Ints = np.searchsorted(CLASSES, known, side="right") - 1
    return classes


def shrink_steps(features: Floats, prior: float) -> Floats:
    """Return the containers' steps, shrunk towards the fleet's, by container and window."""
    steps, counts = (
        features[:, :, conformal_features.STEP],
        features[:, :, conformal_features.COUNT],
    )
    known = steps[~np.isnan(steps)]
    # A prior worth some containers limits the influence of a small fleet.
    usual = prior
    if len(known):
        usual = float(np.exp(np.log(np.maximum(known, _LEAST_STEP)).mean()))
        own = len(known) / (len(known) + _SHRINKING * 4.0)
        usual = float(usual**own * prior ** (1.0 - own))
    pairs = np.where(np.isnan(steps), 0.0, counts - 1.0)
    squares = np.where(np.isnan(steps), 0.0, steps) ** 2
    shrunk: Floats = np.sqrt((_SHRINKING * usual**2 + pairs * squares) / (_SHRINKING + pairs))
    return shrunk


def levels(
    features: Floats, steps: Floats, rule: Rule, thrift: float, usual: float
) -> tuple[Floats, Floats]:
    """Return level and scale of a rule; NaN where nothing is known.

    Args:
        features: Features, by kind in the last axis.
        steps: Steps between windows, shrunk.
        rule: The rule.
        thrift: How much smaller the margin of large containers is (``Past``).
        usual: Logarithm of the median container size.
    """
    level = 0.5 * (features[..., rule.first] + features[..., rule.second])
    counts = features[..., conformal_features.COUNT]
    # The error of the mean of these windows adds to that of the next window.
    scale = np.clip(steps, _LEAST_STEP, _MOST_STEP) ** rule.power * np.sqrt(1.0 + 1.0 / counts)
    if thrift > 0.0:
        larger = np.clip(features[..., conformal_features.MEAN] - usual, -_SIZES, _SIZES)
        scale = scale * np.exp(-thrift * larger)
    return level, scale


def tighten(missed: float, count: int) -> float:
    """Return the share to aim at, so that the target holds although a rule was selected.

    A rule is selected by the same scores that give its margin, which is optimistic, and windows of
    the same day are correlated, so that the effective number of scores is smaller.
    """
    error = np.sqrt(missed * (1.0 - missed) / max(count, 1))
    return float(max(missed - _CAUTION * error, missed / 2.0))


def weighted_quantile(scores: Floats, prior: Floats, weight: float, share: float) -> float:
    """Return the quantile of scores and a weighted prior.

    Args:
        scores: Scores in any order; minus infinity for windows below the smallest amount.
        prior: Scores of the prior at ``LEVELS``.
        weight: Weight of the prior, in scores; 0 for none.
        share: The quantile.
    """
    values = np.concatenate([scores, prior])
    weights = np.concatenate([np.ones(len(scores)), weight * WEIGHTS])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, share * reached[-1] * (1.0 - 1e-12)))
    return float(values[order][min(place, len(values) - 1)])


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """Past windows of one resource, over all containers.

    Attributes:
        logs: Logarithms of the windows' statistics, by container and window; NaN if not known.
        features: Features before each window and before the next one (``features``).
        least: Logarithm of the smallest amount; windows below it are never missed.
        prior_weight: Weight of the built-in table, in scores.
        enough: Number of scores needed to choose a rule.
        most: Logarithm of the largest factor over the largest of the last windows.
        thrift: Margins shrink with the size of a container to this power. The target share then
            holds over the fleet and the rule is chosen by the sum of reservations; with 0 sizes do
            not matter, and reservations count relative to the size of each container.
    """

    logs: Floats
    features: Floats
    least: float
    prior_weight: float
    enough: int
    most: float
    thrift: float = 0.0

    @property
    def usual(self) -> float:
        """Logarithm of the median container size."""
        sizes = self.features[:, -1, conformal_features.MEAN]
        known = sizes[~np.isnan(sizes)]
        return float(np.median(known)) if len(known) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ConformalAnswers:
    """Logarithms of amounts by container and target share; the first share chose the rule.

    Attributes:
        amounts: Amounts by container and share.
        levels: Levels to which the margin was added.
        rules: Index into ``RULES``; -1 where nothing is known.
        scores: Number of the fleet's scores used.
    """

    amounts: Floats
    levels: Floats
    rules: Ints
    scores: Ints


# More scores would change a quantile by less than its error.
_MOST_SCORES: Final = 40_000


def answer(past: Past, missed: tuple[float, ...]) -> ConformalAnswers:
    """Return amounts that the next window exceeds with given probabilities."""
    rows = len(past.logs)
    steps = shrink_steps(past.features, STEP)
    now = find_classes(past.features[:, -1, conformal_features.COUNT])
    answers = ConformalAnswers(
        np.full((rows, len(missed)), np.nan),
        np.full(rows, np.nan),
        np.full(rows, -1, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
    )
    for place in range(len(CLASSES)):
        here = np.flatnonzero(now == place)
        if len(here):
            pool = find_pool(past, place)
            rule, reach = choose(past, steps, pool, missed)
            level, scale = levels(
                past.features[here, -1], steps[here, -1], RULES[rule], past.thrift, past.usual
            )
            amounts = level[:, np.newaxis] + scale[:, np.newaxis] * reach
            ceiling = past.features[here, -1, conformal_features.MAX16] + past.most
            amounts = np.minimum(amounts, ceiling[:, np.newaxis])
            answers.amounts[here] = np.maximum(amounts, past.least)
            answers.levels[here] = level
            answers.rules[here] = rule
            answers.scores[here] = len(pool[0])
    return answers


def find_pool(past: Past, place: int) -> tuple[Ints, Ints]:
    """Return the windows (containers, windows) whose scores count for a class.

    These are the windows of the same class; where they are too few, all windows.
    """
    counts = past.features[:, :-1, conformal_features.COUNT]
    usable = ~np.isnan(past.logs) & ~np.isnan(counts)
    pool = usable & (find_classes(counts) == place)
    if int(pool.sum()) < past.enough:
        pool = usable
    rows, windows = np.nonzero(pool)
    stride = -(-len(rows) // _MOST_SCORES) or 1
    return rows[::stride], windows[::stride]


def choose(
    past: Past, steps: Floats, pool: tuple[Ints, Ints], missed: tuple[float, ...]
) -> tuple[int, Floats]:
    """Return the rule that would have reserved least at the first share, and its margins."""
    features, logs = past.features[pool], past.logs[pool]
    several = len(logs) >= past.enough
    places = range(len(RULES)) if several else (DEFAULT,)
    aims = [tighten(p, len(logs)) if several else p for p in missed]
    usual = past.usual
    weights = np.ones(len(logs))
    if past.thrift == 0.0:
        weights = np.exp(-past.features[pool[0], -1, conformal_features.MEAN])
    best, chosen, margins = np.inf, DEFAULT, np.empty(0)
    for place in places:
        level, scale = levels(features, steps[pool], RULES[place], past.thrift, usual)
        scores = np.where(logs <= past.least, -np.inf, (logs - level) / scale)
        prior = SCORES[place]
        reach = np.array(
            [weighted_quantile(scores, prior, past.prior_weight, 1.0 - aim) for aim in aims]
        )
        highest = np.minimum(
            level + scale * reach[0], features[:, conformal_features.MAX16] + past.most
        )
        reserved = np.exp(np.maximum(highest, past.least))
        cost = float((reserved * weights).mean()) if len(logs) else 0.0
        if cost < best:
            best, chosen, margins = cost, place, reach
    return chosen, margins
