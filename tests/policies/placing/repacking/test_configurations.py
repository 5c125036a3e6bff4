"""The search for scheduler configurations: every claim is a play."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from kubestow import testing
from kubestow.model import decoding
from kubestow.policies.placing import profiles, repacking, scheduler
from tests.policies.placing import recorded
from tests.policies.placing.repacking.drawn import FEATURES, draw_problem


def within(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def test_the_claim_is_what_the_exact_scheduler_does() -> None:
    # 12 pods of 900m and 6 of 700m on ten nodes of 8 cores: stock spreads over all of them
    objects = [testing.node(f"n{i:02d}", cpu="8", memory="32Gi") for i in range(10)]
    objects += [testing.pod(f"a{i}", cpu="900m", memory="2Gi") for i in range(12)]
    objects += [testing.pod(f"b{i}", cpu="700m", memory="5Gi") for i in range(6)]
    cluster = recorded.build(objects)
    problem = repacking.make_repacking(cluster, "ten")
    searched = repacking.search(problem, within(60.0))
    assert (searched.stock.nodes, searched.stock.least, searched.stock.most) == (10, 10, 10)
    assert (searched.best.least, searched.best.most) == (3, 3)
    document = profiles.write_configuration([searched.best.profile])
    written = profiles.read_configuration(decoding.Field(document, "written"))
    placed = list(scheduler.place_all(cluster, written, FEATURES))
    assert len({placement.node for placement in placed}) == 3


@pytest.mark.parametrize("seed", range(8))
def test_the_played_nodes_are_those_of_the_interpreted_scheduler(seed: int) -> None:
    problem = draw_problem(seed)
    searched = repacking.search(problem, within(2.0))
    for played in (searched.stock, searched.best):
        placed = scheduler.place_all(problem.state.cluster, [played.profile], FEATURES)
        rows = [-1 if one.row is None else one.row for one in placed]
        assert rows == played.by_name.rows.tolist()
        assert played.least <= played.nodes <= played.most
    best, stock = searched.best, searched.stock
    assert (best.unplaced, best.most) <= (stock.unplaced, stock.most)


def test_of_equal_configurations_the_one_closest_to_stock_wins() -> None:
    problem = repacking.make_repacking(
        recorded.build([testing.node("n1"), testing.pod("p")]), "one node"
    )
    searched = repacking.search(problem, within(60.0))
    assert searched.best.profile == searched.stock.profile


def test_a_setting_is_written_with_all_its_knobs() -> None:
    setting = repacking.Setting(
        strategy=profiles.RATIO,
        shape=((0, 0), (50, 2), (100, 10)),
        resource_weights=(5, 1),
        fit=10,
        balanced=0,
        spread=0,
        images=0,
    )
    document = profiles.write_configuration([setting.profile("packer")])
    (read,) = profiles.read_configuration(decoding.Field(document, "written"))
    made = setting.profile("packer")
    assert dict(read.scores) == dict(made.scores)
    assert replace(read, scores=made.scores) == made
    assert dict(read.scores).keys().isdisjoint({profiles.BALANCED, profiles.IMAGES})
    assert profiles.SPREAD in read.filters  # its filter stays
