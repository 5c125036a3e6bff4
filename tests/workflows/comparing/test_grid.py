"""The grid: values as YAML, every combination, everything checked before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubestow.model import errors
from kubestow.workflows.comparing import grid
from tests.studies import scenarios

SPLITS = [
    ("a,b", ("a", "b")),
    ("0.5, 0.6", ("0.5", "0.6")),
    ("{cpu: 0.6, memory: 0.8},{cpu: 0.7}", ("{cpu: 0.6, memory: 0.8}", "{cpu: 0.7}")),
    ("[1,2],[3]", ("[1,2]", "[3]")),
    ("'a,b',c", ("'a,b'", "c")),
    ('{a: "x,y"},z', ('{a: "x,y"}', "z")),
    ("it's,so", ("it's", "so")),
    ("{a: [1,{b: 2}]},null", ("{a: [1,{b: 2}]}", "null")),
]


@pytest.mark.parametrize(("text", "pieces"), SPLITS, ids=[text for text, _ in SPLITS])
def test_commas_inside_brackets_and_quotes_do_not_split(text: str, pieces: tuple[str, ...]) -> None:
    assert grid.split_values(text, "varied") == pieces


def test_values_are_yaml() -> None:
    axis = grid.read_axis("policies.x=0.5,true,null,15s,{a: 1}")
    assert axis.values == (0.5, True, None, "15s", {"a": 1})


def test_the_grid_is_full_and_the_last_axis_changes_fastest(tmp_path: Path) -> None:
    sweep = grid.plan_grid(
        scenarios.write(tmp_path),
        ["policies.scaling.max=4,8", "policies.placing.profile=kube-scheduler,most-allocated"],
        seeds=3,
    )
    assert [variant.label for variant in sweep.variants] == [
        "4, kube-scheduler",
        "4, most-allocated",
        "8, kube-scheduler",
        "8, most-allocated",
    ]
    assert sweep.baseline == "4, kube-scheduler"
    assert sweep.seeds == (3, 4, 5)
    assert sweep.variants[3].changes == {
        "policies.scaling.max": 8,
        "policies.placing.profile": "most-allocated",
    }
    policies = [variant.loaded.scenario.spec.policies for variant in sweep.variants]
    assert [(p.scaling.max, p.placing.profile) for p in policies] == [
        (4, "kube-scheduler"),
        (4, "most-allocated"),
        (8, "kube-scheduler"),
        (8, "most-allocated"),
    ]


def test_changes_hold_for_all_variants_and_set_the_first_seed(tmp_path: Path) -> None:
    sweep = grid.plan_grid(
        scenarios.write(tmp_path),
        [scenarios.TARGETS],
        changes=["seed=40", "duration=10m"],
        baseline="0.8",
    )
    assert sweep.seeds == (40,)
    assert {v.loaded.scenario.spec.duration for v in sweep.variants} == {600.0}
    assert sweep.baseline == "0.8"


def test_variants_share_nothing(tmp_path: Path) -> None:
    varied = [
        "policies.scaling.target={cpu: 0.5},{cpu: 0.7}",
        "policies.scaling.target.cpu=0.6,0.9",
    ]
    sweep = grid.plan_grid(scenarios.write(tmp_path), varied)
    result = [v.loaded.scenario.spec.policies.scaling.target["cpu"] for v in sweep.variants]
    assert result == [0.6, 0.9, 0.6, 0.9]
    assert sweep.variants[0].changes["policies.scaling.target"] == {"cpu": 0.5}


BAD = [
    ([], "expected at least one path=v1,v2"),
    (["policies.scaling.max"], "expected path=v1,v2"),
    (["=1,2"], "expected path=v1,v2"),
    (["policies.scaling.max=3,,4"], "a value is missing"),
    (["policies.scaling.max="], "a value is missing"),
    (["policies.scaling.max=3,3"], "'3' is given twice"),
    (["policies.scaling.max=3", "policies.scaling.max=4"], "'policies.scaling.max' is given twice"),
    (["seed=1,2"], "every variant runs with the same seeds"),
    (["policies.scaling.max={a"], "expected a YAML value"),
    (["workloads[7].replicas=1"], "there is no entry [7]"),
    (["policies.scaling.mx=3,4"], "mx"),
    (["policies.scaling.max=9,0"], "tiny.yaml (0): spec.policies.scaling.max: 0: must be >= 1"),
]


@pytest.mark.parametrize(("varied", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_grid_is_refused(tmp_path: Path, varied: list[str], message: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        grid.plan_grid(scenarios.write(tmp_path), varied)
    assert message in str(caught.value)


def test_an_unknown_baseline_is_refused_with_the_labels(tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match=r"'0\.7': expected one of 0\.5; 0\.8"):
        grid.plan_grid(scenarios.write(tmp_path), [scenarios.TARGETS], baseline="0.7")
