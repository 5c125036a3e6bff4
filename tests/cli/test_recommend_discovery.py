"""``recommend --prometheus auto``: found and asked through an API server, here one of our own."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.cli import main
from testenv import prometheus_servers
from tests.sources import usage_scenes as scenes

PROXY = "/api/v1/namespaces/monitoring/services/server:9090/proxy"
SERVICE = {
    "metadata": {
        "namespace": "monitoring", "name": "server", "labels": {"app": "prometheus-server"},
    },
    "spec": {"ports": [{"name": "http", "port": 9090}]},
}  # fmt: skip


class ApiServer(http.server.ThreadingHTTPServer):
    """Lists Services, and passes what is for one of them on to Prometheus."""

    def __init__(self, services: list[Any], behind: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.services, self.behind = services, behind
        self.asked: list[tuple[str, str]] = []
        self.tenants: set[str | None] = set()
        self.tokens: set[str | None] = set()
        self.namespaces: tuple[int, list[str]] = (404, [])


class Handler(http.server.BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(("GET", path))
        self.server.tokens.add(self.headers["Authorization"])
        if path == "/api/v1/services":
            listed = {"kind": "ServiceList", "metadata": {}, "items": self.server.services}
            self.reply(200, json.dumps(listed).encode())
        elif path == "/api/v1/namespaces":
            status, names = self.server.namespaces
            items = [{"metadata": {"name": name}} for name in names]
            found: dict[str, Any] = {"kind": "NamespaceList", "metadata": {}, "items": items}
            self.reply(status, json.dumps(found).encode())
        elif path.startswith(PROXY):
            self.server.tenants.add(self.headers["X-Scope-OrgID"])
            given = httpx.get(self.server.behind + self.path[len(PROXY) :], trust_env=False)
            self.reply(given.status_code, given.content)
        else:
            self.reply(404, b"{}")

    def do_POST(self) -> None:
        self.server.asked.append(("POST", self.path))
        self.reply(403, b"{}")

    def reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def cluster(folder: Path, services: list[Any], behind: str = "") -> Iterator[tuple[ApiServer, str]]:
    """Run an API server, and yield it with its kubeconfig."""
    with ApiServer(services, behind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        config = folder / "kubeconfig"
        config.write_text(
            "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
            f"clusters: [{{name: a, cluster: {{server: '{address}'}}}}], "
            "users: [{name: a, user: {token: rights}}]}"
        )
        try:
            yield server, str(config)
        finally:
            server.shutdown()


@pytest.fixture(name="url", scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    with scenes.serve(tmp_path_factory.mktemp("usage")) as address:
        yield address


def run(kubeconfig: str, *more: str) -> int:
    quick = ("--history", "1d", "--strategy", "percentile", "--end", str(scenes.END_S))
    arguments = ("--prometheus", "auto", "--kubeconfig", kubeconfig, "-o", "json")
    return main.run(["recommend", *arguments, *quick, *more])


def test_prometheus_is_found_named_and_asked_by_get_alone(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(tmp_path, [SERVICE], url) as (server, config):
        code = run(config, "-n", "d*", "--prometheus-header", "X-Scope-OrgID: team")
    shown = capsys.readouterr()
    assert code == 0, shown.err
    assert [row["workload"] for row in json.loads(shown.out)] == ["data/StatefulSet/db"]
    assert "using Prometheus: Service monitoring/server, port 9090" in shown.err
    assert {method for method, _ in server.asked} == {"GET"}
    assert (server.tenants, server.tokens) == ({"team"}, {"Bearer rights"})


def test_a_cluster_without_prometheus_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(tmp_path, []) as (_, config):
        assert run(config) == 2
    assert "no Prometheus among 0 Services; expected its address" in capsys.readouterr().err


def test_other_credentials_are_refused_because_the_api_server_keeps_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(tmp_path, [SERVICE]) as (server, config):
        assert run(config, "--prometheus-user", "me") == 2
    assert "uses the credentials of the kubeconfig; expected no others" in capsys.readouterr().err
    assert server.asked == []


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("shpo", "--namespace: 'shpo': the cluster has none; did you mean shop?"),
        ("x", "--namespace: 'x': the cluster has none; expected one of default, shop"),
        ("team-*", "--namespace: 'team-*': the cluster has none; expected one of default, shop"),
    ],
)
def test_a_namespace_that_does_not_exist_is_named_before_metrics_are_read(
    asked: str, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(tmp_path, []) as (server, config):
        server.namespaces = (200, ["shop", "default"])
        assert main.run(["recommend", "--cluster", "--kubeconfig", config, "-n", asked]) == 2
    assert answer in capsys.readouterr().err
    assert [path for _, path in server.asked] == ["/api/v1/namespaces"]


def test_names_are_taken_as_they_are_where_namespaces_may_not_be_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(tmp_path, []) as (server, config):
        server.namespaces = (403, [])
        arguments = ["recommend", "--cluster", "--kubeconfig", config, "-n"]
        assert main.run([*arguments, "s*"]) == 2
        problem = "'s*': a pattern needs the right to list namespaces; expected names"
        assert problem in capsys.readouterr().err
        assert main.run([*arguments, "shop"]) == 2
    assert ("GET", "/api/v1/namespaces/shop/pods") in server.asked
