"""``kubestow explain`` on a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
