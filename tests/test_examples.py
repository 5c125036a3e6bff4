"""Every example that is a scenario runs, and gives what is stored beside it.

``python -m tests.rewrite_examples`` renews the stored outputs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kubestow.simulation.scenarios import document
from tests import rewrite_examples

SCENARIOS = rewrite_examples.scenarios()
IDS = [path.stem for path in SCENARIOS]
# The library: patterns of traffic, and what goes wrong in clusters.
EXPECTED = {
    "shop-day",
    "traffic-step-ladder",
    "traffic-jagged-edge",
    "traffic-increase-decrease",
    "traffic-flash-crowd",
    "maintenance-drain",
    "noisy-neighbour",
    "nightly-batch",
    "flash-crowd",
    "memory-leak",
    "node-failure",
    "pipeline-cluster",
    "sap-like-cluster",
}


def test_the_library_is_complete_and_no_output_is_left_over() -> None:
    assert set(IDS) >= EXPECTED
    assert {path.stem for path in rewrite_examples.OUTPUTS.glob("*.json")} == set(IDS)


def close(result: Any, expected: Any) -> bool:
    """Compare nested values; numbers may differ in their last stored digit."""
    if isinstance(expected, dict):
        return result.keys() == expected.keys() and all(
            close(result[key], expected[key]) for key in expected
        )
    if isinstance(expected, float):
        return isinstance(result, float) and result == pytest.approx(expected, rel=2e-5, abs=1e-9)
    return bool(result == expected)


@pytest.mark.parametrize("path", SCENARIOS, ids=IDS)
def test_an_example_gives_what_is_stored(path: Path) -> None:
    expected = json.loads(rewrite_examples.stored(path).read_text(encoding="utf-8"))
    result = rewrite_examples.simulate(path)
    assert {k: v for k, v in result.items() if not close(v, expected[k])} == {}, (
        "if that is meant: python -m tests.rewrite_examples"
    )


@pytest.mark.parametrize("path", SCENARIOS, ids=IDS)
def test_the_schema_accepts_every_example(path: Path) -> None:
    value = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.validate(value, document.schema(), cls=jsonschema.Draft202012Validator)
