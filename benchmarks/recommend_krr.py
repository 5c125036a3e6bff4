"""``kubestow recommend`` beside the genuine krr: 300 containers, one cluster, one Prometheus.

A control plane holds 300 Deployments of one pod, a real Prometheus a week of their usage. Both
programs run as child processes with the same history, one after the other and several times in
turn. Floors: kubestow takes no more wall time and no more processor time than krr, with krr's own
formula (``krr-simple``) and with the default (``auto``), and the default at most 250 MB of memory.

krr is not part of this project: clone it beside the project and install its requirements into
``.venv`` there, or name such a folder in ``KUBESTOW_KRR``. Without it, nothing is measured.

    python -m benchmarks.recommend_krr [FILE]     also writes the figures to FILE as JSON
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks import children, recommend_prometheus
from testenv import clusters, prometheus_servers

CONTAINERS: Final = 300
ROUNDS: Final = 3
MEGABYTES: Final = 250.0
STRATEGIES: Final = ("krr-simple", "auto")
_BESIDE: Final = Path(__file__).parents[2] / "krr"
_PROGRAM: Final = "from kubestow.cli import main; main.main()"
_APPS: Final = "/apis/apps/v1/namespaces"


def find_krr() -> list[str] | None:
    """Return the command of the genuine krr, or nothing if there is none."""
    folder = Path(os.environ.get("KUBESTOW_KRR", _BESIDE))
    python, script = folder / ".venv" / "bin" / "python", folder / "krr.py"
    return [str(python), str(script)] if python.is_file() and script.is_file() else None


def create_workloads(cluster: clusters.Cluster) -> None:
    """Create the Deployments whose usage the scene has; no controller has to run their pods."""
    for space in range(9):
        body = {"metadata": {"name": f"team-{space}"}}
        cluster.request("POST", "/api/v1/namespaces", body)
    for number in range(CONTAINERS):
        cluster.request("POST", f"{_APPS}/team-{number % 9}/deployments", _deployment(number))


def _deployment(number: int) -> dict[str, Any]:
    labels = {"app": f"app-{number}"}
    requests = {"cpu": "500m", "memory": "512Mi"}
    container = {"name": "app", "image": "app", "resources": {"requests": requests}}
    return {
        "metadata": {"name": f"app-{number}"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def measure(krr: list[str], folder: Path) -> dict[str, Any]:
    """Write the samples, start the servers and run both programs in turn; return all figures."""
    now_s = int(time.time())
    data = folder / "data"
    scene = recommend_prometheus.make_scene(now_s, CONTAINERS, pods=1)
    for part in recommend_prometheus.parts(scene):
        prometheus_servers.load(data, part)
    prometheus_servers.load(data, recommend_prometheus.facts(now_s, scene))
    with clusters.run(folder / "cluster") as cluster, prometheus_servers.serve(data) as url:
        create_workloads(cluster)
        recommend_prometheus.settle(data)
        return _measure(krr, url, cluster.kubeconfig)


def _measure(krr: list[str], url: str, kubeconfig: Path) -> dict[str, Any]:
    hours = f"{24 * recommend_prometheus.DAYS}"
    days = f"{recommend_prometheus.DAYS}d"
    commands = {
        "krr": [*krr, "simple", "-p", url, "--history_duration", hours, "-f", "json", "-q"],
        **{
            name: [
                sys.executable, "-c", _PROGRAM, "recommend", "--cluster", "--prometheus", url,
                "--history", days, "--strategy", name, "-o", "json",
            ]
            for name in STRATEGIES
        },
    }  # fmt: skip
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    counts: dict[str, int] = {}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            child = children.run_child(command, {"KUBECONFIG": str(kubeconfig)})
            rounds[name].append(
                {
                    "seconds": round(child.seconds, 2),
                    "processor_seconds": round(child.processor_seconds, 2),
                    "megabytes": round(child.peak_bytes / 1e6, 1),
                }
            )
            answer = json.loads(child.output)
            counts[name] = len(answer["scans"] if name == "krr" else answer)
    return {
        "containers": CONTAINERS,
        "rounds": ROUNDS,
        **{
            name: {
                "answers": counts[name],
                **{key: statistics.median(one[key] for one in took) for key in took[0]},
            }
            for name, took in rounds.items()
        },
    }


def is_within(figures: dict[str, Any]) -> bool:
    """Return whether kubestow answered for every container and needed no more than krr."""
    peer = figures["krr"]
    return all(
        figures[name]["answers"] == CONTAINERS
        and figures[name]["seconds"] <= peer["seconds"]
        and figures[name]["processor_seconds"] <= peer["processor_seconds"]
        and (name != "auto" or figures[name]["megabytes"] <= MEGABYTES)
        for name in STRATEGIES
    )


def main() -> int:
    """Measure and print; return 1 if kubestow needed more than krr."""
    krr = find_krr()
    if krr is None or not prometheus_servers.is_there():
        print(prometheus_servers.MISSING if krr else f"skipped: no krr in {_BESIDE.name}/")
        return 0 if krr is None else 2
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(krr, Path(folder))
    text = json.dumps(figures, indent=1)
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(f"{text}\n", encoding="utf-8")
    return 0 if is_within(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
