"""Cool-downs of theses/003 (L710): after growing do not grow, after shrinking do not shrink."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Cooldowns:
    """When replicas last went up, and when they last went down; ``None`` if never."""

    up_s: float | None = None
    down_s: float | None = None

    def blocks(self, change: int, now_s: float, up_s: float, down_s: float) -> bool:
        """Tell whether a change has to wait.

        >>> Cooldowns(up_s=0.0).blocks(+1, 179.0, 180.0, 300.0)
        True
        >>> Cooldowns(up_s=0.0).blocks(+1, 180.0, 180.0, 300.0)
        False
        """
        last_s, wait_s = (self.up_s, up_s) if change > 0 else (self.down_s, down_s)
        return change != 0 and last_s is not None and now_s - last_s < wait_s

    def note(self, change: int, now_s: float) -> Cooldowns:
        """Return the cool-downs after a change."""
        if change > 0:
            return replace(self, up_s=now_s)
        return replace(self, down_s=now_s) if change < 0 else self
