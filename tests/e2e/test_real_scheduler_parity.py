"""Fresh random clusters on a real API server, decided by the real kube-scheduler and by ours."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kubestow.model import errors, states
from kubestow.policies.placing.profiles import profile, versions
from kubestow.policies.placing.scheduler import scheduler
from testenv import clusters, isolation, parity_cases, parity_scenes, scheduling_logs
from tests.policies.placing import recorded

pytestmark = pytest.mark.e2e

WANTED = 520  # judged cases
LOOKED_THROUGH = 1300  # about half of them are small enough
SEED = 20261  # not the seed of the recorded cases, nor of those the genuine code is asked
VOLUME_CASES, VOLUME_SEED = 15, 20263  # binding takes the scheduler a second or more
FEATURES = versions.scheduler_features("1.37")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def cases() -> list[parity_cases.Case]:
    """Return cases whose profiles our own reader takes, as the scheduler would refuse others."""
    return [case for case in parity_cases.generate(LOOKED_THROUGH, SEED) if _is_readable(case)]


@pytest.fixture(scope="module")
def volume_cases() -> list[parity_cases.Case]:
    """Return cases with volumes."""
    made = parity_cases.generate(4 * VOLUME_CASES, VOLUME_SEED, "volume_cases.py")
    return [case for case in made if _is_readable(case)]


@pytest.fixture(scope="module")
def still_cluster(
    cases: list[parity_cases.Case],
    volume_cases: list[parity_cases.Case],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[clusters.Cluster]:
    """Give a control plane in which nothing but the scheduler acts."""
    assert isolation.isolate()
    settings = clusters.Settings(
        scheduler=parity_cases.configuration([*cases, *volume_cases]),
        scheduler_flags=scheduling_logs.FLAGS,
    )
    with clusters.run(tmp_path_factory.mktemp("still"), settings) as running:
        parity_scenes.prepare(running)
        yield running


@pytest.mark.timeout(600)
def test_every_decision_equals_the_running_kube_scheduler(
    cases: list[parity_cases.Case],
    still_cluster: clusters.Cluster,
) -> None:
    counts = _judge_all(still_cluster, cases, WANTED)
    assert counts["cases"] == WANTED
    assert counts["scored"] > WANTED
    assert counts["unschedulable"] > WANTED // 8


@pytest.mark.timeout(600)
def test_every_decision_on_volumes_equals_the_running_kube_scheduler(
    volume_cases: list[parity_cases.Case], still_cluster: clusters.Cluster
) -> None:
    counts = _judge_all(still_cluster, volume_cases, VOLUME_CASES)
    assert counts["cases"] == VOLUME_CASES
    assert counts["unschedulable"] > VOLUME_CASES // 2
    assert counts["pods"] > 2 * VOLUME_CASES


def _judge_all(
    cluster: clusters.Cluster, cases: list[parity_cases.Case], wanted: int
) -> Counter[str]:
    """Judge as many cases as wanted; fail if any decision differs."""
    log = scheduling_logs.SchedulingLog(cluster.folder / f"{clusters.SCHEDULER}.log")
    result = {profile.name: profile for profile in _read(cases)}
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for case in itertools.takewhile(lambda _: counts["cases"] < wanted, cases):
        try:
            with parity_scenes.laid_out(cluster, log, case) as objects:
                differences += _judge(cluster, log, case, objects, result, counts)
            counts["cases"] += 1
        except parity_scenes.Refused:
            counts["refused"] += 1
    logging.getLogger(__name__).info("judged: %s", dict(counts))  # pytest --log-cli-level=INFO
    assert not differences, "\n".join([f"{len(differences)} of {dict(counts)}", *differences[:20]])
    return counts


def _judge(
    cluster: clusters.Cluster,
    log: scheduling_logs.SchedulingLog,
    case: parity_cases.Case,
    objects: list[Json],
    result: dict[str, profile.Profile],
    counts: Counter[str],
) -> list[str]:
    """Ask for all pending pods of a case; return where the two schedulers differ."""
    state = states.from_cluster(recorded.build(objects))
    differences = []
    for wanted in _queue(case, result):
        made = parity_scenes.ask(cluster, wanted)
        pod = recorded.build([made]).pods[0]
        ours = scheduler.Scheduler(result[pod.spec.scheduler_name], FEATURES)
        placement = ours.place(pod, state)
        node, why = parity_scenes.decision(cluster, made)
        log.read()
        counts["pods"] += 1
        if node is None:
            counts["unschedulable"] += 1
            problems = _compare_reasons(placement, why, len(state))
        else:
            problems = _compare_scores(placement, node, log, counts)
            ours.bind(pod, state, state.rows[node])
        differences += [f"{case.name} {case.features} {pod.key}: {text}" for text in problems]
    return differences


def _compare_scores(
    placement: scheduler.Placement,
    node: str,
    log: scheduling_logs.SchedulingLog,
    counts: Counter[str],
) -> list[str]:
    ours = placement.as_json()
    problems = []
    if node not in ours["top"]:
        problems.append(f"chosen {node}, ours {ours['top']}")
    counts["tied"] += ours["tie"]
    key = placement.pod.key
    if key in log.hints:  # the scores are those of an equal pod before
        counts["hinted"] += 1
    elif placement.scores:
        counts["scored"] += 1
        counts["plugin scores"] += sum(map(len, log.scores[key].values()))
        problems += _unequal("scores", log.scores[key], ours["scores"])
        problems += _unequal("sums", log.sums[key], ours["final"])
    else:
        problems += _unequal("scores", log.scores.get(key, {}), {})
    return problems


def _compare_reasons(placement: scheduler.Placement, why: str, count: int) -> list[str]:
    """Compare the reasons as ``FitError`` of ``framework/types.go`` puts them."""
    if placement.node is not None:
        return [f"ours {placement.as_json()['top']}, but {why}"]
    by_node = placement.rejected()
    reasons = Counter(reason for text in by_node.values() for reason in text.split(", "))
    reported = ", ".join(sorted(f"{number} {reason}" for reason, number in reasons.items()))
    start = f"Unschedulable: 0/{count} nodes are available: "
    # Where it is clear before any node is looked at, the reason stands there once, uncounted.
    before = {f"{start}{text}." for text in by_node.values() if len(set(by_node.values())) == 1}
    return [] if why in {f"{start}{reported}.", *before} else [f"{why!r}, ours {reported!r}"]


def _unequal(name: str, theirs: Json, ours: Json) -> list[str]:
    return [] if theirs == ours else [f"{name} {theirs}, ours {ours}"]


def _queue(case: parity_cases.Case, profiles: dict[str, profile.Profile]) -> list[Json]:
    """Return the pods that are to be scheduled, in order."""
    wanted = {
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod
        for pod in case.of_kind("Pod")
    }
    pending = recorded.build(case.objects).pending
    return [wanted[pod.key] for pod in pending if pod.spec.scheduler_name in profiles]


def _read(cases: list[parity_cases.Case]) -> tuple[profile.Profile, ...]:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return recorded.read_profiles({**head, **parity_cases.configuration(cases)})


def _is_readable(case: parity_cases.Case) -> bool:
    try:
        _read([case])
    except errors.InputError:
        return False
    return True
