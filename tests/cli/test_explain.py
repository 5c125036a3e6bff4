"""``kubestow explain`` on a store."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from kubestow import testing
from kubestow.cli import main
from kubestow.live.stores import decisions, engines
from kubestow.model.decisions import Candidate, DecisionRecord

PLACED = DecisionRecord(
    kind="placing",
    subject="pod/shop/web-0",
    policy="clbp",
    outcome="n1",
    time=1_794_816_000.0,  # 2026-11-16 08:00 UTC
    candidates=(Candidate("n1", {"cpu": 4.5}, 9.25), Candidate("n2", {}, 1.0)),
    numbers={"nodes": 3.0},
)
REFUSED = DecisionRecord(
    kind="placing",
    subject="pod/shop/web-1",
    policy="clbp",
    outcome=None,
    time=1.0,
    rejected={"cpu would be at 80.0%": "3 nodes"},
)
SIZED = DecisionRecord(
    kind="sizing",
    subject="workload/shop/Deployment/web",
    policy="admission",
    outcome="changed",
    time=2.0,
    backtest={"miss_rate": 0.01},
)


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/store.db"
    with engines.open_store(url) as opened:
        decisions.insert(opened, [PLACED, REFUSED, SIZED], 0.0)
    return url


def test_candidates_and_scores_are_shown(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "pod/web-0", "-n", "shop", "--store", store]) == 0
    shown = capsys.readouterr().out
    assert "placing of pod/shop/web-0 by clbp at 2026-11-16 08:00:00 UTC" in shown
    for text in ("outcome: n1", "numbers: nodes 3", "9.25", "4.5"):
        assert text in shown


def test_refusals_are_shown(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "pod/shop/web-1", "--store", store]) == 0
    shown = capsys.readouterr().out
    assert "outcome: none" in shown
    assert "rejected: cpu would be at 80.0%: 3 nodes" in shown


@pytest.mark.parametrize("subject", ["deploy/web", "deployment/shop/web", "Deployments/web"])
def test_workloads_are_found_by_the_names_of_kubectl(
    subject: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", subject, "-n", "shop", "--kind", "sizing", "--store", store]
    assert main.run([*arguments, "-o", "json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["outcome"] == "changed"
    assert record["backtest"] == {"miss_rate": 0.01}


def test_nothing_known_leaves_with_1(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "pod/other", "--store", store]) == 1
    assert "no decision about pod/default/other" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("web", "KIND/NAME: 'web': expected KIND/NAME, e.g. pod/web-0"),
        ("pod/", "KIND/NAME: 'pod/': expected KIND/NAME, e.g. pod/web-0"),
        ("secret/x", "'secret': expected pod, node, workload, id or a kind such as deployment"),
    ],
)
def test_subjects_that_are_none_are_refused(
    subject: str, problem: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["explain", subject, "--store", store]) == 2
    assert problem in capsys.readouterr().err


@pytest.fixture(name="pipelines")
def store_pipelines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return a store that the command itself has filled: with pods of two pipelines."""
    folder = tmp_path / "usage"
    folder.mkdir()
    frame = testing.usage_frame(containers=2, days=3)
    kinds = frame.select("workload").unique().sort("workload")["workload"].to_list()
    names = dict(zip(kinds, ("nightly-tests", "build.compile"), strict=True))
    frame.with_columns(
        namespace=pl.lit("ci"),
        kind=pl.col("workload").replace({kinds[0]: "id", kinds[1]: "Tekton"}),
        workload=pl.col("workload").replace(names),
    ).write_csv(folder / "usage.csv")
    url = f"sqlite:///{tmp_path}/pipelines.db"
    command = ["recommend", "--csv", str(folder), "--strategy", "percentile", "--store", url]
    assert main.run([*command, "--unsuitable"]) == 0
    capsys.readouterr()
    return url


@pytest.mark.parametrize(
    ("asked", "subject"),
    [("id/nightly-tests", "ci/id/nightly-tests"), ("tekton/build.compile", "ci/Tekton/build.comp")],
)
def test_pipelines_are_found_by_their_identity(
    asked: str, subject: str, pipelines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["explain", asked, "-n", "ci", "--store", pipelines]) == 0
    assert f"sizing of container/{subject}" in capsys.readouterr().out


def test_a_misspelt_identity_is_answered_with_the_nearest(
    pipelines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["explain", "id/nightly-test", "-n", "ci", "--store", pipelines]) == 1
    shown = capsys.readouterr()
    assert "no decision about workload/ci/id/nightly-test\n" in shown.out
    assert shown.err == "did you mean workload/ci/id/nightly-tests?\n"
    assert main.run(["explain", "id/x", "-n", "y", "--store", pipelines, "-o", "json"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out) == []
    assert shown.err == "the store has decisions on 2 other objects\n"


def test_another_kind_of_decision_is_named(
    pipelines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["id/nightly-tests", "-n", "ci", "--kind", "moving", "--store", pipelines]
    assert main.run(["explain", *arguments]) == 1
    assert "there are decisions of another kind than moving" in capsys.readouterr().err
