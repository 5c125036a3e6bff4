"""A week of 2000 containers in a real Prometheus, and ``kubestow recommend`` on it.

Writes two samples per five minutes and container into blocks with promtool, starts a server on
them, runs the command as a child process, and compares the usage it reports with the samples
written. Needs the programs prometheus and promtool.

    python -m benchmarks.recommend_prometheus [FILE]     also writes the figures to FILE as JSON
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import children
from kubestow.model.arrays import Floats
from testenv import prometheus_servers

WORKLOADS, PODS, DAYS = 500, 4, 7
STEP_S, SCRAPE_S, BLOCK_S, AHEAD_S = 300, 150, 7200, 5400
# Samples are 60 s and 210 s after a multiple of the step: inside a window, never on its edge.
OFFSET_S = 60
MIB = 2**20
QUIET_S = 75.0  # a server checks for blocks to merge once a minute
SECONDS, MEBIBYTES, QUESTIONS = 60.0, 1536.0, 100
_COMMAND = "from kubestow.cli import main; main.main()"


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The samples to write.

    Attributes:
        pods: Pods of each workload.
        times_s: Times of the samples.
        cores: Mean CPU usage since the previous sample, by pod and sample.
        memory_bytes: Working set, by pod and sample.
    """

    pods: int
    times_s: NDArray[np.int64]
    cores: Floats
    memory_bytes: Floats


def make_scene(now_s: int, workloads: int = WORKLOADS, pods: int = PODS) -> Scene:
    """Return usage of every pod with a daily cycle and noise, until some time after now."""
    rng = np.random.default_rng(11)
    begin_s = (now_s - DAYS * 86400) // STEP_S * STEP_S - 2 * STEP_S + OFFSET_S
    times_s = np.arange(begin_s, now_s + AHEAD_S, SCRAPE_S)
    shape = (workloads * pods, len(times_s))
    day = 1.0 + 0.4 * np.sin(2.0 * np.pi * times_s / 86400.0)
    level = np.repeat(rng.lognormal(-2.0, 1.0, workloads), pods)[:, np.newaxis]
    size = np.repeat(rng.lognormal(19.5, 0.8, workloads), pods)[:, np.newaxis]
    cores = level * day * rng.lognormal(0.0, 0.2, shape)
    memory = np.rint(size * day**0.2 * rng.lognormal(0.0, 0.03, shape))
    return Scene(pods, times_s, cores, memory)


def labels(row: int, pods: int) -> str:
    """Return the labels of the container of a pod."""
    number = row // pods
    return f'namespace="team-{number % 9}",pod="app-{number}-x-{row % pods}",container="app"'


def parts(scene: Scene) -> Iterator[str]:
    """Yield the samples in parts of two hours: promtool reads a file once per block."""
    counters = 1e5 + np.cumsum(scene.cores * SCRAPE_S, axis=1)
    blocks = scene.times_s // BLOCK_S
    for block in np.unique(blocks).tolist():
        chosen = np.flatnonzero(blocks == block)
        times = scene.times_s[chosen].tolist()
        lines = []
        for row in range(len(counters)):
            tags = labels(row, scene.pods)
            for metric, values in (
                ("container_cpu_usage_seconds_total", counters),
                ("container_memory_working_set_bytes", scene.memory_bytes),
            ):
                head = f"{metric}{{{tags}}}"
                points = values[row, chosen].tolist()
                lines += [
                    f"{head} {value!r} {at}\n" for value, at in zip(points, times, strict=True)
                ]
        yield "".join(lines)


def facts(now_s: int, scene: Scene) -> str:
    """Return the metrics of kube-state-metrics around now."""
    stated = []
    for row in range(len(scene.cores)):
        tags, number = labels(row, scene.pods), row // scene.pods
        space = f'namespace="team-{number % 9}"'
        pod = tags.rpartition(",")[0]
        requests = "kube_pod_container_resource_requests"
        stated += [
            f'{requests}{{{tags},resource="cpu"}} 0.5',
            f'{requests}{{{tags},resource="memory"}} {512 * MIB}',
            f'kube_pod_owner{{{pod},owner_kind="ReplicaSet",owner_name="app-{number}-x"}} 1',
        ]
        if row % scene.pods == 0:
            owner = f'owner_kind="Deployment",owner_name="app-{number}"'
            stated.append(f'kube_replicaset_owner{{{space},replicaset="app-{number}-x",{owner}}} 1')
    for node in range(40):
        for resource, amount in (("cpu", 16), ("memory", 64 * 2**30), ("pods", 110)):
            tags = f'node="n{node}",resource="{resource}"'
            stated.append(f"kube_node_status_allocatable{{{tags}}} {amount}")
    times = range(now_s - 600, now_s + AHEAD_S, 240)  # the look-back of a server is 300 s
    return "".join(f"{line} {at}\n" for line in stated for at in times)


def expect(scene: Scene, end_s: int) -> dict[str, Floats]:
    """Return the expected usage by workload, up to a multiple of the step."""
    points = DAYS * 86400 // STEP_S
    # A window has two samples; the rate is that of the second, the peak is the larger of both.
    second = np.searchsorted(scene.times_s, end_s - np.arange(points)[::-1] * STEP_S) - 1
    cores = scene.cores[:, second].reshape(WORKLOADS, -1)
    memory = np.maximum(scene.memory_bytes[:, second], scene.memory_bytes[:, second - 1])
    memory = memory.reshape(WORKLOADS, -1)
    return {
        "cpu_mean_cores": cores.mean(axis=1),
        "cpu_p95_cores": np.quantile(cores, 0.95, axis=1),
        "memory_peak_bytes": memory.max(axis=1),
        "memory_mean_bytes": memory.mean(axis=1),
    }


def worst_error(rows: list[dict[str, Any]], scene: Scene, run_s: float) -> float:
    """Return the largest relative error of all usage figures of all workloads."""
    usage = {row["workload"].rpartition("/")[2]: row["usage"] for row in rows}
    worst = []
    # The command may have read its clock in the next step.
    for end_s in (int(run_s) // STEP_S * STEP_S, int(run_s) // STEP_S * STEP_S + STEP_S):
        errors = [
            np.abs(
                np.array([usage[f"app-{n}"][key] for n in range(WORKLOADS)]) / values - 1.0
            ).max()
            for key, values in expect(scene, end_s).items()
        ]
        worst.append(float(max(errors)))
    return min(worst)


def run(url: str, *more: str) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Run the command; return its resource usage and its output."""
    arguments = ["recommend", "--prometheus", url, "--history", f"{DAYS}d", "-o", "json", *more]
    child = children.run_child([sys.executable, "-c", _COMMAND, *arguments])
    took = {
        "seconds": round(child.seconds, 2),
        "processor_seconds": round(child.processor_seconds, 2),
        "rss_mib": round(child.peak_bytes / MIB, 1),
        "questions": int(child.messages.split(" queries to Prometheus")[0].split()[-1]),
    }
    return took, json.loads(child.output)


def settle(data: Path) -> None:
    """Wait until the server has merged its blocks; a week of them at once is unusual."""
    count, since_s = -1, time.monotonic()
    while time.monotonic() - since_s < QUIET_S:
        blocks = len(list(data.iterdir()))
        if blocks != count:
            count, since_s = blocks, time.monotonic()
        time.sleep(1.0)


def measure(folder: Path) -> dict[str, Any]:
    """Write the samples, serve them, run the command; return all figures."""
    now_s = int(time.time())
    scene = make_scene(now_s)
    data = folder / "data"
    for part in parts(scene):
        prometheus_servers.load(data, part)
    prometheus_servers.load(data, facts(now_s, scene))
    figures: dict[str, Any] = {
        "containers": WORKLOADS * PODS,
        "points": DAYS * 86400 // STEP_S,
        "samples": int(2 * scene.cores.size),
        "writing_seconds": round(time.time() - now_s, 1),
    }
    with prometheus_servers.serve(data) as url:
        settle(data)
        for strategy in ("auto", "percentile"):
            run_s = time.time()
            took, rows = run(url, "--strategy", strategy)
            error = worst_error(rows, scene, run_s)
            figures[strategy] = {**took, "workloads": len(rows), "worst_relative_error": error}
    return figures


def is_within(figures: dict[str, Any]) -> bool:
    """Return whether a run was within its limits and correct."""
    return bool(
        figures["seconds"] <= SECONDS
        and figures["rss_mib"] <= MEBIBYTES
        and figures["questions"] < QUESTIONS
        and figures["workloads"] == WORKLOADS
        and figures["worst_relative_error"] < 1e-6
    )


def main() -> int:
    """Measure and print; return 1 if a run exceeded its limits or was wrong."""
    if not prometheus_servers.is_there():
        print(prometheus_servers.MISSING)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder))
    text = json.dumps(figures, indent=1)
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(f"{text}\n", encoding="utf-8")
    return 0 if all(is_within(figures[name]) for name in ("auto", "percentile")) else 1


if __name__ == "__main__":
    sys.exit(main())
