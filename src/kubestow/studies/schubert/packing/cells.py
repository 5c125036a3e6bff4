"""Runs of many packing cells on several threads; finished cells are stored on disk.

Compiled code releases the interpreter lock, so threads are enough. A cell is one setting and the
heuristics that get its lists. Its file has the number of nodes of every list, so an interrupted
study resumes where it stopped, and any statistic can be computed later.
"""

import dataclasses
import hashlib
import pathlib
import threading
import time
from collections.abc import Sequence

import msgspec
import numpy as np

from kubestow.model import arrays
from kubestow.model.progress import Progress
from kubestow.policies.placing import packing
from kubestow.studies.schubert.packing import demands
from kubestow.workflows import comparing

FORMAT = 1
"""Raise it when generators or heuristics change, so that stored cells are not reused."""


@dataclasses.dataclass(frozen=True, slots=True)
class PackingTask:
    """One cell to run.

    Attributes:
        setting: Setting of the lists.
        heuristics: Names of the heuristics that get these lists.
        lists: Number of lists.
        seed: Seed of the study.
    """

    setting: demands.DemandSetting
    heuristics: tuple[str, ...]
    lists: int
    seed: int

    @property
    def placements(self) -> int:
        """Total number of items to place."""
        return self.setting.pods * self.lists * len(self.heuristics)

    @property
    def label(self) -> str:
        """Name of the cell in progress reports and file names."""
        shape = f"-{self.setting.shape:g}" if self.setting.shape else ""
        head = f"{self.setting.generator}{shape}-d{self.setting.dimensions}-a{self.setting.a:g}"
        return f"{head}-s{self.seed}"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PackingCell:
    """Nodes per list and heuristic, and CPU time per heuristic in seconds."""

    task: PackingTask
    counts: dict[str, arrays.Ints]
    seconds: dict[str, float]


class PackingRecord(msgspec.Struct, frozen=True):
    """A cell as stored on disk."""

    key: str
    counts: dict[str, list[int]]
    seconds: dict[str, float]


class StoppedError(Exception):
    """The study was stopped."""


def run_cells(
    tasks: Sequence[PackingTask],
    folder: pathlib.Path | None,
    jobs: int,
    progress: Progress,
) -> list[PackingCell]:
    """Run cells on ``jobs`` threads and return their results in the order of the tasks.

    Args:
        tasks: The cells.
        folder: Where finished cells are stored and reused; ``None`` stores nothing.
        jobs: Number of threads; results do not depend on it.
        progress: Called after every cell; done and total are placements.
    """
    packing.compile_heuristics()
    stop = threading.Event()
    # Largest cells first, so that no thread is still busy with one at the end.
    order = sorted(range(len(tasks)), key=lambda index: -tasks[index].placements)
    parts = [make_part(tasks[index]) for index in order]
    try:
        records = comparing.run_parts(
            parts,
            folder,
            PackingRecord,
            lambda task: compute(task, stop),
            progress,
            engine=comparing.run_threads,
            jobs=jobs,
        )
    finally:
        stop.set()
    by_index = dict(zip(order, records, strict=True))
    return [make_result(task, by_index[index]) for index, task in enumerate(tasks)]


def make_part(task: PackingTask) -> comparing.Part[PackingTask]:
    """Return a cell as a resumable part of a study."""
    key = digest(task)
    return comparing.Part(task, key, f"{task.label}-{key[:8]}.json", task.label, task.placements)


def compute(task: PackingTask, stop: threading.Event) -> bytes:
    """Run one cell and return its record as JSON.

    Raises:
        StoppedError: If the study was stopped.
    """
    counts: dict[str, list[int]] = {name: [] for name in task.heuristics}
    seconds = dict.fromkeys(task.heuristics, 0.0)
    for lists in demands.draw_chunks(task.setting, task.lists, task.seed):
        for name in task.heuristics:
            if stop.is_set():
                raise StoppedError
            # CPU time of this thread, so that other work on the machine does not count.
            start = time.thread_time()
            nodes = packing.count_nodes(lists, packing.HEURISTICS.get(name))
            seconds[name] += time.thread_time() - start
            counts[name] += nodes.tolist()
    return comparing.encode(PackingRecord(digest(task), counts, seconds))


def make_result(task: PackingTask, record: PackingRecord) -> PackingCell:
    """Convert a record to arrays."""
    counts = {name: np.array(record.counts[name], dtype=np.int64) for name in task.heuristics}
    return PackingCell(task, counts, record.seconds)


def digest(task: PackingTask) -> str:
    """Return a fingerprint of everything the numbers of a cell depend on."""
    rules = [
        (chosen.rule, dataclasses.asdict(chosen.parameters))
        for chosen in map(packing.HEURISTICS.get, task.heuristics)
    ]
    text = repr((FORMAT, demands.CHUNK, dataclasses.astuple(task), rules))
    return hashlib.sha256(text.encode()).hexdigest()


def timings(results: Sequence[PackingCell]) -> dict[str, object]:
    """Return placements and CPU seconds per heuristic and in total.

    They are separate from results, which must not depend on the machine.
    """
    placed: dict[str, int] = {}
    spent: dict[str, float] = {}
    for result in results:
        for name, seconds in result.seconds.items():
            items = result.task.setting.pods * result.task.lists
            placed[name] = placed.get(name, 0) + items
            spent[name] = spent.get(name, 0.0) + seconds
    total = sum(spent.values())
    return {
        "placements": sum(placed.values()),
        "processor_seconds": round(total, 3),
        "placements_per_second_and_core": round(sum(placed.values()) / max(total, 1e-9)),
        "by_heuristic": {
            name: round(placed[name] / max(spent[name], 1e-9)) for name in sorted(placed)
        },
    }
