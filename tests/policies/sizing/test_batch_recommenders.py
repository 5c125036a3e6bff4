"""Estimators as recommenders: quantities, rules of users, the record."""

from __future__ import annotations

import numpy as np

from kubestow.policies.sizing import (
    batch_recommenders,
    container_policies,
    histories,
    percentile,
    protocols,
)

PARAMETERS = percentile.PercentileParameters(cpu_margin=0.0, memory_margin=0.0)
RECOMMENDER = batch_recommenders.BatchRecommender(percentile.Percentile(PARAMETERS), PARAMETERS)


def history() -> histories.UsageHistory:
    times_s = np.arange(0.0, 600.0, 60.0)
    return histories.UsageHistory(
        (
            histories.ContainerSeries(
                "p", "app", times_s, np.full(10, 0.1234), np.full(10, 1000.5)
            ),
            histories.ContainerSeries(
                "p", "helper", times_s, np.full(10, 0.2), np.full(10, np.nan)
            ),
        )
    )


def test_amounts_are_rounded_up_to_millicores_and_bytes() -> None:
    found = RECOMMENDER.recommend(history(), protocols.SizingContext("ns/Deployment/w", 600.0))
    sized = found.of("app")
    assert sized is not None
    assert str(sized.target["cpu"]) == "124m"
    assert str(sized.target["memory"]) == "1001"
    helper = found.of("helper")
    assert helper is not None
    assert dict(helper.target).keys() == {"cpu"}


def test_containers_that_are_off_are_left_alone() -> None:
    policies = (container_policies.ContainerPolicy("app", off=True),)
    context = protocols.SizingContext("ns/Deployment/w", 600.0, policies=policies)
    assert RECOMMENDER.recommend(history(), context).of("app") is None


def test_only_controlled_resources_are_recommended() -> None:
    policies = (container_policies.ContainerPolicy("*", controlled_resources=("memory",)),)
    context = protocols.SizingContext("ns/Deployment/w", 600.0, policies=policies)
    found = RECOMMENDER.recommend(history(), context)
    assert found.of("helper") is None  # its memory was not measured
    assert RECOMMENDER.recommend(history(), context).record().policy == "percentile"
