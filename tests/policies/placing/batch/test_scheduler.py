"""The compiled batch against the readable scheduler, on fresh random clusters."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kubestow.model import clusters, states
from kubestow.policies.placing.batch import scheduler as batch_scheduler
from kubestow.policies.placing.profiles import catalog, profile, versions
from kubestow.policies.placing.scheduler import scheduler as scheduler_scheduler
from tests.model.make import container, node, pod
from tests.policies.placing import recorded

SCRIPTS = Path(__file__).parents[4] / "testenv" / "scheduler-oracle"


def load_generator(name: str = "cases") -> ModuleType:
    """Import a case generator from its folder, whose name is no Python name."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", ["1.29", "1.34", "1.36"])
@pytest.mark.parametrize("name", catalog.PROFILES)
def test_the_same_choices_in_every_release_and_profile(version: str, name: str) -> None:
    generator = load_generator()
    features, profile = versions.scheduler_features(version), catalog.make_profile(name)
    for case in generator.generate(seed=len(name), count=25):
        cluster = recorded.build(case["objects"])
        assert_equal_choices(cluster, profile, features, seed=3)


@pytest.mark.parametrize("version", ["1.29", "1.33", "1.37"])
def test_the_same_choices_for_pods_with_and_without_volumes(version: str) -> None:
    load_generator()  # the other generator imports this one
    generator = load_generator("volume_cases")
    features = versions.scheduler_features(version)
    for case in generator.generate(seed=8, count=40):
        cluster = recorded.build(case["objects"])
        plain = [replace(p, name=f"{p.name}-plain", volumes=()) for p in cluster.pending]
        mixed = replace(cluster, pods=(*cluster.pods, *plain))
        assert any(pod.volumes for pod in mixed.pending)
        assert_equal_choices(mixed, profile.Profile(), features, seed=5)


def assert_equal_choices(
    cluster: clusters.Cluster,
    profile: profile.Profile,
    features: versions.SchedulerFeatures,
    seed: int,
) -> None:
    """Place the pending pods with both schedulers, ties drawn from the same numbers."""
    wanted = cluster.pending
    flags = {"use_status": features.resized_pods, "pod_level": features.pod_level}
    fast, slow = (states.from_cluster(cluster, **flags) for _ in range(2))
    rows = batch_scheduler.place_batch(wanted, fast, profile, features, np.random.default_rng(seed))
    chances = np.random.default_rng(seed).random(len(wanted))
    scheduler = scheduler_scheduler.Scheduler(profile, features)
    for pending, row, chance in zip(wanted, rows.tolist(), chances, strict=True):
        top = scheduler.place(pending, slow).top
        expected = -1 if len(top) == 0 else int(top[int(chance * len(top))])
        assert row == expected, pending.key
        if row >= 0:
            scheduler.bind(pending, slow, row)
    assert (fast.requested == slow.requested).all()
    assert (fast.nonzero == slow.nonzero).all()
    for mine, theirs in zip(fast.groups, slow.groups, strict=False):
        assert (mine.counts == theirs.counts).all()


def test_a_class_that_comes_back_sees_what_changed_meanwhile() -> None:
    # Forty nodes and six pods of two classes in turn: cached scores must follow every placement.
    nodes = tuple(node(f"n{i:02d}", cpu=str(2 + i % 3), memory="8Gi") for i in range(40))
    small, large = pod(container(cpu="250m", memory="1Gi")), pod(container(cpu="1", memory="2Gi"))
    made = [
        type(small)(f"p{i}", (small if i % 2 else large).spec, labels={"app": "x"})
        for i in range(60)
    ]
    cluster = clusters.Cluster(nodes, tuple(made))
    assert_equal_choices(cluster, profile.Profile(), versions.scheduler_features(), seed=1)


def test_amounts_beyond_floating_point_are_placed_exactly_all_the_same() -> None:
    # 2**56 bytes and one byte less: only whole numbers can tell these two nodes apart.
    nodes = (
        node("a", cpu="4", memory=str(2**56 - 1)),
        node("b", cpu="4", memory=str(2**56)),
    )
    made = [pod(container(cpu="1", memory=str(2**56)), name=f"p{i}") for i in range(2)]
    cluster = clusters.Cluster(nodes, tuple(made))
    assert_equal_choices(cluster, profile.Profile(), versions.scheduler_features(), seed=1)
    state = states.from_cluster(cluster)
    rows = batch_scheduler.place_batch(
        made, state, profile.Profile(), versions.scheduler_features()
    )
    assert rows.tolist() == [1, -1]


def test_nothing_to_place_and_nowhere_to_place_it() -> None:
    empty = states.from_cluster(clusters.Cluster())
    wanted = [pod(container(cpu="1"))]
    assert batch_scheduler.place_batch(
        wanted, empty, profile.Profile(), versions.scheduler_features()
    ).tolist() == [-1]
    state = states.from_cluster(clusters.Cluster((node("n", cpu="1", memory="1Gi"),)))
    assert (
        batch_scheduler.place_batch(
            [], state, profile.Profile(), versions.scheduler_features()
        ).tolist()
        == []
    )
