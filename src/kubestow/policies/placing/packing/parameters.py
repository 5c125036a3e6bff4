"""Parameters of the packing heuristics: one frozen dataclass each, defaults with their sources."""

import dataclasses

import numpy as np

from kubestow.model import arrays, errors

LENGTH = 9
"""Length of an encoded parameter vector; shorter ones are padded with zeros."""

FULL_WINDOW_DIMENSIONS = 4
"""Up to this many resources Permutation-Pack compares all of them (Schubert 2023, L574)."""


def encode(*values: float) -> arrays.Floats:
    """Return numbers in the form compiled code takes."""
    encoded = np.zeros(LENGTH)
    encoded[: len(values)] = values
    return encoded


@dataclasses.dataclass(frozen=True, slots=True)
class Blend:
    """A weighted sum of scores.

    Attributes:
        mean: Weight of the mean utilisation after placement; negative to spread pods.
        balance: Weight of one minus the standard deviation of utilisation after placement.
        cosine: Weight of the cosine between free capacity before placement and demand.
        angle: Weight of the angle between them in radians.
    """

    mean: float = 0.0
    balance: float = 0.0
    cosine: float = 0.0
    angle: float = 0.0

    def encode(self, _dimensions: int) -> arrays.Floats:
        """Return the numbers the compiled rule takes."""
        return encode(self.mean, self.balance, self.cosine, self.angle)


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """How many resources an order rule compares.

    Attributes:
        window: Number of resources; ``None`` for all of them, but at most four, as in the thesis,
            where more became too slow.
    """

    window: int | None = None

    def encode(self, dimensions: int) -> arrays.Floats:
        """Return the numbers the compiled rule takes."""
        window = min(dimensions, self.window or FULL_WINDOW_DIMENSIONS)
        check_window(window, dimensions)
        return encode(window)


@dataclasses.dataclass(frozen=True, slots=True)
class HalfWindow:
    """The window of Choose-Pack.

    Attributes:
        window: Number of resources; ``None`` for half of them. With all of them every node would
            score the same, since the order inside the window is free.
    """

    window: int | None = None

    def encode(self, dimensions: int) -> arrays.Floats:
        """Return the numbers the compiled rule takes."""
        half = min(FULL_WINDOW_DIMENSIONS, max(1, dimensions // 2))
        window = min(dimensions, self.window or half)
        check_window(window, dimensions)
        return encode(window)


@dataclasses.dataclass(frozen=True, slots=True)
class AdaptiveWindow:
    """The window of Adaptive-Pack: ``d (1 - mean demand / vanishing)``, rounded, at least one.

    Attributes:
        longest: Upper bound of the window; as for Permutation-Pack.
        vanishing: Mean demand at which the window shrinks to its minimum: half a node, since then
            two pods hardly ever share one. The thesis gives no formula; this is our reading of
            L608.
    """

    longest: int = FULL_WINDOW_DIMENSIONS
    vanishing: float = 0.5

    def encode(self, dimensions: int) -> arrays.Floats:
        """Return the numbers the compiled rule takes."""
        longest = min(dimensions, self.longest)
        check_window(longest, dimensions)
        return encode(longest, self.vanishing)


@dataclasses.dataclass(frozen=True, slots=True)
class AdaptiveParameters:
    """How `adaptive` derives weights from the demand observed so far.

    All defaults come from a random search over the tuning settings of
    ``studies.own.adaptive_packing``, none from the settings used for evaluation.

    Attributes:
        balance: Lambda, the weight of the angle in radians, for pods of size ``pivot``.
        pivot: Effective demand, as a share of a node, at which lambda equals ``balance``.
        exponent: Lambda grows as this power of ``pivot / effective demand``.
        steer: Lambda grows as this power of the pod's own mean share over the effective demand.
        cap: Upper bound of lambda. For very large lambda the score is that of Vector-Dot.
        spread: How much the squared coefficient of variation adds to the effective demand.
        scarcity: Power of a resource's relative demand that gives its weight.
        concord: Power of the mean weight of the other resources that scales lambda.
        prior: Weight, in items, of the initial assumption of equal demand for all resources.
    """

    balance: float = 0.4
    pivot: float = 0.4
    exponent: float = 7.0
    steer: float = 1.0
    cap: float = 100.0
    spread: float = 0.4
    scarcity: float = 8.0
    concord: float = 2.0
    prior: float = 200.0

    def encode(self, _dimensions: int) -> arrays.Floats:
        """Return the numbers the compiled rule takes."""
        return encode(*dataclasses.astuple(self))


Parameters = Blend | Window | HalfWindow | AdaptiveWindow | AdaptiveParameters


def check_window(window: int, dimensions: int) -> None:
    """Refuse a window whose keys would not be exact in double precision."""
    # Keys have `window` digits to base `dimensions`; 30 bits leave 22 for the utilisation.
    if window < 1 or dimensions**window > 2**30:
        raise errors.InputError(
            "window", f"{window}: must be >= 1 and at most 30 bits long for {dimensions} resources"
        )
