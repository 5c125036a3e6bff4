"""Built-in profiles by name.

``most-allocated`` fills nodes (Kubernetes-Most of Schubert 2023), ``most-allocated-balanced`` with
double weight on balance (Kubernetes-Reweighted).

``schubert-85`` is the configuration recommended by Schubert 2023 (Fig. 6.1): fill nodes up to
85 %, double weight on balance, none on images. It has a flaw: RequestedToCapacityRatio leaves
resources that score 0 out of the mean, so a node at 90 % CPU and 85 % memory scores 100 instead of
50, and the knee only takes effect when *every* resource is over it.

``schubert-85-fixed`` enforces the limit in each of CPU and memory, by configuration alone. A node
within the limit scores at least 90 (shape 9 to 10), one over it in any resource at most
(100 + 10) / 2 = 55 (shape 1, not 0). The gap of 35 points times weight 50 is 1750, more than the
maximum of all other scores: taints 300, node affinity 200, spreading 200, pod affinity 200, devices
200, volumes 100, balance 7 x 50 = 350, in sum 1550. So a pod exceeds the limit only if no feasible
node would stay within it.

``clbp``, ``load-aware``, ``vector-dot``, ``k8s-vector-dot`` and ``adaptive`` are stock
kube-scheduler with an extender that adds the term of that name (``terms``); a point of the term
counts ten times its weight. Load-based terms have weight 8: a lead of seven of their ten points
(560) outweighs all stock scores for resources, spreading and images (fit 100, balance 100,
spreading 200, images 100, in sum 500). User preferences (soft taints 300, node affinity 200, pod
affinity 200, in sum 700) still outweigh such a lead, and stock scores decide between nodes of equal
load. In a pilot of ``shi-balance``, ``clbp`` balanced equally well with weights from 8 to 160.
Packing terms have weight 160: one point (1600) exceeds the sum of all stock scores (1500), so the
heuristic decides.
``clbp-alone`` and ``load-aware-alone`` have that weight, too. ``clbp-shortlist`` and
``load-aware-shortlist`` give no points: they keep their best few nodes, and stock scores choose
among these (``terms.shortlist``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kubestow.model import errors
from kubestow.policies.placing import terms
from kubestow.policies.placing.profiles import profile
from kubestow.policies.placing.profiles.profile import ShapePoint

LIMIT_PERCENT = 85
LOAD_WEIGHT = 8
PACK_WEIGHT = 160
SHORTLIST, ALONE, WEIGHTED = "shortlist", "alone", "weighted"
DECISIONS: Final = (SHORTLIST, ALONE, WEIGHTED)
"""How a load-based term takes part in the choice of a node."""
_BY_LOAD: Final = ("clbp", "load-aware")

_STOCK = profile.Profile()
_MOST = replace(_STOCK, fit=profile.FitArgs(strategy=profile.MOST))


def _schubert(*, empty: int, over: int, fit: int, balanced: int) -> profile.Profile:
    """Return a profile whose fit score rises up to the limit and drops beyond it.

    Args:
        empty: Shape score of an empty resource.
        over: Shape score of a resource over the limit.
        fit: Weight of the resource score.
        balanced: Weight of the balance score.
    """
    weights = dict(_STOCK.scores) | {profile.FIT: fit, profile.BALANCED: balanced}
    del weights[profile.IMAGES]
    shape = (
        ShapePoint(0, empty),
        ShapePoint(LIMIT_PERCENT, 10),
        ShapePoint(LIMIT_PERCENT + 1, over),
        ShapePoint(100, over),
    )
    return replace(
        _STOCK,
        scores=tuple(weights.items()),
        fit=profile.FitArgs(strategy=profile.RATIO, shape=shape),
    )


def _extended(term: str, weight: int, *, shortlist: bool = False) -> profile.Profile:
    extension = profile.Extension(term, weight=weight, shortlist=shortlist)
    return replace(_STOCK, extension=extension)


def _profiles_of(term: str, *, measured: bool) -> dict[str, profile.Profile]:
    if not measured:
        return {term: _extended(term, PACK_WEIGHT)}
    return {
        term: _extended(term, LOAD_WEIGHT),
        f"{term}-{SHORTLIST}": _extended(term, LOAD_WEIGHT, shortlist=True),
        f"{term}-{ALONE}": _extended(term, PACK_WEIGHT),
    }


_PROFILES: Mapping[str, profile.Profile] = {
    "kube-scheduler": _STOCK,
    "most-allocated": _MOST,
    "most-allocated-balanced": replace(
        _MOST, scores=tuple((dict(_MOST.scores) | {profile.BALANCED: 2}).items())
    ),
    "schubert-85": _schubert(empty=1, over=0, fit=1, balanced=2),
    "schubert-85-fixed": _schubert(empty=9, over=1, fit=50, balanced=7),
    **{name: _extended(name, LOAD_WEIGHT) for name in _BY_LOAD},
    **{f"{name}-{SHORTLIST}": _extended(name, LOAD_WEIGHT, shortlist=True) for name in _BY_LOAD},
    **{f"{name}-{ALONE}": _extended(name, PACK_WEIGHT) for name in _BY_LOAD},
    **{name: _extended(name, PACK_WEIGHT) for name in ("vector-dot", "k8s-vector-dot", "adaptive")},
}
PROFILES = tuple(_PROFILES)
"""Names of the built-in profiles."""


def profile_names() -> tuple[str, ...]:
    """Return the names of all profiles: built-in, then those of third-party terms."""
    return (*PROFILES, *_third_party())


def make_profile(name: str, scheduler_name: str = _STOCK.name) -> profile.Profile:
    """Return a profile by name, for pods with ``schedulerName: <scheduler_name>``.

    Raises:
        InputError: If there is no such profile.
    """
    chosen = _PROFILES.get(name) or _third_party().get(name)
    if chosen is None:
        known = ", ".join(profile_names())
        raise errors.InputError("profile", f"{name!r}: must be one of {known}")
    return replace(chosen, name=scheduler_name)


def profile_of_term(term: str, decision: str, scheduler_name: str = _STOCK.name) -> profile.Profile:
    """Return the profile of a term with one of the ``DECISIONS``.

    Packing terms always decide alone.

    Raises:
        InputError: If there is no such term or decision.
    """
    if decision not in DECISIONS:
        raise errors.InputError("decision", f"{decision!r}: must be one of {', '.join(DECISIONS)}")
    plain = not terms.TERMS.get(term).measured or decision == WEIGHTED
    return make_profile(term if plain else f"{term}-{decision}", scheduler_name)


def _third_party() -> dict[str, profile.Profile]:
    """Return the profiles of terms of other packages, in the same variants as built-in ones."""
    profiles: dict[str, profile.Profile] = {}
    for entry in terms.TERMS.entries():
        if entry.name not in _PROFILES:
            profiles |= _profiles_of(entry.name, measured=entry.measured)
    return profiles
