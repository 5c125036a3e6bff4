"""KubeSchedulerConfiguration in and out."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubestow.model import errors
from kubestow.model.decoding import fields
from kubestow.policies.placing.profiles import catalog, configuration, profile
from tests.policies.placing import recorded

HEADER: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def read(**body: Any) -> tuple[profile.Profile, ...]:
    return configuration.read_configuration(fields.Field({**HEADER, **body}, "c.yaml"))


def one(**entry: Any) -> profile.Profile:
    return read(profiles=[entry])[0]


def test_without_profiles_the_stock_profile_results() -> None:
    assert read() == (profile.Profile(),)
    assert one() == profile.Profile()


def test_stock_weights_are_those_of_1_37() -> None:
    assert dict(profile.Profile().scores) == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_a_score_can_be_disabled_and_another_reweighted() -> None:
    profile = one(
        plugins={
            "score": {
                "disabled": [{"name": "ImageLocality"}],
                "enabled": [{"name": "NodeResourcesBalancedAllocation", "weight": 2}],
            }
        }
    )
    weights = dict(profile.scores)
    assert "ImageLocality" not in weights
    assert weights["NodeResourcesBalancedAllocation"] == 2
    # An explicitly configured plugin moves to the front.
    assert profile.scores[0][0] == "NodeResourcesBalancedAllocation"


def test_a_star_disables_all_and_weights_default_to_one() -> None:
    profile = one(
        plugins={"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}}
    )
    assert profile.scores == (("NodeResourcesFit", 1),)


def test_multi_point_reaches_filters_and_scores() -> None:
    profile = one(plugins={"multiPoint": {"disabled": [{"name": "TaintToleration"}]}})
    assert "TaintToleration" not in profile.filters
    assert "TaintToleration" not in dict(profile.scores)
    again = one(plugins={"multiPoint": {"enabled": [{"name": "TaintToleration", "weight": 9}]}})
    assert dict(again.scores)["TaintToleration"] == 9


def test_the_recommended_configuration_of_the_thesis_is_read_as_written() -> None:
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled: [{name: ImageLocality}]
      enabled:
      - {name: NodeResourcesFit, weight: 1}
      - {name: NodeResourcesBalancedAllocation, weight: 2}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio:
          shape:
          - {utilization: 0,   score: 1}
          - {utilization: 85,  score: 10}
          - {utilization: 86,  score: 0}
          - {utilization: 100, score: 0}
"""
    (result,) = recorded.read_profiles(text)
    shipped = catalog.make_profile("schubert-85")
    assert result.fit == shipped.fit
    assert dict(result.scores) == dict(shipped.scores)


CONFIGS = [
    case["config"]
    for case in recorded.load("scheduler_1_37/random_cases.jsonl.gz")
    if case.get("config") is not None and not case["answer"].get("error")
]


def test_what_is_written_reads_back_the_same() -> None:
    assert len(CONFIGS) > 100
    for config in CONFIGS:
        result = recorded.read_profiles(config)
        written = yaml.safe_load(yaml.safe_dump(configuration.write_configuration(result)))
        again = configuration.read_configuration(fields.Field(written, "c.yaml"))
        for old, new in zip(result, again, strict=True):
            assert dict(old.scores) == dict(new.scores)
            assert set(old.filters) == set(new.filters)
            assert (old.name, old.prefilters, old.fit, old.balanced) == (
                new.name, new.prefilters, new.fit, new.balanced)  # fmt: skip
            assert (old.node_affinity, old.spread, old.pod_affinity) == (
                new.node_affinity, new.spread, new.pod_affinity)  # fmt: skip


@pytest.mark.parametrize("name", catalog.PROFILES)
def test_every_shipped_profile_can_be_written_and_read(name: str) -> None:
    profile = catalog.make_profile(name)
    written = configuration.write_configuration([profile])
    (again,) = configuration.read_configuration(fields.Field(written, "c.yaml"))
    assert dict(again.scores) == dict(profile.scores)
    assert again.fit == profile.fit


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(errors.InputError, match="must be one of kube-scheduler"):
        catalog.make_profile("nonsense")


def fit(**strategy: Any) -> list[dict[str, Any]]:
    return [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]


SHAPE = {"shape": [{"utilization": 50, "score": 1}, {"utilization": 50, "score": 2}]}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "Other"}, "kind: 'Other': expected one of KubeSchedulerConfiguration"),
    ({"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}, "apiVersion"),
    ({"profile": []}, "profile: []: unknown field"),
    ({"percentageOfNodesToScore": 101}, "must be <= 100"),
    ({"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 2}, "must be >= 5"),
    ({"profiles": [{}, {}]}, "profiles[0].schedulerName: None: expected text"),
    ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, "duplicate scheduler name"),
    ({"profiles": [{"plugins": {"score": {"enabled": [{"name": "Nope"}]}}}]}, "unknown plugin"),
    ({"profiles": [{"plugins": {"score": {"enabled": [{"name": "EBSLimits"}]}}}]}, "was removed"),
    ({"profiles": [{"plugins": {"score": {"enabled": [{"name": "NodePorts"}]}}}]},
     "does not implement this extension point"),
    ({"profiles": [{"plugins": {"score": {"enabled": [{"name": "NodeResourcesFit"}] * 2}}}]},
     "enabled twice"),
    ({"profiles": [{"plugins": {"scoring": {}}}]}, "unknown field"),
    ({"profiles": [{"pluginConfig": [{"name": "Nope"}]}]}, "unknown plugin"),
    ({"profiles": [{"pluginConfig": [{"name": "NodeAffinity"}] * 2}]}, "duplicate"),
    ({"profiles": [{"pluginConfig": fit(type="Best")}]}, "expected one of LeastAllocated"),
    ({"profiles": [{"pluginConfig": fit(type="RequestedToCapacityRatio")}]}, "must be specified"),
    ({"profiles": [{"pluginConfig": fit(type="MostAllocated", requestedToCapacityRatio=SHAPE)}]},
     "must be omitted"),
    ({"profiles": [{"pluginConfig": fit(type="RequestedToCapacityRatio",
                                        requestedToCapacityRatio=SHAPE)}]}, "increasing order"),
    ({"profiles": [{"pluginConfig": fit(type="LeastAllocated",
                                        resources=[{"name": "cpu", "weight": 101}])}]},
     "must be <= 100"),
    ({"extenders": [{"prioritizeVerb": "p"}]}, "positive weight"),
    ({"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]}, "only one extender"),
    ({"extenders": [{"managedResources": [{"name": "cpu"}]}]}, "invalid extended resource"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_upstream_would_refuse_is_refused(body: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        read(**body)
    assert message in str(caught.value)
    assert str(caught.value).startswith("c.yaml: ")
