"""Random cases in which pods preempt others, for the scheduler oracle.

Crowded nodes, pods of several priorities and start times, disruption budgets, and sometimes
volumes. The same seed always gives the same cases.

    python preemption_cases.py generate --count 20 --seed 7 | BINARY -preempt > answers.jsonl
"""

# ruff: noqa: D103

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

import cases
import volume_cases
from cases import Draft, Obj

PRIORITIES = (-10, 0, 0, 0, 5, 100)
OTHERS = ("host_ports", "spread_hard", "pod_affinity", "taints", "existing_pod_affinity")


def crowd(draft: Draft) -> None:
    """Fills nodes with pods of all priorities, and lets few pods wait that want much."""
    rng = draft.rng
    draft.nodes = draft.nodes[: rng.randint(3, 8)]
    names = [node["metadata"]["name"] for node in draft.nodes]
    draft.bound = [
        cases.make_pod(rng, f"b{i:02}", rng.choice(names))
        for i in range(rng.randint(2, 6) * len(names))
    ]
    for node in draft.nodes:
        node["status"]["allocatable"].update(cpu=rng.choice(("2", "3", "4")), memory="8Gi")
    for number, pod in enumerate(draft.bound):
        pod["spec"]["priority"] = rng.choice(PRIORITIES)
        # All different, as upstream leaves the order of equal ones open.
        second = f"{number // 60:02}:{number % 60:02}"
        pod["status"]["startTime"] = f"2026-01-01T{rng.randrange(24):02}:{second}Z"
    for pod in draft.pending:
        pod["spec"]["priority"] = rng.choice((1, 10, 1000))
        if draft.chance(0.1):
            pod["spec"]["preemptionPolicy"] = "Never"
        requests = {"cpu": rng.choice(("1", "1500m", "2")), "memory": rng.choice(cases.MEMORY)}
        pod["spec"]["containers"][0]["resources"] = {"requests": requests}


def budgets(draft: Draft) -> None:
    for number in range(draft.rng.randint(0, 3)):
        labels = {"app": draft.rng.choice(cases.APPS)}
        draft.others.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": f"budget{number}", "namespace": draft.rng.choice(cases.TEAMS)},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
                "status": {"disruptionsAllowed": draft.rng.choice((0, 0, 1, 2))},
            }
        )


def generate(count: int, seed: int) -> Iterator[Obj]:
    """Cases with an id, their features and objects."""
    for number in range(count):
        draft = cases.background(random.Random(f"preemption/{seed}/{number}"))
        crowd(draft)
        budgets(draft)
        features = ["preemption"]
        if draft.chance(0.3):
            features.append(draft.rng.choice(OTHERS))
            cases.FEATURES[features[-1]](draft)
        if draft.chance(0.3):
            features.append("volumes")
            volume_cases.add_volumes(draft)
        yield {"id": f"e{number:04}", "features": features, "objects": draft.objects()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    command = parser.add_subparsers(dest="command", required=True).add_parser("generate")
    command.add_argument("--count", type=int, default=300)
    command.add_argument("--seed", type=int, default=373)
    options = parser.parse_args()
    for case in generate(options.count, options.seed):
        sys.stdout.buffer.write(cases.line(case))


if __name__ == "__main__":
    main()
