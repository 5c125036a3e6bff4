"""Use of nodes from the resource metrics API (``metrics.k8s.io``), as metrics-server serves it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from kubestow.live.api import clients
from kubestow.live.loads.load_books import Measured
from kubestow.model import errors, fields, resources

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"


async def read(client: clients.Client) -> dict[str, Measured]:
    """Return what every node uses.

    Raises:
        ApiError: If there is no such API, or it does not answer.
    """
    return parse(await client.get(PATH))


def parse(document: dict[str, Any]) -> dict[str, Measured]:
    """Return what every node of a NodeMetricsList uses; entries that make no sense are left out."""
    found = {}
    for entry in fields.Field(document, PATH)["items"].items():
        try:
            name, measured = _node(entry)
        except errors.InputError:
            continue
        found[name] = measured
    return found


def _node(entry: fields.Field) -> tuple[str, Measured]:
    stamp = entry["timestamp"].text()
    try:
        time_s = dt.datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        raise entry["timestamp"].refuse("expected a time as in RFC 3339") from None
    amounts = {
        name: float(resources.amount(name, quantity))
        for name, quantity in entry["usage"].quantities().items()
    }
    return entry["metadata"]["name"].text(), Measured(amounts, time_s)
