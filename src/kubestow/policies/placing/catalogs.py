"""Profiles shipped by name.

``schubert-85`` is the configuration recommended by Schubert 2023 (Fig. 6.1): fill nodes up to
85 %, balance counts double, images do not count. It has a trap: RequestedToCapacityRatio leaves
resources that score 0 out of the mean, so a node at 90 % CPU and 85 % memory scores 100 instead of
50, and the knee is only felt when *every* resource is over it. ``schubert-85-fixed`` gives 1
instead of 0 above the knee, so that an overfull resource always pulls the score down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubestow.model import errors
from kubestow.policies.placing import profiles
from kubestow.policies.placing.profiles import ShapePoint

_STOCK = profiles.Profile()


def _knee(above: int) -> tuple[ShapePoint, ...]:
    """Return a shape that rises to 85 % and drops to ``above`` behind it."""
    return (
        ShapePoint(0, 1),
        ShapePoint(85, 10),
        ShapePoint(86, above),
        ShapePoint(100, above),
    )


def _schubert(name: str, above: int) -> profiles.Profile:
    weights = dict(_STOCK.scores) | {profiles.BALANCED: 2}
    del weights[profiles.IMAGES]
    return replace(
        _STOCK,
        name=name,
        scores=tuple(weights.items()),
        fit=profiles.FitArgs(strategy=profiles.RATIO, shape=_knee(above)),
    )


_PROFILES: Mapping[str, profiles.Profile] = {
    "kube-scheduler": _STOCK,
    "most-allocated": replace(_STOCK, fit=profiles.FitArgs(strategy=profiles.MOST)),
    "schubert-85": _schubert("schubert-85", 0),
    "schubert-85-fixed": _schubert("schubert-85-fixed", 1),
}
NAMES = tuple(_PROFILES)


def profile(name: str, scheduler_name: str = _STOCK.name) -> profiles.Profile:
    """Return a profile by name, answering pods that ask for ``scheduler_name``.

    Raises:
        InputError: If there is no such profile.
    """
    if name not in _PROFILES:
        raise errors.InputError("--profile", f"{name!r}: expected one of {', '.join(NAMES)}")
    return replace(_PROFILES[name], name=scheduler_name)
