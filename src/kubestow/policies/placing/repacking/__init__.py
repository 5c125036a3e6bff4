"""A cluster packed anew onto its own nodes, with every constraint of its pods.

Heuristics and exact search place pods only where kube-scheduler's filters admit them. Scheduler
configurations are searched by playing them with the exact scheduler.
"""

from kubestow.policies.placing.repacking.configurations import Search, Setting, search
from kubestow.policies.placing.repacking.filling import Filling, fill, replay
from kubestow.policies.placing.repacking.playing import Played, play
from kubestow.policies.placing.repacking.problems import (
    LeftOut,
    NothingFitsError,
    Repacking,
    is_tied,
    make_nodes,
    make_repacking,
)
from kubestow.policies.placing.repacking.solving import Solution, bound, restart, solve

__all__ = [
    "Filling",
    "LeftOut",
    "NothingFitsError",
    "Played",
    "Repacking",
    "Search",
    "Setting",
    "Solution",
    "bound",
    "fill",
    "is_tied",
    "make_nodes",
    "make_repacking",
    "play",
    "replay",
    "restart",
    "search",
    "solve",
]
