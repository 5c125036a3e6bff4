"""Speed and memory of ``kubestow place`` as a user runs it: pods of 20 templates on many nodes.

The processor time of the command on one pod is subtracted, so that the figure is what input,
placement and output take. The floors are pods per processor second and megabytes: they are part of
what the command promises.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import outputs
from kubestow import testing

# Even one pod is placed by the compiled scheduler, so that loading it counts as start-up.
PROGRAM = """
from kubestow.cli.main import main
from kubestow.workflows import placing
placing.MANY = 0
main()
"""
TEMPLATES, PODS = 20, 2000
SIZES = (1000, 5000)


def make_objects(node_count: int, pod_count: int) -> list[dict[str, Any]]:
    """Return nodes in eight zones and pods of a few templates."""
    objects = [
        testing.node(
            f"node-{i:05d}",
            cpu="32",
            memory="128Gi",
            labels={
                "topology.kubernetes.io/zone": f"zone-{i % 8}",
                "disk": ["ssd", "hdd"][i % 2],
            },
        )
        for i in range(node_count)
    ]
    for i in range(pod_count):
        number = i % TEMPLATES
        further: dict[str, Any] = {"nodeSelector": {"disk": "ssd"}} if number % 5 == 0 else {}
        objects.append(
            testing.pod(
                f"app-{number}-{i}",
                cpu=f"{100 + 50 * number}m",
                memory=f"{128 * (1 + number % 7)}Mi",
                labels={"app": f"app-{number}"},
                **further,
            )
        )
    return objects


def run(path: Path) -> tuple[float, float]:
    """Run the command; return its processor seconds and the most memory of any child, in MB."""
    command = [sys.executable, "-c", PROGRAM, "place", str(path)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, after.ru_maxrss / 1024


def measure() -> dict[str, float]:
    """Return pods per processor second, net of start-up, and memory, by number of nodes."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for nodes in SIZES:
            few, many = Path(folder) / "few.json", Path(folder) / "many.json"
            for path, pods in ((few, 1), (many, PODS)):
                items = make_objects(nodes if pods > 1 else 1, pods)
                document = {"apiVersion": "v1", "kind": "List", "items": items}
                path.write_text(json.dumps(document))
            run(many)  # compiles on a new machine
            start_up = min(run(few)[0] for _ in range(3))
            spent, memory = min(run(many) for _ in range(3))
            figures[f"pods_per_second_{nodes}_nodes"] = PODS / max(spent - start_up, 1e-3)
            figures[f"memory_of_500_mb_over_used_{nodes}_nodes"] = 500.0 / memory
    return figures


if __name__ == "__main__":
    sys.exit(outputs.write(measure()))
