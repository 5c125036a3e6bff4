"""The recommend command as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from kubestow.cli import main, recommend_cluster
from kubestow.live.stores import engines, recommendations
from kubestow.model import usage
from kubestow.workflows import recommending
from testenv import prometheus_servers
from tests.sources import usage_scenes as scenes
from tests.sources.usage_folders import BEGIN_S, HEADER, MIB, REQUESTS, STEP_S, write
from tests.workflows.recommending import scenes as recommending_scenes

DAYS, DAY = 3, 288
QUICK = ("--strategy", "percentile")


def run(*arguments: str) -> int:
    return main.run(["recommend", *arguments])


@pytest.fixture(name="folder", scope="module")
def write_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three days of three workloads in two namespaces."""
    folder = tmp_path_factory.mktemp("usage")
    rng = np.random.default_rng(4)
    rows = []
    for key, pod, cores, size in (
        ("shop,Deployment,web", "web-0", 0.1, 100),
        ("shop,Deployment,web", "web-1", 0.1, 100),
        ("shop,StatefulSet,db", "db-0", 0.4, 900),
        ("team,CronJob,report", "report-1", 0.2, 200),
    ):
        cpu = (cores * rng.lognormal(0.0, 0.1, DAYS * DAY)).round(4)
        memory = (size * MIB * rng.uniform(0.9, 1.0, DAYS * DAY)).round()
        for number, (used, held) in enumerate(zip(cpu, memory, strict=True)):
            rows.append(f"{BEGIN_S + number * STEP_S},{key},{pod},app,{used},{held:.0f}")
    write(folder, rows)
    stated = [
        "shop,Deployment,web,app,1,1Gi,2,,2,app=web",
        "shop,StatefulSet,db,app,500m,512Mi,,,1,app=db",
        "team,CronJob,report,app,250m,256Mi,,,1,app=report",
    ]
    write(folder, stated, f"{REQUESTS},replicas,labels", "requests.csv")
    nodes = [f"n{number},2,8Gi,110" for number in range(3)]
    write(folder, nodes, "name,cpu,memory,pods", "nodes.csv")
    return folder


def ask(
    capsys: pytest.CaptureFixture[str], folder: Path, *more: str, code: int = 0
) -> list[dict[str, Any]]:
    assert run("--csv", str(folder), *QUICK, "-o", "json", *more) == code
    result: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return result


def test_json_has_one_entry_per_container(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = ask(capsys, folder)
    assert [row["workload"] for row in result] == [
        "shop/Deployment/web", "shop/StatefulSet/db", "team/CronJob/report",
    ]  # fmt: skip
    assert [row["severity"] for row in result] == ["high", "critical", "none"]
    assert [row["samples"] for row in result] == [2 * DAYS * DAY, DAYS * DAY, DAYS * DAY]
    assert {"workload", "container", "strategy", "current", "recommended", "bounds", "samples",
            "suitable", "why", "backtest"} <= set(result[0])  # fmt: skip


def test_the_table_tells_what_is_freed_and_on_how_many_nodes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert run("--csv", str(folder), *QUICK) == 0
    shown = capsys.readouterr().out
    for word in ("CONTAINER", "shop/web/app", "1 ->", "1Gi ->", "critical", "missed", "suitable"):
        assert word in shown
    # Two pods of 1 core, 500 m and 250 m on nodes of 2: one for the first two, one for the rest.
    assert "packed onto nodes of the most common size: 2 now, 1 after" in shown
    # The last line is the conclusion, and nothing before it says the same.
    assert " of 3 containers request" in shown.splitlines()[-1]
    assert "freed" not in shown.replace("FREED", "")


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_narrow_table_keeps_names_and_words_whole(
    folder: Path,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run("--csv", str(folder), *QUICK) == 0
    shown = capsys.readouterr().out
    (row, *_) = ask(capsys, folder)
    assert "shop/web/app" in shown
    assert "…" not in shown
    # The reason is there word by word, whatever the breaks between its words.
    assert " ".join(row["why"].split()) in " ".join(shown.split())


def test_yaml_says_the_same_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = ask(capsys, folder)
    assert run("--csv", str(folder), *QUICK, "-o", "yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == expected


def test_patches_are_documents(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--csv", str(folder), *QUICK, "-o", "patch", "-n", "shop", "--limits", "none") == 0
    result = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [one["kind"] for one in result] == ["Deployment", "StatefulSet"]
    (container,) = result[0]["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["cpu"] is None


@pytest.mark.parametrize(
    ("more", "workloads"),
    [
        (("--namespace", "team"), ["report"]),
        (("-n", "team", "-n", "shop"), ["web", "db", "report"]),
        (("--selector", "app=db"), ["db"]),
        (("-l", "app==web"), ["web"]),
        (("--severity", "high"), ["web", "db"]),
        (("--severity", "critical"), ["db"]),
    ],
    ids=["namespace", "two", "selector", "selector twice equal", "severity", "critical"],
)
def test_advice_is_chosen(
    more: tuple[str, ...],
    workloads: list[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = ask(capsys, folder, *more)
    assert [row["workload"].rpartition("/")[2] for row in result] == workloads


def test_parameters_change_what_is_recommended(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ask(capsys, folder, "-n", "team")[0]["bounds"]["upper"]
    result = ask(capsys, folder, "-n", "team", "--set", "upperMargin=0", "--set", "cpuMargin=0")
    bare = result[0]["bounds"]["upper"]
    # A margin of 15 % and half more beside none of both.
    assert float(usual["cpu"][:-1]) / float(bare["cpu"][:-1]) == pytest.approx(1.725, rel=0.01)


def test_a_smaller_promise_asks_for_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = []
    for share in ("0.3", "0.01"):
        more = ("--csv", str(folder), "--strategy", "conformal", "--miss-probability", share)
        assert run(*more, "-o", "json", "-n", "team") == 0
        (row,) = json.loads(capsys.readouterr().out)
        sizes.append(int(row["bounds"]["upper"]["memory"].rstrip("KMi")))
    assert sizes[0] < sizes[1]


def test_history_and_step_are_obeyed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = ask(capsys, folder, "-n", "team", "--history", "1d", "--step", "10m")
    assert row["samples"] == 144


def test_everything_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    result = ask(capsys, folder, "--out", str(out))
    assert json.loads((out / "results.json").read_text()) == result
    totals = json.loads((out / "totals.json").read_text())
    assert " of 3 containers request" in totals["conclusion"]
    assert (totals["containers"], totals["nodes_now"], totals["unknown"]) == (3, 2, 0)
    # Two pods of 1000 m, 500 m and 250 m.
    assert totals["cpu_now_m"] == 2750
    records = [json.loads(line) for line in (out / "decisions.jsonl").read_text().splitlines()]
    assert [record["kind"] for record in records] == ["sizing"] * 3
    assert "<title>Recommended requests</title>" in (out / "report.html").read_text()


def test_advice_is_kept_where_admission_looks(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    rows = ask(capsys, folder, "--store", url, "--unsuitable")
    with engines.open_store(url) as store:
        kept = recommendations.newest_of_all(store)
    assert {
        (str(key.of), key.container): {n: str(q) for n, q in made.requests.items()}
        for key, made in kept.items()
    } == {(row["workload"], row["container"]): row["recommended"]["requests"] for row in rows}
    workload = rows[0]["workload"]
    assert main.run(["explain", f"workload/{workload}", "--store", url, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["kind"] == "sizing"


def test_only_suitable_advice_is_kept_unless_asked_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    rows = ask(capsys, folder, "--store", url)
    with engines.open_store(url) as store:
        assert len(recommendations.newest_of_all(store)) == sum(row["suitable"] for row in rows)


def test_a_store_that_is_away_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql+psycopg://u:secret@127.0.0.1:1/x"
    assert run("--csv", str(folder), "--store", url, "-o", "json") == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert "secret" not in shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "recommend: expected --csv DIR, --prometheus URL or --cluster"),
        (("--csv", "x", "--prometheus", "http://y"), "expected --csv DIR, --prometheus URL or"),
        (("--csv", "x", "--cluster"), "expected --csv DIR, --prometheus URL or --cluster"),
        (("--csv", "x", "--apply"), "--apply: needs --cluster"),
        (("--cluster", "--kubeconfig", "nowhere"), "nowhere: "),
        (("--csv", "nowhere"), "nowhere: no such file or folder"),
        (("--csv", "x", "--strategy", "best"), "'best': must be one of keep, percentile"),
        (("--csv", "x", "--history", "long"), "--history: 'long': expected a duration such as"),
        (("--csv", "x", "--step", "0s"), "--step: '0s': expected a duration"),
        (("--csv", "x", "--hold", "-1h"), "--hold: '-1h': expected a duration"),
        (("--csv", "x", "--miss-probability", "0.7"), "--miss-probability: 0.7: expected more"),
        (("--csv", "x", "--strategy", "vpa", "--miss-probability", "0.1"),
         "--miss-probability: vpa states none"),
        (("--csv", "x", "--set", "margin"), "--set: 'margin': expected PATH=VALUE"),
        (("--csv", "x", "--set", "a=1", "--set", "a.b=1"), "--set a.b: 'a' is not a mapping"),
        (("--csv", "x", "--set", "colour=1"), "parameters.colour: unknown key"),
        (("--csv", "x", "--selector", "app=("), "--selector: 'app=(': expected a label selector"),
        (("--csv", "x", "--end", "2026-01-01"), "--end: needs --prometheus"),
        (("--prometheus", "http://y", "--end", "noon"), "--end: 'noon': expected a time such as"),
        (("--prometheus", "http://y", "--prometheus-label", "prod"),
         "--prometheus-label: 'prod': expected LABEL=VALUE"),
        (("--prometheus", "http://y", "--prometheus-header", "secret"),
         "--prometheus-header: expected 'NAME: VALUE'"),
        (("--prometheus", "http://y", "--prometheus-param", "query=up"),
         "prometheus: parameter 'query': is part of the query"),
        (("--prometheus", "http://y", "--prometheus-proxy", "me"),
         "prometheus: proxy: 'me': expected http://HOST[:PORT]"),
        (("--csv", "x", "--severity", "dire"), "'dire' is not one of 'critical', 'high'"),
        (("--csv", "x", "-o", "xml"), "'xml' is not one of 'table', 'json', 'yaml', 'patch'"),
    ],
    ids=["nothing", "both", "all", "apply", "kubeconfig", "folder", "strategy",
         "history", "step", "hold", "share", "promise",
         "no value", "no mapping", "parameter", "selector", "end without server", "end", "label",
         "header", "query parameter", "proxy", "severity", "output"],
)  # fmt: skip
def test_bad_input_is_one_line_and_leaves_with_2(
    arguments: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    shown = capsys.readouterr()
    assert problem in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_bad_usage_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "in", [f"{BEGIN_S},a,Pod,p,p,app,1,-5"], HEADER)
    assert run("--csv", str(tmp_path / "in"), "--out", str(tmp_path / "out")) == 2
    assert "memory_bytes: -5 of pod p: must not be negative" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture(name="url", scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    with scenes.serve(tmp_path_factory.mktemp("usage")) as address:
        yield address


def test_a_cluster_is_read_out_of_a_real_prometheus(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubestow.cli.recommend.time.time", lambda: scenes.END_S + 12.0)
    more = ("--history", "1d", "-o", "json", *QUICK)
    assert run("--prometheus", url, *more) == 0
    shown = capsys.readouterr()
    rows = {row["workload"]: row for row in json.loads(shown.out)}
    assert len(rows) == 17
    assert re.search(r"18 queries to Prometheus in [\d.]+ s", shown.err)
    db = rows["data/StatefulSet/db"]
    (pod,) = (one for one in scenes.make_pods() if one.name == "db-0")
    assert db["usage"]["cpu_mean_cores"] == pytest.approx(np.nanmean(pod.expected_cores()))
    assert db["usage"]["memory_peak_bytes"] == pod.memory_bytes.max()
    assert db["usage"]["oom_kills"] == 2
    # Killed at a limit of 300 MiB: 100 MiB more.
    assert db["recommended"]["requests"]["memory"] == "400Mi"
    assert "was killed at 300 MiB" in db["why"]
    assert "an HPA scales on 60 % of this request" in rows["team-2/Deployment/app-2"]["why"]
    assert "Java heap of 1024 MiB" in rows["team-1/Deployment/app-1"]["why"]


def test_labels_of_a_server_choose(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubestow.cli.recommend.time.time", lambda: float(scenes.END_S))
    more = ("--history", "1d", "-l", "app.kubernetes.io/name=db", "-o", "json", *QUICK)
    assert run("--prometheus", url, *more) == 0
    assert [row["workload"] for row in json.loads(capsys.readouterr().out)] == [
        "data/StatefulSet/db"
    ]


def test_a_server_that_is_down_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    port = prometheus_servers.free_port()
    assert run("--prometheus", f"http://me:hidden@127.0.0.1:{port}", *QUICK) == 2
    shown = capsys.readouterr()
    assert f"error: http://127.0.0.1:{port}: no connection: " in shown.err
    assert "hidden" not in shown.err
    assert shown.out == ""


def test_an_interrupt_while_reading_leaves_with_130_and_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(60.0)
        address = f"http://127.0.0.1:{door.getsockname()[1]}"
        code = "from kubestow.cli import main; main.main()"
        arguments = ["recommend", "--prometheus", address, *QUICK, "--out", str(out)]
        child = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            text=True,
        )
        guest, _ = door.accept()
        with guest:
            assert guest.recv(4) == b"POST"  # now the command waits for an answer
            child.send_signal(signal.SIGINT)
            shown = child.communicate(timeout=30.0)
    assert child.returncode == 130
    assert shown[0] == ""
    assert "interrupted" in shown[1]
    assert "Traceback" not in shown[1]
    assert not out.exists()


def test_the_table_says_what_few_windows_show_and_what_safety_costs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--csv", str(folder), *QUICK) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"missed \d of \d, <= \d+ %", shown)
    assert re.search(r"being safe costs [\d.]+ cores beyond the 95th percentiles of", shown)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--memory-headroom", "lots"), ("--memory-min", "1 GB"), ("--cpu-min", "-1")],
)
def test_bad_safety_is_refused_with_its_option(
    option: str, value: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--csv", str(folder), *QUICK, option, value) == 2
    assert f"error: {option}: {value!r}" in capsys.readouterr().err


def test_thin_evidence_is_named_and_not_applied(capsys: pytest.CaptureFixture[str]) -> None:
    days = recommending_scenes.steady(days=3)
    key = recommending_scenes.key("web")
    result = recommending.recommend(
        recommending_scenes.table({key: [days]}),
        usage.Inventory(),
        recommending.RecommendRequest("percentile"),
    )
    # No cluster is reached: nothing is left to apply.
    assert recommend_cluster.apply((None, None), result, 7, yes=True, dry_run=False) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "skipped, fewer than 7 windows of usage: 1 containers: shop/Deployment/web/app (3)" in said
    )
    assert "nothing to change" in said
