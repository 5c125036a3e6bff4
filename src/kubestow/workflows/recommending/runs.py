"""Which usage consists of runs: every finished pod of a Job or a pipeline is one run.

Days say nothing about a pod that ends after ten minutes. Runs of one workload are known by its
kind; generated names of Jobs and runs of pipelines are cut to what they have in common, and the
labels of pipelines decide where they are known. A workload with the label ``kubestow.io/id`` may be
anything, so its pods must have ended. A pod that was measured in the last step may still run, and
counts only if it has lasted as long as half of the finished ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kubestow.model import identities, pods, usage
from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.model.keys import ContainerKey, WorkloadKey, guess_job_owner
from kubestow.model.pods import OwnerReference
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, judging, window_statistics

KINDS: Final = frozenset(
    {"Job", "CronJob", "Tekton", "Argo", "GitLab", "Jenkins", "TaskRun", "PipelineRun", "Workflow"}
)
ID: Final = "id"
# Runs in a back-test; an upper bound of 7.4 % without a miss.
TESTED: Final = 30
_DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, eq=False)
class FixedAmounts:
    """An estimator that always gives the same, such as the current requests."""

    amounts: estimates.Estimates
    name: str = "keep"

    def estimate(self, table: Usage) -> estimates.Estimates:
        """Return the fixed amounts."""
        del table
        return self.amounts


def name_workload(key: WorkloadKey, labels: Mapping[str, str]) -> WorkloadKey:
    """Return the workload that the runs of a generated name belong to.

    >>> str(name_workload(WorkloadKey("ci", "Job", "tests-x7k2p"), {}))
    'ci/Job/tests'
    >>> str(name_workload(WorkloadKey("ci", "Job", "tests-29000000"), {}))
    'ci/CronJob/tests'
    """
    kind, name = guess_job_owner(key.name) if key.kind == "Job" else (key.kind, key.name)
    if kind not in KINDS and not labels:
        return key
    owner = OwnerReference("", kind, name)
    known = identities.restore_labels(labels)
    pod = pods.Pod("", pods.PodSpec(()), namespace=key.namespace, labels=known, owner=owner)
    identity = identities.identify(pod)
    # A bare pod has no other workload; a Deployment stays one that can be patched.
    labelled = kind == "Pod" and identity.how is identities.How.LABEL
    if kind not in KINDS and not labelled and identity.how is not identities.How.PIPELINE:
        return key
    return WorkloadKey(key.namespace, identity.kind, identity.name)


def group(table: Usage, inventory: usage.Inventory) -> tuple[Usage, usage.Inventory]:
    """Return usage and inventory whose runs of one workload belong together."""
    named = {
        one.of: name_workload(one.of, inventory.labels.get(one.of, {}))
        for one in (*table.keys, *inventory.containers)
    }
    if all(old == new for old, new in named.items()):
        return table, inventory
    moved = [ContainerKey(*named[key.of], key.container) for key in table.keys]
    containers = tuple(sorted(set(moved)))
    places = {key: place for place, key in enumerate(containers)}
    to = np.array([places[key] for key in moved], dtype=np.int64)
    owners = to[table.owners]
    order = np.argsort(owners, kind="stable")
    count = len(containers)
    joined = replace(
        table,
        containers=containers,
        owners=owners[order],
        cpu_cores=table.cpu_cores[order],
        memory_bytes=table.memory_bytes[order],
        throttled=_largest(table.throttled, to, count),
        oom_kills=np.bincount(to, table.oom_kills, count).astype(np.float64),
        oom_killed_bytes=np.nan_to_num(_largest(table.oom_killed_bytes, to, count)),
        cache_bytes=None if table.cache_bytes is None else _largest(table.cache_bytes, to, count),
        pods=tuple(table.pods[row] for row in order) if table.pods else (),
    )
    facts = {
        ContainerKey(*named[key.of], key.container): known
        for key, known in inventory.containers.items()
    }
    return joined, replace(
        inventory,
        containers=facts,
        replicas={named.get(key, key): count for key, count in inventory.replicas.items()},
        labels={named.get(key, key): known for key, known in inventory.labels.items()},
        autoscaled={named.get(key, key): known for key, known in inventory.autoscaled.items()},
    )


def _largest(values: Floats, to: Ints, count: int) -> Floats:
    largest = np.full(count, np.nan)
    np.fmax.at(largest, to, values)
    return largest


def find(table: Usage) -> tuple[Ints, Bools]:
    """Return the containers whose usage consists of runs, and which rows are finished runs."""
    known = ~(np.isnan(table.cpu_cores) & np.isnan(table.memory_bytes))
    if not table.points:
        return np.empty(0, dtype=np.int64), np.zeros(len(known), dtype=np.bool_)
    finished: Bools = known.any(axis=1) & ~known[:, -1]
    length = known.sum(axis=1)
    short = length * table.step_s < _DAY_S
    count = len(table.containers)
    for place in np.unique(table.owners[finished]).tolist():
        rows_of = table.owners == place
        usual = np.median(length[rows_of & finished])
        finished |= rows_of & known[:, -1] & (length >= usual)
    ended = np.bincount(table.owners[finished & short], minlength=count)
    rows = np.bincount(table.owners, minlength=count)
    by_workload: dict[WorkloadKey, bool] = {}
    for place, key in enumerate(table.keys):
        is_run = ended[place] > 0 and (
            key.kind in KINDS or (key.kind == ID and 2 * ended[place] > rows[place] > 1)
        )
        by_workload[key.of] = by_workload.get(key.of, False) or bool(is_run)
    chosen = [by_workload[key.of] for key in table.keys]
    return np.flatnonzero(chosen), finished


def split(table: Usage) -> tuple[Usage, Usage]:
    """Return the usage of pods that stay, and that of finished runs."""
    places, finished = find(table)
    others = np.setdiff1d(np.arange(len(table.containers)), places)
    selected = np.isin(table.owners, places)
    of_runs = table.pick(places)
    kept = finished[selected]
    names = tuple(np.array(of_runs.pods, dtype=object)[kept]) if of_runs.pods else ()
    return table.pick(others), replace(
        of_runs,
        owners=of_runs.owners[kept],
        cpu_cores=of_runs.cpu_cores[kept],
        memory_bytes=of_runs.memory_bytes[kept],
        pods=names,
        runs=True,
    )


def note(table: Usage, of_runs: Usage) -> tuple[str, ...]:
    """Return a note on pods that are no whole runs."""
    places, finished = find(table)
    left = int(np.count_nonzero(np.isin(table.owners, places) & ~finished))
    if not len(places):
        return ()
    text = f"{len(of_runs.owners)} finished pods of {len(places)} containers count as runs"
    return (f"{text}; {left} that may still run do not" if left else text,)


def backtest(table: Usage, estimator: estimates.Estimator) -> judging.BacktestScores:
    """Estimate before each of the last runs, from the runs before it, and compare."""
    order, ranks, counts = _order(table)
    most = int(counts.max(initial=0))
    columns = range(max(most - TESTED, 1), most) if most else range(0)
    shape = (len(table.containers), len(columns))
    fields = {name: np.full(shape, np.nan) for name in judging.BacktestScores.__slots__}
    for column, back in enumerate(columns):
        # Counted from the last run, so that the newest runs of all containers are tested.
        ahead = counts[table.owners[order]] - most + back
        before, now = order[ranks < ahead], order[(ranks == ahead) & (ranks > 0)]
        if not len(now):
            continue
        answer = estimator.estimate(_rows(table, np.sort(before)))
        place = table.owners[now]
        cpu, memory = table.cpu_cores[now], table.memory_bytes[now]
        given = answer.cpu_cores[place]
        known = ~np.isnan(cpu)
        measured = np.maximum(known.sum(axis=1), 1)
        fields["cpu_cores"][place, column] = given
        fields["memory_bytes"][place, column] = answer.memory_bytes[place]
        fields["cpu_peak_cores"][place, column] = window_statistics.largest(cpu)
        fields["memory_peak_bytes"][place, column] = window_statistics.largest(memory)
        fields["cpu_mean_cores"][place, column] = np.where(known, cpu, 0.0).sum(axis=1) / measured
        over = (cpu > given[:, np.newaxis]).sum(axis=1) / measured
        fields["cpu_over"][place, column] = np.where(np.isnan(given), np.nan, over)
    return judging.BacktestScores(**fields)


def _order(table: Usage) -> tuple[Ints, Ints, Ints]:
    """Return rows by container and start, their numbers within it, and the numbers of runs."""
    known = ~(np.isnan(table.cpu_cores) & np.isnan(table.memory_bytes))
    order = np.lexsort((np.argmax(known, axis=1), table.owners)).astype(np.int64)
    sorted_owners = table.owners[order]
    ranks = np.arange(len(order)) - np.searchsorted(sorted_owners, sorted_owners)
    counts = np.bincount(table.owners, minlength=len(table.containers))
    return order, ranks.astype(np.int64), counts.astype(np.int64)


def _rows(table: Usage, rows: Ints) -> Usage:
    return replace(
        table,
        owners=table.owners[rows],
        cpu_cores=table.cpu_cores[rows],
        memory_bytes=table.memory_bytes[rows],
        oom_killed_bytes=np.zeros(len(table.containers)),  # kills are of unknown runs
        pods=(),
    )
