"""Recommenders by name: what scenarios, commands and custom resources may ask for."""

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
    """How ``auto`` judges, and what its candidates go by.

    Attributes:
        tournament: How candidates are judged.
        conformal: Parameters of ``conformal``, which also answers where nothing can be judged.
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
    )


@dataclass(frozen=True, slots=True)
class RecommenderEntry:
    """A recommender that can be asked for.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        parameters: Its parameters, a frozen dataclass whose fields have defaults.
        estimator: Returns what estimates for many containers at once; ``None`` for ``keep``, which
            leaves requests as they are.
    """

    name: str
    summary: str
    parameters: type[Any]
    estimator: Callable[[Any], estimates.Estimator] | None

    def make_estimator(self, parameters: Any) -> estimates.Estimator:
        """Return the estimator with given parameters.

        Raises:
            InputError: If it leaves requests as they are.
        """
        if self.estimator is None:
            raise errors.InputError(
                f"recommender {self.name}", "estimates nothing; it leaves requests as they are"
            )
        return self.estimator(parameters)


_ALL = (
    RecommenderEntry(
        keep.NAME,
        "Leaves requests as they are.",
        keep.KeepParameters,
        None,
    ),
    RecommenderEntry(
        percentile.NAME,
        "A percentile of what was used, and a margin.",
        percentile.PercentileParameters,
        percentile.Percentile,
    ),
    RecommenderEntry(
        krr.NAME,
        "krr's strategy simple, exactly: P95 of CPU, the largest memory and 15 %.",
        krr.KrrParameters,
        krr.Krr,
    ),
    RecommenderEntry(
        vpa.VPA,
        "The Vertical Pod Autoscaler, exactly: decaying histograms, P90 and a margin of 15 %.",
        vpa.VpaParameters,
        vpa.VpaEstimator,
    ),
    RecommenderEntry(
        level_sigma.NAME,
        "The mean and some standard deviations.",
        level_sigma.LevelSigmaParameters,
        level_sigma.LevelSigma,
    ),
    RecommenderEntry(
        margins.ARIMA_MARGIN,
        "A forecast by ARIMA(p,1,q) over five steps and a margin of its deviation (Schubert 2023).",
        margins.ArimaMarginParameters,
        margins.ArimaMargin,
    ),
    RecommenderEntry(
        margins.SHORT_MARGIN,
        "The amount of least expected cost for the next few points, a shortage having a price.",
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
        "Limits of running pods follow what they use (Shi 2023), never below it.",
        limit_follow.LimitFollowParameters,
        limit_follow.LimitFollow,
    ),
    RecommenderEntry(
        CONFORMAL,
        "An amount that holds in the next window but for a stated share of cases.",
        ConformalParameters,
        Conformal,
    ),
    RecommenderEntry(
        judging.AUTO,
        "Per container and resource, who did best in the past by an explicit cost.",
        AutoSizingParameters,
        _make_auto,
    ),
)

RECOMMENDERS = registries.Registry(
    "recommender", RecommenderEntry, _ALL, group="kubestow.recommenders"
)
"""All recommenders by name."""
