"""What paths ask for, with the rights that RequestInfoFactory of Kubernetes reads from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.metrics_api import paths

BASE = b"/apis/custom.metrics.k8s.io/v1beta1"


def read(path: bytes) -> paths.MetricQuery | None:
    parts = paths.segments(path)
    return None if parts is None else paths.read(parts)


@pytest.mark.parametrize(
    ("path", "subject", "right"),
    [
        (b"/nodes/n1/rtt", ("nodes", "", "n1", "rtt"), ("get", "nodes", "rtt", "", "n1")),
        (b"/nodes/%2A/rtt", ("nodes", "", "*", "rtt"), ("get", "nodes", "rtt", "", "*")),
        (
            b"/namespaces/x/pods/a/rate",
            ("pods", "x", "a", "rate"),
            ("get", "pods", "rate", "x", "a"),
        ),
        (
            b"/namespaces/x/metrics/sum",
            ("namespaces", "", "x", "sum"),
            ("get", "metrics", "", "x", "sum"),
        ),
        (
            b"/namespaces/x/deployments.apps/a/b%2Fc",
            ("deployments.apps", "x", "a", "b/c"),
            ("get", "deployments.apps", "b/c", "x", "a"),
        ),
    ],
)
def test_custom_metrics(path: bytes, subject: tuple[str, ...], right: tuple[str, ...]) -> None:
    result = read(BASE + path)
    assert result is not None
    assert (result.resource, result.namespace, result.name, result.metric) == subject
    deed = result.attributes
    assert (deed.verb, deed.resource, deed.subresource, deed.namespace, deed.name) == right
    assert (deed.group, deed.version) == ("custom.metrics.k8s.io", "v1beta1")


def test_external_metrics_are_listed() -> None:
    result = read(b"/apis/external.metrics.k8s.io/v1beta1/namespaces/x/depth")
    assert result is not None
    assert (result.resource, result.namespace, result.metric) == ("", "x", "depth")
    assert (result.attributes.verb, result.attributes.resource, result.attributes.name) == (
        "list",
        "depth",
        "",
    )


@pytest.mark.parametrize(
    "path",
    [
        BASE,
        BASE + b"/namespaces/x/sum",
        BASE + b"/namespaces/x%2Fsecrets%3F/pods/%2A/rate",
        BASE + b"/namespaces/%2A/pods/%2A/rate",
        BASE + b"/namespaces/X/metrics/sum",
        BASE + b"/namespaces",
        BASE + b"/nodes//rtt",
        BASE + b"/nodes/../rtt",
        BASE + b"/nodes/%2e%2e/rtt",
        BASE + b"/nodes/a%00/rtt",
        BASE + b"/nodes/%ff/rtt",
        BASE.replace(b"v1beta1", b"v1") + b"/nodes/n1/rtt",
        b"/apis/external.metrics.k8s.io/v1beta2/namespaces/x/depth",
        b"/apis/external.metrics.k8s.io/v1beta1/depth",
    ],
)
def test_other_paths_ask_for_nothing(path: bytes) -> None:
    assert read(path) is None


@given(st.binary(max_size=200))
def test_no_path_breaks_it(path: bytes) -> None:
    read(path)
    read(BASE + b"/" + path)
