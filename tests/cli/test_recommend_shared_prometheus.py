"""A real Prometheus as people run it: two clusters, a pair of servers, a gap, 2000 containers.

Every container of cluster prod uses (1 + n % 7) / 20 cores and 100 + n % 50 MiB; those of staging
have the same names and use ten times as much, so that anything mixed shows. Both servers of the
pair scrape every 150 s, the second 7 s later. The first is down from hour 2 to hour 3, both are
from hour 4 to hour 5. One container restarts at hour 1 with a new ID.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubestow.cli import main
from testenv import prometheus_servers

BEGIN_S = 1_760_004_000
HOURS, SCRAPE_S, CONTAINERS = 6, 150, 2000
END_S = BEGIN_S + HOURS * 3600
SHARED = 50  # containers of staging
MIB = 2**20
CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
QUICK = ("--history", "6h", "--hold", "1h", "--strategy", "percentile", "--end", str(END_S))


def cores(number: int) -> float:
    return (1 + number % 7) / 20


def mib(number: int) -> int:
    return 100 + number % 50


def is_down(replica: int, at: float) -> bool:
    hour = (at - BEGIN_S) / 3600
    return 4 <= hour < 5 or (replica == 0 and 2 <= hour < 3)


def series(cluster: str, number: int, factor: int) -> Iterator[str]:
    for replica in (0, 1):
        who = f'namespace="shop",pod="web{number}-0",container="app",cluster="{cluster}"'
        for at in range(BEGIN_S + 7 * replica, END_S, SCRAPE_S):
            if is_down(replica, at):
                continue
            restarted = number == 0 and at >= BEGIN_S + 3600
            since = at - BEGIN_S - (3600 if restarted else 0)
            labels = f'{who},prometheus_replica="p-{replica}",id="/{cluster}/{number}/{restarted}"'
            yield f"{CPU}{{{labels}}} {factor * cores(number) * since!r} {at}\n"
            yield f"{MEMORY}{{{labels}}} {factor * mib(number) * MIB} {at}\n"


def state(cluster: str, number: int, factor: int) -> Iterator[str]:
    """Return what two servers have of kube-state-metrics."""
    who = f'namespace="shop",pod="web{number}-0",cluster="{cluster}"'
    owner = f'owner_kind="StatefulSet",owner_name="web{number}"'
    request = 'container="app",resource="cpu"'
    for replica in (0, 1):
        own = f'{who},prometheus_replica="p-{replica}"'
        yield f"kube_pod_owner{{{own},{owner}}} 1 {END_S - 60}\n"
        yield f"kube_pod_container_resource_requests{{{own},{request}}} {factor} {END_S - 60}\n"


def samples() -> str:
    lines: list[str] = []
    for cluster, count, factor in (("prod", CONTAINERS, 1), ("staging", SHARED, 10)):
        for number in range(count):
            lines.extend(series(cluster, number, factor))
            lines.extend(state(cluster, number, factor))
    return "".join(lines)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    data = tmp_path_factory.mktemp("shared") / "data"
    prometheus_servers.load(data, samples())
    with prometheus_servers.serve(data) as address:
        yield address


def run(url: str, *arguments: str) -> int:
    return main.run(["recommend", "--prometheus", url, *QUICK, *arguments])


@dataclass(frozen=True, slots=True)
class Answer:
    """What the command answered of a cluster, and how long that took."""

    rows: dict[str, Any]
    took_s: float
    totals: dict[str, Any]
    said: str


@pytest.fixture(scope="module")
def answer(url: str, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    out, began_s = tmp_path_factory.mktemp("answer"), time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("kubestow.cli.outputs.print_json", lambda rows: said.append(json.dumps(rows)))
        code = run(url, "--prometheus-label", "cluster=prod", "-o", "json", "--out", str(out))
    assert code == 0
    took_s = time.monotonic() - began_s
    rows = {row["workload"].rpartition("/")[2]: row for row in json.loads(said[0])}
    totals = json.loads((out / "totals.json").read_text())
    return Answer(rows, took_s, totals, (out / "report.html").read_text())


def test_without_a_choice_the_clusters_are_named_and_nothing_is_recommended(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(url) == 2
    shown = capsys.readouterr()
    assert "cluster is prod or staging" in shown.err
    assert "choose one, e.g. --prometheus-label cluster=prod" in shown.err
    assert shown.out == ""


def test_several_contexts_are_answered_one_by_one(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = ("--context", "prod", "--context", "staging", "-n", "shop")
    assert run(url, *both) == 2
    assert "--prometheus-label cluster={context}" in capsys.readouterr().err
    label = ("--prometheus-label", "cluster={context}")
    assert run(url, *both, *label, "-o", "json", "--out", str(tmp_path)) == 0
    rows = json.loads(capsys.readouterr().out)
    used = {
        row["context"]: row["usage"]["memory_peak_bytes"]
        for row in rows
        if row["workload"] == "shop/StatefulSet/web7"
    }
    # Names are the same in both clusters; staging uses ten times as much.
    assert used == {"prod": mib(7) * MIB, "staging": 10 * mib(7) * MIB}
    assert len(rows) == CONTAINERS + SHARED
    assert {path.parent.name for path in tmp_path.glob("*/report.html")} == {"prod", "staging"}


@pytest.mark.parametrize("more", [("--store", "sqlite:///x.db"), ("-o", "patch")])
def test_what_would_mix_clusters_takes_one_context(
    more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = run("http://localhost:9", "--context", "a", "--context", "b", *more)
    assert code == 2
    assert "--apply, --store and -o patch take one context" in capsys.readouterr().err


def test_every_container_has_its_own_usage_once(answer: Answer) -> None:
    assert len(answer.rows) == CONTAINERS
    for number in range(CONTAINERS):
        used = answer.rows[f"web{number}"]["usage"]
        # A pair of servers has 0.8 of 0.4 cores, staging 4.0: only the rate of one is right.
        assert used["cpu_mean_cores"] == pytest.approx(cores(number), rel=0.02), number
        assert used["memory_peak_bytes"] == mib(number) * MIB, number
        assert answer.rows[f"web{number}"]["current"]["requests"] == {"cpu": "1"}


def test_a_gap_of_both_servers_stays_a_gap_and_that_of_one_is_filled(answer: Answer) -> None:
    # 72 steps of five minutes; hour 4 to 5 is lost, but for steps that reach over its ends.
    samples = answer.rows["web1"]["samples"]
    assert 59 <= samples <= 61


def test_the_command_takes_few_queries_and_says_how_long(answer: Answer) -> None:
    took = answer.totals["prometheus"]
    assert took["queries"] <= 22
    assert 0.0 < took["seconds"] < answer.took_s


def test_the_other_cluster_has_its_own_usage_and_a_note_counts_the_copies(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(url, "--prometheus-label", "cluster=staging") == 0
    shown = capsys.readouterr()
    text = " ".join(shown.out.split())
    assert (
        "the same usage is there several times, and counts once: prometheus_replica "
        f"({SHARED} containers: p-0 or p-1)"
    ) in text
    assert re.search(r"\d+ queries to Prometheus in \d+\.\d s", shown.err)
    assert f"{SHARED} containers" in text


def test_a_token_of_the_environment_is_in_no_message_and_no_file(
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBESTOW_PROMETHEUS_TOKEN", "s3cr3t-t0ken")
    more = ("--prometheus-header", "X-Scope-OrgID: team", "--prometheus-param", "dedup=true")
    chosen = ("--prometheus-label", "cluster=staging", "-n", "sh*", "-o", "json")
    assert run(url, *more, *chosen, "--out", str(tmp_path)) == 0
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)) == SHARED
    written = "".join(file.read_text() for file in tmp_path.iterdir())
    assert "s3cr3t" not in shown.out + shown.err + written
