"""The life cycle of a pod: created, bound, starting, ready, possibly OOM-killed, removed.

Times are those of Kubernetes: a crashed container is restarted at once the first time, then after
10 s, 20 s and so on up to 300 s; the back-off is reset after it has run for ten minutes
(``pkg/kubelet``). A terminating pod receives no requests and is removed after its grace period. On
a failed node nobody can confirm that a pod has stopped. Most controllers do not wait for that; a
StatefulSet does, because two pods of one identity must never run.
"""

from __future__ import annotations

import dataclasses
import math

from kubestow.model import pods, requests, resources
from kubestow.simulation import kernel, usage
from kubestow.simulation import scenarios as spec
from kubestow.simulation.usage import NONE, RUNNING, SERVING, STARTING
from kubestow.simulation.world import cgroups, claims, templates
from kubestow.simulation.world import world as world_world
from kubestow.simulation.world.actors import LiveNode, LivePod, LiveWorkload, NodePhase, Phase
from kubestow.simulation.world.world import World

BACK_OFF_FIRST_S, BACK_OFF_MOST_S, BACK_OFF_RESET_S = 10.0, 300.0, 600.0
# Job controller: DefaultJobPodFailureBackOff, MaxJobPodFailureBackOff (job_controller.go).
RETRY_FIRST_S, RETRY_MOST_S = 10.0, 600.0
LONG_AGO_S = -86400.0  # initial pods are a day old


def create_pod(
    world: World, workload: LiveWorkload, name: str, pod_spec: pods.PodSpec, created_s: float
) -> LivePod:
    """Create a pod of a workload, not bound yet."""
    pod = pods.Pod(
        name=name,
        spec=pod_spec,
        namespace=workload.spec.namespace,
        labels=templates.labels_of(workload.spec, workload.name),
        owner=templates.owner_of(workload.spec, workload.name),
        created=created_s,
    )
    pod = claims.with_volumes(world, workload, pod)
    number = workload.made
    workload.made += 1
    live = LivePod(
        workload=workload,
        pod=pod,
        number=number,
        created_s=created_s,
        stream=kernel.stream_key(workload.stream, "pod", number),
        requests=counted_replicas(pod_spec),
        changed_s=created_s,
    )
    workload.pods[name] = live
    workload.version += 1
    now_s = world.now_s
    workload.existing.add(now_s, 1)
    workload.pending.add(now_s, 1)
    _reserve(world, live, 1)
    world.ledger.note(now_s, "created", live.key)
    world.notify(world_world.CREATED, live)
    return live


def counted_replicas(pod_spec: pods.PodSpec) -> tuple[int, int]:
    """Return the requests of a pod: millicores and bytes."""
    amounts = resources.amounts(requests.pod_requests(pods.Pod("", pod_spec)))
    return amounts.get(resources.CPU, 0), amounts.get(resources.MEMORY, 0)


def _reserve(world: World, live: LivePod, sign: int) -> None:
    cpu_m, memory = live.requests
    live.workload.reserved_cpu_m.add(world.now_s, sign * cpu_m)
    live.workload.reserved_memory.add(world.now_s, sign * memory)


def bind_pod(world: World, live: LivePod, node: LiveNode, *, warm: bool = False) -> None:
    """Bind a pod to a node and start it; a warm pod is ready at once."""
    live.workload.version += 1
    now_s = world.now_s
    live.pod = dataclasses.replace(live.pod, node_name=node.name)
    world.place(live.pod, node)
    live.node, live.bound_s, live.phase = node, now_s, Phase.STARTING
    node.pods[live.key] = live
    live.workload.pending.add(now_s, -1)
    live.container_rows = tuple(_start_containers(world, live, node))
    world.ledger.note(now_s, "bound", live.key, node.name)
    world.notify(world_world.BOUND, live)
    if warm:
        for row in live.container_rows:
            world.containers.rows["since_s"][row] = LONG_AGO_S
        _become_ready(world, live)
    else:
        _await_ready(world, live)
    if node.phase is NodePhase.FAILED:  # not noticed yet
        lose(world, live)


def _start_containers(world: World, live: LivePod, node: LiveNode) -> list[int]:
    workload = live.workload
    rows = []
    plans = templates.containers_of(workload.spec)
    for index, (plan, container) in enumerate(zip(plans, live.pod.spec.containers, strict=True)):
        usage = plan.usage or spec.ScenarioUsage()
        startup = workload.spec.pod.startup
        main = index == 0
        rows.append(
            world.containers.add(
                node=node.number,
                workload=workload.number,
                service=workload.service if main else NONE,
                stream=kernel.stream_key(live.stream, "use", index),
                **world.container_signals.get((workload.number, index), {}),
                **_allowances(container),
                alone_s=_alone_s(workload, container) if main else 0.0,
                parallel=_parallel(workload, container),
                cache_target=float(usage.cache or 0),
                leak=float(usage.leak or 0) / 3600.0,
                startup_cpu=float(startup.cpu or 0),
                startup_memory=float(startup.memory or 0) if main else 0.0,
                **(_work(live) if main else {}),
                since_s=world.now_s,
            )
        )
    service = workload.spec.service
    if service is not None and service.model == spec.REQUESTS:
        world.containers.rows["play"][rows[0]] = world.plays.add(world.containers.top)
    for row in rows:
        world.pod_of_container[row] = live
        world.containers.start(RUNNING, row, world.now_s)
        world.containers.start(STARTING, row, world.now_s)
    return rows


def _allowances(container: pods.Container) -> dict[str, float]:
    """Return CPU weight and limits of a container."""
    cpu = container.requests.get(resources.CPU)
    cpu_limit = container.limits.get(resources.CPU)
    memory_limit = container.limits.get(resources.MEMORY)
    return {
        "cpu_weight": float(cgroups.cpu_weight(cpu.milli() if cpu else 0)),
        "cpu_limit": cpu_limit.milli() / 1000.0 if cpu_limit else math.inf,
        "memory_limit": float(memory_limit.value()) if memory_limit else math.inf,
    }


def _parallel(workload: LiveWorkload, container: pods.Container) -> float:
    """Return the cores a container can use at once for requests."""
    service = workload.spec.service
    if service is not None and service.parallelism is not None:
        return service.parallelism
    limit = container.limits.get(resources.CPU)
    return max(limit.milli() / 1000.0, 1.0) if limit else math.inf


def _alone_s(workload: LiveWorkload, container: pods.Container) -> float:
    service = workload.spec.service
    if service is None:
        return 0.0
    limit = container.limits.get(resources.CPU)
    cores = limit.milli() / 1000.0 if limit else math.inf
    return usage.mean_response_alone(
        service.cpu_per_request / service.threads, cores / service.threads, service.variability
    )


def _work(live: LivePod) -> dict[str, float]:
    work = live.workload.spec.work
    if work is None or not work.cpu_seconds:
        return {}
    mean = work.cpu_seconds
    amount = kernel.lognormal(live.stream, 0, mean, mean * work.variability)
    return {"work_cores": work.cores, "work_left": amount}


def _await_ready(world: World, live: LivePod) -> None:
    startup = live.workload.spec.pod.startup
    time_s = kernel.lognormal(live.stream, 1 + live.restarts, startup.mean, startup.jitter)
    live.ticket = world.clock.after(time_s, lambda: _become_ready(world, live), world_world.LIFE)


def _become_ready(world: World, live: LivePod) -> None:
    live.workload.version += 1
    now_s = world.now_s
    live.phase, live.ready_s, live.ticket = Phase.READY, now_s, None
    if live.first_ready_s is not None or live.created_s >= 0.0:  # else ready since its creation
        live.changed_s = now_s
    live.workload.ready.add(now_s, 1)
    if live.first_ready_s is None:
        live.first_ready_s = now_s
        if live.created_s >= 0.0:
            live.workload.startup_times_s.append(now_s - live.created_s)
    for row in live.container_rows:
        world.containers.stop(STARTING, row, now_s, world.step_start_s)
    if live.workload.service != NONE:
        world.containers.start(SERVING, live.container_rows[0], now_s)
    world.ledger.note(now_s, "ready", live.key)
    work = live.workload.spec.work
    if work is not None and work.duration:
        time_s = kernel.lognormal(live.stream, 0, work.duration, work.duration * work.variability)
        live.ends_s = now_s + time_s
        if not work.cpu_seconds:
            live.ticket = world.clock.after(
                time_s, lambda: finish_pod(world, live), world_world.LIFE
            )
    world.notify(world_world.READY, live)


def _leave_service(world: World, live: LivePod) -> None:
    """Stop sending requests to a pod."""
    live.workload.version += 1
    if live.ready_s is not None:
        live.workload.ready.add(world.now_s, -1)
        live.ready_s = None
        live.changed_s = world.now_s
    if live.container_rows:
        world.containers.stop(SERVING, live.container_rows[0], world.now_s, world.step_start_s)


def crash_container(world: World, live: LivePod, row: int) -> None:
    """OOM-kill a container: it restarts in its pod, but the pod of a job fails.

    Pods of pipelines have restartPolicy Never (Tekton, Argo Workflows, GitLab, Jenkins), and Jobs
    are modelled the same way: the run starts over in a new pod, which is admitted anew.
    """
    live.workload.version += 1
    world.ledger.count("oom_kills")
    world.ledger.note(world.now_s, "oom-killed", live.key)
    world.notify(world_world.KILLED, (live, row))
    if live.workload.spec.kind in spec.RUNS:
        _fail(world, live)
    else:
        _crash(world, live, row)


def _fail(world: World, live: LivePod) -> None:
    """Remove a failed pod of a job; its controller replaces it after a back-off."""
    workload = live.workload
    workload.failures += 1
    wait_s = RETRY_FIRST_S * 2 ** (workload.failures - 1)
    workload.retry_s = world.now_s + min(wait_s, RETRY_MOST_S)
    world.ledger.count("failed_runs")
    world.ledger.note(world.now_s, "failed", live.key)
    live.call_off()
    live.phase = Phase.TERMINATING
    world.notify(world_world.STOPPING, live)
    _vanish(world, live)


def _crash(world: World, live: LivePod, row: int) -> None:
    """Restart a container after a back-off; the pod stays on its node."""
    now_s = world.now_s
    live.restarts += 1
    world.ledger.count("restarts")
    _leave_service(world, live)
    if row == live.container_rows[0]:  # others serve no requests
        _drop_requests(world, live)
    if live.ticket is not None:
        live.ticket.cancel()
    for watch in (RUNNING, STARTING):
        world.containers.stop(watch, row, now_s, world.step_start_s)
    live.phase = Phase.CRASHED
    wait_s = _back_off(live, row, now_s - float(world.containers.rows["since_s"][row]))
    live.down[row] = world.clock.after(wait_s, lambda: _restart(world, live, row), world_world.LIFE)


def _back_off(live: LivePod, row: int, ran_s: float) -> float:
    """Return the back-off of a container."""
    wait_s = live.back_offs_s.get(row, 0.0) if ran_s <= BACK_OFF_RESET_S else 0.0
    live.back_offs_s[row] = min(max(2 * wait_s, BACK_OFF_FIRST_S), BACK_OFF_MOST_S)
    return wait_s


def _restart(world: World, live: LivePod, row: int) -> None:
    """Restart a container; the pod starts when no container is down."""
    live.workload.version += 1
    rows = world.containers.rows
    rows["since_s"][row] = world.now_s
    world.containers.start(RUNNING, row, world.now_s)
    world.containers.start(STARTING, row, world.now_s)
    if rows["work_cores"][row] > 0.0:  # a job starts over
        rows["work_left"][row] = _work(live)["work_left"]
    del live.down[row]
    if not live.down:
        live.phase = Phase.STARTING
        _await_ready(world, live)


def _drop_requests(world: World, live: LivePod) -> None:
    """Drop the open requests of a pod."""
    service = live.workload.service
    if live.container_rows and service != NONE:
        inside = world.containers.rows["in_system"]
        world.services["all_dropped"][service] += inside[live.container_rows[0]]
        inside[live.container_rows[0]] = 0.0
        played = int(world.containers.rows["play"][live.container_rows[0]])
        if played != NONE:
            world.plays.reset(played)


def finish_pod(world: World, live: LivePod) -> None:
    """Finish a pod of a job."""
    live.workload.done += 1
    live.workload.failures = 0
    world.ledger.note(world.now_s, "finished", live.key)
    _vanish(world, live)


def stop_pod(world: World, live: LivePod, reason: str) -> None:
    """Terminate a pod; it is removed after its grace period, at once if it never started."""
    live.workload.version += 1
    if not live.stays:
        return
    live.call_off()
    world.ledger.note(world.now_s, reason, live.key)
    if live.node is None:
        live.workload.pending.add(world.now_s, -1)
        live.phase = Phase.TERMINATING
        world.notify(world_world.STOPPING, live)
        _vanish(world, live)
        return
    lost = live.phase is Phase.LOST
    _leave_service(world, live)
    world.remove(live.pod, live.node)
    live.pod = dataclasses.replace(live.pod, terminating=True)
    world.place(live.pod, live.node)
    live.phase = Phase.TERMINATING
    if not lost or live.workload.spec.kind != spec.STATEFUL_SET:
        grace_s = 0.0 if lost else live.workload.spec.pod.grace
        live.ticket = world.clock.after(grace_s, lambda: _vanish(world, live), world_world.LIFE)
    world.notify(world_world.STOPPING, live)


def evict(world: World, live: LivePod) -> None:
    """Evict a pod under memory pressure, without grace period."""
    live.workload.version += 1
    world.ledger.count("evictions")
    world.ledger.note(world.now_s, "evicted", live.key)
    live.call_off()
    if live.stays:
        live.phase = Phase.TERMINATING
        world.notify(world_world.STOPPING, live)
    _vanish(world, live)


def discard(world: World, live: LivePod) -> None:
    """Remove a pod together with its node."""
    live.call_off()
    if live.stays:
        live.phase = Phase.TERMINATING
        world.notify(world_world.STOPPING, live)
    _vanish(world, live)


def lose(world: World, live: LivePod) -> None:
    """Disconnect a pod: its node has failed, but it still receives requests."""
    live.workload.version += 1
    live.call_off()
    _drop_requests(world, live)
    for row in live.container_rows:
        world.containers.rows["lost"][row] = True
        for watch in (RUNNING, STARTING):
            world.containers.stop(watch, row, world.now_s, world.step_start_s)
    if live.phase is not Phase.TERMINATING:
        live.phase = Phase.LOST


def forget_lost(world: World, live: LivePod) -> None:
    """Stop sending requests to a pod on a failed node."""
    _leave_service(world, live)


def recover(world: World, live: LivePod) -> None:
    """Restart the containers of a pod whose node has recovered."""
    for row in live.container_rows:
        world.containers.rows["lost"][row] = False
    if live.phase is Phase.LOST:
        _leave_service(world, live)
        live.down = dict.fromkeys(live.container_rows)
        live.restarts += 1
        world.ledger.count("restarts")
        for row in live.container_rows:
            _restart(world, live, row)
    else:
        _vanish(world, live)


def _vanish(world: World, live: LivePod) -> None:
    """Remove a pod."""
    live.workload.version += 1
    now_s = world.now_s
    _leave_service(world, live)
    if live.node is not None:
        world.remove(live.pod, live.node)
        del live.node.pods[live.key]
    for row in live.container_rows:
        for watch in (RUNNING, STARTING):
            world.containers.stop(watch, row, now_s, world.step_start_s)
        world.containers.leave(row)
    del live.workload.pods[live.pod.name]
    live.workload.existing.add(now_s, -1)
    _reserve(world, live, -1)
    live.phase, live.ticket = Phase.GONE, None
    claims.drop_volumes(world, live)
    world.ledger.note(now_s, "gone", live.key)
    world.notify(world_world.GONE, live)


def resize(world: World, live: LivePod, pod_spec: pods.PodSpec) -> None:
    """Resize a running pod in place; the caller has checked that it fits."""
    live.workload.version += 1
    if live.node is None:
        return
    world.remove(live.pod, live.node)
    _reserve(world, live, -1)
    live.pod = dataclasses.replace(live.pod, spec=pod_spec)
    live.requests = counted_replicas(pod_spec)
    _reserve(world, live, 1)
    world.place(live.pod, live.node)
    rows = world.containers.rows
    for index, (row, container) in enumerate(
        zip(live.container_rows, pod_spec.containers, strict=True)
    ):
        for name, value in _allowances(container).items():
            rows[name][row] = value
        if index == 0:
            rows["alone_s"][row] = _alone_s(live.workload, container)
        rows["parallel"][row] = _parallel(live.workload, container)
    world.ledger.count("resizes")
    world.ledger.note(world.now_s, "resized", live.key)
    world.notify(world_world.RESIZED, live)


def write_limits(
    world: World, live: LivePod, index: int, limits: resources.ResourceList | None = None
) -> None:
    """Write limits to the cgroup of one container, without changing the pod's specification.

    Args:
        world: The world.
        live: The pod.
        index: Which container.
        limits: The limits; default: those of the pod.
    """
    live.workload.version += 1
    container = live.pod.spec.containers[index]
    if limits is not None:
        container = dataclasses.replace(container, limits=limits)
    rows, row = world.containers.rows, live.container_rows[index]
    allowed = _allowances(container)
    rows["cpu_limit"][row] = allowed["cpu_limit"]
    rows["memory_limit"][row] = allowed["memory_limit"]
    if index == 0:
        rows["alone_s"][row] = _alone_s(live.workload, container)
