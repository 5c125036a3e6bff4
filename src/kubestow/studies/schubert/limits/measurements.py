"""How full may this machine get before a task slows down? Measured in blocks (2.12, E10).

A block is one level of background load, held while the process under test repeats its task. Every
level is measured in several rounds, each in random order, so that drift of the machine is not
mistaken for an effect of the load; the thesis saw that its values depend on the time of
measurement. Finished blocks are stored on disk, and an interrupted study resumes with the next one.

Variants of the CPU part, as in the thesis: ``requests`` gives loads and task the weights of their
requests, ``limits`` also quotas. Both need control groups; where none can be created, only
``plain`` is measured, without groups. Requests of the loads are capped where they would no longer
fit next to the 900 mCPU of the task, while the loads themselves keep rising.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from kubestow.model.progress import Progress
from kubestow.studies.schubert.limits import cgroups, child_processes, machine_state, timed_tasks
from kubestow.workflows import comparing

CPU: Final = "cpu"
MEMORY: Final = "memory"
PLAIN: Final = "plain"
REQUESTS: Final = "requests"
LIMITS: Final = "limits"

FORMAT: Final = 1
GIB: Final = 2**30
TASK_CPU_M: Final = 900
"""Request of the process under test, measured by the thesis on an idle node."""

SAFE_SHARE: Final = 0.9
"""Maximum share of the memory available at the start that loads and task may take."""


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """Plan of the measurements.

    Attributes:
        cpu_levels: Background load in percent of all cores; the lowest must be 0.
        memory_levels: Memory held by the load in percent of the machine; the lowest must be 0.
        repeats: Measurements per level, over all rounds.
        rounds: Number of rounds, each with one block per level.
        pause_s: Pause between two measurements. The thesis waits 1 s; rounds in random order serve
            the same purpose in a third of the time.
        discarded: Measurements at the start of a block that are discarded.
        number: Number that the CPU task tests.
        task_bytes: Memory of the memory task.
        seed: Seed of the random order.
    """

    cpu_levels: tuple[float, ...] = (0, 20, 40, 60, 70, 80, 85, 90, 95, 98, 100)
    memory_levels: tuple[float, ...] = (0, 40, 60, 70, 80, 84.375, 87.5, 93.75)
    repeats: int = 60
    rounds: int = 2
    pause_s: float = 0.1
    discarded: int = 2
    number: int = timed_tasks.PRIME
    task_bytes: int = GIB
    seed: int = 1


@dataclass(frozen=True, slots=True)
class LoadBlock:
    """One level in one round."""

    kind: str
    variant: str
    level: float
    visit: int
    repeats: int

    @property
    def label(self) -> str:
        """Its name in progress reports and file names."""
        return f"{self.kind}-{self.variant}-{self.level:g}-{self.visit}"


class LimitRecord(msgspec.Struct, frozen=True):
    """A finished block.

    Attributes:
        key: Digest of everything it depends on.
        values: Seconds of every measurement, in order.
        load_reached: Share of all cores used by the loads, from their CPU time.
        busy: Busy share of all cores, from /proc/stat.
        held_bytes: Memory held by the loads.
        available_bytes: Memory available next to the loads, before the task.
        started: Start time in UTC.
    """

    key: str
    values: list[float]
    load_reached: float
    busy: float
    held_bytes: int
    available_bytes: int
    started: str


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine under test.

    Attributes:
        cores: Number of cores.
        total_bytes: Memory.
        available_bytes: Memory available at the start.
        parent: Where control groups can be created, or the reason why they cannot.
    """

    cores: int
    total_bytes: int
    available_bytes: int
    parent: cgroups.Parent | str

    @property
    def floor_bytes(self) -> int:
        """Memory that must always stay available."""
        return self.available_bytes - int(SAFE_SHARE * self.available_bytes)


def inspect_machine() -> Machine:
    """Return this machine."""
    return Machine(
        machine_state.cores(),
        machine_state.total_bytes(),
        machine_state.available_bytes(),
        cgroups.find_parent(),
    )


def cpu_variants(machine: Machine) -> tuple[str, ...]:
    """Return the variants of the CPU part that can be measured here."""
    return (PLAIN,) if isinstance(machine.parent, str) else (REQUESTS, LIMITS)


def is_safe(plan: MeasurementPlan, machine: Machine, level: float) -> bool:
    """Return whether this level of memory may be held next to the task."""
    needed = level / 100.0 * machine.total_bytes + plan.task_bytes
    return needed <= SAFE_SHARE * machine.available_bytes


def make_blocks(plan: MeasurementPlan, machine: Machine) -> list[LoadBlock]:
    """Return all blocks in the order of measurement: levels in random order in every round."""
    levels = [(CPU, v, level) for v in cpu_variants(machine) for level in plan.cpu_levels]
    levels += [
        (MEMORY, PLAIN, level) for level in plan.memory_levels if is_safe(plan, machine, level)
    ]
    rng = np.random.default_rng(plan.seed)
    # If repeats is not a multiple of rounds, the first rounds have one measurement more.
    counts = [len(range(visit, plan.repeats, plan.rounds)) for visit in range(plan.rounds)]
    return [
        LoadBlock(kind, variant, level, visit, counts[visit])
        for visit in range(plan.rounds)
        for kind, variant, level in (levels[i] for i in rng.permutation(len(levels)).tolist())
        if counts[visit]
    ]


def run_blocks(
    plan: MeasurementPlan, machine: Machine, folder: Path | None, progress: Progress
) -> list[tuple[LoadBlock, LimitRecord]]:
    """Measure all blocks one after another; those on disk are reused."""
    blocks = make_blocks(plan, machine)
    keys = [digest(plan, machine, block) for block in blocks]
    parts = [
        comparing.Part((block, key), key, f"{block.label}-{key[:8]}.json", block.label)
        for block, key in zip(blocks, keys, strict=True)
    ]

    def compute(task: tuple[LoadBlock, str]) -> bytes:
        return comparing.encode(measure(plan, machine, *task))

    records = comparing.run_parts(parts, folder, LimitRecord, compute, progress)
    return list(zip(blocks, records, strict=True))


def digest(plan: MeasurementPlan, machine: Machine, block: LoadBlock) -> str:
    """Return a fingerprint of everything a block depends on, with the size of the machine."""
    size = (machine.cores, machine.total_bytes)
    terms = (plan.pause_s, plan.discarded, plan.number, plan.task_bytes)
    return hashlib.sha256(repr((FORMAT, size, terms, block)).encode()).hexdigest()


def measure(plan: MeasurementPlan, machine: Machine, block: LoadBlock, key: str) -> LimitRecord:
    """Hold a level and time the task."""
    started = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    with contextlib.ExitStack() as stack:
        groups = _make_groups(stack, machine, block)
        server = stack.enter_context(child_processes.start_server())
        loads = stack.enter_context(child_processes.start_loads(make_orders(machine, block)))
        children = [child for child, _ in loads]
        if groups is not None:
            groups[0].add(server.pid)
            for child in children:
                groups[1].add(child.pid)
        available = machine_state.available_bytes()
        order = make_order(plan, block)
        for _ in range(plan.discarded):
            ask_safely(server, order, machine)
        meter = child_processes.start_meter([child.pid for child in children])
        values = list(_repeat(server, order, machine, block.repeats, plan.pause_s))
        reached, busy = meter.read(machine.cores)
        held = sum(state.get("held_bytes", 0) for _, state in loads)
    return LimitRecord(key, values, reached, busy, held, available, started)


def _make_groups(
    stack: contextlib.ExitStack, machine: Machine, block: LoadBlock
) -> tuple[cgroups.ControlGroup, cgroups.ControlGroup] | None:
    if block.variant == PLAIN or isinstance(machine.parent, str):
        return None
    task = stack.enter_context(cgroups.make(machine.parent, "task"))
    load = stack.enter_context(cgroups.make(machine.parent, "load"))
    requests = ((task, TASK_CPU_M), (load, load_request_m(machine.cores, block.level)))
    for group, cpu_m in requests:
        group.request(cpu_m)
        if block.variant == LIMITS:
            group.limit(cpu_m)
    return task, load


def load_request_m(cores: int, level: float) -> int:
    """Return the request of the loads: their load, capped to fit next to the task.

    >>> load_request_m(16, 50), load_request_m(16, 100)
    (8000, 15100)
    """
    return min(int(cores * 10 * level), cores * 1000 - TASK_CPU_M)


def make_orders(machine: Machine, block: LoadBlock) -> list[dict[str, Any]]:
    """Return the orders of the loads: one per core, or one that holds all memory."""
    if block.level == 0.0:
        return []
    if block.kind == CPU:
        return [{"load": CPU, "duty": block.level / 100.0}] * machine.cores
    size_bytes = int(block.level / 100.0 * machine.total_bytes)
    return [{"load": MEMORY, "bytes": size_bytes, "floor_bytes": machine.floor_bytes}]


def make_order(plan: MeasurementPlan, block: LoadBlock) -> dict[str, Any]:
    """Return the order for the process under test."""
    if block.kind == CPU:
        return {"task": CPU, "number": plan.number}
    return {"task": MEMORY, "bytes": plan.task_bytes, "period": timed_tasks.PERIOD}


def _repeat(
    server: child_processes.Child,
    order: dict[str, Any],
    machine: Machine,
    repeats: int,
    pause_s: float,
) -> Iterator[float]:
    for _ in range(repeats):
        seconds = ask_safely(server, order, machine)
        if seconds is not None:
            yield seconds
        time.sleep(pause_s)


def ask_safely(
    server: child_processes.Child, order: dict[str, Any], machine: Machine
) -> float | None:
    """Run the task and return its seconds; ``None`` if it would leave too little memory."""
    needed = order.get("bytes", 0)
    if needed and machine_state.available_bytes() - needed < machine.floor_bytes // 2:
        return None
    return float(server.ask(order)["seconds"])


def unsafe_levels(plan: MeasurementPlan, machine: Machine) -> Sequence[float]:
    """Return the levels of memory that are not measured."""
    return [level for level in plan.memory_levels if not is_safe(plan, machine, level)]
