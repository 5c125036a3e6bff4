"""What the recommendations come to, in one plain sentence computed from them.

Only suitable containers count as changed: the others keep what they request unless someone insists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubestow.policies.sizing.recommendations import Recommendation
from kubestow.workflows.recommending.totals import CPU, MEMORY

_UNITS: Final = {CPU: ("cores", 1000.0), MEMORY: ("GiB", float(2**30))}


def conclude_recommendations(recommendations: Sequence[Recommendation]) -> str:
    """Return how many containers request too much, too little or enough, and what is freed."""
    if not recommendations:
        return "No container is left to recommend anything for."
    changed = [one for one in recommendations if one.suitable]
    less = sum(_shrinks(one) for one in changed)
    parts = [_freed(changed, less, len(recommendations))]
    for name, what in ((MEMORY, "memory"), (CPU, "CPU")):
        if count := sum(_change(one, name) > 0 for one in changed):
            parts.append(f"{count} {_verb(count, 'need')} more {what}")
    if count := sum(_is_kept(one) for one in changed):
        parts.append(f"{count} {_verb(count, 'keep')} what {_pronoun(count)} now")
    if count := sum(one.suitable and _is_new(one) for one in recommendations):
        parts.append(f"{count} {_verb(count, 'have')} no request yet")
    if count := len(recommendations) - len(changed):
        parts.append(
            f"{count} {_verb(count, 'are')} not suitable and {_verb(count, 'stay')} as "
            f"{'it is' if count == 1 else 'they are'}: the past is no guide"
        )
    return f"{'; '.join(parts)}."


def _freed(changed: Sequence[Recommendation], less: int, count: int) -> str:
    if not less:
        return f"None of {count} containers should request less"
    parts: dict[str, list[str]] = {"frees": [], "takes": []}
    for name, (unit, size) in _UNITS.items():
        now = sum((one.current_amount(name) or 0) * one.replicas for one in changed) / size
        freed = sum(one.freed(name) for one in changed) / size
        if freed < 0.0:
            parts["takes"].append(f"{-freed:.1f} {unit} more")
        else:
            parts["frees"].append(f"{freed:.1f} of {now:.1f} {unit}")
    amounts = (f"{verb} {' and '.join(listed)}" for verb, listed in parts.items() if listed)
    verb = "requests" if less == 1 else "request"
    return (
        f"{less} of {count} containers {verb} more than they need: applying this "
        f"{' and '.join(amounts)}"
    )


def _change(one: Recommendation, name: str) -> int:
    now, recommended = one.current_amount(name), one.requests.get(name)
    return 0 if now is None or recommended is None else recommended - now


def _shrinks(one: Recommendation) -> bool:
    return any(_change(one, name) < 0 for name in _UNITS)


def _is_new(one: Recommendation) -> bool:
    return all(one.current_amount(name) is None for name in _UNITS)


def _is_kept(one: Recommendation) -> bool:
    return not _is_new(one) and all(_change(one, name) == 0 for name in _UNITS)


def _verb(count: int, verb: str) -> str:
    one = {"have": "has", "are": "is"}.get(verb, f"{verb}s")
    return one if count == 1 else verb


def _pronoun(count: int) -> str:
    return "it requests" if count == 1 else "they request"
