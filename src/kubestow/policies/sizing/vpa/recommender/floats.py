"""Elementary functions with the bits of Go's results.

The recommender compares sums of weights with ``percentile * total``; samples of equal weight make
exact ties, and a logarithm or power that differs in the last bit falls on the other side. These
are the algorithms of Go's ``math`` package on amd64 (``log_amd64.s``, ``exp.go``, ``pow.go``,
Go 1.26), which derive from FreeBSD's msun. Python code calls them directly, kernels call the
``inlined_`` forms.
"""

import math

from kubestow.policies.compiling import inlined

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_HALF_ROOT_2 = 7.07106781186547524401e-01
_EXP2_OVERFLOW, _EXP2_UNDERFLOW = 1.0239999999999999e03, -1.0740e03
_MOST_EXPONENT = 1 << 12  # beyond it a power is zero or infinite


def log(x: float) -> float:
    """Return the natural logarithm of a positive, finite number.

    >>> log(1.0)
    0.0
    """
    fraction, exponent = math.frexp(x)
    if fraction <= _HALF_ROOT_2:
        fraction *= 2.0
        exponent -= 1
    f = fraction - 1.0
    k = float(exponent)
    s = f / (2.0 + f)
    s2 = s * s
    s4 = s2 * s2
    # Coefficients L1 to L7 of msun's e_log.c, odd and even ones separately.
    odd = s2 * (
        6.666666666666735130e-01
        + s4
        * (
            2.857142874366239149e-01
            + s4 * (1.818357216161805012e-01 + s4 * 1.479819860511658591e-01)
        )
    )
    even = s4 * (
        3.999999999940941908e-01 + s4 * (2.222219843214978396e-01 + s4 * 1.531383769920937332e-01)
    )
    rest = odd + even
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + rest) + k * _LN2_LOW)) - f)


def exp2(x: float) -> float:
    """Return two to the power of a number.

    >>> exp2(3.0), exp2(-1.0)
    (8.0, 0.5)
    """
    if x > _EXP2_OVERFLOW:
        return math.inf
    if x < _EXP2_UNDERFLOW:
        return 0.0
    k = 0
    if x > 0.0:
        k = int(x + 0.5)
    elif x < 0.0:
        k = int(x - 0.5)
    part = x - float(k)
    high = part * _LN2_HIGH
    low = -part * _LN2_LOW
    r = high - low
    t = r * r
    # Coefficients P1 to P5 of msun's e_exp.c.
    c = r - t * (
        1.66666666666666657415e-01
        + t
        * (
            -2.77777777770155933842e-03
            + t
            * (
                6.61375632143793436117e-05
                + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08)
            )
        )
    )
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    return math.ldexp(y, k)


def power(x: float, y: int) -> float:
    """Return a positive number to an integer power; infinity is allowed as base.

    >>> power(2.0, 10), power(4.0, -2)
    (1024.0, 0.0625)
    """
    if y == 0 or x == 1.0:
        return 1.0
    if y == 1:
        return x
    if x == math.inf:
        return 0.0 if y < 0 else math.inf
    result = 1.0
    exponent = 0
    square, shift = math.frexp(x)
    left = abs(y)
    while left != 0:
        if shift < -_MOST_EXPONENT or shift > _MOST_EXPONENT:
            exponent += shift
            break
        if left & 1:
            result *= square
            exponent += shift
        square *= square
        shift *= 2
        if square < 0.5:
            square += square
            shift -= 1
        left >>= 1
    if y < 0:
        result = 1.0 / result
        exponent = -exponent
    return math.ldexp(result, exponent)


inlined_log = inlined(log)
inlined_exp2 = inlined(exp2)
inlined_power = inlined(power)
