"""A small cluster in a real Prometheus, and what should be read of it, worked out by hand.

Samples stand 60 s and 210 s after every multiple of five minutes. The window of five minutes that
ends at such a multiple holds two of them; the outermost lie 60 s and 90 s inside it, nearer than
one distance, so that Prometheus extends the rate to the whole window: it is the increase between
the two, over 150 s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kubestow.model.arrays import Floats
from testenv import prometheus_servers

STEP_S, SCRAPE_S, OFFSET_S = 300, 150, 60
BEGIN_S = 1_700_006_400  # a multiple of two hours, where blocks of Prometheus begin
POINTS = 288
END_S = BEGIN_S + POINTS * STEP_S
SAMPLES = 2 * POINTS
HALF = POINTS  # number of the sample in the middle of the day
MIB = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Pod:
    """A pod with one container, and what was scraped of it.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        owner: Kind and name of its controller, as kube-state-metrics has it; empty if it says none.
        cores: Mean use between a sample and the one before.
        memory_bytes: Working set.
        first: Number of its first sample.
        end: Number after its last sample.
        reset: Number of the sample before which its counter began anew; ``None`` if it never did.
        container: Name of its container.
    """

    namespace: str
    name: str
    owner: tuple[str, str]
    cores: Floats
    memory_bytes: Floats
    first: int = 0
    end: int = SAMPLES
    reset: int | None = None
    container: str = "app"

    @property
    def labels(self) -> str:
        """Its labels in the text format."""
        who = f'namespace="{self.namespace}",pod="{self.name}"'
        return f'{who},container="{self.container}"'

    def counter(self) -> Floats:
        """Return what its counter shows."""
        values = 5000.0 + np.cumsum(self.cores * SCRAPE_S)
        if self.reset is not None:
            values[self.reset :] = np.cumsum(self.cores[self.reset :] * SCRAPE_S)
        return values

    def expected_cores(self) -> Floats:
        """Return the use that should be read at every step; windows with one sample have none."""
        second = np.arange(1, SAMPLES, 2)
        return np.where(
            (second - 1 >= self.first) & (second < self.end), self.cores[second], np.nan
        )

    def expected_bytes(self) -> Floats:
        """Return the largest working set of every step."""
        numbers = np.arange(SAMPLES)
        known = (numbers >= self.first) & (numbers < self.end)
        shown: Floats = np.where(known, self.memory_bytes, np.nan)
        result: Floats = np.fmax.reduce(shown.reshape(POINTS, 2), axis=1)
        return result


def make_pods() -> list[Pod]:
    """Return forty pods: twelve deployments, and one of each trouble."""
    rng = np.random.default_rng(3)

    def make(
        namespace: str, name: str, owner: tuple[str, str], first: int = 0, end: int = SAMPLES,
        reset: int | None = None, size: float = 100.0,
    ) -> Pod:  # fmt: skip
        cores = 0.2 * rng.lognormal(0.0, 0.3, SAMPLES)
        memory = np.rint(size * MIB * rng.lognormal(0.0, 0.05, SAMPLES))
        return Pod(namespace, name, owner, cores, memory, first, end, reset)

    pods = [
        make(f"team-{n % 3}", f"app-{n}-r-{pod}", ("ReplicaSet", f"app-{n}-r"))
        for n in range(11)
        for pod in range(3)
    ]
    return [
        *pods,
        make("team-0", "web-r1-a", ("ReplicaSet", "web-r1"), end=HALF),
        make("team-0", "web-r2-b", ("ReplicaSet", "web-r2"), first=HALF),  # replaced it
        make("data", "db-0", ("StatefulSet", "db"), reset=HALF + 1, size=200.0),
        make("jobs", "nightly-28460000-x", ("Job", "nightly-28460000"), first=100, end=140),
        make("jobs", "weekly-28461111-x", ("Job", "weekly-28461111"), first=300, end=340),
        make("jobs", "lonely", ("<none>", "<none>")),
        make("jobs", "proxy-n1", ("Node", "n1")),
    ]


def samples_of(pod: Pod) -> str:
    """Return what cAdvisor shows of a pod, with the sums that must not be counted."""
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    counter, lines = pod.counter(), []
    whole = f'namespace="{pod.namespace}",pod="{pod.name}"'
    for number in range(pod.first, pod.end):
        at = BEGIN_S + OFFSET_S + number * SCRAPE_S
        value, size = float(counter[number]), float(pod.memory_bytes[number])
        lines.append(
            f"{cpu}{{{pod.labels}}} {value!r} {at}\n{memory}{{{pod.labels}}} {size} {at}\n"
        )
        if pod.name.endswith("-0"):
            lines.append(f'{cpu}{{{whole},container=""}} {3 * value!r} {at}\n')
            lines.append(f'{memory}{{{whole},container="POD"}} {3 * size} {at}\n')
    return "".join(lines)


def owners(pods: Sequence[Pod]) -> list[str]:
    """Return what kube-state-metrics shows of controllers."""
    lines = []
    for pod in pods:
        kind, name = pod.owner
        who = f'namespace="{pod.namespace}",pod="{pod.name}"'
        lines.append(f'kube_pod_owner{{{who},owner_kind="{kind}",owner_name="{name}"}} 1')
        if kind == "ReplicaSet":
            reported = f'namespace="{pod.namespace}",replicaset="{name}"'
            above = f'owner_kind="Deployment",owner_name="{name.rpartition("-")[0]}"'
            lines.append(f"kube_replicaset_owner{{{reported},{above}}} 1")
    reported = 'namespace="jobs",job_name="nightly-28460000"'
    lines.append(f'kube_job_owner{{{reported},owner_kind="CronJob",owner_name="nightly"}} 1')
    return list(dict.fromkeys(lines))


def stated(pods: Sequence[Pod]) -> list[str]:
    """Return requests and limits; of two copies of kube-state-metrics, here and there."""
    requests, limits = (f"kube_pod_container_resource_{part}" for part in ("requests", "limits"))
    lines = []
    for pod in pods:
        for copy in ("a", "b") if pod.name.endswith("-0") else ("a",):
            reported = f'{pod.labels},instance="{copy}"'
            lines.append(f'{requests}{{{reported},resource="cpu",unit="core"}} 0.5')
            lines.append(f'{requests}{{{reported},resource="memory",unit="byte"}} {256 * MIB}')
        if pod.name == "db-0":
            lines.append(f'{limits}{{{pod.labels},resource="memory",unit="byte"}} {300 * MIB}')
    return lines


def cluster() -> list[str]:
    """Return kills, throttling, autoscalers, nodes, labels, heaps."""
    db = 'namespace="data",pod="db-0",container="app"'
    java = 'namespace="team-1",pod="app-1-r-0",container="app",area="heap"'
    hpa = 'namespace="team-2",horizontalpodautoscaler="scaler"'
    target = 'metric_name="cpu",metric_target_type="utilization"'
    scaled = 'scaletargetref_kind="Deployment",scaletargetref_name="app-2"'
    gone = "kube_pod_container_status_last_terminated_reason"
    nodes = [
        f'kube_node_status_allocatable{{node="{node}",resource="{name}"}} {amount}'
        for node, cpu in (("n1", 4), ("n2", 8), ("closed", 64))
        for name, amount in (("cpu", cpu), ("memory", 16 * 2**30), ("pods", 110))
    ]
    return [
        f'{gone}{{{db},reason="OOMKilled"}} 1',
        f"kube_horizontalpodautoscaler_spec_target_metric{{{hpa},{target}}} 60",
        f"kube_horizontalpodautoscaler_info{{{hpa},{scaled}}} 1",
        *nodes,
        'kube_node_spec_unschedulable{node="closed"} 1',
        'kube_pod_labels{namespace="data",pod="db-0",label_app_kubernetes_io_name="db"} 1',
        # G1: the old generation may take all of the heap, the others say that they have no bound.
        f'jvm_memory_max_bytes{{{java},id="G1 Old Gen"}} {1024 * MIB}',
        f'jvm_memory_max_bytes{{{java},id="G1 Eden Space"}} -1',
    ]


def counters() -> str:
    """Return what db-0 was throttled: 30 of 1000 periods in every scrape; killed twice."""
    db = 'namespace="data",pod="db-0",container="app"'
    lines = []
    for number in range(SAMPLES):
        at = BEGIN_S + OFFSET_S + number * SCRAPE_S
        lines.append(f"container_cpu_cfs_periods_total{{{db}}} {1e6 + 1000 * number} {at}\n")
        lines.append(
            f"container_cpu_cfs_throttled_periods_total{{{db}}} {1e5 + 30 * number} {at}\n"
        )
        killed = (number > 200) + (number > 400)
        lines.append(f"container_oom_events_total{{{db}}} {killed} {at}\n")
    return "".join(lines)


def text(pods: Sequence[Pod], *, with_state: bool = True) -> str:
    """Return the whole scene in the OpenMetrics text format."""
    usage = "".join(samples_of(pod) for pod in pods)
    if not with_state:
        return usage
    lasting = "".join(
        f"{line} {at}\n"
        for line in (*owners(pods), *stated(pods), *cluster())
        for at in (END_S - 400, END_S - 100)
    )
    return usage + counters() + lasting


@contextlib.contextmanager
def serve(folder: Path, *, with_state: bool = True) -> Iterator[str]:
    """Run a server that has the scene, and give its address."""
    prometheus_servers.load(folder / "data", text(make_pods(), with_state=with_state))
    with prometheus_servers.serve(folder / "data") as url:
        yield url
