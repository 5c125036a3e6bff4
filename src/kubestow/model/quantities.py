"""Exact Kubernetes quantities: every suffix, every rounding rule, canonical output.

A quantity is an integer of nano-units, the finest amount Kubernetes can express, so that no
operation rounds silently. The rules are those of ``k8s.io/apimachinery/pkg/api/resource`` (v0.37):
parsing rounds finer amounts away from zero, and so does conversion to a coarser unit.
"""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass

NANO = 10**9
_MAX_VALUE = 2**63 - 1  # larger positive quantities are capped there, as upstream does

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}  # powers of 1024
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_SHAPE = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)


class Format(enum.Enum):
    """Notation of a quantity."""

    DECIMAL_SI = "decimal"
    BINARY_SI = "binary"
    DECIMAL_EXPONENT = "exponent"


def _divide_away_from_zero(numerator: int, denominator: int) -> int:
    """Divide and round away from zero.

    >>> _divide_away_from_zero(-3, 2), _divide_away_from_zero(3, 2), _divide_away_from_zero(4, 2)
    (-2, 2, 2)
    """
    quotient = -(-abs(numerator) // denominator)
    return quotient if numerator >= 0 else -quotient


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount of a resource, exact to the nano-unit.

    Attributes:
        nano: The amount in nano-units.
        format: The preferred notation; ignored in comparisons.
    """

    nano: int
    format: Format = Format.DECIMAL_SI

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __add__(self, other: Quantity) -> Quantity:
        # As upstream: zero takes the notation of the other operand.
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __float__(self) -> float:
        return self.nano / NANO

    def value(self) -> int:
        """Return whole units, rounded away from zero."""
        return _divide_away_from_zero(self.nano, NANO)

    def milli(self) -> int:
        """Return thousandths (millicores for CPU), rounded away from zero."""
        return _divide_away_from_zero(self.nano, NANO // 1000)

    def __str__(self) -> str:
        """Return the canonical form: no fraction, the largest suffix that keeps it exact."""
        if self.nano == 0:
            return "0"
        if self.format is Format.BINARY_SI and abs(self.nano) >= 1024 * NANO:
            # Fractions of a byte cannot be written with a binary suffix and are rounded up.
            return _canonical_binary(self.value())
        return _canonical_decimal(self.nano, self.format)


def _canonical_binary(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < len(_BINARY):
        value //= 1024
        power += 1
    suffix = "" if power == 0 else next(s for s, p in _BINARY.items() if p == power)
    return f"{value}{suffix}"


def _canonical_decimal(nano: int, notation: Format) -> str:
    exponent = -9
    highest = 18 if notation is not Format.DECIMAL_EXPONENT else 10**6
    while nano % 1000 == 0 and exponent < highest:
        nano //= 1000
        exponent += 3
    if notation is Format.DECIMAL_EXPONENT:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_BY_EXPONENT[exponent]}"


@functools.lru_cache(maxsize=65536)
def parse(text: str) -> Quantity:
    """Parse a quantity such as ``500m``, ``1.5Gi`` or ``12e6``.

    Args:
        text: The quantity as in a manifest.

    Raises:
        ValueError: If the text is not a quantity; the message quotes it.

    >>> parse("1.5Gi").value(), str(parse("1.5Gi")), parse("100.1m").milli()
    (1610612736, '1536Mi', 101)
    """
    match = _SHAPE.fullmatch(text)
    if match is None or not (match["whole"] or match["fraction"]):
        raise ValueError(
            f"{text!r} is not a quantity; expected a number with an optional suffix "
            "(n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as e6)"
        )
    fraction = match["fraction"] or ""
    digits = int((match["whole"] or "0") + fraction)
    suffix = match["suffix"] or ""
    notation, numerator, denominator = _scale(suffix, text)
    nano = _divide_away_from_zero(digits * numerator * NANO, denominator * 10 ** len(fraction))
    if match["sign"] == "-":
        nano = -nano
    nano = min(nano, _MAX_VALUE * NANO)
    if notation is Format.BINARY_SI and 0 < nano < NANO:
        notation = Format.DECIMAL_SI
    return Quantity(nano, notation)


def _scale(suffix: str, text: str) -> tuple[Format, int, int]:
    """Return the notation of a suffix and its factor as a fraction."""
    if suffix in _BINARY:
        return Format.BINARY_SI, 1024 ** _BINARY[suffix], 1
    if suffix in _DECIMAL:
        notation, exponent = Format.DECIMAL_SI, _DECIMAL[suffix]
    else:
        notation, exponent = Format.DECIMAL_EXPONENT, int(suffix[1:])
        if abs(exponent) > 10_000:  # a larger one would exhaust memory
            raise ValueError(f"{text!r}: exponent out of range")
    return (notation, 10**exponent, 1) if exponent >= 0 else (notation, 1, 10**-exponent)


def millis(amount: int) -> Quantity:
    """Return a quantity of thousandths, e.g. millicores."""
    return Quantity(amount * (NANO // 1000))


def units(amount: int, notation: Format = Format.DECIMAL_SI) -> Quantity:
    """Return a quantity of whole units."""
    return Quantity(amount * NANO, notation)
