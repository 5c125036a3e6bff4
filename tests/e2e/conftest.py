"""The control plane that all tests of this folder share, and a namespace for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testenv import clusters, isolation, nodes, workloads

_ROUTED = (
    "the addresses of the test cluster would be routed to somewhere, and no network of their own "
    "could be made for the tests: run as root, or allow user namespaces"
)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    """Give the running control plane."""
    assert isolation.isolate(), _ROUTED
    folder = tmp_path_factory.mktemp("cluster")
    with clusters.run(folder) as running:
        yield running


@pytest.fixture
def namespace(cluster: clusters.Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """Give a new namespace; what is in it is deleted, and every node with it."""
    test = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")
    name = f"{test}-{abs(hash(request.node.nodeid)) % 10**6}"
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    clusters.wait_for(lambda: cluster.request("GET", account, missing=True) is not None, 30)
    yield name
    cluster.request("DELETE", f"/api/v1/namespaces/{name}")  # goes on by itself
    workloads.remove_pods(cluster, name)
    nodes.remove_all(cluster)


@pytest.fixture
def kubeconfig(cluster: clusters.Cluster) -> Path:
    """Return the kubeconfig of an administrator."""
    return cluster.kubeconfig
