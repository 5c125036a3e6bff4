"""Random clusters with volumes, decided by the genuine kube-scheduler code and by ours.

    python -m tests.e2e.volume_parity --cases 3000 --seed 7 results.json

writes what was compared, and exits with 1 if any decision differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubestow.policies.placing.profiles import versions
from testenv import building
from tests.policies.placing import recorded

Json = dict[str, Any]
FEATURES = versions.scheduler_features("1.37")
MAKERS = {
    "any": "cases.py",
    "volumes": "volume_cases.py",
    "preemption": "preemption_cases.py",
}


def answered(maker: str, cases: int, seed: int, *options: str) -> Iterator[Json]:
    """Yield random cases with the answers of kube-scheduler.

    Args:
        maker: Which script of ``testenv/scheduler-oracle`` makes the cases.
        cases: How many.
        seed: Seed of the script.
        options: Options of the oracle.
    """
    oracle = building.build("scheduler-oracle")
    script = Path(building.HERE) / "scheduler-oracle" / MAKERS[maker]
    made = subprocess.run(
        [sys.executable, str(script), "generate", f"--count={cases}", f"--seed={seed}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout
    answers = subprocess.run(
        [str(oracle), "-workers", "2", *options],
        input=made,
        check=True,
        capture_output=True,
        text=True,
        timeout=3600,
    ).stdout
    for case, answer in zip(made.splitlines(), answers.splitlines(), strict=True):
        yield {**json.loads(case), "answer": json.loads(answer)}


def compare(cases: int, seed: int) -> tuple[Json, list[str]]:
    """Return what was compared on cases with volumes, and where the two differ."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    differences = []
    for case in answered("volumes", cases, seed):
        answer = case["answer"]
        problem = answer.get("error") or next(
            (pod["error"] for pod in answer["pods"] if pod.get("error")), None
        )
        if problem:
            differences.append(f"{case['id']}: kube-scheduler failed: {problem}")
            continue
        got, expected = recorded.both_answers(case, FEATURES)
        counts["cases"] += 1
        counts["pods"] += len(expected)
        counts["placed"] += sum(pod["node"] is not None for pod in expected)
        counts["nodes"] += sum(
            len(pod["feasible"]) + len(pod["rejected"] or {}) for pod in expected
        )
        for pod in expected:
            reasons.update(_named(text) for text in (pod["rejected"] or {}).values())
        if got != expected:
            differences.append(f"{case['id']}: {_first_difference(got, expected)}")
    result = {**counts, "different": len(differences), "reasons": dict(reasons.most_common())}
    return result, differences


def _named(reason: str) -> str:
    """Return a reason without the names in it."""
    parts = reason.split('"')
    return '"..."'.join(parts[::2])


def _first_difference(got: list[Json], expected: list[Json]) -> str:
    for ours, theirs in zip(got, expected, strict=True):
        for key in theirs:
            if ours[key] != theirs[key]:
                return f"{theirs['pod']} {key}: ours {ours[key]}, kube-scheduler {theirs[key]}"
    return "nothing"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    result, differences = compare(options.cases, options.seed)
    options.out.write_text(json.dumps({"seed": options.seed, **result}, indent=1) + "\n")
    sys.stderr.write("\n".join([*differences[:20], f"{len(differences)} differences\n"]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
