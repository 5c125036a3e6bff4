"""The measures of a run that reports show and comparisons test, with titles and units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

LOWER, HIGHER, NEITHER = "lower", "higher", ""

_NOT_MEASURED = ("seed", "policies", "workloads", "simulated_seconds")


@dataclass(frozen=True, slots=True)
class RunMeasure:
    """A number of a run's outcome.

    Attributes:
        path: Its path in the outcome, e.g. ``response.p95``.
        title: Its name in tables.
        unit: Unit that is shown.
        factor: Converts the outcome's unit to the shown one.
        digits: Decimals that are shown.
        better: Whether ``lower`` or ``higher`` is better, if that can be said.
        short: Title for narrow columns.
    """

    path: str
    title: str
    unit: str = ""
    factor: float = 1.0
    digits: int = 1
    better: str = LOWER
    short: str = ""

    def text(self, value: float | None, *, signed: bool = False) -> str:
        """Return a value with its unit, for tables."""
        number = self.number(value, signed=signed)
        return f"{number} {self.unit}" if self.unit and value is not None else number

    def number(self, value: float | None, *, signed: bool = False) -> str:
        """Return a value in the shown unit, without it."""
        if value is None:
            return "-"
        shown = value * self.factor
        if 0.0 < abs(shown) < 0.5 * 10.0**-self.digits and not signed:
            return f"<{10.0**-self.digits:.{self.digits}f}"
        digits = 0 if self.factor == 1.0 and shown.is_integer() else self.digits
        return f"{shown:{'+' if signed else ''},.{digits}f}"

    def alike(self, one: float, other: float) -> bool:
        """Return whether two values are the same in the decimals that are shown."""
        return round(one * self.factor, self.digits) == round(other * self.factor, self.digits)

    def interval(self, mean: float, half_width: float | None) -> str:
        """Return mean and half-width; without the latter if no shown digit is uncertain."""
        number = self.number(mean)
        if half_width is None or half_width * self.factor < 0.5 * 10.0**-self.digits:
            return number
        return f"{number} ± {self.number(half_width)}"


def _millis(path: str, title: str, short: str = "") -> RunMeasure:
    return RunMeasure(path, title, "ms", 1000.0, short=short)


def _percent(
    path: str, title: str, *, better: str = LOWER, digits: int = 1, short: str = ""
) -> RunMeasure:
    return RunMeasure(path, title, "%", 100.0, digits, better, short)


COST = RunMeasure("cost", "cost")
NODE_HOURS = RunMeasure("node_hours", "node hours")
POD_HOURS = RunMeasure("pod_hours", "pod hours")
ERU_CPU = _percent("eru.cpu", "CPU used of requested", better=HIGHER, short="CPU used")
RESPONSE = _millis("response.mean", "response, mean", "mean")
RESPONSE_P95 = _millis("response.p95", "response, p95", "p95")
LATE = _percent("slo_violation_ratio", "late or lost", digits=3)
PENDING = RunMeasure("pending_pod_seconds", "pods pending", "pod min", 1 / 60, short="pending")
OOM_KILLS = RunMeasure("oom_kills", "OOM kills")
EVICTIONS = RunMeasure("evictions", "evictions")
SCALE_ACTIONS = RunMeasure("scale_actions", "scale actions", better=NEITHER, short="scalings")

MEASURES = (
    COST,
    NODE_HOURS,
    POD_HOURS,
    RunMeasure("nodes_peak", "peak nodes"),
    ERU_CPU,
    _percent("eru.memory", "memory used of requested", better=HIGHER),
    _percent("requested.cpu", "CPU requested of allocatable", better=NEITHER),
    _percent("utilization.cpu", "CPU used of capacity", better=HIGHER),
    RESPONSE,
    RESPONSE_P95,
    _millis("response.p99", "response, p99"),
    LATE,
    PENDING,
    _percent("throttled_ratio", "CPU throttled", digits=2),
    OOM_KILLS,
    EVICTIONS,
    RunMeasure("restarts", "restarts"),
    RunMeasure("preemptions", "preemptions"),
    SCALE_ACTIONS,
    RunMeasure("churn_per_hour", "pods created and deleted", "per h", better=NEITHER),
    RunMeasure("imbalance.cpu", "imbalance of CPU", digits=3),
    RunMeasure("imbalance.memory", "imbalance of memory", digits=3),
    _percent("fragmentation", "free capacity stranded"),
)
"""The measures that are tested; the correction counts every one as a hypothesis."""


HEADLINE = (
    COST,
    NODE_HOURS,
    POD_HOURS,
    ERU_CPU,
    RESPONSE,
    RESPONSE_P95,
    LATE,
    PENDING,
    OOM_KILLS,
    EVICTIONS,
    SCALE_ACTIONS,
)
"""The measures that tables show."""


def in_currency(listed: Iterable[RunMeasure], currency: str) -> tuple[RunMeasure, ...]:
    """Return measures with the currency as the unit of the cost.

    >>> [measure.unit for measure in in_currency((COST, POD_HOURS), "USD")]
    ['USD', '']
    """
    return tuple(
        replace(measure, unit=currency, digits=2) if currency and measure == COST else measure
        for measure in listed
    )


def flatten(outcome: Mapping[str, Any], prefix: str = "") -> dict[str, float | None]:
    """Return every number of an outcome by its path, without those of single workloads.

    >>> flatten({"seed": 1, "eru": {"cpu": 0.5, "memory": None}, "oom_kills": 2})
    {'eru.cpu': 0.5, 'eru.memory': None, 'oom_kills': 2.0}
    """
    return dict(_numbers(outcome, prefix))


def _numbers(outcome: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | None]]:
    for name, value in outcome.items():
        if isinstance(value, Mapping):
            if name not in _NOT_MEASURED:
                yield from _numbers(value, f"{prefix}{name}.")
        elif value is None or (isinstance(value, int | float) and name not in _NOT_MEASURED):
            yield f"{prefix}{name}", None if value is None else float(value)


def value_of(outcome: Mapping[str, Any], path: str) -> float | None:
    """Return one number of an outcome; ``None`` where it has none."""
    here: Any = outcome
    for step in path.split("."):
        here = here.get(step) if isinstance(here, Mapping) else None
    return None if here is None else float(here)
