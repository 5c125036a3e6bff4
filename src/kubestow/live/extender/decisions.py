"""Answers the questions of kube-scheduler with a term, on the cluster of this moment.

A node the cache does not know (yet) passes with score 0: the scheduler knows it, and Kubernetes
would go on without an extender. After scores were given the pod is assumed to go to the best node,
until the watch says where it is: in a burst the next question comes before that.
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

CANDIDATES = 3  # that a record names
ASSUMED_MOST_S = 30.0  # longer than any binding takes; kube-scheduler's own assumption never ends

Record = Callable[[Callable[[], decisions.DecisionRecord]], None]
"""Takes what makes a record, so that nobody waits until it is made."""


class WallClock(Protocol):
    """Seconds since the epoch."""

    def __call__(self) -> float:
        """Return the time."""


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A question as the policies see it."""

    uid: str
    pod: pods.Pod
    text: msgspec.Raw  # names of the nodes as they came
    asked: int  # how many nodes the question is about
    places: arrays.Ints  # positions in the question of nodes that are known
    rows: arrays.Ints  # their rows
    layout: tuple[str, ...]  # names of the state's nodes

    def name(self, at: int) -> str:
        """Return the name of a known node."""
        return self.layout[int(self.rows[at])]


class TermDecider:
    """Filters and scores nodes by a term.

    Args:
        cache: The cluster.
        term: What decides.
        book: Measured and assumed loads; without it, requests count as load.
        record: Takes what was decided.
        clock: Seconds since the epoch.
        decision: How the term takes part in the choice (``catalogs.DECISIONS``); a decisive one
            always decides alone: of the nodes that may take a pod, only the best is left.
    """

    def __init__(
        self,
        cache: caches.ClusterCache,
        term: terms.Term,
        book: caches.NodeLoads | None,
        record: Record,
        clock: WallClock = time.time,
        *,
        decision: str = profiles.WEIGHTED,
    ) -> None:
        self._cache, self._term, self._book = cache, term, book
        self._record, self._clock, self._decision = record, clock, decision
        self.unknown = 0  # nodes asked about that the cache does not have
        self._last: tuple[_Case, terms.TermScores] | None = None  # what the last filter worked out
        self._tabled: tuple[str, ...] | None = None  # the nodes that the table below is of
        self._table = node_names.make_table(())
        self._going: tuple[_Case, str] | None = None  # the last pod, and where it likely goes

    def filter(self, question: messages.ExtenderArgs) -> messages.FilterAnswer:
        """Return the nodes that may take the pod, or those of them that the term finds best."""
        self.settle()
        case = self._read(question)
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
            return messages.answer_all(question)
        else:
            kept = np.ones(case.asked, dtype=np.bool_)
            kept[case.places[refused_at]] = False
            left = np.flatnonzero(kept).tolist()
            if not left:
                self._record(functools.partial(self._refusal, case, refused, self._clock()))
            elif len(left) == 1:  # then kube-scheduler asks for no scores
                self._going = case, messages.node_names(question)[left[0]]
        return messages.answer(question, left, refused)

    def _decide(self, case: _Case, weighed: terms.TermScores, *, alone: bool) -> list[int]:
        """Return where the best nodes stand in the question.

        Of a term that decides alone that is one, or those that tie for a pod's wishes: with its
        weight no other node could win, so that its scores, and those of kube-scheduler itself, need
        not be worked out.
        """
        passes = weighed.passes
        case = replace(case, places=case.places[passes], rows=case.rows[passes])
        weighed = weighed.where(passes)
        whole = self._sent(case, weighed)
        self._record(functools.partial(self._choice, case, weighed, whole, self._clock()))
        self._going = case, case.name(_likely(weighed.scores, whole))
        best = (
            np.flatnonzero(whole == whole.max()) if alone else terms.pick_shortlist(weighed.scores)
        )
        found: list[int] = case.places[best].tolist()
        return found

    def prioritize(self, question: messages.ExtenderArgs) -> list[messages.HostPriority]:
        """Return the scores of nodes; those that are left out have 0.

        What all nodes have decides nothing, and is left out too: kube-scheduler reads every score
        with every pod.
        """
        self.settle()
        case, weighed = self._resume(question)
        whole = self._sent(case, weighed)
        self._record(functools.partial(self._choice, case, weighed, whole, self._clock()))
        if len(case.rows):
            self._going = case, case.name(_likely(weighed.scores, whole))
            if len(case.rows) == case.asked:
                whole = whole - whole.min()
        scored = np.flatnonzero(whole)
        return [
            messages.HostPriority(case.layout[row], score)
            for row, score in zip(case.rows[scored].tolist(), whole[scored].tolist(), strict=True)
        ]

    def settle(self) -> None:
        """Count the last pod where it likely goes; to be called when its answer is on its way."""
        going, self._going = self._going, None
        if going is not None:
            case, node = going
            if case.uid:
                self._cache.assume(case.uid, case.pod, node, self._clock())

    def tidy(self) -> None:
        """Drop what is assumed for too long, or shown by metrics."""
        self.settle()
        now_s = self._clock()
        self._cache.forget_assumed(now_s - ASSUMED_MOST_S)
        if self._book is not None:
            self._book.forget(self._cache.state, now_s)

    def _resume(self, question: messages.ExtenderArgs) -> tuple[_Case, terms.TermScores]:
        """Return what the filter worked out a moment ago if it is about the same pod and nodes."""
        last, self._last = self._last, None
        if last is not None:
            case, _ = last
            same = question.is_named and case.text == question.node_names
            if same and case.layout is self._cache.state.names:
                uid = messages.read_pod(question.pod).metadata.uid
                if case.uid == uid:
                    return last
        case = self._read(question)
        return case, self._weigh(case)

    def _read(self, question: messages.ExtenderArgs) -> _Case:
        asking = self._cache.read_pod(bytes(question.pod))
        state, text = self._cache.state, question.node_names
        if self._tabled is not state.names:
            self._tabled, self._table = state.names, node_names.make_table(state.names)
        found = node_names.find_rows(self._table, bytes(text)) if question.is_named else None
        if found is None:
            wanted = messages.node_names(question)
            found = np.array([state.rows.get(name, node_names.UNKNOWN) for name in wanted])
        places = np.flatnonzero(found >= 0)
        rows = found if len(places) == len(found) else found[places]
        self.unknown += len(found) - len(rows)
        return _Case(asking.uid, asking.pod, text, len(found), places, rows, state.names)

    def _weigh(self, case: _Case) -> terms.TermScores:
        state = self._cache.state
        if self._book is None:
            loads = terms.Loads.by_requests(state)
        else:
            loads = self._book.loads(state, self._clock())
        return self._term.weigh(case.pod, state, loads, case.rows)

    def _sent(self, case: _Case, weighed: terms.TermScores) -> arrays.Ints:
        return terms.sent_scores(
            case.pod, self._cache.state, case.rows, weighed.scores, decisive=weighed.decisive
        )

    def _choice(
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
            "nodes": float(case.asked),
            "unknown": float(case.asked - len(case.rows)),
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

    def _refusal(
        self, case: _Case, refused: dict[str, str], now_s: float
    ) -> decisions.DecisionRecord:
        reasons: dict[str, int] = {}
        for reason in refused.values():
            reasons[reason] = reasons.get(reason, 0) + 1
        most = sorted(reasons.items(), key=lambda found: -found[1])[:CANDIDATES]
        return decisions.DecisionRecord(
            kind="placing",
            subject=f"pod/{case.pod.key}",
            policy=self._term.name,
            outcome=None,
            time=now_s,
            rejected={reason: f"{count} nodes" for reason, count in most},
            numbers={"nodes": float(case.asked)},
        )


def _likely(scores: arrays.Floats, whole: arrays.Ints) -> int:
    """Return the position of the node a pod most likely goes to."""
    return int(np.argmax(np.where(whole == whole.max(), scores, -np.inf)))
