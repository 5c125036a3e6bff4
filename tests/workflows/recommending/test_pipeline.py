"""From usage to advice: guards, back-test, screen."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from kubestow.model import errors
from kubestow.model import usage as model_usage
from kubestow.policies.sizing import registry
from kubestow.policies.sizing.conformal import recommender
from kubestow.policies.sizing.judging import tournament
from kubestow.policies.sizing.recommendations import Recommendation
from kubestow.workflows.recommending import pipeline, rendering, safety
from kubestow.workflows.recommending.pipeline import RecommendRequest
from tests.workflows.recommending.scenes import DAY, MIB, amounts, facts, key, steady, table

WEB = key("web")


def advise(
    usage: model_usage.Usage, inventory: model_usage.Inventory, strategy: str = "percentile"
) -> Recommendation:
    return pipeline.recommend(usage, inventory, RecommendRequest(strategy)).recommendations[0]


def test_steady_use_gets_its_percentile_and_the_margin() -> None:
    known = model_usage.Inventory({WEB: facts("500m", "512Mi")}, {WEB.of: 3})
    actual = advise(table({WEB: [steady()]}), known)
    # 0.1 cores and 15 % are 115 m; 100 MiB and 15 % are 115 MiB. There was no limit, none is set.
    assert actual.requests == {"cpu": 115, "memory": 115 * MIB}
    assert actual.limits == {}
    assert (actual.freed("cpu"), actual.freed("memory")) == (3 * 385, 3 * 397 * MIB)
    assert (actual.usage.samples, actual.suitable, actual.replicas) == (5 * DAY, True, 3)
    assert (actual.usage.peak_bytes, actual.usage.memory_mean_bytes) == (100 * MIB, 100 * MIB)
    assert actual.usage.cpu_p95_cores == pytest.approx(0.1)
    # Four days of five are judged: nothing is missed, 15 of 115 is slack.
    assert (actual.backtest.windows, actual.backtest.miss_rate, actual.backtest.cpu_over) == (
        4,
        0,
        0,
    )
    assert actual.backtest.slack == pytest.approx(15 / 115)
    assert actual.backtest.cpu_slack == pytest.approx(15 / 115)
    # No miss in four days: 1 - 0.1^(1/4) = 44 %.
    assert actual.backtest.misses == 0
    assert actual.backtest.miss_rate_upper == pytest.approx(0.4377, abs=1e-4)
    # Half of five days come before the first window.
    assert "too small in 0 of 4 windows of 15h, at most 44 % with 90 % confidence" in actual.why


@pytest.mark.parametrize("strategy", registry.RECOMMENDERS.names())
def test_every_strategy_says_why_with_its_numbers(strategy: str) -> None:
    usage = table({WEB: [steady()], key("idle"): [steady(cores=0.0)]})
    known = model_usage.Inventory({WEB: facts("500m", "512Mi")})
    for one in pipeline.recommend(usage, known, RecommendRequest(strategy)).recommendations:
        own = one.reasons[0]
        assert re.search(r"\d", own), own
        assert "nothing was measured" not in own


def test_memory_keeps_its_headroom_above_the_peak() -> None:
    usage = table({WEB: [steady()]})
    known = model_usage.Inventory({WEB: facts("100m", "64Mi")})
    made = {}
    for headroom in ("0%", "15%", 0.5):
        guards = safety.make_guards(memory_headroom=headroom)
        request = RecommendRequest("percentile", {"memoryMargin": 0.0}, guards=guards)
        (one,) = pipeline.recommend(usage, known, request).recommendations
        made[headroom] = one
    # The peak is 100 MiB.
    assert [one.requests["memory"] // MIB for one in made.values()] == [100, 115, 150]
    assert "memory: 50 % above its peak of 100 MiB" in made[0.5].why
    assert [one.estimate["memory"] for one in made.values()] == [100 * MIB] * 3
    assert made[0.5].safety("memory") == 50 * MIB


def test_memory_that_an_autoscaler_divides_by_gets_no_headroom() -> None:
    known = model_usage.Inventory({WEB: facts("100m", "64Mi")}, autoscaled={WEB.of: {"memory": 80}})
    assert advise(table({WEB: [steady()]}), known).requests["memory"] == 64 * MIB


@pytest.mark.parametrize(
    ("rule", "before", "limits"),
    [
        # Requests of 500m and 512Mi become 115m and 115Mi.
        pytest.param("keep", ("", ""), {}, id="no new limit"),
        pytest.param("keep", ("1", "1Gi"), {"cpu": 230, "memory": 230 * MIB}, id="in proportion"),
        pytest.param("keep", ("", "1Gi"), {"memory": 230 * MIB}, id="only one"),
        pytest.param("match", ("", ""), {"memory": 115 * MIB}, id="match"),
        pytest.param("match", ("1", "1Gi"), {"cpu": 230, "memory": 115 * MIB}, id="match both"),
        pytest.param("none", ("1", "1Gi"), {}, id="none"),
    ],
)
def test_limits_are_set_only_if_asked_for(
    rule: str, before: tuple[str, str], limits: dict[str, int]
) -> None:
    now = model_usage.ContainerFacts(amounts("500m", "512Mi"), amounts(*before))
    request = RecommendRequest("percentile", guards=safety.make_guards(rule))
    usage = table({WEB: [steady()]})
    (one,) = pipeline.recommend(usage, model_usage.Inventory({WEB: now}), request).recommendations
    assert one.limits == limits


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"limits": "kep"}, "limits"),
        ({"memory_headroom": "15 %%"}, "memory_headroom"),
        ({"memory_headroom": "-5%"}, "memory_headroom"),
        ({"memory_headroom": "nan"}, "memory_headroom"),
        ({"memory_min": "100 MB"}, "memory_min"),
        ({"memory_min": "-1Gi"}, "memory_min"),
        ({"cpu_min": "ten"}, "cpu_min"),
    ],
)
def test_bad_safety_is_refused_where_it_stands(values: dict[str, str], place: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        safety.make_guards(**values)
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("points", "windows"),
    [(7 * DAY, 7), (7 * DAY - 1, 7), (7 * DAY - DAY // 2, 6), (DAY // 3, 0)],
    ids=["a week", "a step less", "half a day less", "no whole day"],
)
def test_evidence_is_the_number_of_whole_windows(points: int, windows: int) -> None:
    cpu, memory = (values[:points] for values in steady(days=7))
    result = pipeline.recommend(
        table({WEB: [(cpu, memory)]}), model_usage.Inventory(), RecommendRequest("percentile")
    )
    assert result.recommendations[0].evidence == windows
    enough, thin = rendering.split_by_evidence(result, 7)
    assert (len(enough.recommendations), len(thin)) == ((1, 0) if windows >= 7 else (0, 1))


def test_the_smallest_requests_can_be_set() -> None:
    request = RecommendRequest(
        "percentile", guards=safety.make_guards(memory_min="2Gi", cpu_min="3")
    )
    (one,) = pipeline.recommend(
        table({WEB: [steady()]}), model_usage.Inventory(), request
    ).recommendations
    assert one.requests == {"cpu": 3000, "memory": 2048 * MIB}


def test_growth_beyond_the_margin_is_a_missed_day() -> None:
    cpu, memory = steady()
    memory = memory.copy()
    memory[-DAY // 2] = 300 * MIB  # half a day before the end
    actual = advise(table({WEB: [(cpu, memory)]}), model_usage.Inventory())
    assert actual.backtest.miss_rate == 0.25
    # Five days may have windows of 5 * 288 // 8 = 180 points; 300 MiB and 15 % are advised.
    assert actual.requests["memory"] == 345 * MIB
    assert not actual.suitable
    assert "not suitable: peaks vary by" in actual.why


def test_pods_that_live_are_counted_where_nobody_tells() -> None:
    cpu, memory = steady()
    gone = cpu.copy(), memory.copy()
    for part in gone:
        part[-10:] = np.nan
    usage = table({WEB: [(cpu, memory), (cpu, memory), gone]})
    assert advise(usage, model_usage.Inventory()).replicas == 2


@pytest.mark.parametrize("name", sorted(registry.RECOMMENDERS))
def test_every_strategy_answers_and_is_judged(name: str) -> None:
    rng = np.random.default_rng(1)
    cpu, memory = steady(3)
    pods = [(cpu * rng.lognormal(0.0, 0.1, len(cpu)), memory * rng.lognormal(0.0, 0.02, len(cpu)))]
    known = model_usage.Inventory({WEB: facts("500m", "512Mi")})
    result = pipeline.recommend(table({WEB: pods}), known, RecommendRequest(name))
    (actual,) = result.recommendations
    assert result.strategy == name
    assert actual.backtest.windows == 4
    assert actual.backtest.miss_rate is not None
    assert 0.0 <= actual.backtest.miss_rate <= 1.0
    if name == "keep":
        assert actual.requests == {"cpu": 500, "memory": 512 * MIB}
    assert actual.requests["memory"] >= 80 * MIB
    (record,) = result.records
    assert (record.policy, record.subject) == (name, "container/shop/Deployment/web/app")


def test_who_keeps_changes_neither_requests_nor_limits_but_is_judged() -> None:
    given = model_usage.ContainerFacts(amounts("50m", "90Mi"), amounts("1", "200Mi"))
    actual = advise(table({WEB: [steady()]}, {WEB: 1}), model_usage.Inventory({WEB: given}), "keep")
    assert actual.requests == {"cpu": 50, "memory": 90 * MIB}
    assert actual.limits == {"cpu": 1000, "memory": 200 * MIB}
    # 100 MiB were needed every day, and 0.1 cores at every point.
    assert (actual.backtest.miss_rate, actual.backtest.cpu_over) == (1.0, 1.0)


def test_who_keeps_nothing_known_has_nothing_to_say() -> None:
    actual = advise(table({WEB: [steady()]}), model_usage.Inventory(), "keep")
    assert (actual.requests, actual.backtest.miss_rate) == ({}, None)


JAVA = ("java", "-Xmx1g")


@pytest.mark.parametrize(
    ("given", "inventory", "kills", "requests", "why"),
    [
        (facts("500m", "512Mi"), model_usage.Inventory(autoscaled={WEB.of: {"cpu": 60}}), 0,
         {"cpu": 500, "memory": 115 * MIB}, "cpu: an HPA scales on 60 % of this request"),
        # 1024 MiB and a quarter.
        (facts("500m", "512Mi", command=JAVA), model_usage.Inventory(), 0,
         {"cpu": 115, "memory": 1280 * MIB}, "Java heap of 1024 MiB"),
        (facts("500m", "512Mi", heap_bytes=64 * MIB), model_usage.Inventory(), 0,
         {"cpu": 115, "memory": 192 * MIB}, "Java heap of 64 MiB"),
        # 128 MiB is the request, there is no limit; 100 MiB more.
        (facts("500m", "128Mi"), model_usage.Inventory(), 1,
         {"cpu": 115, "memory": 228 * MIB}, "memory: was killed at 128 MiB"),
        (facts("50m", "64Mi"), model_usage.Inventory(nodes={"n1": amounts("80m", "1Gi")}), 0,
         {"cpu": 80, "memory": 115 * MIB}, "cpu: no node is larger"),
        (facts("120m", "120Mi"), model_usage.Inventory(), 0,
         {"cpu": 120, "memory": 120 * MIB}, "cpu: change below 10 %; memory: change below 10 %"),
    ],
    ids=["autoscaler", "heap flag", "heap told", "killed", "node", "small change"],
)  # fmt: skip
def test_what_the_guards_do_is_told(
    given: model_usage.ContainerFacts,
    inventory: model_usage.Inventory,
    kills: int,
    requests: dict[str, int],
    why: str,
) -> None:
    known = replace(inventory, containers={WEB: given})
    actual = advise(table({WEB: [steady()]}, {WEB: kills}), known)
    assert actual.requests == requests
    assert why in actual.why
    assert actual.usage.oom_kills == kills


def test_guaranteed_pods_stay_guaranteed() -> None:
    both = amounts("500m", "512Mi")
    known = model_usage.Inventory({WEB: model_usage.ContainerFacts(both, both)})
    actual = advise(table({WEB: [steady()]}), known)
    assert actual.limits == actual.requests == {"cpu": 115, "memory": 115 * MIB}
    assert "stays Guaranteed" in actual.why


def test_a_pod_with_a_container_nothing_is_known_of_is_not_guaranteed() -> None:
    both = amounts("500m", "512Mi")
    known = model_usage.Inventory({WEB: model_usage.ContainerFacts(both, both)})
    usage = table({WEB: [steady()], key("web", "side"): [steady()]})
    assert "Guaranteed" not in advise(usage, known).why


def test_containers_of_a_pod_fit_a_node_together() -> None:
    usage = table({WEB: [steady(cores=1.0)], key("web", "side"): [steady(cores=1.0)]})
    known = model_usage.Inventory(nodes={"n1": amounts("2", "8Gi")})
    result = pipeline.recommend(usage, known, RecommendRequest("percentile"))
    # Each would get 1150 m.
    assert sum(one.requests["cpu"] for one in result.recommendations) == 2000


def test_containers_without_usage_are_noted() -> None:
    known = model_usage.Inventory({WEB: facts("1", "1Gi"), key("old"): facts("1", "1Gi")})
    result = pipeline.recommend(table({WEB: [steady()]}), known, RecommendRequest("percentile"))
    assert result.notes == (
        "1 containers without usage got no recommendation, such as shop/Deployment/old/app",
    )


def test_one_sample_is_enough_to_answer_but_not_to_judge() -> None:
    one = np.array([0.1]), np.array([100.0 * MIB])
    actual = advise(table({WEB: [one]}), model_usage.Inventory())
    assert actual.requests == {"cpu": 115, "memory": 115 * MIB}
    assert (actual.backtest.windows, actual.backtest.miss_rate) == (0, None)
    assert not actual.suitable
    assert "windows: 1, 3 needed" in actual.why


def test_a_container_without_memory_samples_gets_advice_on_its_cpu_alone() -> None:
    cpu, memory = steady()
    actual = advise(table({WEB: [(cpu, np.full_like(memory, np.nan))]}), model_usage.Inventory())
    assert actual.requests == {"cpu": 115}
    assert actual.backtest.miss_rate is None


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (RecommendRequest("best"), "'best': must be one of keep, percentile"),
        (RecommendRequest("vpa", miss_probability=0.01),
         "miss_probability: vpa states none; conformal and auto do"),
        (RecommendRequest("percentile", {"cpuPercent": 3}),
         "parameters.cpuPercent: unknown key; did you mean cpuPercentile?"),
        (RecommendRequest("percentile", {"cpuPercentile": 300}), "parameters.cpuPercentile: 300"),
        (RecommendRequest("auto", {"conformal": 3}), "parameters.conformal: 3: expected a mapping"),
    ],
    ids=["strategy", "promise", "parameter", "value", "mapping"],
)  # fmt: skip
def test_what_no_strategy_can_do_is_refused(request_: RecommendRequest, problem: str) -> None:
    with pytest.raises(errors.InputError) as refused:
        pipeline.make_estimator(request_)
    assert problem in str(refused.value)


def test_options_reach_the_strategy_and_parameters_come_first() -> None:
    request = RecommendRequest(
        "conformal", {"memoryMissProbability": 0.001}, miss_probability=0.02, window_s=3600.0
    )
    made = pipeline.make_estimator(request)
    assert isinstance(made, recommender.Conformal)
    assert made.parameters.cpu_miss_probability == 0.02
    assert made.parameters.memory_miss_probability == 0.001
    assert made.parameters.window_s == 3600.0


def test_options_reach_the_candidates_of_auto() -> None:
    request = RecommendRequest("auto", {"conformal": {"thrift": 0.5}}, 0.02, window_s=3600.0)
    made = pipeline.make_estimator(request)
    assert isinstance(made, tournament.Tournament)
    assert made.parameters.window_s == 3600.0
    first = made.candidates[0]
    assert isinstance(first, recommender.Conformal)
    assert (first.parameters.thrift, first.parameters.memory_miss_probability) == (0.5, 0.02)
