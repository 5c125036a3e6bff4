"""Advice into the store, from where admission gives it to new pods."""

from __future__ import annotations

import time

from kubestow.live.stores import containers, decisions, engines, recommendations
from kubestow.studies import advices
from kubestow.studies.recommendations import Result


def keep(url: str, result: Result) -> int:
    """Put advice and the decisions behind it into a store; return for how many containers.

    Raises:
        InputError: If the address or the database is of no use.
        StoreUnavailableError: If it does not answer.
    """
    now_s = time.time()
    keys = [containers.ContainerKey(*one.key) for one in result.advices]
    with engines.open_store(url) as store, store.writing() as connection:  # all of it or nothing
        numbers = containers.numbers(connection, keys)
        for key, one in zip(keys, result.advices, strict=True):
            made = [_made(one, result.strategy, now_s)]
            recommendations.put(connection, numbers[key], made)
        decisions.put(connection, result.records, now_s)
    return len(keys)


def _made(one: advices.Advice, strategy: str, now_s: float) -> recommendations.Recommendation:
    content = {"requests": advices.written(one.requests), "limits": advices.written(one.limits)}
    return recommendations.Recommendation(now_s, strategy, content | {"why": one.why})
