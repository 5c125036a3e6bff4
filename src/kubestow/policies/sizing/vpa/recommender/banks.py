"""The histograms of ``vpa``, for thousands of containers and hundreds of workloads.

A ``VpaBank`` is a struct of arrays: one *row* per workload and container name (upstream's
aggregate), one *slot* per container instance. Its host owns it, and it **changes in place**
(``add``, ``kill``, ``place``, ``release``, ``expire``). Samples are added in order, so the numbers
equal upstream's bit for bit. Where upstream would keep several aggregates for one workload, because
the labels of its pods have changed, there is one row here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model import errors
from kubestow.model.arrays import Floats, Ints
from kubestow.policies.sizing.vpa.recommender import (
    amounts,
    bank_kernels,
    floats,
    instants,
)
from kubestow.policies.sizing.vpa.recommender.bank_kernels import (
    UNSET,
    Bank,
    BankRules,
    Rows,
    Slots,
)
from kubestow.policies.sizing.vpa.recommender.buckets import (
    CPU_BUCKETS,
    MEMORY_BUCKETS,
    ExponentialBuckets,
)
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters, floors, gathering

_LONGEST_S: Final = 365 * 86_400.0  # a hundred half-lives must fit into 64 bits of nanoseconds


@dataclass(frozen=True, slots=True)
class Estimate:
    """Target and bounds of one container in millicores and bytes."""

    target_cpu_m: int
    target_memory_bytes: int
    lower_cpu_m: int
    lower_memory_bytes: int
    upper_cpu_m: int
    upper_memory_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class EstimateTable:
    """Estimates of many rows; columns are target, lower and upper.

    Attributes:
        cpu_m: Millicores.
        memory_bytes: Bytes.
    """

    cpu_m: Ints
    memory_bytes: Ints

    def row(self, position: int) -> Estimate:
        """Return one row."""
        cpu, memory = self.cpu_m[position].tolist(), self.memory_bytes[position].tolist()
        return Estimate(cpu[0], memory[0], cpu[1], memory[1], cpu[2], memory[2])


class VpaBank:
    """Histories of many workloads.

    Attributes:
        parameters: The common parameters.
        siblings: For every row, the number of containers of its pod with a recommendation.
    """

    def __init__(self, siblings: Sequence[int], parameters: VpaParameters | None = None) -> None:
        """Make rows without samples.

        Args:
            siblings: For every row, the number of containers of its pod with a recommendation.
            parameters: The parameters; settings per container have no effect here.

        Raises:
            InputError: If a half-life is longer than a year.
        """
        self.parameters = parameters or VpaParameters()
        self.siblings: Ints = np.asarray(siblings, dtype=np.int64)
        rules = gathering(self.parameters)
        self._rules = BankRules(
            rules.interval_ns,
            rules.oom_ratio,
            amounts.from_float(rules.oom_min_bytes),
            rules.features.constant_weights,
            rules.features.oom_age_by_sample,
        )
        self._window_ns = rules.window_ns
        self._cpu = _bank(len(siblings), CPU_BUCKETS, self.parameters.cpu_half_life_s)
        self._memory = _bank(len(siblings), MEMORY_BUCKETS, self.parameters.memory_half_life_s)
        self._rows = Rows(*(np.full(len(siblings), start) for start in (UNSET, UNSET, 0)))
        self._slots = _slots(0)
        self._free: list[int] = []
        self._least = _floors(self.parameters, self.siblings)

    def place(self, rows: Sequence[int]) -> Ints:
        """Allocate slots for new containers of rows."""
        missing = len(rows) - len(self._free)
        if missing > 0:
            self._grow(max(missing, len(self._slots.row)))
        taken = [self._free.pop() for _ in rows]
        where: Ints = np.asarray(taken, dtype=np.int64)
        for values, blank in zip(self._slots, _slots(1), strict=True):
            values[where] = blank[0]
        self._slots.row[where] = rows
        return where

    def release(self, slots: Sequence[int]) -> None:
        """Free the slots of deleted containers; their samples stay in the rows."""
        self._free.extend(int(slot) for slot in slots)

    def _grow(self, count: int) -> None:
        size = len(self._slots.row)
        more = _slots(count)
        self._slots = Slots(*(np.concatenate(pair) for pair in zip(self._slots, more, strict=True)))
        self._free.extend(range(size + count - 1, size - 1, -1))

    def add(
        self,
        slots: Ints,
        times_s: float | Floats,
        cpu_cores: Floats,
        memory_bytes: Floats,
        request_cores: Floats | None = None,
    ) -> None:
        """Add a batch of samples, in this order.

        Args:
            slots: The container of each sample.
            times_s: Time of each sample, or one for all.
            cpu_cores: CPU usage; NaN if not measured.
            memory_bytes: Working set; NaN if not measured.
            request_cores: The container's CPU request; used before 1.4 only.
        """
        times = _nanoseconds(times_s, slots.size)
        requested = np.zeros_like(slots) if request_cores is None else _milli(request_cores)
        bank_kernels.add_cpu_samples(
            self._cpu,
            self._rows,
            self._slots,
            self._rules.constant_weights,
            slots,
            times,
            _milli(cpu_cores),
            requested,
        )
        used = np.where(np.isnan(memory_bytes), -1.0, np.ceil(memory_bytes)).astype(np.int64)
        bank_kernels.add_memory_samples(self._memory, self._slots, self._rules, slots, times, used)

    def kill(self, slots: Ints, times_s: float | Floats, request_bytes: Ints) -> None:
        """Add a batch of OOM kills, in this order.

        Args:
            slots: The container of each kill.
            times_s: Time of each kill, or one for all.
            request_bytes: Memory request of the container.
        """
        times = _nanoseconds(times_s, slots.size)
        bank_kernels.add_ooms(self._memory, self._slots, self._rules, slots, times, request_bytes)

    def recommend(self, rows: Ints | None = None) -> EstimateTable:
        """Return the estimates of some rows, or of all."""
        which = np.arange(len(self.siblings)) if rows is None else rows
        p = self.parameters
        tables = []
        for bank, unit, interval_s, shares, least in (
            (
                self._cpu,
                1000.0,
                p.cpu_confidence_s,
                (p.target_cpu_percentile, p.lower_cpu_percentile, p.upper_cpu_percentile),
                self._least[0],
            ),
            (
                self._memory,
                1.0,
                p.memory_confidence_s,
                (p.target_memory_percentile, p.lower_memory_percentile, p.upper_memory_percentile),
                self._least[1],
            ),
        ):
            interval = instants.from_seconds(interval_s)
            table = np.empty((which.size, 3), dtype=np.int64)
            bank_kernels.estimate_rows(
                bank,
                self._rows,
                which,
                np.array(shares),
                unit,
                p.margin,
                interval,
                instants.minutes(interval),
                least[which],
                table,
            )
            tables.append(table)
        return EstimateTable(*tables)

    def expire(self, now_s: float) -> Ints:
        """Clear rows whose last sample is too old and return them; upstream checks every hour."""
        now = instants.from_seconds(now_s)
        old = (self._rows.number > 0) & (self._rows.last <= now - self._window_ns)
        gone: Ints = np.flatnonzero(old)
        for bank in (self._cpu, self._memory):
            bank.weights[gone] = bank.total[gone, np.newaxis] = 0.0
            bank.first[gone], bank.last[gone] = bank.starts.size - 1, 0
            bank.reference[gone] = UNSET
        self._rows.first[gone] = self._rows.last[gone] = UNSET
        self._rows.number[gone] = 0
        return gone


def _bank(rows: int, buckets: ExponentialBuckets, half_life_s: float) -> Bank:
    if half_life_s > _LONGEST_S:
        raise errors.InputError("vpa.half_life_s", f"{half_life_s}: must be <= {_LONGEST_S}")
    half_life = instants.from_seconds(half_life_s)
    return Bank(
        np.zeros((rows, buckets.count)),
        np.zeros(rows),
        np.full(rows, buckets.count - 1),
        np.zeros(rows, dtype=np.int64),
        np.full(rows, UNSET),
        np.array(buckets.starts),
        buckets.first,
        buckets.ratio,
        floats.log(buckets.ratio),
        half_life,
        -instants.UNSET_NS % half_life,
    )


def _slots(count: int) -> Slots:
    return Slots(*(np.full(count, blank) for blank in (0, UNSET, UNSET, UNSET, 0, 0)))


def _floors(parameters: VpaParameters, siblings: Ints) -> tuple[Ints, Ints]:
    pairs = [floors(parameters, int(count)) for count in siblings]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def _nanoseconds(times_s: float | Floats, size: int) -> Ints:
    """Return instants in nanoseconds, as ``instants.from_seconds`` does."""
    if isinstance(times_s, float):
        return np.full(size, instants.from_seconds(times_s))
    seconds = np.floor(times_s)
    rest = np.rint((times_s - seconds) * 1e9).astype(np.int64)
    result: Ints = seconds.astype(np.int64) * instants.SECOND_NS + rest
    return result


def _milli(cores: Floats) -> Ints:
    """Return measured cores in millicores; -1 for NaN.

    The metrics API has nanocores, which are rounded up to millicores.
    """
    nano = np.rint(np.where(np.isnan(cores), 0.0, cores) * 1e9).astype(np.int64)
    return np.where(np.isnan(cores), -1, -(-nano // 1_000_000))
