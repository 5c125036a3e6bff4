"""Texts of amounts, for the sentence that every recommendation carries."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kubestow.model.arrays import Floats

_MIB = 2.0**20


def cores(amount: float) -> str:
    """Return an amount of CPU in millicores.

    >>> cores(0.1234), cores(float("nan"))
    ('123m', 'unknown')
    """
    return f"{1000.0 * amount:.0f}m" if math.isfinite(amount) else "unknown"


def mebibytes(amount: float) -> str:
    """Return an amount of memory in MiB.

    >>> mebibytes(2.0**30)
    '1024 MiB'
    """
    return f"{amount / _MIB:.0f} MiB" if math.isfinite(amount) else "unknown"


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.05), percent(0.005)
    ('5 %', '0.5 %')
    """
    return f"{100.0 * share:.3g} %"


def by_container(cpu_cores: Floats, memory_bytes: Floats, cpu: str, memory: str) -> tuple[str, ...]:
    """Return one sentence per container on two amounts.

    Args:
        cpu_cores: An amount of CPU by container; NaN if unknown.
        memory_bytes: An amount of memory by container; NaN if unknown.
        cpu: What the amount of CPU is; ``{}`` stands for it.
        memory: What the amount of memory is.
    """
    pairs: Iterable[tuple[float, float]] = zip(
        cpu_cores.tolist(), memory_bytes.tolist(), strict=True
    )
    return tuple(_join(one, two, cpu, memory) for one, two in pairs)


def _join(cpu_cores: float, memory_bytes: float, cpu: str, memory: str) -> str:
    parts = []
    if math.isfinite(cpu_cores):
        parts.append(f"CPU: {cpu.format(cores(cpu_cores))}")
    if math.isfinite(memory_bytes):
        parts.append(f"memory: {memory.format(mebibytes(memory_bytes))}")
    return ", ".join(parts) or "nothing was measured"
