"""Fresh random autoscalers, answered by the genuine controller's code and by ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testenv import building
from tests.policies.scaling import recorded

pytestmark = pytest.mark.e2e

CASES = 500
SEED = 4711  # not the seed of the recorded syncs


def run(arguments: list[str], reported: str = "") -> str:
    done = subprocess.run(
        arguments, input=reported, check=True, capture_output=True, text=True, timeout=600
    )
    return done.stdout


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return cases with the answers of the HorizontalController."""
    oracle = building.build("hpa-oracle")
    script = str(Path(building.HERE) / "hpa-oracle" / "sequences.py")
    folder = tmp_path_factory.mktemp("parity")
    counts = ["--count", str(CASES), "--seed", str(SEED)]
    cases, answers = folder / "cases.jsonl", folder / "answers.jsonl"
    cases.write_text(run([sys.executable, script, "generate", *counts]))
    answers.write_text(run([str(oracle)], cases.read_text()))
    joined = run([sys.executable, script, "join", str(cases), str(answers)])
    return [json.loads(line) for line in joined.splitlines()]


@pytest.mark.timeout(900)
def test_every_decision_equals_the_controller(answered: list[dict[str, Any]]) -> None:
    syncs = 0
    for case in answered:
        got, expected = recorded.compare(case, recorded.replay(case))
        assert got == expected, case["id"]
        syncs += len(got)
    assert len(answered) == CASES
    assert syncs > 5 * CASES  # every sequence has at least six
