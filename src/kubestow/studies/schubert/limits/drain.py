"""Before and after a packing profile, with a rolling drain of all nodes (Schubert 2023, 6.1, E12).

The thesis changed the scheduler of a real cluster, restarted every node and compared usage and
requests of nodes. Here the cluster is a scenario (``data/sap_like_cluster.yaml``); its small pods
are drawn per seed, and every profile gets the same pods in the same order. A run uses one profile
from its start: "before" is the hour before the drain, "after" the time since the last node came
back. Finished runs are stored on disk. ``drain_rows`` turns runs into verdicts, ``page`` into
figures.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl
import yaml

import kubestow
from kubestow.model.progress import Progress
from kubestow.simulation import outcomes, run, timelines
from kubestow.simulation import scenarios as workload_spec
from kubestow.workflows import comparing, scenario_files

FORMAT: Final = 1
"""Raise it when the record of a run changes, so that stored runs are not reused."""

SPREADING: Final = "kube-scheduler"
RECOMMENDED: Final = "schubert-85"
FIXED: Final = "schubert-85-fixed"
PROFILES: Final = (
    SPREADING,
    RECOMMENDED,
    FIXED,
    "most-allocated",
    "most-allocated-balanced",
)
BIG: Final = "big"

GIB: Final = 2**30
_SERVICES: Final = "services"
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class DrainSetting:
    """Load besides DaemonSets and big pods, and how nodes are drained.

    Attributes:
        name: Its name in rows and figures.
        services: Number of Deployments of small pods, three pods each on average.
        parallel: Nodes out of service at a time.
        hold: How long a drained node stays out of service.
    """

    name: str
    services: int
    parallel: int = 1
    hold: str = "5m"


LIGHT: Final = DrainSetting("light", 75)
"""A lightly loaded cluster, as the thesis calls its own (6.1)."""

USUAL: Final = DrainSetting("usual", 150)
"""Half of the memory of the cluster requested, as in the clusters of the thesis (3.2)."""

MAINTENANCE: Final = DrainSetting("maintenance", 150, parallel=4, hold="15m")
"""The same pods; a tenth of the nodes is out of service at a time."""


@dataclass(frozen=True, slots=True)
class DrainTask:
    """One run: a profile, a setting and a seed, on a scenario."""

    profile: str
    setting: DrainSetting
    seed: int
    scenario: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Its name in progress reports and file names."""
        return f"{self.profile}-{self.setting.name}-s{self.seed}"


class NodeRow(msgspec.Struct, frozen=True):
    """A node before or after: means over the samples of that time.

    Attributes:
        requested_cpu: Cores requested by its pods.
        requested_memory: GiB requested.
        used_cpu: Cores in use.
        used_memory: GiB in use.
        others: Pods that do not belong to a DaemonSet, at the last sample.
        big: Big pods, at the last sample.
    """

    requested_cpu: float
    requested_memory: float
    used_cpu: float
    used_memory: float
    others: int
    big: int


class DrainRun(msgspec.Struct, frozen=True):
    """The stored record of a run.

    Attributes:
        key: Digest of everything the numbers depend on.
        profile: Name of the scheduler profile.
        setting: Name of the setting.
        seed: The seed.
        before: Nodes before the drain.
        after: Nodes since the last one came back.
        pending_s: Pod-seconds that big pods were pending.
        longest_s: Longest pending time of one big pod.
        unschedulable: How often no node was feasible for a big pod.
        pending_all_s: Pod-seconds that all pods were pending.
        pending_at_end: Pods pending at the end of the run.
        drained: Nodes that were drained and uncordoned.
        drain_hours: Hours from the first cordon to the last uncordon.
    """

    key: str
    profile: str
    setting: str
    seed: int
    before: list[NodeRow]
    after: list[NodeRow]
    pending_s: float
    longest_s: float
    unschedulable: int
    pending_all_s: float
    pending_at_end: int
    drained: int
    drain_hours: float


def read_scenario() -> dict[str, Any]:
    """Return the bundled scenario, without small pods."""
    text = (
        resources.files("kubestow.studies.schubert.limits")
        .joinpath("data/sap_like_cluster.yaml")
        .read_text()
    )
    value: dict[str, Any] = yaml.safe_load(text)
    return value


def make_tasks(
    settings: Sequence[DrainSetting], profiles: Sequence[str], seeds: Sequence[int]
) -> list[DrainTask]:
    """Return every run, setting by setting, profile by profile."""
    scenario = read_scenario()
    return [
        DrainTask(profile, setting, seed, scenario)
        for setting in settings
        for profile in profiles
        for seed in seeds
    ]


def run_tasks(
    tasks: Sequence[DrainTask], folder: Path | None, progress: Progress
) -> list[DrainRun]:
    """Return all runs in the order of the tasks; those on disk are reused."""
    parts = [make_part(task) for task in tasks]
    return comparing.run_parts(parts, folder, DrainRun, compute, progress)


def make_part(task: DrainTask) -> comparing.Part[DrainTask]:
    """Return a run as a part of the study."""
    key = digest(fill_scenario(task), task.seed)
    return comparing.Part(task, key, f"{task.label}-{key[:8]}.json", task.label)


def compute(task: DrainTask) -> bytes:
    """Run a task and return its record as JSON."""
    value = fill_scenario(task)
    loaded = scenario_files.read(value, task.label, Path())
    outcome = run.run(loaded.scenario, loaded.inputs, task.seed)
    return comparing.encode(summarise(task, digest(value, task.seed), outcome))


def digest(value: Mapping[str, Any], seed: int) -> str:
    """Return a fingerprint of everything a run depends on."""
    everything = (FORMAT, kubestow.__version__, seed, value)
    return hashlib.sha256(msgspec.json.encode(everything, order="sorted")).hexdigest()


def fill_scenario(task: DrainTask) -> dict[str, Any]:
    """Return the scenario of a run: profile and drain set, small pods drawn."""
    value = copy.deepcopy(dict(task.scenario))
    spec = value["spec"]
    spec["policies"]["placing"]["profile"] = task.profile
    for plan in spec["maintenance"]:
        plan |= {"parallel": task.setting.parallel, "hold": task.setting.hold}
    rng = np.random.default_rng([task.seed, task.setting.services])
    drawn = [draw_service(rng, number) for number in range(task.setting.services)]
    kept = [one for one in spec["workloads"] if one["name"] != _SERVICES]
    # Initial pods are placed in this order, big ones first; otherwise spreading leaves some big
    # pods without a node even before the drain.
    spec["workloads"] = kept + [drawn[index] for index in rng.permutation(len(drawn))]
    return value


def draw_service(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """Return a Deployment of small pods.

    One to five replicas; CPU requests log-normal around 100 mCPU, memory around 1.2 GiB, both
    clipped; usage is well below requests, CPU more so than memory, as in the clusters of the
    thesis.
    """
    cpu_m = int(np.clip(100.0 * math.exp(0.6 * rng.standard_normal()), 20, 500))
    memory_mi = int(np.clip(1200.0 * math.exp(0.7 * rng.standard_normal()), 128, 6144))
    cpu_share, memory_share = rng.uniform(0.1, 0.5), rng.uniform(0.4, 0.9)
    usage = {
        "cpu": {"mean": f"{max(1, int(cpu_m * cpu_share))}m", "noise": 0.3},
        "memory": {"mean": f"{int(memory_mi * memory_share)}Mi", "noise": 0.05},
    }
    return {
        "name": f"service-{number}",
        "replicas": int(rng.integers(1, 6)),
        "disruption": {"maxUnavailable": 1},
        "pod": {
            "requests": {"cpu": f"{cpu_m}m", "memory": f"{memory_mi}Mi"},
            "startup": {"mean": "20s", "jitter": "5s"},
            "usage": usage,
        },
    }


def summarise(task: DrainTask, key: str, outcome: outcomes.RunOutcome) -> DrainRun:
    """Return the record of a finished run."""
    events = timelines.events(outcome)
    spec = outcome.spec
    start_s = spec.maintenance[0].start
    returned_s = events.filter(pl.col("event") == "uncordoned")["time_s"].to_list()
    end_s = max(returned_s, default=math.inf)
    nodes = timelines.nodes(outcome).with_columns(
        others=pl.col("pods") - sum(w.kind == workload_spec.DAEMON_SET for w in spec.workloads)
    )
    waits = waits_of(events, f"default/{BIG}-", outcome.measures["simulated_seconds"])
    fitted_not = (pl.col("event") == "unschedulable") & pl.col("subject").str.starts_with(
        f"default/{BIG}-"
    )
    return DrainRun(
        key=key,
        profile=task.profile,
        setting=task.setting.name,
        seed=task.seed,
        before=node_rows(nodes.filter(pl.col("time_s") < start_s), homes_of(events, start_s)),
        after=node_rows(nodes.filter(pl.col("time_s") > end_s), homes_of(events, math.inf)),
        pending_s=round(sum(waits), _DIGITS),
        longest_s=round(max(waits, default=0.0), _DIGITS),
        unschedulable=len(events.filter(fitted_not)["subject"]),
        pending_all_s=round(float(outcome.measures["pending_pod_seconds"]), _DIGITS),
        pending_at_end=int(outcome.measures["pending_pods_at_end"]),
        drained=len(returned_s),
        drain_hours=round((end_s - start_s) / 3600.0, _DIGITS) if returned_s else 0.0,
    )


def waits_of(events: pl.DataFrame, prefix: str, end_s: float) -> list[float]:
    """Return the pending time of each pod with a name prefix, for every time it was created."""
    made: dict[str, float] = {}
    waits = []
    for time_s, event, subject in events.select("time_s", "event", "subject").iter_rows():
        if not subject.startswith(prefix) or time_s < 0.0:
            continue
        if event == "created":
            made[subject] = time_s
        elif event == "bound" and subject in made:
            waits.append(time_s - made.pop(subject))
    return waits + [end_s - since_s for since_s in made.values()]


def homes_of(events: pl.DataFrame, until_s: float) -> dict[str, int]:
    """Return the number of big pods on every node at a time."""
    homes: dict[str, str | None] = {}
    for time_s, event, subject, node in events.iter_rows():
        if time_s < until_s and subject.startswith(f"default/{BIG}-"):
            if event == "bound":
                homes[subject] = node
            elif event == "gone":
                homes[subject] = None
    counts: dict[str, int] = {}
    for node in filter(None, homes.values()):
        counts[node] = counts.get(node, 0) + 1
    return counts


def node_rows(samples: pl.DataFrame, homes: Mapping[str, int]) -> list[NodeRow]:
    """Return the nodes with means over the samples, in the order of the cluster."""
    means = samples.group_by("node", maintain_order=True).agg(
        pl.col("requested_cpu", "used_cpu").mean(),
        (pl.col("requested_memory", "used_memory") / GIB).mean(),
        pl.col("others").last(),
    )
    return [
        NodeRow(
            requested_cpu=round(row["requested_cpu"], _DIGITS),
            requested_memory=round(row["requested_memory"], _DIGITS),
            used_cpu=round(row["used_cpu"], _DIGITS),
            used_memory=round(row["used_memory"], _DIGITS),
            others=row["others"],
            big=homes.get(row["node"], 0),
        )
        for row in means.iter_rows(named=True)
    ]
