"""When certificates are made, renewed and forgotten; pure, with the time handed in.

An authority signs the servers' certificate. Both are renewed at two thirds of their life. A new
authority is first only believed, beside the old one, and signs nothing until the API server has
had time to hear of it. The old one is believed until it ends: no certificate it signed lives
longer, so whatever a replica still serves is trusted. Its key is thrown away at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

DAY_S: Final = 86400.0
# Certificates begin a little in the past, for machines whose clocks are behind.
BACKDATED_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class RenewalRules:
    """How long things hold.

    Attributes:
        authority_s: Life of an authority.
        serving_s: Life of a servers' certificate.
        renew_at: Share of a life after which a successor is made.
        spread_s: How long a new authority is believed before it signs.
    """

    authority_s: float = 365.0 * DAY_S
    serving_s: float = 90.0 * DAY_S
    renew_at: float = 2.0 / 3.0
    spread_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Life:
    """From when to when a certificate holds, seconds since the epoch."""

    begins_s: float
    ends_s: float

    def due_s(self, share: float) -> float:
        """Return when a share of the life is over."""
        return self.begins_s + share * (self.ends_s - self.begins_s)

    def holds(self, now_s: float) -> bool:
        """Return whether the certificate is valid now."""
        return self.begins_s <= now_s < self.ends_s


@dataclass(frozen=True, slots=True)
class Held:
    """What there is.

    Attributes:
        authorities: Lives of the authorities that are believed, the one that signs first.
        serving: Life of the servers' certificate.
        names: What it is good for.
        signed_by: Which of the authorities signed it; ``None`` if none did.
    """

    authorities: tuple[Life, ...]
    serving: Life
    names: frozenset[str]
    signed_by: int | None


@dataclass(frozen=True, slots=True)
class RenewalPlan:
    """What to do now.

    Attributes:
        new_authority: Make an authority; it comes first, the others stay behind it.
        new_serving: Make a servers' certificate, signed by the first authority.
        drop: Which of the present authorities to forget.
    """

    new_authority: bool = False
    new_serving: bool = False
    drop: tuple[int, ...] = ()

    @property
    def empty(self) -> bool:
        """Return whether all is well."""
        return not (self.new_authority or self.new_serving or self.drop)


def plan(
    held: Held | None,
    names: Collection[str],
    rules: RenewalRules,
    now_s: float,
    *,
    announced: bool = True,
) -> RenewalPlan:
    """Say what has to be made or forgotten.

    Args:
        held: What there is; ``None`` for nothing.
        names: What the servers' certificate has to be good for.
        rules: How long things hold.
        now_s: Now, seconds since the epoch.
        announced: Whether the API server was told of all authorities there are.
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
    # Nothing is lost by waiting for the API server: a third of the certificate's life is left.
    known = announced and now_s >= newest.begins_s + BACKDATED_S + rules.spread_s
    due = now_s >= held.serving.due_s(rules.renew_at) or held.signed_by != 0
    return RenewalPlan(new_serving=useless or (due and known), drop=drop)
