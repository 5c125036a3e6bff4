"""Writes recommendations to the store, from which admission applies them to new pods."""

from __future__ import annotations

import time

from kubestow.live import stores
from kubestow.policies.sizing.recommendations import Recommendation, to_quantities
from kubestow.workflows.recommending.pipeline import RecommendResult


def store_recommendations(url: str, result: RecommendResult) -> int:
    """Write recommendations and their decision records to a store; return the number of containers.

    Raises:
        InputError: If the URL or the database cannot be used.
        StoreUnavailableError: If the database does not respond.
    """
    now_s = time.time()
    keys = [one.key for one in result.recommendations]
    with stores.open_store(url) as store, store.writing() as connection:  # all or nothing
        numbers = stores.container_numbers(connection, keys)
        for key, one in zip(keys, result.recommendations, strict=True):
            made = [_made(one, now_s)]
            stores.put_recommendations(connection, numbers[key], made)
        stores.put_decisions(connection, result.records, now_s)
    return len(keys)


def _made(one: Recommendation, now_s: float) -> stores.StoredRecommendation:
    return stores.StoredRecommendation(
        now_s,
        one.strategy,
        to_quantities(one.requests),
        to_quantities(one.limits),
        one.why,
        evidence=one.evidence,
        samples=one.usage.samples,
    )
