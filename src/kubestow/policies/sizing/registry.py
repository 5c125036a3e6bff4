"""Recommenders by name: what scenarios, commands and custom resources may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kubestow.model import errors
from kubestow.policies.sizing import (
    arima_margins,
    batch_recommenders,
    conformals,
    estimates,
    keeping,
    krr,
    level_sigmas,
    limit_follows,
    percentiles,
    protocols,
    q_learning,
    q_parameters,
    short_margins,
    tournaments,
    vpa_estimators,
)
from kubestow.policies.sizing.vpa import parameters as vpa_parameters
from kubestow.policies.sizing.vpa import recommenders as vpa_recommenders


@dataclass(frozen=True, slots=True)
class AutoParameters:
    """How ``auto`` judges, and what its candidates go by.

    Attributes:
        tournament: How candidates are judged.
        conformal: Parameters of ``conformal``, which also answers where nothing can be judged.
    """

    tournament: tournaments.TournamentParameters = field(
        default_factory=tournaments.TournamentParameters
    )
    conformal: conformals.ConformalParameters = field(
        default_factory=conformals.ConformalParameters
    )


def _make_auto(parameters: AutoParameters) -> tournaments.Tournament:
    return tournaments.Tournament(
        (
            conformals.Conformal(parameters.conformal),
            percentiles.Percentile(),
            krr.Krr(),
            vpa_estimators.VpaEstimator(),
            level_sigmas.LevelSigma(),
        ),
        parameters.tournament,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """A recommender that can be asked for.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        parameters: Its parameters, a frozen dataclass whose fields have defaults.
        estimator: Returns what works on many containers at once; ``None`` if it has no such form.
        recommender: Returns what works on one workload, where that is another thing.
    """

    name: str
    summary: str
    parameters: type[Any]
    estimator: Callable[[Any], estimates.Estimator] | None
    recommender: Callable[[Any], protocols.Recommender] | None = None

    def make(self, parameters: Any) -> protocols.Recommender:
        """Return the recommender with given parameters."""
        if self.recommender is not None:
            return self.recommender(parameters)
        return batch_recommenders.BatchRecommender(self.make_estimator(parameters), parameters)

    def make_estimator(self, parameters: Any) -> estimates.Estimator:
        """Return the estimator with given parameters.

        Raises:
            InputError: If the recommender has no such form.
        """
        if self.estimator is None:
            raise errors.InputError(
                f"recommender {self.name}", "estimates nothing; it leaves requests as they are"
            )
        return self.estimator(parameters)


_ALL = (
    Entry(
        keeping.NAME,
        "Leaves requests as they are.",
        keeping.KeepParameters,
        None,
        keeping.Keep,
    ),
    Entry(
        percentiles.NAME,
        "A percentile of what was used, and a margin.",
        percentiles.PercentileParameters,
        percentiles.Percentile,
    ),
    Entry(
        krr.NAME,
        "krr's strategy simple, exactly: P95 of CPU, the largest memory and 15 %.",
        krr.KrrParameters,
        krr.Krr,
    ),
    Entry(
        vpa_recommenders.NAME,
        "The Vertical Pod Autoscaler, exactly: decaying histograms, P90 and a margin of 15 %.",
        vpa_parameters.VpaParameters,
        vpa_estimators.VpaEstimator,
        vpa_recommenders.Vpa,
    ),
    Entry(
        level_sigmas.NAME,
        "The mean and some standard deviations.",
        level_sigmas.LevelSigmaParameters,
        level_sigmas.LevelSigma,
    ),
    Entry(
        arima_margins.NAME,
        "A forecast by ARIMA(p,1,q) over five steps and a margin of its deviation (Schubert 2023).",
        arima_margins.ArimaMarginParameters,
        arima_margins.ArimaMargin,
    ),
    Entry(
        short_margins.NAME,
        "The amount of least expected cost for the next few points, a shortage having a price.",
        short_margins.ShortMarginParameters,
        short_margins.ShortMargin,
    ),
    Entry(
        q_learning.NAME,
        "One agent per container and resource learns on a grid of 64 units (Boettcher 2023).",
        q_parameters.QParameters,
        q_learning.QLearning,
    ),
    Entry(
        limit_follows.NAME,
        "Limits of running pods follow what they use (Shi 2023), never below it.",
        limit_follows.LimitFollowParameters,
        limit_follows.LimitFollow,
    ),
    Entry(
        conformals.NAME,
        "An amount that holds in the next window but for a stated share of cases.",
        conformals.ConformalParameters,
        conformals.Conformal,
    ),
    Entry(
        tournaments.NAME,
        "Per container and resource, who did best in the past by an explicit cost.",
        AutoParameters,
        _make_auto,
    ),
)

REGISTRY: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ALL})
"""All recommenders by name."""


def get(name: str) -> Entry:
    """Return a recommender by name.

    Raises:
        InputError: If there is none of that name.
    """
    if name not in REGISTRY:
        raise errors.InputError("recommender", f"{name!r}: must be one of {', '.join(REGISTRY)}")
    return REGISTRY[name]


def make(name: str, **parameters: Any) -> protocols.Recommender:
    """Return a recommender with parameters by keyword.

    Raises:
        InputError: If there is none of that name, or it has no such parameter.
    """
    entry = get(name)
    known = entry.parameters.__dataclass_fields__
    for keyword in parameters:
        if keyword not in known:
            raise errors.InputError(
                f"recommender {name}", f"{keyword!r}: must be one of {', '.join(known) or 'none'}"
            )
    return entry.make(entry.parameters(**parameters))
