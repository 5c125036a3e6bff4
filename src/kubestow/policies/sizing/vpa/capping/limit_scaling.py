"""Limits in proportion to requests (``pkg/utils/vpa/limit_and_request_scaling.go``).

All arithmetic is on whole millicores or bytes, as in VPA 1.7.
"""

from __future__ import annotations

from typing import Literal

from kubestow.model import quantities, resources
from kubestow.model.quantities import Quantity

Rounding = Literal["none", "up", "down"]

_MOST = 2**63 - 1
_NONE = Quantity(0)
_RESOURCES = (resources.CPU, resources.MEMORY)


def proportional_limits(
    limits: resources.ResourceList,
    requests: resources.ResourceList,
    recommended: resources.ResourceList,
    defaults: resources.ResourceList,
) -> dict[str, Quantity]:
    """Scale limits to new requests in their old proportion.

    Args:
        limits: The old limits.
        requests: The old requests.
        recommended: The new requests.
        defaults: Limits of the LimitRange for containers that have none.
    """
    scaled = {
        name: proportional_limit(
            name,
            limits.get(name, _NONE),
            requests.get(name, _NONE),
            recommended.get(name, _NONE),
            defaults.get(name, _NONE),
        )
        for name in _RESOURCES
    }
    return {name: limit for name, limit in scaled.items() if limit is not None}


def proportional_limit(
    name: str, limit: Quantity, request: Quantity, recommended: Quantity, default: Quantity
) -> Quantity | None:
    """Return the new limit of one resource; ``None`` to set none."""
    limit = limit if limit.value() else default
    if not limit.value() or not recommended.value():
        return None
    # Kubernetes defaults a missing request to the limit.
    if not request.value() or request.milli() == limit.milli():
        return recommended
    return scale(name, limit, request, recommended)


def boundary_request(
    name: str, request: Quantity, limit: Quantity, boundary: Quantity, default: Quantity
) -> Quantity:
    """Return the request at which the proportional limit meets a boundary."""
    limit = limit if limit.value() else default
    if not limit.value():
        return _NONE
    if not request.value():
        return boundary
    return scale(name, request, limit, boundary)


def scale(
    name: str, amount: Quantity, base: Quantity, result: Quantity, rounding: Rounding = "none"
) -> Quantity:
    """Return ``amount * result / base`` in millicores or bytes.

    Memory is whole already, so rounding changes nothing - except that upstream subtracts 0.999
    before it rounds down, which turns 0 into -1.
    """
    if name == resources.CPU:
        return _scale_cpu(amount, base, result, rounding)
    scaled = amount.value() * result.value() // base.value()
    if scaled == 0 and rounding == "down":
        scaled = -1
    return quantities.units(min(scaled, _MOST), amount.format)


def _scale_cpu(amount: Quantity, base: Quantity, result: Quantity, rounding: Rounding) -> Quantity:
    if not base.nano:
        return amount
    scaled, rest = divmod(amount.milli() * result.milli(), base.milli())
    if scaled > _MOST:
        scaled = _MOST
    elif rest and rounding == "up":
        scaled += 1
    return Quantity(scaled * (quantities.NANO // 1000), amount.format)
