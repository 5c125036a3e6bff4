"""Speed of placing with the default profile, relative to plain NumPy.

The cluster has zones, taints, labels and images; pods come from templates with node affinity,
tolerations, services (default spreading) and five resources. ``templates`` pods share
specifications, as replicas do; in ``distinct`` every pod has its own requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kubestow.model import clusters, nodes, pods, quantities, selectors, states, workloads
from kubestow.policies.placing.batch import scheduler
from kubestow.policies.placing.profiles import profile, versions
from kubestow.policies.placing.scheduler import scheduler as scheduler_scheduler

GPU, LINK = "example.com/gpu", "kubestow.io/network"
FEATURES = versions.scheduler_features()
FIVE = tuple(
    profile.ResourceWeight(name) for name in ("cpu", "memory", "ephemeral-storage", GPU, LINK)
)
# The stock profile, with all five resources in both resource scores.
PROFILE = profile.Profile(fit=profile.FitArgs(resources=FIVE), balanced=profile.BalancedArgs(FIVE))


def _q(text: str) -> quantities.Quantity:
    return quantities.parse(text)


def make_nodes(count: int) -> tuple[nodes.Node, ...]:
    """Return nodes in eight zones; some are tainted, all have a few images."""
    made = []
    for i in range(count):
        name = f"node-{i:05d}"
        marks = (nodes.Taint("dedicated", "batch", nodes.PREFER_NO_SCHEDULE),)
        made.append(
            nodes.Node(
                name=name,
                allocatable={
                    "cpu": _q("32"),
                    "memory": _q("128Gi"),
                    "ephemeral-storage": _q("500Gi"),
                    "pods": _q("250"),
                    GPU: _q("4" if i % 10 == 0 else "0"),
                    LINK: _q("10G"),
                },
                labels={
                    nodes.HOSTNAME_LABEL: name,
                    nodes.ZONE_LABEL: f"zone-{i % 8}",
                    "disk": "ssd" if i % 3 else "hdd",
                },
                taints=marks if i % 7 == 0 else (),
                images=(nodes.NodeImage((f"app-{i % 5}:latest",), 300_000_000),),
            )
        )
    return tuple(made)


def make_spec(kind: int, cpu_m: int, memory_mib: int) -> pods.PodSpec:
    """Return one of a few kinds of specifications."""
    container = pods.Container(
        name="c",
        image=f"app-{kind % 7}",
        requests={
            "cpu": quantities.millis(cpu_m),
            "memory": quantities.units(memory_mib * 2**20),
            "ephemeral-storage": _q("1Gi"),
            LINK: _q("10M"),
        },
    )
    ssd = selectors.NodeSelectorTerm((selectors.Requirement("disk", selectors.IN, ("ssd",)),))
    return pods.PodSpec(
        containers=(container,),
        preferred_nodes=(selectors.PreferredTerm(10, ssd),) if kind % 2 else (),
        tolerations=(nodes.Toleration("dedicated", "Exists"),) if kind % 3 == 0 else (),
    )


def make_case(
    node_count: int, pod_count: int, templates: int
) -> tuple[clusters.Cluster, list[pods.Pod]]:
    """Return a cluster and pods from templates; pods of a template share a service."""
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 40, size=(templates, 2)) * (50, 64)
    specs = [make_spec(k, int(cpu), int(mem)) for k, (cpu, mem) in enumerate(sizes)]
    apps = min(templates, 200)
    cluster = clusters.Cluster(
        nodes=make_nodes(node_count),
        services=tuple(
            workloads.Service(f"app-{k}", "default", {"app": f"app-{k}"}) for k in range(apps)
        ),
    )
    order = rng.permutation(pod_count) % templates
    made = [
        pods.Pod(name=f"pod-{i}", spec=specs[k], labels={"app": f"app-{k % apps}"})
        for i, k in enumerate(order)
    ]
    return cluster, made


def per_second(count: int, work: Callable[[], object]) -> float:
    """Return ``count`` divided by the CPU time of a function, per second."""
    start = time.process_time()
    work()
    return count / (time.process_time() - start)


def compiled_rate(node_count: int, pod_count: int, templates: int) -> float:
    """Return placements per second of the compiled batch, tables included."""
    cluster, made = make_case(node_count, pod_count, templates)
    state = states.from_cluster(cluster)
    return per_second(pod_count, lambda: scheduler.place_batch(made, state, PROFILE, FEATURES))


def plain_rate(node_count: int, pod_count: int, templates: int) -> float:
    """Return placements per second of the plain NumPy scheduler."""
    cluster, made = make_case(node_count, pod_count, templates)
    state = states.from_cluster(cluster)
    scheduler = scheduler_scheduler.Scheduler(PROFILE, FEATURES)

    def work() -> None:
        for pod in made:
            placement = scheduler.place(pod, state)
            if placement.row is not None:
                state.place(pod, placement.row)

    return per_second(pod_count, work)


def measure() -> dict[str, float]:
    """Return rates (for people) and ratios to plain NumPy (for the floors)."""
    compiled_rate(50, 50, 5)  # compiles
    figures = {}
    for count in (1000, 5000):
        plain = plain_rate(count, 60, 20)
        for label, templates, pod_count in (("templates", 200, 20_000), ("distinct", 5000, 5000)):
            rate = compiled_rate(count, pod_count, templates)
            figures[f"{label}_{count}_nodes_pods_per_second"] = rate
            figures[f"{label}_{count}_nodes_ratio_to_numpy"] = rate / plain
    return figures
