"""The history of one series from Prometheus, as input of forecasts."""

from __future__ import annotations

from collections.abc import Callable

from kubestow.model import decoding, errors, time_series
from kubestow.sources.prometheus import client, queries

RANGE_S = 7 * 86400.0  # a week: covers daily and weekly seasons
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
        client: Client of the server.
        promql: The query.
        end_s: End in seconds since the epoch.
        range_s: Length of the history in seconds.
        step_s: Seconds between two points.
        name: Name of the series in PromQL notation; needed if there are several.
        watch: Called with the share read so far.

    Raises:
        InputError: If there is not exactly one such series, or no valid response.
    """
    query = queries.raw(promql).promql
    series = client.query_range(query, end_s - range_s, end_s, step_s, watch)
    names = series.names(query)
    if not names:
        problem = f"no series has a value in the last {decoding.format_duration(range_s)}"
        raise errors.InputError(client.place, problem)
    row = _choose(client.place, names, name)
    return series.pick(row).as_grid(client.place, query)


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
