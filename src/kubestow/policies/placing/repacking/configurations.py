"""The search for the scheduler configuration that uses the fewest nodes.

A setting is a value of every knob that a KubeSchedulerConfiguration has for packing: the scoring
strategy of NodeResourcesFit with its shape and resource weights, and the weights of the score
plugins. A grid of settings is played first, then single knobs of the best ones are turned until
nothing improves. Of equally good settings the one closest to stock wins, since weights of resources
compete with the preferences of pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Final

from kubestow.model import resources
from kubestow.policies.placing import profiles
from kubestow.policies.placing.repacking.playing import Played, play
from kubestow.policies.placing.repacking.problems import Repacking

Shape = tuple[tuple[int, int], ...]

SHAPES: Final[tuple[Shape, ...]] = (
    ((0, 0), (100, 10)),
    ((0, 1), (100, 10)),
    ((0, 0), (50, 2), (100, 10)),
    ((0, 0), (50, 8), (100, 10)),
    ((0, 0), (80, 2), (100, 10)),
)
"""Rising shapes of RequestedToCapacityRatio: linear, convex and concave."""

KNOBS: Final[dict[str, tuple[Any, ...]]] = {
    "strategy": (profiles.LEAST, profiles.MOST, profiles.RATIO),
    "shape": SHAPES,
    "resource_weights": ((1, 1), (2, 1), (1, 2), (5, 1), (1, 5)),
    "fit": (1, 2, 5, 10, 30, 100),
    "balanced": (1, 0, 2, 5, 20),
    "spread": (2, 1, 0),
    "images": (1, 0),
}
"""Values of each knob, stock first."""

ALWAYS: Final = 6
"""How many settings are played whatever the budget."""

TURNED: Final = 3
"""How many of the best settings are improved knob by knob."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Values of all knobs; the defaults are those of stock kube-scheduler.

    Attributes:
        strategy: Scoring strategy of NodeResourcesFit.
        shape: Shape for RequestedToCapacityRatio; unused otherwise.
        resource_weights: Weights of CPU and memory in NodeResourcesFit.
        fit: Weight of NodeResourcesFit.
        balanced: Weight of NodeResourcesBalancedAllocation; 0 disables it.
        spread: Weight of PodTopologySpread; 0 disables its score, never its filter.
        images: Weight of ImageLocality; 0 disables it.
    """

    strategy: str = profiles.LEAST
    shape: Shape = SHAPES[0]
    resource_weights: tuple[int, int] = (1, 1)
    fit: int = 1
    balanced: int = 1
    spread: int = 2
    images: int = 1

    @property
    def distance(self) -> tuple[int, int]:
        """How far from stock: knobs that differ, then the weight of resources."""
        stock = Setting()
        changed = sum(getattr(self, f.name) != getattr(stock, f.name) for f in fields(self))
        return changed, self.fit + self.balanced + sum(self.resource_weights)

    def profile(self, name: str) -> profiles.Profile:
        """Return the setting as a scheduler profile."""
        stock = profiles.make_profile(profiles.PROFILES[0], name)
        weights = dict(stock.scores) | {
            profiles.FIT: self.fit,
            profiles.BALANCED: self.balanced,
            profiles.SPREAD: self.spread,
            profiles.IMAGES: self.images,
        }
        shape: tuple[profiles.ShapePoint, ...] = ()
        if self.strategy == profiles.RATIO:
            shape = tuple(profiles.ShapePoint(*point) for point in self.shape)
        cpu, memory = self.resource_weights
        weighted = (
            profiles.ResourceWeight(resources.CPU, cpu),
            profiles.ResourceWeight(resources.MEMORY, memory),
        )
        return replace(
            stock,
            scores=tuple((plugin, weight) for plugin, weight in weights.items() if weight),
            fit=profiles.FitArgs(strategy=self.strategy, resources=weighted, shape=shape),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The outcome of a search.

    Attributes:
        stock: What stock kube-scheduler does.
        best: The best configuration.
        tried: How many configurations were played.
        complete: Whether the search ended before its budget did.
    """

    stock: Played
    best: Played
    tried: int
    complete: bool


def search(
    problem: Repacking,
    seconds: Callable[[], float],
    lower: int = 0,
    name: str = "default-scheduler",
) -> Search:
    """Search for the configuration with the fewest nodes.

    Args:
        problem: Pods and nodes.
        seconds: Remaining seconds.
        lower: Lower bound on the number of nodes; the search ends when it is reached.
        name: Name of the scheduler.
    """
    stock = play(problem, Setting().profile(name))
    tried: dict[Setting, Played] = {Setting(): stock}

    def rank(setting: Setting) -> tuple[int, int, int, tuple[int, int]]:
        played = tried[setting]
        return played.unplaced, played.most, played.least, setting.distance

    def try_all(settings: Iterator[Setting]) -> bool:
        for setting in settings:
            if seconds() <= 0.0 and len(tried) > ALWAYS:
                return False
            if setting not in tried:
                tried[setting] = _play(problem, setting.profile(name), min(map(rank, tried)))
        return True

    complete = try_all(_grid())
    while complete and rank(min(tried, key=rank))[:2] > (0, lower):
        before = min(tried, key=rank)
        for setting in sorted(tried, key=rank)[:TURNED]:
            complete = complete and try_all(_turned(setting))
        if rank(min(tried, key=rank))[:3] >= rank(before)[:3]:
            break
    complete = complete and try_all(_simplified(min(tried, key=rank)))
    return Search(stock, tried[min(tried, key=rank)], len(tried), complete)


def _play(
    problem: Repacking, profile: profiles.Profile, best: tuple[int, int, int, tuple[int, int]]
) -> Played:
    """Play a configuration; break ties at random only if it may be the best."""
    once = play(problem, profile, ties=0)
    if (once.unplaced, once.most) > best[:2]:
        return once
    return play(problem, profile)


def _grid() -> Iterator[Setting]:
    """Yield settings that differ much, those close to stock first."""
    filling = [Setting(strategy=profiles.MOST)]
    filling += [Setting(strategy=profiles.RATIO, shape=shape) for shape in SHAPES]
    made = [
        replace(setting, fit=fit, balanced=balanced, spread=spread)
        for setting, fit, balanced, spread in product(filling, (1, 10, 100), (1, 0, 2), (2, 0))
    ]
    yield from sorted(made, key=lambda setting: setting.distance)


def _turned(setting: Setting) -> Iterator[Setting]:
    """Yield the settings that differ in one knob."""
    for knob, values in KNOBS.items():
        for value in values:
            yield replace(setting, **{knob: value})


def _simplified(setting: Setting) -> Iterator[Setting]:
    """Yield settings with some knobs back at stock."""
    stock = Setting()
    changed = [
        f.name for f in fields(setting) if getattr(setting, f.name) != getattr(stock, f.name)
    ]
    for keep in product((True, False), repeat=len(changed)):
        back = {n: getattr(stock, n) for n, kept in zip(changed, keep, strict=True) if not kept}
        yield replace(setting, **back)
