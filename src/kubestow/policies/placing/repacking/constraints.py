"""What the tables of the compiled scheduler say about pods that affect each other.

Bounds and the exact model use only conditions that hold for every result of kube-scheduler's
filters, whatever the order of the pods; conditions that depend on the order are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.repacking.problems import Repacking


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Items of a class never share a domain with items of other classes.

    Attributes:
        domains: Domain of each node, -1 without the label.
        classes: The other classes; the class itself is among them if its items keep apart.
    """

    domains: arrays.Ints
    classes: arrays.Ints


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Items of a class need an item of other classes in their domain.

    Attributes:
        domains: Domain of each node, -1 without the label.
        classes: Classes whose items satisfy it. If the class itself is the only one, all of its
            items share one domain.
        alone: Whether the class is the only one of ``classes``.
    """

    domains: arrays.Ints
    classes: arrays.Ints
    alone: bool


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The numbers of items in the domains of a topology differ by at most ``skew``.

    Attributes:
        domains: Domain of each node that counts, -1 elsewhere.
        classes: Classes whose items count; all of them have the constraint.
        skew: Maximum difference between a domain and the emptiest.
        from_zero: Whether the emptiest counts as 0 because there are too few domains.
    """

    domains: arrays.Ints
    classes: arrays.Ints
    skew: int
    from_zero: bool

    @property
    def domain_count(self) -> int:
        """Number of domains."""
        return len(np.unique(self.domains[self.domains >= 0]))


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """All conditions between items, by class."""

    apart: tuple[tuple[int, Separation], ...]
    together: tuple[tuple[int, Together], ...]
    spread: tuple[Spread, ...]


def read_constraints(problem: Repacking) -> Constraints:
    """Return the conditions between the items of a problem."""
    joined = _joined(problem)
    apart, together, spreads = [], [], {}
    links, tallies = problem.batch.links, problem.batch.tallies
    for c, link in enumerate(problem.link_of_class.tolist()):
        for t in links.repelled[links.repelled_first[link] : links.repelled_first[link + 1]]:
            classes = np.flatnonzero(joined[:, tallies.group[t]])
            if len(classes):
                apart.append((c, Separation(_domains(problem, int(t)), classes)))
        for t in links.near[links.near_first[link] : links.near_first[link + 1]]:
            if tallies.sums[t] == 0:  # pods that stay on their nodes may satisfy it as well
                classes = np.flatnonzero(joined[:, tallies.group[t]])
                alone = classes.tolist() == [c]
                together.append((c, Together(_domains(problem, int(t)), classes, alone)))
        for index in range(links.hard_first[link], links.hard_first[link + 1]):
            spread = _spread(problem, joined, index)
            if spread is not None:
                spreads[int(links.hard[index]), spread.skew] = spread
    return Constraints(tuple(apart), tuple(together), tuple(spreads.values()))


def _joined(problem: Repacking) -> arrays.Bools:
    """Return which groups each class joins, ``[classes, groups]``."""
    links, tallies = problem.batch.links, problem.batch.tallies
    joined = np.zeros((len(problem.row_of_class), len(tallies.counts)), dtype=np.bool_)
    for c, link in enumerate(problem.link_of_class.tolist()):
        joined[c, links.joins[links.joins_first[link] : links.joins_first[link + 1]]] = True
    return joined


def _domains(problem: Repacking, tally: int) -> arrays.Ints:
    tallies = problem.batch.tallies
    codes = tallies.codes[tallies.key[tally]].astype(np.int64)
    return np.where(tallies.masks[tallies.mask[tally]], codes, -1)


def _spread(problem: Repacking, joined: arrays.Bools, index: int) -> Spread | None:
    """Return a hard spread constraint, if it holds for the final numbers.

    It does if every item that counts has the constraint itself: the numbers of the emptiest domain
    only grow, so the last item placed in a domain leaves it within the skew.
    """
    links, tallies = problem.batch.links, problem.batch.tallies
    tally = int(links.hard[index])
    if tallies.sums[tally] > 0 or not links.hard_self[index]:
        return None
    classes = np.flatnonzero(joined[:, tallies.group[tally]])
    skew, least = int(links.hard_skew[index]), int(links.hard_domains[index])
    for link in problem.link_of_class[classes].tolist():
        same = [
            links.hard_skew[i] == skew and links.hard_domains[i] == least and links.hard_self[i]
            for i in range(links.hard_first[link], links.hard_first[link + 1])
            if links.hard[i] == tally
        ]
        if not any(same):
            return None
    spread = Spread(_domains(problem, tally), classes, skew, from_zero=False)
    return Spread(spread.domains, classes, skew, from_zero=spread.domain_count < least)
