"""``POST /mutate-v1-pod``: an answer in time, whatever happens inside.

A pod is let through unchanged when there is no time left or something goes wrong: an admission
webhook that is in doubt must not stand in the way. Both are counted, and told as a warning.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kubestow.live import servers
from kubestow.live.admission import review as admission_review
from kubestow.live.admission.reviewer import UNCHANGED, Reviewer, ReviewVerdict
from kubestow.live.stores import Journal

PATH: Final = "/mutate-v1-pod"
DEADLINE_S: Final = 2.0
_WORKERS: Final = 4
_LOG = logging.getLogger(__name__)


class Handler:
    """Answers reviews.

    Args:
        reviewer: Decides.
        journal: Keeps decisions.
        metrics: Where to count.
        deadline_s: Longest time from the request's arrival to the answer.
    """

    def __init__(
        self,
        reviewer: Reviewer,
        journal: Journal,
        metrics: servers.Telemetry,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._reviewer, self._journal, self._deadline_s = reviewer, journal, deadline_s
        # In threads, so that the deadline holds for work that does not pause.
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="review")
        self._reviews = metrics.counter(
            "reviews", "Reviews by outcome and reason.", ("outcome", "reason")
        )
        self._skipped = metrics.counter(
            "skipped_containers", "Containers of managed pods without a value.", ("reason",)
        )
        self._refused = metrics.counter("refused", "Bodies that are no review.", ("reason",))
        self._took = metrics.latency("review_duration_seconds", "Time from arrival to answer.")

    def handlers(self) -> dict[str, servers.Handler]:
        """Return what it answers, by path."""
        return {PATH: self.answer}

    def close(self) -> None:
        """End the threads; one that hangs is left behind."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def answer(
        self, asked: servers.FastRequest
    ) -> servers.FastResponse | Awaitable[servers.FastResponse]:
        """Answer one request: at once where a pod like it was decided on before."""
        if asked.media != servers.JSON:
            self._refused.labels("content-type").inc()
            return servers.FastResponse(
                b"expected Content-Type: application/json\n", 415, servers.TEXT
            )
        try:
            review = admission_review.read(asked.body)
        except admission_review.ReviewError as err:
            self._refused.labels("malformed").inc()
            return servers.FastResponse(f"{err}\n".encode(), 400, servers.TEXT)
        try:
            known = self._reviewer.recall(review)
        except Exception:  # noqa: BLE001 - what is wrong with it is said on the long way
            known = None
        if known is None:
            return self._work_out(review, asked.began_s)
        return self._reply(review, known, asked.began_s)

    async def _work_out(
        self, review: admission_review.AdmissionRequest, began_s: float
    ) -> servers.FastResponse:
        return self._reply(review, await self._decide(review, began_s), began_s)

    def _reply(
        self, review: admission_review.AdmissionRequest, verdict: ReviewVerdict, began_s: float
    ) -> servers.FastResponse:
        self._count(verdict)
        content = admission_review.answer(review.uid, verdict.patch, verdict.warnings)
        self._took.observe(time.perf_counter() - began_s)
        record = verdict.record
        if record is None:
            return servers.FastResponse(content)
        return servers.FastResponse(content, then=functools.partial(self._journal.put, record))

    async def _decide(
        self, review: admission_review.AdmissionRequest, began_s: float
    ) -> ReviewVerdict:
        left_s = self._deadline_s - (time.perf_counter() - began_s)
        try:
            async with asyncio.timeout(max(left_s, 0.0)):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._workers, self._reviewer.review, review)
        except TimeoutError:
            _LOG.warning("request %s: no decision within %g s", review.uid, self._deadline_s)
            return _unchanged("deadline", f"no decision within {self._deadline_s:g} s")
        except Exception as err:  # noqa: BLE001 - no fault here may stop a pod
            _LOG.exception("request %s: left unchanged", review.uid)
            return _unchanged("error", f"internal error ({type(err).__name__})")

    def _count(self, verdict: ReviewVerdict) -> None:
        self._reviews.labels(verdict.outcome, verdict.reason).inc()
        for reason, count in verdict.skipped.items():
            self._skipped.labels(reason).inc(count)


def _unchanged(reason: str, text: str) -> ReviewVerdict:
    return ReviewVerdict(UNCHANGED, reason, warnings=(f"kubestow: pod left unchanged: {text}",))
