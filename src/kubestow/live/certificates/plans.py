"""Plans when certificates are created, renewed and dropped; pure functions of the time.

A CA signs the serving certificate. Both are renewed at two thirds of their validity. A new CA is at
first only trusted, together with the old one, and signs nothing until it has been published to the
API server for some time. The old CA is trusted until it expires: no certificate it signed lives
longer, so whatever a replica still serves is trusted. Its key is dropped at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

DAY_S: Final = 86400.0
# Certificates are valid from the recent past on, for machines whose clocks are behind.
BACKDATED_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class RenewalRules:
    """Validity periods and renewal times.

    Attributes:
        authority_s: Validity of a CA, seconds.
        serving_s: Validity of a serving certificate, seconds.
        renew_at: Fraction of the validity after which a successor is created.
        spread_s: How long a new CA is published before it signs, seconds.
    """

    authority_s: float = 365.0 * DAY_S
    serving_s: float = 90.0 * DAY_S
    renew_at: float = 2.0 / 3.0
    spread_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Life:
    """Validity period of a certificate, seconds since the epoch."""

    begins_s: float
    ends_s: float

    def due_s(self, share: float) -> float:
        """Return the time when a fraction of the period is over."""
        return self.begins_s + share * (self.ends_s - self.begins_s)

    def holds(self, now_s: float) -> bool:
        """Return whether the certificate is valid now."""
        return self.begins_s <= now_s < self.ends_s


@dataclass(frozen=True, slots=True)
class Held:
    """Facts about the present certificates.

    Attributes:
        authorities: Validity of the trusted CAs, the signing one first.
        serving: Validity of the serving certificate.
        names: Names the serving certificate is valid for.
        signed_by: Index of the CA that signed it; ``None`` if none did.
    """

    authorities: tuple[Life, ...]
    serving: Life
    names: frozenset[str]
    signed_by: int | None


@dataclass(frozen=True, slots=True)
class RenewalPlan:
    """Actions to take now.

    Attributes:
        new_authority: Create a CA; it comes first, the others follow.
        new_serving: Create a serving certificate, signed by the first CA.
        drop: Indices of the present CAs to drop.
    """

    new_authority: bool = False
    new_serving: bool = False
    drop: tuple[int, ...] = ()

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to do."""
        return not (self.new_authority or self.new_serving or self.drop)


def plan(
    held: Held | None,
    names: Collection[str],
    rules: RenewalRules,
    now_s: float,
    *,
    announced: bool = True,
) -> RenewalPlan:
    """Plan which certificates to create or drop.

    Args:
        held: Facts about the present certificates; ``None`` if there are none.
        names: Names the serving certificate must be valid for.
        rules: Validity periods and renewal times.
        now_s: Current time, seconds since the epoch.
        announced: Whether all present CAs are published to the API server.
    """
    if held is None or not held.authorities:
        return RenewalPlan(new_authority=True, new_serving=True)
    newest = held.authorities[0]
    drop = tuple(i for i, life in enumerate(held.authorities) if life.ends_s <= now_s)
    useless = (
        held.signed_by is None
        or not held.serving.holds(now_s)
        or not frozenset(names) <= held.names
        or held.signed_by in drop
    )
    if now_s >= newest.due_s(rules.renew_at):
        return RenewalPlan(new_authority=True, new_serving=useless, drop=drop)
    # Waiting for the API server is safe: a third of the certificate's validity is left.
    known = announced and now_s >= newest.begins_s + BACKDATED_S + rules.spread_s
    due = now_s >= held.serving.due_s(rules.renew_at) or held.signed_by != 0
    return RenewalPlan(new_serving=useless or (due and known), drop=drop)
