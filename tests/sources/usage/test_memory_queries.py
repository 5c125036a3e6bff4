"""What memory means in Prometheus: without page cache, and as krr reads it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubestow.model.usage import Usage
from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import settings
from kubestow.sources.usage import prometheus, queries
from testenv import prometheus_servers

BEGIN_S, STEP_S, SCRAPE_S = 1_760_000_100, 300, 75
MIB = 2**20
WORKING_SET = "container_memory_working_set_bytes"
# Working sets of four scrapes per step; the second of them is the peak.
SCRAPED = (100 * MIB, 200 * MIB, 120 * MIB, 110 * MIB)


def samples() -> str:
    """Return two pods with the same working set; of one the active page cache is known."""
    lines = []
    for number in range(48):
        at = BEGIN_S + 1 + number * SCRAPE_S
        for pod in ("cached", "plain"):
            labels = f'{{namespace="shop",pod="{pod}",container="app"}}'
            lines.append(f"{WORKING_SET}{labels} {SCRAPED[number % 4]} {at}")
            lines.append(f"container_cpu_usage_seconds_total{labels} {0.1 * number} {at}")
        cache = (40 + number % 2) * MIB
        lines.append(
            f'{queries.CACHE}{{namespace="shop",pod="cached",container="app"}} {cache} {at}'
        )
    return "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    data = tmp_path_factory.mktemp("memory") / "data"
    prometheus_servers.load(data, samples())
    with prometheus_servers.serve(data) as address:
        yield address


def read(url: str, *, as_krr: bool, step_s: float = STEP_S) -> Usage:
    query = prometheus.UsageQuery(
        BEGIN_S + 48 * SCRAPE_S, history_s=3600.0, step_s=step_s, as_krr=as_krr
    )
    with prometheus_client.PrometheusClient(settings.PrometheusSettings(url)) as client:
        return prometheus.read_prometheus_usage(client, query)[0]


def test_active_page_cache_is_left_out_where_it_is_known(url: str) -> None:
    table = read(url, as_krr=False)
    rows = dict(zip(table.pods, table.memory_bytes, strict=True))
    # The peak of a step is 200 MiB, of which at least 40 MiB are cache.
    assert rows["cached"][5] == 160 * MIB
    assert rows["plain"][5] == 200 * MIB
    assert table.cache_bytes is not None
    assert table.cache_bytes[0] == 41 * MIB
    assert any("page cache: left out of the memory of 1 containers" in note for note in table.notes)


def test_krr_reads_instant_values_with_their_cache(url: str) -> None:
    table = read(url, as_krr=True)
    rows = dict(zip(table.pods, table.memory_bytes, strict=True))
    # Steps are multiples of 300 s; the last scrape before each is the fourth of its step.
    assert set(rows["cached"][1:].tolist()) == {110.0 * MIB}
    assert rows["cached"].tolist()[1:] == rows["plain"].tolist()[1:]
    assert table.cache_bytes is None
    # With krr's step every scrape is seen.
    assert read(url, as_krr=True, step_s=75.0).memory_bytes.max() == 200 * MIB
