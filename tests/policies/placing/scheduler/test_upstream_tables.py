"""The cases of upstream's own table tests, replayed one plugin at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kubestow.model import errors, states
from kubestow.model.decoding import fields
from kubestow.policies.placing.profiles import plugin_arguments, profile, versions
from kubestow.policies.placing.scheduler import scheduler
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle
from tests.policies.placing import recorded

FILES = (
    "balanced", "fit", "image_locality", "inter_pod_affinity", "node_affinity", "node_name",
    "node_ports", "node_unschedulable", "pod_topology_spread", "taint_toleration",
)  # fmt: skip
CASES = [c for name in FILES for c in recorded.load(f"scheduler_1_37/upstream_{name}.json.gz")]
OLD_BALANCED = recorded.load("scheduler_1_35/upstream_balanced.json.gz")
# What a whole cycle of 1.37 with stock feature gates shows, and what no cycle can show.
REPLAYED = [
    c
    for c in CASES
    if c["kind"] != "validation"
    and c["in_cycle"] is not False
    # Devices (dynamic resource allocation) are not modelled.
    and all(value["kind"] != "DeviceClass" for value in c["objects"])
]


def name_of(case: recorded.Json) -> str:
    return f"{case['plugin']}-{case['test']}-{case['name']}"


def make_cycle(case: recorded.Json, version: str) -> Cycle:
    """Build the cluster of a case and the profile with its arguments."""
    objects = [*case["objects"]]
    if case["pod"] is not None:
        metadata = {**case["pod"].get("metadata", {}), "name": "the-pod"}
        objects.append({**case["pod"], "metadata": metadata})
    cluster = recorded.build_bare(objects)
    pod = next(p for p in cluster.pods if p.name == "the-pod")
    others = tuple(p for p in cluster.pods if p is not pod)
    cluster = type(cluster)(
        nodes=cluster.nodes,
        pods=others,
        namespaces=cluster.namespaces,
        services=cluster.services,
        controllers=cluster.controllers,
    )
    return Cycle(
        pod, states.from_cluster(cluster), make_profile(case), versions.scheduler_features(version)
    )


def make_profile(case: recorded.Json) -> profile.Profile:
    if case["args"] is None or case["plugin"] not in plugin_arguments.READERS:
        return profile.Profile()
    attribute, reader = plugin_arguments.READERS[case["plugin"]]
    arguments: dict[str, Any] = {attribute: reader(fields.Field(case["args"], "args"))}
    return profile.Profile(**arguments)


def filter_answer(cycle: Cycle, plugin: str) -> dict[str, list[str]]:
    """Return the reasons against every node; empty for a node that passes."""
    try:
        verdict = scheduler.FILTERS[plugin](cycle)
    except Conflict as conflict:
        return {node.name: [str(conflict)] for node in cycle.state.nodes}
    if verdict is None:
        return {node.name: [] for node in cycle.state.nodes}
    return {
        node.name: [] if verdict.passes[row] else verdict.explain(row).split(", ")
        for row, node in enumerate(cycle.state.nodes)
    }


def score_answer(case: recorded.Json, cycle: Cycle) -> dict[str, int] | None:
    candidates = [n for n in case["expect"] if n != "prescore"]
    if not candidates:
        candidates = [node.name for node in cycle.state.nodes]
    rows = np.array([cycle.state.rows[name] for name in candidates], dtype=np.int64)
    scores = scheduler.SCORES[case["plugin"]](cycle, rows)
    if scores is None:
        return None
    return {name: int(score) for name, score in zip(candidates, scores, strict=True)}


@pytest.mark.parametrize("case", [c for c in REPLAYED if c["kind"] == "filter"], ids=name_of)
def test_filters_answer_as_upstream_expects(case: recorded.Json) -> None:
    if "parsing pod" in str(case["expect"].get("prefilter", {}).get("reasons")):
        with pytest.raises(errors.InputError):  # what upstream stumbles over is refused on reading
            make_cycle(case, "1.37")
        return
    got = filter_answer(make_cycle(case, "1.37"), case["plugin"])
    expected = {
        node: result["reasons"] for node, result in case["expect"].items() if node != "prefilter"
    }
    for node, reasons in expected.items():
        assert sorted(got[node]) == sorted(reasons), node
    if case["expect"].get("prefilter", {}).get("code") == "Skip":
        assert all(not reasons for reasons in got.values())


@pytest.mark.parametrize("case", [c for c in REPLAYED if c["kind"] == "score"], ids=name_of)
def test_scores_are_those_upstream_expects(case: recorded.Json) -> None:
    code = case["expect"].get("prescore", {}).get("code")
    if code == "Error":  # what upstream stumbles over later is refused on reading
        with pytest.raises(errors.InputError):
            make_cycle(case, "1.37")
        return
    got = score_answer(case, make_cycle(case, "1.37"))
    assert got == (None if code == "Skip" else case["expect"])


@pytest.mark.parametrize("case", OLD_BALANCED, ids=name_of)
def test_before_1_36_the_balance_itself_is_scored(case: recorded.Json) -> None:
    got = score_answer(case, make_cycle(case, "1.35"))
    if case["expect"].get("prescore", {}).get("code") == "Skip":
        assert got is None
    else:
        assert got == case["expect"]


@pytest.mark.parametrize("case", [c for c in CASES if c["kind"] == "validation"], ids=name_of)
def test_arguments_are_refused_where_upstream_refuses_them(case: recorded.Json) -> None:
    reader = plugin_arguments.READERS[case["plugin"]][1]
    arguments = fields.Field(case["args"], "args")
    if case["expect"]["error"] is None or defaulting_mends(case):
        reader(arguments)
    else:
        with pytest.raises(errors.InputError):
            reader(arguments)


# Errors about what a real configuration has filled in by default before it is validated.
MENDED = (
    "weight: Invalid value: 0: resource weight",
    "weight: Invalid value: 0: must be 1",
    "scoringStrategy: Required value: ScoringStrategy field is required",
)


def defaulting_mends(case: recorded.Json) -> bool:
    """Return whether all complaints are about missing defaults."""
    error: str = case["expect"]["error"]
    complaints = sum(error.count(f": {kind}") for kind in ("Invalid", "Required", "Forbidden",
                                                          "Duplicate", "Unsupported"))  # fmt: skip
    return sum(error.count(text) for text in MENDED) == complaints
