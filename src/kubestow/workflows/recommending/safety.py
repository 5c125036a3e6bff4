"""How safe recommendations are: headroom of memory, smallest requests, and what becomes of limits.

The defaults are those of krr 1.8 (``--memory_buffer_percentage 15``, ``--mem-min 100``,
``--cpu-min 10``); the Vertical Pod Autoscaler adds 15 %, too (``recommendation-margin-fraction``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubestow.model import errors, quantities, resources
from kubestow.policies.sizing import guards

LIMITS: Final = "keep"
MEMORY_HEADROOM: Final = "15%"
MEMORY_MIN: Final = "100Mi"
CPU_MIN: Final = "10m"
# Rules for CPU and memory. ``ratio`` scales limits that exist, and sets no new ones.
_LIMITS: Final[Mapping[str, tuple[guards.LimitRule, guards.LimitRule]]] = {
    "keep": ("ratio", "ratio"),
    "match": ("ratio", "request"),
    "none": ("none", "none"),
}
_MOST_HEADROOM: Final = 10.0


def make_guards(
    limits: str | None = None,
    memory_headroom: str | float | None = None,
    memory_min: str | None = None,
    cpu_min: str | None = None,
) -> guards.GuardParameters:
    """Return the guards of recommendations; ``None`` stands for the default.

    Args:
        limits: ``keep`` scales limits that exist with their requests and sets no new ones,
            ``match`` sets memory limits equal to requests, ``none`` removes limits.
        memory_headroom: Memory requests are at least the largest usage plus this share, e.g.
            ``15%`` or 0.15.
        memory_min: Smallest memory request.
        cpu_min: Smallest CPU request.

    Raises:
        InputError: If a value cannot be read or is out of range.
    """
    rule = LIMITS if limits is None else limits
    if rule not in _LIMITS:
        raise errors.InputError("limits", f"{rule!r}: expected {', '.join(_LIMITS)}")
    cpu, memory = _LIMITS[rule]
    return guards.GuardParameters(
        cpu_floor_m=_amount("cpu_min", resources.CPU, CPU_MIN if cpu_min is None else cpu_min),
        memory_floor_bytes=_amount(
            "memory_min", resources.MEMORY, MEMORY_MIN if memory_min is None else memory_min
        ),
        memory_headroom=_share(MEMORY_HEADROOM if memory_headroom is None else memory_headroom),
        cpu_limit=cpu,
        memory_limit=memory,
    )


def _share(given: str | float) -> float:
    text = str(given).strip()
    try:
        share = float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= _MOST_HEADROOM:
        raise errors.InputError(
            "memory_headroom", f"{text!r}: expected a share such as 15% or 0.15, at most 1000%"
        )
    return share


def _amount(place: str, resource: str, text: str) -> int:
    example = "10m" if resource == resources.CPU else "100Mi"
    try:
        quantity = quantities.parse(text)
    except ValueError as err:
        raise errors.InputError(place, f"{text!r}: expected a quantity such as {example}") from err
    if quantity.nano < 0:
        raise errors.InputError(place, f"{text!r}: must not be negative")
    return resources.amount(resource, quantity)
