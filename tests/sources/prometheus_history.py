"""Samples that tests of Prometheus load, with a server that has them.

All stand 15 s apart. Those of the past begin at ``BEGIN_S``; the tests ask 605 s later, so that a
window of 60 s holds the samples number 37, 38, 39, 40 and one of 300 s the numbers 21 to 40. The
outermost samples lie 10 s and 5 s inside the window, nearer than one distance: Prometheus extends
the rate to the whole window, and it is simply the increase over 45 s, or over 285 s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import settings
from testenv import prometheus_servers

STEP_S = 15
BEGIN_S = 1_700_006_400  # a multiple of two hours, where blocks of Prometheus begin
ASKED_S = BEGIN_S + 605
LENGTH = 81

PAST_S, FUTURE_S = 1800, 5400
SILENT_S = 75.0
"""Seconds for which ``gone_total`` has had no sample, at least; the look-back is 300 s."""

MIB = 1024**2
ODD_TEXT = 'a"b\\c\nd}'


def line(name: str, labels: str, number: int, value: float | str) -> str:
    return f"{name}{{{labels}}} {value} {BEGIN_S + number * STEP_S}\n"


def counter(
    name: str, labels: str, per_step: float, reset: int | None = None, after: float = 0.0
) -> str:
    """Return a counter: its increase per step, where it is reset, and what it shows then."""
    values = [10_000.0 + per_step * number for number in range(LENGTH)]
    if reset is not None:
        values[reset:] = [after + per_step * number for number in range(LENGTH - reset)]
    return "".join(line(name, labels, number, value) for number, value in enumerate(values))


def gauge(name: str, labels: str, value: float) -> str:
    return "".join(line(name, labels, number, value) for number in range(LENGTH))


def nodes() -> str:
    """Return what node_exporter shows of two nodes; n2 restarts before sample 39."""
    cpu, disk, net = "node_cpu_seconds_total", "node_disk", "node_network"
    sda, dm = 'instance="n1",device="sda"', 'instance="n1",device="dm-0"'
    eth, lo, bond = (f'instance="n1",device="{name}"' for name in ("eth0", "lo", "bond0"))
    return "".join(
        (
            counter(cpu, 'instance="n1",cpu="0",mode="idle"', 9.0),
            counter(cpu, 'instance="n1",cpu="0",mode="user"', 6.0),
            counter(cpu, 'instance="n1",cpu="1",mode="idle"', 12.0),
            counter(cpu, 'instance="n1",cpu="1",mode="user"', 3.0),
            counter(cpu, 'instance="n2",cpu="0",mode="idle"', 9.0, reset=39, after=4.0),
            counter(cpu, 'instance="n2",cpu="0",mode="user"', 6.0, reset=39, after=2.0),
            counter(f"{disk}_read_bytes_total", sda, 15_000, reset=30, after=5_000),
            counter(f"{disk}_written_bytes_total", sda, 30_000),
            counter(f"{disk}_read_bytes_total", dm, 15_000),
            counter(f"{disk}_written_bytes_total", dm, 30_000),
            counter(f"{disk}_reads_completed_total", sda, 150),
            counter(f"{disk}_writes_completed_total", sda, 75, reset=30, after=18),
            counter(f"{net}_receive_bytes_total", eth, 9_000, reset=40, after=1_500),
            counter(f"{net}_transmit_bytes_total", eth, 3_000),
            *(counter(f"{net}_receive_bytes_total", link, 60_000) for link in (lo, bond)),
            *(counter(f"{net}_transmit_bytes_total", link, 60_000) for link in (lo, bond)),
        )
    )


def containers() -> str:
    """Return what cAdvisor and kube-state-metrics show of one pod."""
    pod = 'namespace="shop",pod="web-0"'
    app, whole, sandbox = (f'{pod},container="{name}"' for name in ("app", "", "POD"))
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    requests = "kube_pod_container_resource_requests"
    return "".join(
        (
            counter(cpu, app, 3.0, reset=39, after=2.0),
            counter(cpu, whole, 3.5),
            counter(cpu, sandbox, 0.5),
            gauge(memory, f'{app},id="old"', 100 * MIB),
            gauge(memory, f'{app},id="new"', 120 * MIB),
            gauge(memory, whole, 230 * MIB),
            counter("container_network_receive_bytes_total", f'{pod},interface="eth0"', 1_500),
            counter("container_network_transmit_bytes_total", f'{pod},interface="eth0"', 4_500),
            counter("container_network_receive_bytes_total", f'{pod},interface="lo"', 60_000),
            counter("container_network_transmit_bytes_total", f'{pod},interface="lo"', 60_000),
            counter("container_network_receive_bytes_total", 'id="/",interface="eth0"', 90_000),
            counter("container_network_transmit_bytes_total", 'id="/",interface="eth0"', 90_000),
            counter("container_fs_reads_bytes_total", app, 3_000),
            counter("container_fs_writes_bytes_total", app, 6_000, reset=30, after=1_000),
            *(
                gauge(requests, f'{app},instance="{copy}",resource="cpu",unit="core"', 0.25)
                for copy in ("a", "b")
            ),
            gauge(requests, f'{app},resource="memory",unit="byte"', 256 * MIB),
            counter("http_requests_total", 'service="web",code="200"', 900),
            counter("http_requests_total", 'service="web",code="500"', 150),
            counter("http_requests_total", 'service="other",code="200"', 77_777),
            counter("http_requests_total", r'service="a\"b\\c\nd}"', 600),
        )
    )


def holes() -> str:
    """Return series with gaps, with values that are no numbers, and a long one in three parts."""
    known = [*range(11), *range(40, 50)]
    odd: list[float | str] = [1.0, "NaN", "+Inf", "-Inf", 5.0]
    # One value a minute: its number, for 23000 s; "early" ends at 7800 s, "late" begins at 12000 s.
    spans = {"all": range(384), "early": range(131), "late": range(200, 384)}
    return "".join(
        (
            *(line("holed", 'x="1"', number, number) for number in known),
            *(line("odd", 'x="1"', number, value) for number, value in enumerate(odd)),
            *(
                f'long{{part="{part}"}} {number} {BEGIN_S + 60 * number}\n'
                for part, numbers in spans.items()
                for number in numbers
            ),
        )
    )


def present(now_s: int) -> str:
    """Return series from half an hour ago until in an hour and a half, at 90 per second."""
    lines = []
    for number, time_s in enumerate(range(now_s - PAST_S, now_s + FUTURE_S, STEP_S)):
        lines.append(f'demand_total{{service="web"}} {10_000 + 1350 * number} {time_s}\n')
        # A process that starts anew every six samples, and counts 1350 until it is seen first.
        lines.append(f'reborn_total{{service="web"}} {1350 * (1 + number % 6)} {time_s}\n')
        lines.append(
            f'pods_demand{{pod="a"}} 30 {time_s}\npods_demand{{pod="b"}} 12.3456 {time_s}\n'
        )
        lines.append(f"nothing_demand NaN {time_s}\nnegative_demand -1 {time_s}\n")
        lines.append(f"huge_demand 1e+300 {time_s}\n")
        if time_s < now_s - SILENT_S:
            lines.append(f'gone_total{{service="web"}} {10_000 + 1350 * number} {time_s}\n')
    return "".join(lines)


@dataclass(frozen=True, slots=True)
class History:
    """A running server.

    Attributes:
        url: Its address.
        now_s: When the samples of the present were made.
    """

    url: str
    now_s: int

    def client(self) -> prometheus_client.PrometheusClient:
        return prometheus_client.PrometheusClient(settings.PrometheusSettings(self.url))


@pytest.fixture(scope="session", autouse=True)
def direct() -> Iterator[None]:
    """Ask loopback without a proxy, whatever the environment says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("no_proxy", "127.0.0.1")
        yield


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    now_s = int(time.time())
    data = tmp_path_factory.mktemp("prometheus") / "data"
    prometheus_servers.load(data, nodes() + containers() + holes() + present(now_s))
    with prometheus_servers.serve(data) as url:
        yield History(url, now_s)
