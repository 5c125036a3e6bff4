"""``POST /mutate-v1-pod``: responds within a deadline, even after internal errors.

After the deadline or an error, a pod is admitted unchanged: an admission webhook must not block
pods because of its own faults. Both cases are counted and returned as a warning.
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
    """Handles admission reviews.

    Args:
        reviewer: Decides on pods.
        journal: Receives decision records.
        metrics: Metrics to update.
        deadline_s: Maximum time from request to response, seconds.
    """

    def __init__(
        self,
        reviewer: Reviewer,
        journal: Journal,
        metrics: servers.Telemetry,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._reviewer, self._journal, self._deadline_s = reviewer, journal, deadline_s
        # In threads, so that the deadline also holds for blocking work.
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="review")
        self._reviews = metrics.counter(
            "reviews", "Reviews by outcome and reason.", ("outcome", "reason")
        )
        self._skipped = metrics.counter(
            "skipped_containers", "Containers of managed pods without a value.", ("reason",)
        )
        self._refused = metrics.counter(
            "refused", "Request bodies that are not a valid AdmissionReview.", ("reason",)
        )
        self._took = metrics.latency("review_duration_seconds", "Time from request to response.")

    def handlers(self) -> dict[str, servers.Handler]:
        """Return the handlers by path."""
        return {PATH: self.handle}

    def close(self) -> None:
        """Stop the threads without waiting for one that hangs."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def handle(
        self, request: servers.FastRequest
    ) -> servers.FastResponse | Awaitable[servers.FastResponse]:
        """Handle one request; immediately if a similar pod was decided on before."""
        if request.media != servers.JSON:
            self._refused.labels("content-type").inc()
            return servers.FastResponse(
                b"expected Content-Type: application/json\n", 415, servers.TEXT
            )
        try:
            review = admission_review.read(request.body)
        except admission_review.ReviewError as err:
            self._refused.labels("malformed").inc()
            return servers.FastResponse(f"{err}\n".encode(), 400, servers.TEXT)
        try:
            verdict = self._reviewer.recall(review)
        except Exception:  # noqa: BLE001 - the full review reports what is wrong
            verdict = None
        if verdict is None:
            return self._review_in_thread(review, request.began_s)
        return self._reply(review, verdict, request.began_s)

    async def _review_in_thread(
        self, review: admission_review.AdmissionRequest, began_s: float
    ) -> servers.FastResponse:
        return self._reply(review, await self._decide(review, began_s), began_s)

    def _reply(
        self, review: admission_review.AdmissionRequest, verdict: ReviewVerdict, began_s: float
    ) -> servers.FastResponse:
        self._count(verdict)
        content = admission_review.encode_response(review.uid, verdict.patch, verdict.warnings)
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
        except Exception as err:  # noqa: BLE001 - no internal error may block a pod
            _LOG.exception("request %s: left unchanged", review.uid)
            return _unchanged("error", f"internal error ({type(err).__name__})")

    def _count(self, verdict: ReviewVerdict) -> None:
        self._reviews.labels(verdict.outcome, verdict.reason).inc()
        for reason, count in verdict.skipped.items():
            self._skipped.labels(reason).inc(count)


def _unchanged(reason: str, text: str) -> ReviewVerdict:
    return ReviewVerdict(UNCHANGED, reason, warnings=(f"kubestow: pod left unchanged: {text}",))
