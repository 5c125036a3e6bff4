"""``POST /mutate-v1-pod``: an answer in time, whatever happens inside.

A pod is let through unchanged when there is no time left or something goes wrong: an admission
webhook that is in doubt must not stand in the way. Both are counted, and told as a warning.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubestow.live import telemetry
from kubestow.live.admission import reviews
from kubestow.live.admission.reviewers import UNCHANGED, Reviewer, Verdict
from kubestow.live.journals import Journal

PATH: Final = "/mutate-v1-pod"
DEADLINE_S: Final = 2.0
_WORKERS: Final = 4
_JSON: Final = "application/json"
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
        metrics: telemetry.Telemetry,
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

    def routes(self) -> list[Route]:
        """Return what it answers."""
        return [Route(PATH, self.answer, methods=["POST"])]

    def close(self) -> None:
        """End the threads; one that hangs is left behind."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        began_s = time.perf_counter()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != _JSON:
            self._refused.labels("content-type").inc()
            return PlainTextResponse(f"expected Content-Type: {_JSON}\n", 415)
        body = await request.body()
        try:
            review = reviews.read(body)
        except reviews.ReviewError as err:
            self._refused.labels("malformed").inc()
            return PlainTextResponse(f"{err}\n", 400)
        verdict = await self._decide(review, began_s)
        self._count(verdict)
        if verdict.record is not None:
            self._journal.put(verdict.record)
        content = reviews.answer(review.uid, verdict.patch, verdict.warnings)
        self._took.observe(time.perf_counter() - began_s)
        return Response(content, media_type=_JSON)

    async def _decide(self, review: reviews.Request, began_s: float) -> Verdict:
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

    def _count(self, verdict: Verdict) -> None:
        self._reviews.labels(verdict.outcome, verdict.reason).inc()
        for reason, count in verdict.skipped.items():
            self._skipped.labels(reason).inc(count)


def _unchanged(reason: str, text: str) -> Verdict:
    return Verdict(UNCHANGED, reason, warnings=(f"kubestow: pod left unchanged: {text}",))
