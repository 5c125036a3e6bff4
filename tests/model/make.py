"""Short ways to make model objects in tests."""

from __future__ import annotations

from typing import Any

from kubestow.model import nodes, pods, quantities, resources


def amounts(**texts: str) -> dict[str, quantities.Quantity]:
    """Return a resource list; underscores in names become dashes."""
    return {name.replace("_", "-"): quantities.parse(text) for name, text in texts.items()}


def container(name: str = "c", **requests: str) -> pods.Container:
    """Return a container with requests."""
    return pods.Container(name, requests=amounts(**requests))


def pod(*containers: pods.Container, name: str = "p", **spec: Any) -> pods.Pod:
    """Return a pod with containers and further parts of its specification."""
    return pods.Pod(name, pods.PodSpec(containers or (container(),), **spec))


def node(name: str, labels: dict[str, str] | None = None, **allocatable: str) -> nodes.Node:
    """Return a node for 110 pods by default."""
    offered: resources.ResourceList = {**amounts(pods="110"), **amounts(**allocatable)}
    return nodes.Node(name, offered, labels or {})
