"""The margin of ``conformal``: how far past windows of the fleet exceeded their expected level.

At every past window a *rule* gives a level and a scale; the score of the window is its distance
from the level in scales. The estimate for the next window is its level plus the ``1 - p`` quantile
of the scores times its scale. Under exchangeability that holds with probability ``1 - p`` whatever
the distribution (split conformal prediction: Vovk, Gammerman, Shafer 2005, section 4; normalised
scores: Papadopoulos, Gammerman, Vovk 2008). Eight windows of one container are no evidence of what
happens once in a hundred windows, so scores of all containers count, in classes by how much was
known about the container (Mondrian conformal prediction). Instead of the point at infinity that the
theory adds, a table of scores of public traces (``priors``) is added with the weight of a few
windows: without a fleet it is the only evidence, in a large fleet its weight vanishes.

The best rule differs between fleets and probabilities: where windows change slowly it uses the last
one, where they are bursts the largest of many. The rule is chosen by what it would have reserved in
the past at the given probability, so a rule that is not sharp is not chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.sizing.conformal import features as conformal_features
from kubestow.policies.sizing.conformal import priors

STEP: Final = 0.088
"""Usual step from one window to the next, on the logarithmic scale; where no window has parts."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A level and a scale.

    Attributes:
        first: First feature of the level, on the logarithmic scale (``features``).
        second: Second feature; the level is the mean of both.
        power: The scale is the container's step from window to window to this power: with 0 all
            containers get the same factor, with more, variable ones get larger margins.
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
    Rule(first, second, power) for power in (0.5, 0.25, 0.0) for first, second in _LEVELS
)
DEFAULT: Final = 19
"""The rule where there is too little evidence to choose: the largest of 16, slightly scaled.

Of the powers of the step it is the cheapest that keeps the stated share with few windows and with
few containers; a power of 0 gives steady containers twice as much, 0.5 volatile ones.
"""

CLASSES: Final = (1, 2, 4, 8)
"""Classes of containers by number of windows: 1, 2 to 3, 4 to 7, 8 and more."""

# Steps between windows are clipped here (on the logarithmic scale).
_MOST_STEP: Final = 1.0
_LEAST_STEP: Final = 1e-2
# Sizes are clipped at this distance from the median (on the logarithmic scale: a factor of 7).
_SIZES: Final = 2.0
# Misses among the scores that are needed to choose a rule by them.
_EXPECTED: Final = 5.0
# How much more often than stated a fleet may miss that the built-in table does not contain.
_FOREIGN: Final = 1.5
# Safety distance from the target share, in its standard errors.
_CAUTION: Final = 1.0
# Weight of the step between parts of windows against that between windows, in windows.
_SHRINKING: Final = 2.0


def find_classes(counts: Floats) -> Ints:
    """Return the class by number of windows; -1 without windows."""
    known = np.where(np.isnan(counts), 0.0, counts)
    classes: Ints = np.searchsorted(CLASSES, known, side="right") - 1
    return classes


def shrink_steps(features: Floats) -> Floats:
    """Return the steps between windows, shrunk towards those within, by container and window."""
    steps, counts, within = (
        features[:, :, kind]
        for kind in (conformal_features.STEP, conformal_features.COUNT, conformal_features.WITHIN)
    )
    inner = np.where(np.isnan(within), STEP, within)
    pairs = np.where(np.isnan(steps), 0.0, counts - 1.0)
    squares = np.where(np.isnan(steps), 0.0, steps) ** 2
    shrunk: Floats = np.sqrt((_SHRINKING * inner**2 + pairs * squares) / (_SHRINKING + pairs))
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


def distrust(missed: float, count: int, weight: float) -> float:
    """Return the share to aim at where most of the evidence is the built-in table.

    The table comes from other fleets. On a fleet that it does not contain its margin was missed up
    to one and a half times as often as stated, so it aims at less; own scores make up for it.
    """
    own = min(count / weight, 1.0) if weight > 0.0 else 1.0
    return missed * (own + (1.0 - own) / _FOREIGN)


def weighted_quantile(scores: Floats, prior: Floats, weight: float, share: float) -> float:
    """Return the quantile of scores and a weighted prior.

    Args:
        scores: Scores in any order; minus infinity for windows below the smallest amount.
        prior: Scores of the prior at ``priors.LEVELS``.
        weight: Weight of the prior, in scores; 0 for none.
        share: The quantile.
    """
    values = np.concatenate([scores, prior])
    weights = np.concatenate([np.ones(len(scores)), weight * priors.WEIGHTS])
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
        most: Logarithm of the largest factor over the largest of the last windows, or over the
            median container where that is larger: an idle container may become a usual one.
        prior: The built-in table, by class, rule and level (``priors``).
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
    prior: Floats = field(default_factory=lambda: priors.SCORES)

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
    steps = shrink_steps(past.features)
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
            rule, reach = choose(past, steps, place, pool, missed)
            level, scale = levels(
                past.features[here, -1], steps[here, -1], RULES[rule], past.thrift, past.usual
            )
            amounts = level[:, np.newaxis] + scale[:, np.newaxis] * reach
            ceiling = find_ceilings(past, past.features[here, -1])
            amounts = np.minimum(amounts, ceiling[:, np.newaxis])
            answers.amounts[here] = np.maximum(amounts, past.least)
            answers.levels[here] = level
            answers.rules[here] = rule
            answers.scores[here] = len(pool[0])
    return answers


def score_last(past: Past, rule: Rule) -> Floats:
    """Return the score of the last window of each container; NaN where not known."""
    known, steps = past.features[:, -2], shrink_steps(past.features)[:, -2]
    level, scale = levels(known, steps, rule, past.thrift, past.usual)
    return _score(past, past.logs[:, -1], level, scale)


def _score(past: Past, logs: Floats, level: Floats, scale: Floats) -> Floats:
    return np.where(logs <= past.least, -np.inf, (logs - level) / scale)


def find_ceilings(past: Past, features: Floats) -> Floats:
    """Return the logarithms of the largest amounts."""
    ceilings: Floats = np.maximum(features[:, conformal_features.MAX16], past.usual) + past.most
    return ceilings


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
    past: Past, steps: Floats, kind: int, pool: tuple[Ints, Ints], missed: tuple[float, ...]
) -> tuple[int, Floats]:
    """Return the rule that would have reserved least at the first share, and its margins."""
    features, logs = past.features[pool], past.logs[pool]
    several = len(logs) >= max(past.enough, _EXPECTED / missed[0])
    places = range(len(RULES)) if several else (DEFAULT,)
    aims = [
        tighten(p, len(logs)) if several else distrust(p, len(logs), past.prior_weight)
        for p in missed
    ]
    weights = np.ones(len(logs))
    if past.thrift == 0.0:
        sizes = past.features[pool[0], -1, conformal_features.MEAN]
        # What is below the smallest amount gets that anyway: idle containers do not decide.
        weights = np.exp(-np.maximum(sizes, past.least))
    best, chosen, margins = np.inf, DEFAULT, np.empty(0)
    for place in places:
        level, scale = levels(features, steps[pool], RULES[place], past.thrift, past.usual)
        scores = _score(past, logs, level, scale)
        prior = past.prior[kind, place]
        reach = np.array(
            [weighted_quantile(scores, prior, past.prior_weight, 1.0 - aim) for aim in aims]
        )
        highest = np.minimum(level + scale * reach[0], find_ceilings(past, features))
        reserved = np.exp(np.maximum(highest, past.least))
        cost = float((reserved * weights).mean()) if len(logs) else 0.0
        if cost < best:
            best, chosen, margins = cost, place, reach
    return chosen, margins
