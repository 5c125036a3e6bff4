"""Node usage from the resource metrics API (``metrics.k8s.io``), as metrics-server serves it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from kubestow.live import api
from kubestow.live.caches.loads import MeasuredLoads
from kubestow.model import decoding, errors, resources

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"


async def read_node_metrics(client: api.ApiClient) -> dict[str, MeasuredLoads]:
    """Return the usage of every node.

    Raises:
        ApiError: If the API does not exist or does not respond.
    """
    return parse(await client.get(PATH))


def parse(document: dict[str, Any]) -> dict[str, MeasuredLoads]:
    """Return the usage of every node of a NodeMetricsList; malformed entries are skipped."""
    usage = {}
    for entry in decoding.Field(document, PATH)["items"].items():
        try:
            name, measured = _node(entry)
        except errors.InputError:
            continue
        usage[name] = measured
    return usage


def _node(entry: decoding.Field) -> tuple[str, MeasuredLoads]:
    stamp = entry["timestamp"].text()
    try:
        time_s = dt.datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        raise entry["timestamp"].refuse("expected a time as in RFC 3339") from None
    amounts = {
        name: float(resources.amount(name, quantity))
        for name, quantity in entry["usage"].quantities().items()
    }
    return entry["metadata"]["name"].text(), MeasuredLoads(amounts, time_s)
