"""Usage for tests of estimators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kubestow.model.usage import Usage, arrange

NAN = float("nan")


def usage(
    cpu: Sequence[Sequence[float]],
    memory: Sequence[Sequence[float]] | None = None,
    owners: Sequence[int] | None = None,
    killed: Sequence[float] | None = None,
    step_s: float = 60.0,
) -> Usage:
    """Return usage; by default memory is 1000 times the CPU and each row a container."""
    values = np.array(cpu, dtype=np.float64)
    of = np.arange(len(values)) if owners is None else np.array(owners, dtype=np.int64)
    names = [f"ns/Deployment/w/c{place}" for place in range(int(of.max(initial=-1)) + 1)]
    return arrange(
        names,
        of,
        step_s,
        1e6,
        values,
        values * 1000.0 if memory is None else np.array(memory, dtype=np.float64),
        None if killed is None else np.array(killed, dtype=np.float64),
    )
