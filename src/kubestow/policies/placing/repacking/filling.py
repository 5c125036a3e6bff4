"""List heuristics on the nodes of a cluster: every item to the best node that may hold it.

The loop is that of ``packing.pack``: an item goes to the open node with the highest score, and a
node is opened only when no open one is feasible. What differs is what feasible means: all filters
of kube-scheduler, evaluated with the compiled scheduler's tables. Items that no node admits yet,
for example because the pods they must be near come later, are tried again at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled
from kubestow.policies.placing import batch, packing
from kubestow.policies.placing.repacking.problems import Repacking


class Rooms(NamedTuple):
    """What a run of the loop changes, and what it looks up.

    Attributes:
        free: What is free of every resource of the cluster, ``[resources, nodes]``; updated.
        requested: Requests per class as the filter counts them, ``[classes, resources]``.
        taken: What a placed item takes, ``[classes, resources]``.
        admitted: Nodes that static filters admit per class.
        link: Row of each class in the links.
        opening: Nodes in the order in which they are opened.
    """

    free: arrays.Floats
    requested: arrays.Floats
    taken: arrays.Floats
    admitted: arrays.Bools
    link: arrays.Ints
    opening: arrays.Ints


@dataclass(frozen=True, slots=True, eq=False)
class Filling:
    """The node of every item.

    Attributes:
        rows: Row of the node per item, ``packing.UNPLACED`` without one.
    """

    rows: arrays.Ints

    @property
    def used(self) -> arrays.Ints:
        """Rows of the nodes that hold an item."""
        return np.unique(self.rows[self.rows != packing.UNPLACED])

    @property
    def unplaced(self) -> int:
        """Number of items without a node."""
        return int((self.rows == packing.UNPLACED).sum())

    @property
    def cost(self) -> tuple[int, int]:
        """What to minimise: items without a node, then nodes."""
        return self.unplaced, len(self.used)


def fill(
    problem: Repacking,
    heuristic: packing.Heuristic,
    order: arrays.Ints | None = None,
    opening: arrays.Ints | None = None,
) -> Filling:
    """Pack the items of a cluster by a list heuristic.

    Args:
        problem: What to pack.
        heuristic: The heuristic.
        order: Items in the order in which to place them; ``None`` for that of the queue.
        opening: Nodes in the order in which to open them; ``None`` for ``opening_order``.
    """
    count = len(problem.items)
    rows = np.full(count, packing.UNPLACED, dtype=np.int64)
    table, nodes = packing.table_of_nodes(problem.capacity)
    fill_items(
        heuristic.rule,
        heuristic.parameters.encode(len(problem.resources)),
        np.arange(count) if order is None else order,
        problem.class_of_item,
        problem.demands,
        table,
        nodes,
        _rooms(problem, opening_order(problem) if opening is None else opening),
        problem.batch.fresh_tallies(),
        problem.batch.links,
        rows,
    )
    return _settled(problem, rows)


def _settled(problem: Repacking, rows: arrays.Ints) -> Filling:
    """Place items with the scheduler itself where the tables do not show everything.

    An item whose node does not admit it after all goes to the fullest open node that does, or else
    to the first one.
    """
    if not problem.has_volumes:
        return Filling(rows)
    state, exact = problem.fresh_state(), problem.scheduler()
    settled = np.full(len(rows), packing.UNPLACED, dtype=np.int64)
    left = np.argsort(rows == packing.UNPLACED, kind="stable").tolist()
    progress = True
    while left and progress:
        waiting = []
        for item in left:
            feasible = exact.place(problem.items[item], state).feasible
            if not len(feasible):
                waiting.append(item)
                continue
            settled[item] = rows[item]
            if rows[item] not in feasible:
                held = np.bincount(settled[settled >= 0], minlength=len(state))[feasible]
                settled[item] = feasible[np.argmax(held)]
            exact.bind(problem.items[item], state, int(settled[item]))
        progress = len(waiting) < len(left)
        left = waiting
    return Filling(settled)


def replay(problem: Repacking, rows: arrays.Ints) -> Filling:
    """Place items on given nodes, in an order in which the filters admit them.

    Items whose node does not admit them in any such order stay without a node. The result is
    therefore a packing that kube-scheduler's filters allow.
    """
    if problem.has_volumes:
        return _replay_exactly(problem, rows)
    placed = np.full(len(problem.items), packing.UNPLACED, dtype=np.int64)
    replay_items(
        problem.class_of_item,
        rows,
        _rooms(problem, np.zeros(0, dtype=np.int64)),
        problem.batch.fresh_tallies(),
        problem.batch.links,
        placed,
    )
    return Filling(placed)


def _replay_exactly(problem: Repacking, rows: arrays.Ints) -> Filling:
    state, exact = problem.fresh_state(), problem.scheduler()
    placed = np.full(len(rows), packing.UNPLACED, dtype=np.int64)
    left = np.flatnonzero(rows != packing.UNPLACED).tolist()
    progress = True
    while left and progress:
        waiting = []
        for item in left:
            if exact.fits(problem.items[item], state, int(rows[item])):
                placed[item] = rows[item]
                exact.bind(problem.items[item], state, int(rows[item]))
            else:
                waiting.append(item)
        progress = len(waiting) < len(left)
        left = waiting
    return Filling(placed)


def opening_order(problem: Repacking) -> arrays.Ints:
    """Return usable nodes, large ones first, then those that admit most items."""
    largest = np.maximum(problem.capacity.max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    size = np.round((problem.capacity / largest).mean(axis=1), 12)
    welcome = (problem.admitted * problem.counts[:, None]).sum(axis=0)
    order = np.lexsort((-welcome, -size))
    return order[np.isin(order, problem.usable)].astype(np.int64)


def _rooms(problem: Repacking, opening: arrays.Ints) -> Rooms:
    prepared, rows = problem.batch, problem.row_of_class
    width = len(prepared.nodes.offered)
    return Rooms(
        free=prepared.nodes.offered - prepared.nodes.used[:width],
        requested=np.ascontiguousarray(prepared.classes.requested[rows]),
        taken=np.ascontiguousarray(prepared.classes.taken[rows, :width]),
        admitted=problem.admitted,
        link=problem.link_of_class,
        opening=opening,
    )


@compiled
def mark_feasible(
    rooms: Rooms, tallies: batch.Tallies, links: batch.Links, c: int, feasible: arrays.Bools
) -> None:
    """Mark the nodes that every filter admits for an item of a class."""
    feasible[:] = rooms.admitted[c]
    for j in range(rooms.requested.shape[1]):
        amount = rooms.requested[c, j]
        if amount > 0.0:
            for row in range(len(feasible)):
                feasible[row] &= amount <= rooms.free[j, row]
    batch.apply_filters(tallies, links, rooms.link[c], feasible)


@compiled
def take(rooms: Rooms, tallies: batch.Tallies, links: batch.Links, c: int, row: int) -> None:
    """Place an item of a class on a node."""
    for j in range(rooms.taken.shape[1]):
        rooms.free[j, row] -= rooms.taken[c, j]
    batch.count_pod(tallies, links, rooms.link[c], row)


@compiled
def fill_items(
    rule: int,
    parameters: arrays.Floats,
    order: arrays.Ints,
    class_of_item: arrays.Ints,
    demands: arrays.Floats,
    table: packing.PackingTable,
    nodes: packing.PackingNodes,
    rooms: Rooms,
    tallies: batch.Tallies,
    links: batch.Links,
    rows: arrays.Ints,
) -> None:
    """Place items in order, and those left again until no more fits.

    Args:
        rule: One of the rules of the packing heuristics.
        parameters: The rule's parameters, encoded.
        order: Items in the order in which to place them.
        class_of_item: Class per item.
        demands: Demand per class and packed resource.
        table: Capacities of the nodes.
        nodes: State of all nodes for the scores; updated.
        rooms: What is free and what is asked; updated.
        tallies: Pod counts; updated.
        links: Which tallies concern which class.
        rows: Node per item, -1 at first; updated.
    """
    chooser = packing.make_chooser(rule, parameters, len(table.inverse), demands.shape[1])
    count = rooms.free.shape[1]
    feasible = np.empty(count, np.bool_)
    opened = np.empty(count, np.int64)
    is_open = np.zeros(count, np.bool_)
    fitting = np.empty(count + 1, np.int64)
    values = np.empty(count + 1)
    number = 0
    waiting = order.copy()
    left = len(waiting)
    progress = True
    while progress and left > 0:
        progress = False
        still = 0
        for position in range(left):
            item = waiting[position]
            c = class_of_item[item]
            mark_feasible(rooms, tallies, links, c, feasible)
            packing.load_item(rule, chooser, demands, c, table)
            matches = 0
            for k in range(number):
                fitting[matches] = opened[k]
                matches += int(feasible[opened[k]])
            row = packing.choose_node(
                rule, parameters, chooser, table, nodes, fitting, matches, values
            )
            if row < 0:
                for candidate in rooms.opening:
                    if feasible[candidate] and not is_open[candidate]:
                        row = candidate
                        opened[number] = row
                        is_open[row] = True
                        number += 1
                        break
            if row < 0:
                waiting[still] = item
                still += 1
                continue
            rows[item] = row
            progress = True
            take(rooms, tallies, links, c, row)
            packing.put_on_node(rule, nodes, row, demands, c, table)
        left = still


@compiled
def replay_items(
    class_of_item: arrays.Ints,
    wanted: arrays.Ints,
    rooms: Rooms,
    tallies: batch.Tallies,
    links: batch.Links,
    rows: arrays.Ints,
) -> None:
    """Place each item on the node it is wanted on, as soon as the filters admit it there."""
    feasible = np.empty(rooms.free.shape[1], np.bool_)
    progress = True
    while progress:
        progress = False
        for item in range(len(wanted)):
            if rows[item] >= 0 or wanted[item] < 0:
                continue
            c = class_of_item[item]
            mark_feasible(rooms, tallies, links, c, feasible)
            if feasible[wanted[item]]:
                rows[item] = wanted[item]
                take(rooms, tallies, links, c, wanted[item])
                progress = True
