"""Fresh random clusters, answered by the genuine kube-scheduler code and by ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubestow.policies.placing.profiles import versions
from testenv import building
from tests.policies.placing import recorded

pytestmark = pytest.mark.e2e

CASES = 600
SEED = 4711  # not the seed of the recorded cases
FEATURES = versions.scheduler_features("1.37")


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return cases with the answers of kube-scheduler."""
    oracle = building.build("scheduler-oracle")
    script = Path(building.HERE) / "scheduler-oracle" / "cases.py"
    made = subprocess.run(
        [sys.executable, str(script), "generate", "--count", str(CASES), "--seed", str(SEED)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    answers = subprocess.run(
        [str(oracle), "-workers", "2"],
        input=made,
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    ).stdout
    folder = tmp_path_factory.mktemp("parity")
    (folder / "cases.jsonl").write_text(made)
    pairs = zip(made.splitlines(), answers.splitlines(), strict=True)
    return [{**json.loads(case), "answer": json.loads(answer)} for case, answer in pairs]


@pytest.mark.timeout(900)
def test_every_decision_equals_kube_scheduler(answered: list[dict[str, Any]]) -> None:
    pods = 0
    for case in answered:
        if case["answer"].get("error"):
            continue
        got, expected = recorded.both_answers(case, FEATURES)
        assert got == expected, case["id"]
        pods += len(got)
    assert len(answered) == CASES
    assert pods > CASES  # most cases have several pods
