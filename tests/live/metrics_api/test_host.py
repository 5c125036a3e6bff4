"""The parts put together, with a made-up API server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kubestow.live.api import clients
from kubestow.live.metrics_api import host as metrics_api_host
from kubestow.live.metrics_api.auth import users
from kubestow.live.metrics_api.values.rules import ForecastRule, MetricRules, PollRule
from kubestow.live.servers import telemetry
from kubestow.sources.prometheus import settings
from testenv.authorities import Authority
from tests.live.api import servers
from tests.live.metrics_api import make

RULES = MetricRules((PollRule("a", "q", namespace="x"),), (ForecastRule("a"),))


def test_it_is_ready_once_the_front_proxy_is_known(tmp_path: Path) -> None:
    proxy = make.configuration(Authority(tmp_path / "proxy", "ca"), make.PROXY)
    trusted: list[bytes] = []

    async def follow(kubeconfig: Path) -> None:
        async with await clients.connect(str(kubeconfig)) as client:
            options = metrics_api_host.MetricsApiOptions(rules=RULES)
            host = metrics_api_host.MetricsApiHost(
                client, options, trusted.append, telemetry.Telemetry("test")
            )
            assert host.ready() == "the front proxy is not known yet"
            tasks = [asyncio.create_task(each()) for each in host.background()]
            async with asyncio.timeout(10.0):
                while host.ready():
                    await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()

    with servers.serve(lambda _: (200, proxy)) as (url, asked):
        asyncio.run(follow(servers.write_kubeconfig(tmp_path, url)))
    assert asked[0].path == users.CONFIG_PATH
    assert trusted == [proxy["data"]["requestheader-client-ca-file"].encode()]


def test_every_rule_is_asked_for_beside(tmp_path: Path) -> None:
    async def count(kubeconfig: Path, options: metrics_api_host.MetricsApiOptions) -> int:
        async with await clients.connect(str(kubeconfig)) as client:
            metrics = telemetry.Telemetry("test")
            return len(
                metrics_api_host.MetricsApiHost(
                    client, options, lambda _: None, metrics
                ).background()
            )

    kubeconfig = servers.write_kubeconfig(tmp_path, "http://127.0.0.1:1")
    source = settings.PrometheusSettings("http://127.0.0.1:1")
    without = asyncio.run(count(kubeconfig, metrics_api_host.MetricsApiOptions(rules=RULES)))
    assert (
        asyncio.run(count(kubeconfig, metrics_api_host.MetricsApiOptions(RULES, source)))
        == without + 1
    )
