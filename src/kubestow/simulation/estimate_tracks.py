"""How the answers of an estimator did: each is judged by what was seen until the next.

That is the back-test of ``estimate_loops``; no answer has seen what it is judged by.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kubestow.policies.sizing import arenas, batches, estimates

Floats = NDArray[np.float64]
_OVER, _PEAK, _MEMORY = 5, 3, 1  # places in what ``arenas.judge`` returns
_OFTEN = 0.05  # CPU that holds for 95 % of the samples holds


@dataclass(slots=True, eq=False)
class Track:
    """Answers of one estimator about some containers.

    Attributes:
        containers: How many.
        asked_s: When the last answer was given.
    """

    containers: int
    asked_s: float = 0.0
    _last: estimates.Estimates | None = None
    _judged: Floats = field(init=False)
    _over: Floats = field(init=False)
    _missed: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._judged, self._over, self._missed = np.zeros((3, self.containers))

    def keep(self, found: estimates.Estimates, now_s: float) -> None:
        """Remember an answer until it can be judged."""
        self._last, self.asked_s = found, now_s

    def judge(
        self, news: batches.Batch, killed: NDArray[np.bool_] | None = None
    ) -> tuple[int, int, int]:
        """Put the last answer beside what came after it.

        Args:
            news: What was seen since.
            killed: Who was killed since: no sample shows the memory that killed it.

        Returns:
            How many containers were judged, and how many went beyond in CPU and in memory.
        """
        if self._last is None or not news.points or not len(news.owners):
            return 0, 0, 0
        found = arenas.judge(news, self._last)
        over, peak, memory = found[_OVER], found[_PEAK], found[_MEMORY]
        known = np.isfinite(over) & np.isfinite(peak) & np.isfinite(memory)
        self._judged += known
        self._over += np.where(known, over, 0.0)
        missed = known & (peak > memory)
        if killed is not None:
            missed |= known & killed
        self._missed += missed
        often = known & (over > _OFTEN)
        return int(known.sum()), int(often.sum()), int(missed.sum())

    def backtest(self, place: int) -> dict[str, float]:
        """Return how answers about one container did; nothing where none was judged.

        ``cpu_over`` is the mean share of CPU samples beyond the answer, ``memory_missed`` the share
        of answers that memory went beyond.
        """
        judged = float(self._judged[place])
        if not judged:
            return {}
        return {
            "judged": judged,
            "cpu_over": float(self._over[place]) / judged,
            "memory_missed": float(self._missed[place]) / judged,
        }
