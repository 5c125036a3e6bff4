"""Filters and scores nodes for kube-scheduler with a term, on the current cluster.

A node that the cache does not know (yet) passes with score 0: the scheduler knows it, and would
use it without an extender. After scoring, the pod is assumed on the best node until the watch shows
its node: in a burst the next request comes before that.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec
import numpy as np

from kubestow.live import caches
from kubestow.live.extender import messages, node_names
from kubestow.model import arrays, decisions, pods
from kubestow.policies.placing import profiles, terms

CANDIDATES = 3  # nodes in a record
ASSUMED_MOST_S = 30.0  # longer than any binding takes; kube-scheduler's own assumption never ends

Record = Callable[[Callable[[], decisions.DecisionRecord]], None]
"""Receives a function that makes a record, so that no response waits for it."""


class WallClock(Protocol):
    """Seconds since the epoch."""

    def __call__(self) -> float:
        """Return the time."""


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A decoded request of kube-scheduler."""

    uid: str
    pod: pods.Pod
    text: msgspec.Raw  # names of the nodes, undecoded
    node_count: int  # candidate nodes
    positions: arrays.Ints  # indices of known nodes in the request
    rows: arrays.Ints  # rows of known nodes
    layout: tuple[str, ...]  # names of the state's nodes

    def name(self, at: int) -> str:
        """Return the name of a known node."""
        return self.layout[int(self.rows[at])]


class TermDecider:
    """Filters and scores nodes by a term.

    Args:
        cache: The cluster.
        term: The placing term.
        loads: Measured and assumed loads; ``None`` uses requests as load.
        record: Receives decisions.
        clock: Seconds since the epoch.
        decision: How the term takes part in the choice (``profiles.DECISIONS``); a decisive term
            always decides alone: only the best of the feasible nodes is returned.
    """

    def __init__(
        self,
        cache: caches.ClusterCache,
        term: terms.Term,
        loads: caches.NodeLoads | None,
        record: Record,
        clock: WallClock = time.time,
        *,
        decision: str = profiles.WEIGHTED,
    ) -> None:
        self._cache, self._term, self._loads = cache, term, loads
        self._record, self._clock, self._decision = record, clock, decision
        self.unknown = 0  # candidate nodes that the cache does not have
        self._last: tuple[_Case, terms.TermScores] | None = None  # scores of the last filter
        self._tabled: tuple[str, ...] | None = None  # the nodes of the table below
        self._table = node_names.make_table(())
        self._likely_node: tuple[_Case, str] | None = None  # the last pod and its likely node

    def filter(self, args: messages.ExtenderArgs) -> messages.FilterResult:
        """Return the feasible nodes, or only the best of them."""
        self.settle()
        case = self._read(args)
        weighed = self._weigh(case)
        self._last = case, weighed
        refused_at = np.flatnonzero(~weighed.passes)
        refused = {case.name(at): weighed.explain(at) for at in refused_at.tolist()}
        shortens = self._decision == profiles.SHORTLIST
        alone = weighed.decisive or self._decision == profiles.ALONE
        alone |= shortens and not terms.has_preferences(case.pod)
        if (alone or shortens) and len(refused) < len(case.rows):
            left = self._decide(case, weighed, alone=alone)
        elif not refused:
            return messages.keep_all(args)
        else:
            kept = np.ones(case.node_count, dtype=np.bool_)
            kept[case.positions[refused_at]] = False
            left = np.flatnonzero(kept).tolist()
            if not left:
                self._record(
                    functools.partial(self._rejection_record, case, refused, self._clock())
                )
            elif len(left) == 1:  # then kube-scheduler does not call prioritize
                self._likely_node = case, messages.node_names(args)[left[0]]
        return messages.keep_some(args, left, refused)

    def _decide(self, case: _Case, weighed: terms.TermScores, *, alone: bool) -> list[int]:
        """Return the indices of the best nodes in the request.

        For a term that decides alone that is one node, or those that tie in preferred affinity:
        with the term's weight no other node could win, so its scores, and those of kube-scheduler
        itself, need not be computed.
        """
        passes = weighed.passes
        case = replace(case, positions=case.positions[passes], rows=case.rows[passes])
        weighed = weighed.where(passes)
        whole = self._sent(case, weighed)
        self._record(functools.partial(self._decision_record, case, weighed, whole, self._clock()))
        self._likely_node = case, case.name(_likely(weighed.scores, whole))
        best = (
            np.flatnonzero(whole == whole.max()) if alone else terms.pick_shortlist(weighed.scores)
        )
        indices: list[int] = case.positions[best].tolist()
        return indices

    def prioritize(self, args: messages.ExtenderArgs) -> list[messages.HostPriority]:
        """Return the scores of nodes; omitted nodes have 0.

        If all nodes are known, the minimum is subtracted. Zeros are omitted: kube-scheduler decodes
        every score for every pod.
        """
        self.settle()
        case, weighed = self._resume(args)
        whole = self._sent(case, weighed)
        self._record(functools.partial(self._decision_record, case, weighed, whole, self._clock()))
        if len(case.rows):
            self._likely_node = case, case.name(_likely(weighed.scores, whole))
            if len(case.rows) == case.node_count:
                whole = whole - whole.min()
        scored = np.flatnonzero(whole)
        return [
            messages.HostPriority(case.layout[row], score)
            for row, score in zip(case.rows[scored].tolist(), whole[scored].tolist(), strict=True)
        ]

    def settle(self) -> None:
        """Count the last pod on its likely node; called after its response is sent."""
        likely, self._likely_node = self._likely_node, None
        if likely is not None:
            case, node = likely
            if case.uid:
                self._cache.assume(case.uid, case.pod, node, self._clock())

    def tidy(self) -> None:
        """Drop assumptions that are too old, or that metrics include."""
        self.settle()
        now_s = self._clock()
        self._cache.forget_assumed(now_s - ASSUMED_MOST_S)
        if self._loads is not None:
            self._loads.forget(self._cache.state, now_s)

    def _resume(self, args: messages.ExtenderArgs) -> tuple[_Case, terms.TermScores]:
        """Return the scores of the last filter if it had the same pod and nodes."""
        last, self._last = self._last, None
        if last is not None:
            case, _ = last
            same = args.is_named and case.text == args.node_names
            if same and case.layout is self._cache.state.names:
                uid = messages.read_pod(args.pod).metadata.uid
                if case.uid == uid:
                    return last
        case = self._read(args)
        return case, self._weigh(case)

    def _read(self, args: messages.ExtenderArgs) -> _Case:
        reading = self._cache.read_pod(bytes(args.pod))
        state, text = self._cache.state, args.node_names
        if self._tabled is not state.names:
            self._tabled, self._table = state.names, node_names.make_table(state.names)
        rows_or_unknown = node_names.find_rows(self._table, bytes(text)) if args.is_named else None
        if rows_or_unknown is None:
            names = messages.node_names(args)
            rows_or_unknown = np.array([state.rows.get(name, node_names.UNKNOWN) for name in names])
        positions = np.flatnonzero(rows_or_unknown >= 0)
        rows = (
            rows_or_unknown
            if len(positions) == len(rows_or_unknown)
            else rows_or_unknown[positions]
        )
        self.unknown += len(rows_or_unknown) - len(rows)
        return _Case(
            reading.uid, reading.pod, text, len(rows_or_unknown), positions, rows, state.names
        )

    def _weigh(self, case: _Case) -> terms.TermScores:
        state = self._cache.state
        if self._loads is None:
            loads = terms.Loads.by_requests(state)
        else:
            loads = self._loads.loads(state, self._clock())
        return self._term.weigh(case.pod, state, loads, case.rows)

    def _sent(self, case: _Case, weighed: terms.TermScores) -> arrays.Ints:
        return terms.sent_scores(
            case.pod, self._cache.state, case.rows, weighed.scores, decisive=weighed.decisive
        )

    def _decision_record(
        self, case: _Case, weighed: terms.TermScores, whole: arrays.Ints, now_s: float
    ) -> decisions.DecisionRecord:
        best = np.lexsort((-weighed.scores, -whole))[:CANDIDATES].tolist()
        candidates = tuple(
            decisions.Candidate(
                case.name(at),
                {name: float(part[at]) for name, part in weighed.parts.items()},
                float(weighed.scores[at]),
            )
            for at in best
        )
        numbers = {
            "nodes": float(case.node_count),
            "unknown": float(case.node_count - len(case.rows)),
        }
        if best:
            numbers["sent"] = float(whole[best[0]])
        return decisions.DecisionRecord(
            kind="placing",
            subject=f"pod/{case.pod.key}",
            policy=self._term.name,
            outcome=candidates[0].name if candidates else None,
            time=now_s,
            candidates=candidates,
            numbers=numbers,
        )

    def _rejection_record(
        self, case: _Case, refused: dict[str, str], now_s: float
    ) -> decisions.DecisionRecord:
        reasons: dict[str, int] = {}
        for reason in refused.values():
            reasons[reason] = reasons.get(reason, 0) + 1
        most = sorted(reasons.items(), key=lambda item: -item[1])[:CANDIDATES]
        return decisions.DecisionRecord(
            kind="placing",
            subject=f"pod/{case.pod.key}",
            policy=self._term.name,
            outcome=None,
            time=now_s,
            rejected={reason: f"{count} nodes" for reason, count in most},
            numbers={"nodes": float(case.node_count)},
        )


def _likely(scores: arrays.Floats, whole: arrays.Ints) -> int:
    """Return the index of the pod's most likely node."""
    return int(np.argmax(np.where(whole == whole.max(), scores, -np.inf)))
