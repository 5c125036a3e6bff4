"""Configurations and proofs of ``pack``, checked by the genuine kube-scheduler on random clusters.

    python -m tests.e2e.packing_parity --cases 300 --seed 1000 results.json

For each cluster the emitted configuration and the stock one are played by kube-scheduler's own code
(ties go to the first name), the packing is searched for the optimum, and every placement is held
against the proven bound. It exits with 1 if a claim does not hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kubestow.model import errors
from kubestow.policies.placing import packing, repacking
from kubestow.workflows import repacking as workflows_repacking
from testenv import building, packing_clusters
from tests.policies.placing import recorded

Json = dict[str, Any]
STOCK = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
FAST = ("first-fit", "k8s-most", "vector-dot", "adaptive")


def claim(seed: int, seconds: float) -> Json | None:
    """Return what ``pack`` says about a random cluster; ``None`` if nothing fits."""
    objects = packing_clusters.draw_cluster(seed)
    try:
        problem = repacking.make_repacking(recorded.build(objects), f"drawn-{seed}")
    except errors.InputError:
        return None
    fillings = {name: repacking.fill(problem, packing.HEURISTICS.get(name)) for name in FAST}
    start = min(fillings.values(), key=lambda filling: filling.cost)
    solution = repacking.solve(problem, start, _within(seconds), np.random.default_rng(seed))
    configuration = workflows_repacking.search_configuration(problem, solution.bound.value)
    played = configuration.as_json()
    left_out = {one.pod for one in problem.left_out}
    return {
        "seed": seed,
        "objects": [made for made in objects if not _is_left_out(made, left_out)],
        "document": played.pop("document"),
        "configuration": played,
        "constrained": problem.constrained,
        "volumes": problem.has_volumes,
        "bound": solution.bound.value,
        "optimal": solution.optimal,
        "impossible": solution.impossible,
        "best": {"nodes": len(solution.filling.used), "unplaced": solution.filling.unplaced},
        "heuristics": {
            name: {"nodes": len(filling.used), "unplaced": filling.unplaced}
            for name, filling in fillings.items()
        },
    }


def _is_left_out(made: Json, left_out: set[str]) -> bool:
    metadata = made["metadata"]
    return made["kind"] == "Pod" and f"{metadata['namespace']}/{metadata['name']}" in left_out


def _within(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def ask_scheduler(claims: list[Json]) -> list[tuple[Json, Json]]:
    """Return how kube-scheduler places the pods with the emitted and the stock configuration."""
    oracle = building.build("scheduler-oracle")
    lines = [
        json.dumps({"id": str(one["seed"]), "config": config, "objects": one["objects"]})
        for one in claims
        for config in (one["document"], STOCK)
    ]
    answers = subprocess.run(
        [str(oracle), "-workers", "2"],
        input="\n".join(lines) + "\n",
        check=True,
        capture_output=True,
        text=True,
        timeout=3600,
    ).stdout.splitlines()
    outcomes = [_outcome(json.loads(line)) for line in answers]
    return list(zip(outcomes[::2], outcomes[1::2], strict=True))


def _outcome(answer: Json) -> Json:
    if answer.get("error"):
        raise RuntimeError(f"{answer['id']}: {answer['error']}")
    nodes = [pod["node"] for pod in answer["pods"]]
    return {"nodes": len({node for node in nodes if node}), "unplaced": nodes.count(None)}


def compare(cases: int, seed: int, seconds: float) -> tuple[Json, list[str]]:
    """Return the table of all clusters, and every claim that does not hold."""
    claims = [one for one in (claim(s, seconds) for s in range(seed, seed + cases)) if one]
    problems = []
    rows = []
    for one, (played, stock) in zip(claims, ask_scheduler(claims), strict=True):
        name, configured = f"cluster {one['seed']}", one["configuration"]
        if played["nodes"] != configured["nodes"]:
            problems.append(f"{name}: claimed {configured['nodes']}, played {played['nodes']}")
        if stock["nodes"] != configured["stock"]["nodes"]:
            problems.append(f"{name}: stock {configured['stock']['nodes']}, not {stock['nodes']}")
        for placed in (played, stock, *one["heuristics"].values()):
            if placed["unplaced"] == 0 and placed["nodes"] < one["bound"]:
                problems.append(f"{name}: {placed['nodes']} nodes beat the bound {one['bound']}")
            if placed["unplaced"] == 0 and one["impossible"]:
                problems.append(f"{name}: all pods placed, though proven impossible")
        rows.append(
            {key: value for key, value in one.items() if key not in ("objects", "document")}
        )
    return _summary(rows), problems


def _gap(outcomes: list[Json], optima: list[int]) -> Json:
    """Return how far outcomes are from the optimum, where they place all pods."""
    pairs = zip(outcomes, optima, strict=True)
    gaps = [one["nodes"] / best - 1 for one, best in pairs if one["unplaced"] == 0]
    return {
        "clusters": len(gaps),
        "mean_gap": round(float(np.mean(gaps)), 4) if gaps else None,
        "at_optimum": sum(gap == 0 for gap in gaps),
    }


def _summary(rows: list[Json]) -> Json:
    complete = [row for row in rows if row["best"]["unplaced"] == 0]
    proven = [row for row in complete if row["optimal"]]

    outcomes: dict[str, list[Json]] = {
        name: [row["heuristics"][name] for row in proven] for name in FAST
    }
    outcomes["best configuration"] = [row["configuration"] for row in proven]
    outcomes["stock kube-scheduler"] = [row["configuration"]["stock"] for row in proven]
    bounds = [row["bound"] for row in proven]
    table = {name: _gap(listed, bounds) for name, listed in outcomes.items()}
    return {
        "clusters": len(rows),
        "constrained": sum(row["constrained"] for row in rows),
        "with_volumes": sum(row["volumes"] for row in rows),
        "all_pods_placed": len(complete),
        "proven_optimal": len(proven),
        "proven_impossible": sum(row["impossible"] for row in rows),
        "gap_to_optimum": table,
        "rows": rows,
    }


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5.0, help="search for the optimum")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    result, problems = compare(options.cases, options.seed, options.seconds)
    result = {"seed": options.seed, "claims_that_do_not_hold": len(problems), **result}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    sys.stderr.write("\n".join([*problems[:20], f"{len(problems)} claims do not hold\n"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
