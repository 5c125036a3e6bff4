"""Keys of workloads and containers."""

from __future__ import annotations

import pytest

from kubestow.model.keys import ContainerKey, WorkloadKey, guess_job_owner


def test_a_container_knows_its_workload() -> None:
    key = ContainerKey("shop", "Deployment", "web", "app")
    assert key.of == WorkloadKey("shop", "Deployment", "web")
    assert (str(key), str(key.of)) == ("shop/Deployment/web/app", "shop/Deployment/web")


def test_keys_have_the_order_of_their_texts_part_by_part() -> None:
    first, second = ContainerKey("a", "Job", "z", "c"), ContainerKey("b", "Job", "a", "c")
    assert sorted([second, first]) == [first, second]


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("nightly-29000000", ("CronJob", "nightly")),
        ("nightly-1690000000", ("CronJob", "nightly")),
        ("nightly-1234567", ("Job", "nightly-1234567")),  # too short for a minute
        ("once", ("Job", "once")),
    ],
)
def test_a_job_with_a_minute_in_its_name_was_made_by_a_cron_job(
    name: str, owner: tuple[str, str]
) -> None:
    assert guess_job_owner(name) == owner
