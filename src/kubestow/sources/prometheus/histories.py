"""The past of one series out of a Prometheus, as forecasts take it."""

from __future__ import annotations

from collections.abc import Callable

from kubestow.model import decoding, errors, time_series
from kubestow.sources.prometheus import client, queries

RANGE_S = 7 * 86400.0  # a week: both seasons people have, of the day and of the week
STEP_S = 60.0

_MOST_NAMED = 5


def read_history(
    client: client.PrometheusClient,
    promql: str,
    end_s: float,
    *,
    range_s: float = RANGE_S,
    step_s: float = STEP_S,
    name: str | None = None,
    watch: Callable[[float], None] | None = None,
) -> time_series.TimeGrid:
    """Read one series at equal steps.

    Args:
        client: Asks the server.
        promql: What to ask.
        end_s: Until when, in seconds since the epoch.
        range_s: For how long before.
        step_s: Distance of two points.
        name: Which series, as PromQL writes it; needed if there are several.
        watch: Is told the share that has been read.

    Raises:
        InputError: If there is not exactly one such series, or no answer.
    """
    question = queries.raw(promql).promql
    found = client.query_range(question, end_s - range_s, end_s, step_s, watch)
    names = found.names(question)
    if not names:
        problem = f"no series has a value in the last {decoding.format_duration(range_s)}"
        raise errors.InputError(client.place, problem)
    row = _choose(client.place, names, name)
    return found.pick(row).as_grid(client.place, question)


def _choose(place: str, names: tuple[str, ...], name: str | None) -> int:
    listed = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
    if name is not None:
        if name not in names:
            raise errors.InputError(place, f"has no series {name!r}; found {listed}")
        return names.index(name)
    if len(names) > 1:
        problem = f"{len(names)} series; expected one, e.g. the sum of them; found {listed}"
        raise errors.InputError(place, problem)
    return 0
