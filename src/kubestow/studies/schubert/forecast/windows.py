"""Windows of public usage series as in Schubert 2023: 120 points and the next five.

Schubert 2023, E8 and E9 used two hours of one-minute data of an unpublished cluster. The series of
``usage_batches`` replace it; sets with a step of five minutes keep the number of points, so their
windows last ten hours. Windows of a series do not overlap, and the last one ends with the series. A
window counts if all its points were measured and its past is not constant, as in the thesis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.studies import usage_batches

Resource = Literal["cpu", "memory"]

PAST: Final = 120
AHEAD: Final = 5

MOST_WINDOWS: Final[Mapping[tuple[str, Resource], int]] = MappingProxyType(
    {
        ("google2011_vms", "memory"): 2,
        ("alibaba_genai2026", "memory"): 8,
        ("bitbrains_rnd", "memory"): 20,
        ("google2011_vms", "cpu"): 2,
        ("planetlab_cpu", "cpu"): 2,
        ("bitbrains_rnd", "cpu"): 20,
        ("crane_dsp", "cpu"): 40,
    }
)
"""Maximum number of windows per series, by set and resource."""


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Windows of one set and resource.

    Attributes:
        family: The set.
        resource: The resource.
        step_s: Time between two points in seconds.
        names: Names of the series.
        series: Index of the series of each window.
        places: Number of the window in its series, 0 for the latest.
        past: Known points, by window.
        real: Maximum of the next points, by window.
    """

    family: str
    resource: Resource
    step_s: float
    names: tuple[str, ...]
    series: Ints
    places: Ints
    past: Floats
    real: Floats

    def of_half(self, part: int) -> Windows:
        """Return the windows of one half of the series: 0 for tuning, 1 for reporting."""
        keep = np.array([usage_batches.half(name) == part for name in self.names], dtype=np.bool_)
        return self.where(keep[self.series])

    def where(self, kept: NDArray[np.bool_]) -> Windows:
        """Return some of the windows, with the same names."""
        return Windows(
            self.family, self.resource, self.step_s, self.names,
            self.series[kept], self.places[kept], self.past[kept], self.real[kept],
        )  # fmt: skip


def read(folder: Path, *, quick: bool) -> Iterator[Windows]:
    """Read all available sets, one set and resource at a time.

    Args:
        folder: Folder of public data.
        quick: Whether to use only a few series of each set.
    """
    for (family, resource), most in MOST_WINDOWS.items():
        if (folder / family).is_dir():
            windows = cut(family, resource, usage_batches.READERS[family](folder), most)
            yield windows.where(windows.series < 60) if quick else windows


def cut(family: str, resource: Resource, batch: Usage, most: int) -> Windows:
    """Cut the series of a set into windows; each container of the batch is one series."""
    values = batch.cpu_cores if resource == "cpu" else batch.memory_bytes
    if family == "crane_dsp":
        # Their unit is unknown; scaling to a median of one core makes sums meaningful.
        values = values / np.nanmedian(values, axis=1, keepdims=True)
    length = PAST + AHEAD
    series, places, blocks = [], [], []
    for place in range(min(most, values.shape[1] // length)):
        end = values.shape[1] - place * length
        block = values[:, end - length : end]
        past = block[:, :PAST]
        good = np.isfinite(block).all(axis=1) & (past.max(axis=1) > past.min(axis=1))
        series.append(np.flatnonzero(good))
        places.append(np.full(int(good.sum()), place, dtype=np.int64))
        blocks.append(block[good])
    whole = np.concatenate(blocks)
    return Windows(
        family, resource, batch.step_s, batch.names, np.concatenate(series),
        np.concatenate(places), np.ascontiguousarray(whole[:, :PAST]), whole[:, PAST:].max(axis=1),
    )  # fmt: skip
