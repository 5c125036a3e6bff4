"""Prometheus found among the Services of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.live.workloads import choose_service


def service(namespace: str, name: str, labels: dict[str, str], *ports: tuple[str, int]) -> Any:
    return {
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {"ports": [{"name": name, "port": port} for name, port in ports]},
    }


STACK = service(
    "monitoring", "stack", {"app": "kube-prometheus-stack-prometheus"},
    ("reloader-web", 8080), ("http-web", 9090),
)  # fmt: skip
THANOS = service(
    "metrics", "query", {"app.kubernetes.io/name": "thanos-query"}, ("grpc", 10901), ("http", 9090)
)
SELECT = service("vm", "vmselect", {"app.kubernetes.io/name": "vmselect"}, ("other", 8481))
OTHER = service("shop", "web", {"app": "web"}, ("http", 80))
PORTLESS = service("a", "headless", {"app": "prometheus-server"})


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ([OTHER, STACK], "Prometheus: Service monitoring/stack, port 9090"),
        (
            [STACK, THANOS],
            "Thanos: Service metrics/query, port 9090 (also there: monitoring/stack)",
        ),
        ([SELECT], "VictoriaMetrics: Service vm/vmselect, port 8481"),
    ],
    ids=["by port name", "a querier goes first", "the only port"],
)  # fmt: skip
def test_the_service_is_known_by_its_labels(services: list[Any], expected: str) -> None:
    assert str(choose_service(services)) == expected


def test_no_service_is_taken_that_is_not_known_or_has_no_port() -> None:
    assert choose_service([OTHER, PORTLESS]) is None


def test_the_address_is_behind_the_api_server_with_the_path_of_the_product() -> None:
    found = choose_service([SELECT])
    assert found is not None
    assert found.url.endswith(
        "/api/v1/namespaces/vm/services/vmselect:8481/proxy/select/0/prometheus"
    )
