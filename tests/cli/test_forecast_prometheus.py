"""The forecast command on series of a real Prometheus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubestow.cli import main
from testenv import prometheus_servers
from tests.sources.prometheus_history import History

RATE = 'sum(rate(demand_total{service="web"}[1m]))'
USAGE = "expected SERIES, or --prometheus URL and either --query PROMQL or --metric NAME"


def run(*arguments: str) -> int:
    return main.run(["forecast", *arguments])


def ask(history: History, query: str, *more: str) -> int:
    return run("--prometheus", history.url, "--query", query, *more)


def test_a_series_of_a_server_is_forecast(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--range", "30m", "--step", "15s", "--model", "ses", "--horizon", "1m", "-o", "json")
    assert ask(history, RATE, *more) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["series"], result["step_seconds"]) == (RATE, 15)
    # Half an hour of samples; a rate needs two of them, so it begins at most 30 s later.
    assert 117 <= result["points"] <= 121
    assert len(result["forecast"]) == 4
    for row in result["forecast"]:
        assert row["mean"] == pytest.approx(90.0)


def test_a_server_that_remembers_less_than_asked_for_makes_up_nothing(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(history, RATE, "--model", "persistence", "-o", "json") == 0
    result = json.loads(capsys.readouterr().out)
    # Of the week that is asked for by default, the server knows the last half hour.
    assert (result["step_seconds"], result["gaps"]) == (60, 0)
    assert 29 <= result["points"] <= 60


def test_one_of_several_series_is_chosen_by_name(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--range", "20m", "--model", "persistence", "-o", "json")
    assert ask(history, "pods_demand", "--column", 'pods_demand{pod="a"}', *more) == 0
    assert json.loads(capsys.readouterr().out)["forecast"][0]["mean"] == 30.0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--query", "pods_demand", "--range", "20m"),
         '2 series; expected one, e.g. the sum of them; found pods_demand{pod="a"}, '),
        (("--query", "pods_demand", "--range", "20m", "--column", "x"), "has no series 'x'; found"),
        (("--query", "nowhere", "--range", "1h"), "no series has a value in the last 1h"),
        (("--query", "rate(up)", "--range", "1h"), "answered 400: bad_data: "),
        (("--query", " "), "query: is empty; expected PromQL"),
        (("--query", "up", "--range", "soon"), "--range: 'soon': expected a duration such as"),
        ((), USAGE),
        (("--query", "up", "file.csv"), USAGE),
    ],
    ids=["several", "no such", "none", "bad question", "empty", "range", "no question", "both"],
)  # fmt: skip
def test_a_question_without_a_series_is_refused(
    history: History,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    problem: str,
) -> None:
    assert run("--prometheus", history.url, *arguments) == 2
    shown = capsys.readouterr()
    assert problem in shown.err
    assert shown.out == ""


def test_a_server_that_is_down_is_told_without_its_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    port = prometheus_servers.free_port()
    assert run("--prometheus", f"http://me:hidden@127.0.0.1:{port}", "--query", "up") == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: http://127.0.0.1:{port}: no connection: ")
    assert "hidden" not in shown


def test_neither_file_nor_server_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--query", "up") == 2
    assert run() == 2
    assert capsys.readouterr().err == f"error: forecast: {USAGE}\n" * 2


def test_a_metric_needs_no_promql(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--metric", "demand_total", "--where", "service=~w.b", "--where", 'service!="db"')
    code = run(
        "--prometheus", history.url, *arguments, "--range", "20m", "--model", "ses", "-o", "json"
    )
    result = json.loads(capsys.readouterr().out)
    assert code == 0
    assert 'rate(demand_total{service=~"w.b",service!="db"}[60s])' in result["series"]
    # 1350 requests in 15 s are 90 a second.
    assert result["forecast"][0]["mean"] == pytest.approx(90.0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--metric", "node-gpu"), "--metric: 'node-gpu': expected a counter (_total) or one of"),
        (("--metric", "a b_total"), "--metric: 'a b_total': expected letters, digits, _ and :"),
        (("--metric", "node-cpu", "--where", "web"), "'web': expected LABEL=VALUE"),
        (("--metric", "node-cpu", "--where", "a-b=c"), "'a-b=c': expected LABEL=VALUE"),
        (("--metric", "node-cpu", "--query", "up"), "--metric: cannot be combined with --query"),
        (("--query", "up", "--where", "a=b"), "--where: needs --metric"),
        (("--where", "a=b"), "--where: needs --metric"),
    ],
)
def test_a_metric_that_is_not_understood_is_refused(
    history: History,
    arguments: tuple[str, ...],
    problem: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--prometheus", history.url, *arguments) == 2
    assert problem in capsys.readouterr().err


def test_a_metric_of_several_clusters_is_refused_and_a_pair_of_servers_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    begin_s = 1_760_000_400
    # 10 per second in prod, 90 in staging; each by two servers.
    text = "".join(
        f'orders_total{{cluster="{cluster}",replica="{replica}"}} {rate * 15 * number} '
        f"{begin_s + 15 * number}\n"
        for cluster, rate in (("prod", 10), ("staging", 90))
        for replica in "ab"
        for number in range(240)
    )
    prometheus_servers.load(tmp_path / "data", text)
    with prometheus_servers.serve(tmp_path / "data") as url:
        more = ("--range", "50m", "--end", str(begin_s + 3585), "--model", "ses", "-o", "json")
        arguments = ("--prometheus", url, "--metric", "orders_total", *more)
        assert run(*arguments) == 2
        shown = capsys.readouterr()
        assert "cluster is prod or staging" in shown.err
        assert "choose one, e.g. --prometheus-label cluster=prod" in shown.err
        assert run(*arguments, "--prometheus-label", "cluster=prod") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["forecast"][0]["mean"] == pytest.approx(10.0)
