"""Slow and plain versions of the heuristics, written from the formulas, to compare with."""

import math
from collections.abc import Callable

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import parameters

Key = tuple[float, ...]
Score = Callable[[arrays.Floats, arrays.Floats, list[arrays.Floats]], Key]


def best_fit(pods: arrays.Floats, score: Score | None) -> list[int]:
    """Place pods on unit nodes as Fig. 5.1 of the thesis says; no score means first fit."""
    nodes: list[arrays.Floats] = []
    places = []
    for index, pod in enumerate(pods):
        fitting = [k for k, used in enumerate(nodes) if np.all(used + pod <= 1.0 + 1e-9)]
        if not fitting:
            nodes.append(np.zeros(len(pod)))
            best = len(nodes) - 1
        elif score is None:
            best = fitting[0]
        else:
            seen = list(pods[: index + 1])
            keys = [score(pod, nodes[k], seen) for k in fitting]
            best = fitting[keys.index(max(keys))]
        nodes[best] = nodes[best] + pod
        places.append(best)
    return places


def angle(pod: arrays.Floats, free: arrays.Floats) -> float:
    """Return the angle between two vectors in radians."""
    cosine = float(pod @ free / (np.linalg.norm(pod) * np.linalg.norm(free)))
    return math.acos(min(1.0, cosine))


def least(pod: arrays.Floats, used: arrays.Floats, _seen: list[arrays.Floats]) -> Key:
    """(1.9)."""
    after = used + pod
    return ((float(np.mean(1 - after)) + 1 - float(np.std(after))) / 2,)


def most(pod: arrays.Floats, used: arrays.Floats, _seen: list[arrays.Floats]) -> Key:
    """(S1_most + S2) / 2."""
    after = used + pod
    return ((float(np.mean(after)) + 1 - float(np.std(after))) / 2,)


def reweighted(pod: arrays.Floats, used: arrays.Floats, _seen: list[arrays.Floats]) -> Key:
    """S1_most + 2 S2."""
    after = used + pod
    return (float(np.mean(after)) + 2 * (1 - float(np.std(after))),)


def dot(pod: arrays.Floats, used: arrays.Floats, _seen: list[arrays.Floats]) -> Key:
    """Minus the angle between the pod and the free capacity before placement."""
    return (-angle(pod, 1 - used),)


def most_dot(pod: arrays.Floats, used: arrays.Floats, _seen: list[arrays.Floats]) -> Key:
    """S1_most - 2 angle."""
    return (float(np.mean(used + pod)) - 2 * angle(pod, 1 - used),)


def permutation(window: int) -> Score:
    """Order of the node against order of the pod, then the fullest node."""

    def score(pod: arrays.Floats, used: arrays.Floats, _seen: list[arrays.Floats]) -> Key:
        rank = np.argsort(np.argsort(-pod, kind="stable"), kind="stable")
        order = np.argsort(used, kind="stable")[:window]
        return (*(-float(rank[j]) for j in order), float(np.mean(used + pod)))

    return score


def choice(window: int) -> Score:
    """As permutation, but the order inside the window is free."""

    def score(pod: arrays.Floats, used: arrays.Floats, _seen: list[arrays.Floats]) -> Key:
        rank = np.argsort(np.argsort(-pod, kind="stable"), kind="stable")
        order = np.argsort(used, kind="stable")[:window]
        return (*(-float(r) for r in sorted(rank[order])), float(np.mean(used + pod)))

    return score


def adaptive_window(pod: arrays.Floats, used: arrays.Floats, seen: list[arrays.Floats]) -> Key:
    """As permutation with window d (1 - 2 mean), between 1 and 4."""
    window = round(len(pod) * (1 - float(np.mean(seen)) / 0.5))
    return permutation(max(1, min(window, 4, len(pod))))(pod, used, seen)


def adaptive(pod: arrays.Floats, used: arrays.Floats, seen: list[arrays.Floats]) -> Key:
    """The documented formula of `adaptive`, with its defaults."""
    p = parameters.AdaptiveParameters()
    arrived = np.array(seen)
    totals = arrived.sum(axis=0)
    offset = p.prior * arrived.mean()
    weights = ((totals + offset) / (totals.max() + offset)) ** p.scarcity
    agreement = ((weights.sum() - 1) / max(1, len(pod) - 1)) ** p.concord
    sharing = arrived[arrived.max(axis=1) <= 0.95]
    size = 1.0
    if len(sharing):
        mean = max(1e-3, sharing.mean())
        size = mean * (1 + p.spread * max(0.0, (sharing**2).mean() / mean**2 - 1))
    own = max(1e-3, pod.mean())
    angle_weight = p.balance * (p.pivot / size) ** p.exponent * (own / size) ** p.steer
    filled = float(((used + pod - 1) * weights).sum() / weights.sum())
    turned = angle(pod * weights, (1 - used) * weights)
    return (filled - float(agreement) * min(p.cap, float(angle_weight)) * turned,)
