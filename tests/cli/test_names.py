"""Names in help texts are those of the registries, which help does not load."""

from __future__ import annotations

import pytest

from kubestow.cli import main, names, place
from kubestow.live import admission, metrics_api
from kubestow.model import decoding, pods
from kubestow.policies.forecasting import registry as forecasters
from kubestow.policies.placing import profiles, terms
from kubestow.policies.scaling import hpa
from kubestow.policies.scaling import registry as scalers
from kubestow.policies.sizing import recommendations
from kubestow.policies.sizing import registry as recommenders
from kubestow.sources import prometheus
from kubestow.workflows import comparing, demonstrating, forecasting, recommending
from kubestow.workflows.recommending import safety


@pytest.mark.parametrize(
    ("shown", "defined"),
    [
        (names.ENGINES, comparing.ENGINES),
        (names.SCALERS, tuple(scalers.SCALERS._built_in)),
        (names.RECOMMENDERS, tuple(recommenders.RECOMMENDERS._built_in)),
        (names.FORECASTERS, tuple(forecasters.FORECASTERS._built_in)),
        (names.PROFILES, tuple(profiles.PROFILES)),
        (names.TERMS, tuple(terms.TERMS._built_in)),
        (names.DECISIONS, profiles.DECISIONS),
        (names.API_SERVICES, metrics_api.GROUPS),
        (names.MEMORY_HEADROOM, safety.MEMORY_HEADROOM),
        (names.MEMORY_MIN, safety.MEMORY_MIN),
        (names.CPU_MIN, safety.CPU_MIN),
        (names.MIN_EVIDENCE, recommendations.MIN_EVIDENCE),
        (names.MANAGED_LABEL, admission.MANAGED_LABEL),
        (names.ID_LABEL, pods.ID_LABEL),
        (names.DEMO_SEEDS, demonstrating.SEEDS),
        (names.TESTED, forecasting.TESTED),
        (names.PROMETHEUS_QUERIES, tuple(prometheus.NAMED)),
        (names.PROMETHEUS_RANGE, decoding.format_duration(prometheus.RANGE_S)),
        (names.ADMISSION_DEADLINE, decoding.format_duration(admission.DEADLINE_S)),
        ([each.value for each in names.Severity], [each.value for each in recommending.Severity]),
        (names.VERSION, profiles.DEFAULT_VERSION),
        (names.VERSION, hpa.DEFAULT_VERSION),
        (names.ENGINES[0], comparing.LOCAL),
        (names.DECISIONS[0], profiles.SHORTLIST),
        (names.FORECASTERS[-1], forecasters.AUTO),
    ],
    ids=str,
)
def test_help_shows_what_is_defined(shown: object, defined: object) -> None:
    assert shown == defined


def test_scores_have_the_titles_of_plugins_that_exist() -> None:
    plugins = {
        profiles.TAINTS, profiles.NODE_AFFINITY, profiles.FIT, profiles.SPREAD,
        profiles.POD_AFFINITY, profiles.BALANCED, profiles.IMAGES,
    }  # fmt: skip
    assert set(place._SHORT) == plugins


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_every_command_is_one_command_whose_parameters_have_help(name: str) -> None:
    for parameter in main.load_command(name).params:
        assert getattr(parameter, "help", None), parameter.name
