"""The protocol of recommenders: `keep`, the registry, records, and `vpa` on whole histories."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from kubestow.model import errors, quantities
from kubestow.model.decoding import fields
from kubestow.policies.sizing import (
    container_policies,
    histories,
    keep,
    protocols,
    recommendations,
    registry,
)
from kubestow.policies.sizing.vpa.recommender import memory as recommender_memory
from kubestow.policies.sizing.vpa.recommender import recommender
from tests.policies.sizing import scenes

START_S = 1.7e9
CURRENT = protocols.ContainerResources(
    {"cpu": quantities.parse("500m"), "memory": quantities.parse("1Gi")}
)


def context(time_s: float = START_S, **more: Any) -> protocols.SizingContext:
    given: dict[str, Any] = {"current": {"web": CURRENT}, **more}
    return protocols.SizingContext("shop/Deployment/web", time_s, **given)


def series(
    minutes: int, cpu_cores: float = 0.2, memory_mib: float = 300.0
) -> histories.UsageHistory:
    times = START_S + 60.0 * np.arange(minutes, dtype=np.float64)
    return histories.UsageHistory(
        (
            histories.ContainerSeries(
                "web-0",
                "web",
                times,
                np.full(minutes, cpu_cores),
                np.full(minutes, memory_mib * 2**20),
            ),
        )
    )


def test_keep_recommends_what_is_there() -> None:
    got = keep.Keep().recommend(series(5), context())
    assert got.of("web") == recommendations.ContainerRecommendation(
        "web", CURRENT.requests, CURRENT.requests, CURRENT.requests, CURRENT.requests
    )
    assert got.of("other") is None


def test_recommenders_are_found_by_name_with_parameters() -> None:
    made = registry.make("vpa", margin=0.5)
    assert isinstance(made, recommender.Vpa)
    assert made.parameters.margin == 0.5
    assert registry.make("keep").name == "keep"
    # The names of the contract (INTERFACES), and one more.
    assert list(registry.RECOMMENDERS) == [
        "keep", "percentile", "krr-simple", "vpa", "level-sigma", "arima-margin", "short-margin",
        "q-learning", "limit-follow", "conformal", "auto",
    ]  # fmt: skip


def test_all_but_keep_work_on_many_containers_at_once() -> None:
    batch = scenes.batch([[0.5] * 300, [0.1] * 300], [[2e8] * 300, [4e8] * 300])
    for name, entry in ((one.name, one) for one in registry.RECOMMENDERS.entries()):
        if name == "keep":
            with pytest.raises(errors.InputError, match="leaves requests as they are"):
                entry.make_estimator(entry.parameters())
            continue
        estimator = entry.make_estimator(entry.parameters())
        assert estimator.name == name
        found = estimator.estimate(batch)
        assert (found.memory_bytes >= [2e8, 4e8]).all(), name
        assert (found.cpu_cores >= [0.5, 0.1]).all(), name


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("vap", {}, "must be one of keep, percentile"),
        ("vpa", {"margins": 1}, "'margins': must be one of version, margin"),
        ("keep", {"margin": 1}, "must be one of none"),
    ],
)
def test_unknown_names_and_parameters_are_refused(
    name: str, given: dict[str, int], problem: str
) -> None:
    with pytest.raises(errors.InputError, match=problem):
        registry.make(name, **given)


def test_every_entry_documents_every_parameter() -> None:
    for entry in registry.RECOMMENDERS.entries():
        for field in entry.parameters.__dataclass_fields__:
            assert f"{field}: " in (entry.parameters.__doc__ or ""), field


def test_vpa_recommends_from_a_whole_history() -> None:
    got = recommender.Vpa().recommend(series(1440), context(START_S + 86_400))
    web = got.of("web")
    assert web is not None
    # 200 m end in a bucket that ends at 215 m, plus 15 %: 215 + 32. Memory 300 MiB = 314572800 lies
    # in the bucket that ends at 2e8 * (1.05**20 - 1) = 330659541, plus 15 % = 380258472.
    assert web.target["cpu"].milli() == 247
    assert web.target["memory"].value() == 380258472
    assert web.uncapped == web.target


def test_samples_after_now_do_not_count() -> None:
    vpa = recommender.Vpa()
    early = vpa.recommend(series(1440, 0.2), context(START_S + 600))
    assert early.as_json() == vpa.recommend(series(11, 0.2), context(START_S + 600)).as_json()


def test_samples_that_were_not_measured_do_not_count() -> None:
    blank = series(3)
    hole = np.array([0.2, np.nan, 0.2])
    one = histories.ContainerSeries("web-0", "web", blank.series[0].times_s, hole, hole * np.nan)
    memory = recommender_memory.VpaMemory()
    vpa = recommender.Vpa()
    for news in histories.UsageHistory((one,)).news(START_S + 180):
        memory = vpa.observe(memory, news, context())
    part = memory.aggregates["", "web"]
    assert part.count == 2
    assert part.memory.empty


def test_the_record_explains_the_decision_and_is_plain_json() -> None:
    policy = container_policies.ContainerPolicy(
        "web", max_allowed={"memory": quantities.parse("350Mi")}
    )
    got = recommender.Vpa().recommend(series(1440), context(START_S + 86_400, policies=(policy,)))
    record = json.loads(json.dumps(got.record().as_json()))
    assert record["kind"] == "sizing"
    assert record["subject"] == "workload/shop/Deployment/web"
    assert record["policy"] == "vpa"
    assert record["outcome"] == "web: cpu 247m, memory 350Mi"
    assert record["parameters"]["target_cpu_percentile"] == 0.9
    assert record["numbers"]["web/samples"] == 1440
    terms = {candidate["name"]: candidate["terms"] for candidate in record["candidates"]}
    assert terms["web/memory"]["uncapped"] == 380258472
    assert terms["web/memory"]["target"] == 350 * 2**20
    assert got.as_json()["containers"][0]["target"] == {"cpu": "247m", "memory": "350Mi"}


def test_observing_leaves_the_old_memory_alone() -> None:
    vpa = recommender.Vpa()
    news = list(series(30).news(START_S + 3600))
    memory = vpa.begin(context())
    for piece in news[:20]:
        memory = vpa.observe(memory, piece, context())
    before = json.dumps(memory.as_json())
    for piece in news[20:]:
        vpa.observe(memory, piece, context())
    vpa.recommend_from(memory, context())
    assert json.dumps(memory.as_json()) == before


def test_a_memory_read_back_goes_on_as_if_nothing_had_happened() -> None:
    vpa = recommender.Vpa()
    news = list(series(30).news(START_S + 3600))
    memory = vpa.begin(context())
    for piece in news[:20]:
        memory = vpa.observe(memory, piece, context())
    saved = json.loads(json.dumps(memory.as_json()))
    twin = recommender_memory.read(fields.Field(saved, "memory.json"), vpa.gathering_of(()))
    for piece in news[20:]:
        memory = vpa.observe(memory, piece, context())
        twin = vpa.observe(twin, piece, context())
    assert twin.as_json() == memory.as_json()


@pytest.mark.parametrize(
    "change",
    [
        {"aggregates": [{"container": "web", "cpu": {"reference_ns": "now"}}]},
        {"containers": [{"pod": "web-0", "container": "web", "state": [1, 2]}]},
        {"collected_ns": None},
    ],
)
def test_a_broken_memory_is_refused(change: dict[str, object]) -> None:
    vpa = recommender.Vpa()
    saved = {**vpa.begin(context()).as_json(), **change}
    with pytest.raises(errors.InputError, match=r"memory\.json"):
        recommender_memory.read(fields.Field(saved, "memory.json"), vpa.gathering_of(()))


def test_a_known_container_without_samples_gets_the_floors() -> None:
    vpa = recommender.Vpa()
    pods = (histories.HistoryPod("web-0", ("web", "proxy")),)
    memory = vpa.observe(vpa.begin(context()), histories.UsageNews(START_S, pods=pods), context())
    got = vpa.recommend_from(memory, context())
    assert [sized.container for sized in got.containers] == ["proxy", "web"]
    assert {str(sized.target["cpu"]) for sized in got.containers} == {"12m"}


def test_whole_cores_are_given_where_asked() -> None:
    vpa = registry.make("vpa", integer_cpu=True)
    policy = container_policies.ContainerPolicy("web", integer_cpu=True)
    got = vpa.recommend(series(60), context(START_S + 3600, policies=(policy,))).of("web")
    assert got is not None
    assert str(got.target["cpu"]) == "1"
    assert str(got.uncapped["cpu"]) == "1"
