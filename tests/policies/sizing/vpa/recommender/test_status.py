"""From estimates to the status of a VPA object."""

from __future__ import annotations

from kubestow.model import quantities
from kubestow.policies.sizing.container_policies import ContainerPolicy
from kubestow.policies.sizing.vpa.recommender import status
from kubestow.policies.sizing.vpa.recommender.banks import Estimate
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters

FOUND = {"web": Estimate(247, 380258472, 200, 3 * 10**8, 300, 4 * 10**8)}


def test_what_is_allowed_caps_the_target_and_the_bounds_but_not_the_uncapped_target() -> None:
    policy = ContainerPolicy("web", max_allowed={"memory": quantities.parse("350Mi")})
    (web,) = status.present(FOUND, VpaParameters(), (policy,))
    assert {name: str(amount) for name, amount in web.target.items()} == {
        "cpu": "247m",
        "memory": "350Mi",
    }
    assert web.upper["memory"].value() == 350 * 2**20
    assert web.uncapped["memory"].value() == 380258472


def test_whole_cores_are_given_where_flag_and_policy_ask_for_them() -> None:
    policies = (ContainerPolicy("web", integer_cpu=True),)
    (web,) = status.present(FOUND, VpaParameters(integer_cpu=True), policies)
    assert (str(web.target["cpu"]), str(web.uncapped["cpu"])) == ("1", "1")
    (web,) = status.present(FOUND, VpaParameters(), policies)
    assert str(web.target["cpu"]) == "247m"


def test_only_controlled_resources_are_recommended() -> None:
    policies = (ContainerPolicy("*", controlled_resources=("memory",)),)
    (web,) = status.present(FOUND, VpaParameters(), policies)
    assert set(web.target) == set(web.lower) == {"memory"}


def test_memory_is_written_with_two_decimals_where_asked() -> None:
    (web,) = status.present(FOUND, VpaParameters(humanize_memory=True))
    assert web.target["memory"] == quantities.parse("362.64Mi")  # 380258472 / 2**20 = 362.642
