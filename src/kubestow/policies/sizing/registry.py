"""Recommenders by name, for scenarios, commands and custom resources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kubestow.model import errors
from kubestow.policies import registries
from kubestow.policies.sizing import (
    estimates,
    judging,
    keep,
    krr,
    level_sigma,
    limit_follow,
    margins,
    percentile,
    q_learning,
    vpa,
)
from kubestow.policies.sizing.conformal import CONFORMAL, Conformal, ConformalParameters


@dataclass(frozen=True, slots=True)
class AutoSizingParameters:
    """Parameters of ``auto`` and of its candidates.

    Attributes:
        tournament: How candidates are compared.
        conformal: The stated risk, and parameters of ``conformal``, which is used unless another
            candidate keeps the same risk for less.
    """

    tournament: judging.TournamentParameters = field(default_factory=judging.TournamentParameters)
    conformal: ConformalParameters = field(default_factory=ConformalParameters)


def _make_auto(parameters: AutoSizingParameters) -> judging.Tournament:
    return judging.Tournament(
        (
            Conformal(parameters.conformal),
            percentile.Percentile(),
            krr.Krr(),
            vpa.VpaEstimator(),
            level_sigma.LevelSigma(),
        ),
        parameters.tournament,
        parameters.conformal,
    )


@dataclass(frozen=True, slots=True)
class RecommenderEntry:
    """A registered recommender.

    Attributes:
        name: The registered name.
        summary: One sentence on what it does.
        parameters: Its parameters, a frozen dataclass whose fields have defaults.
        estimator: Makes the estimator from parameters; ``None`` for ``keep``, which leaves
            requests unchanged.
    """

    name: str
    summary: str
    parameters: type[Any]
    estimator: Callable[[Any], estimates.Estimator] | None

    def make_estimator(self, parameters: Any) -> estimates.Estimator:
        """Return the estimator with given parameters.

        Raises:
            InputError: If the recommender has no estimator.
        """
        if self.estimator is None:
            raise errors.InputError(
                f"recommender {self.name}", "has no estimator; it leaves requests unchanged"
            )
        return self.estimator(parameters)


_ALL = (
    RecommenderEntry(
        keep.NAME,
        "Leaves requests unchanged.",
        keep.KeepParameters,
        None,
    ),
    RecommenderEntry(
        percentile.NAME,
        "A percentile of usage plus a margin.",
        percentile.PercentileParameters,
        percentile.Percentile,
    ),
    RecommenderEntry(
        krr.NAME,
        "Exactly krr's strategy simple (v1.29.0): P95 of CPU, the largest memory plus 15 %.",
        krr.KrrParameters,
        krr.Krr,
    ),
    RecommenderEntry(
        vpa.VPA,
        "Exactly the Vertical Pod Autoscaler: decaying histograms, P90 and a margin of 15 %.",
        vpa.VpaParameters,
        vpa.VpaEstimator,
    ),
    RecommenderEntry(
        level_sigma.NAME,
        "The mean plus some standard deviations.",
        level_sigma.LevelSigmaParameters,
        level_sigma.LevelSigma,
    ),
    RecommenderEntry(
        margins.ARIMA_MARGIN,
        "An ARIMA(p,1,q) forecast of five steps plus a margin for its error (Schubert 2023).",
        margins.ArimaMarginParameters,
        margins.ArimaMargin,
    ),
    RecommenderEntry(
        margins.SHORT_MARGIN,
        "The amount of least expected cost for the next few points; a shortage has a price.",
        margins.ShortMarginParameters,
        margins.ShortMargin,
    ),
    RecommenderEntry(
        q_learning.Q_LEARNING,
        "One agent per container and resource learns on a grid of 64 units (Boettcher 2023).",
        q_learning.QParameters,
        q_learning.QLearning,
    ),
    RecommenderEntry(
        limit_follow.NAME,
        "Limits of running pods follow their usage (Shi 2023), never below it.",
        limit_follow.LimitFollowParameters,
        limit_follow.LimitFollow,
    ),
    RecommenderEntry(
        CONFORMAL,
        "An amount that the next window exceeds only with a stated probability.",
        ConformalParameters,
        Conformal,
    ),
    RecommenderEntry(
        judging.AUTO,
        "The cheapest recommender that keeps the stated risk in the past of the fleet.",
        AutoSizingParameters,
        _make_auto,
    ),
)

RECOMMENDERS = registries.Registry(
    "recommender", RecommenderEntry, _ALL, group="kubestow.recommenders"
)
"""All recommenders by name."""
