"""Names of resources and arithmetic on lists of them.

Resources are open-ended: whatever a node offers or a pod requests becomes a column. Only three
names are special to kube-scheduler (``cpu`` counted in millicores, ``memory``,
``ephemeral-storage``); ``pods`` counts pods; all others are *scalar* resources if their name says
so (``k8s.io/kubernetes/pkg/apis/core/v1/helper``, 1.37).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubestow.model import quantities

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

ResourceList = Mapping[str, quantities.Quantity]

_NATIVE_PREFIX = "kubernetes.io/"
_HUGE_PAGES_PREFIX = "hugepages-"
_ATTACHABLE_PREFIX = "attachable-volumes-"
_QUOTA_PREFIX = "requests."
_QUALIFIED_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class ContainerResources:
    """Requests and limits of a container."""

    requests: ResourceList = field(default_factory=dict)
    limits: ResourceList = field(default_factory=dict)


def is_native(name: str) -> bool:
    """Return whether a resource belongs to Kubernetes itself (no prefix, or kubernetes.io/)."""
    return "/" not in name or _NATIVE_PREFIX in name


@functools.cache
def is_extended(name: str) -> bool:
    """Return whether a resource is an extended one, such as ``nvidia.com/gpu``.

    >>> is_extended("nvidia.com/gpu"), is_extended("cpu"), is_extended("requests.a.b/c")
    (True, False, False)
    """
    if is_native(name) or name.startswith(_QUOTA_PREFIX):
        return False
    return is_qualified_name(_QUOTA_PREFIX + name)


def is_qualified_name(name: str) -> bool:
    """Return whether a text is a Kubernetes qualified name: ``[prefix/]name``."""
    prefix, slash, rest = name.rpartition("/")
    if slash and (len(prefix) > 253 or not _DNS_SUBDOMAIN.fullmatch(prefix)):
        return False
    return _QUALIFIED_NAME.fullmatch(rest) is not None


def is_huge_page(name: str) -> bool:
    """Return whether a resource is a huge page size, such as ``hugepages-2Mi``."""
    return name.startswith(_HUGE_PAGES_PREFIX)


@functools.cache
def is_scalar(name: str) -> bool:
    """Return whether kube-scheduler counts a resource among the scalar ones."""
    return (
        is_extended(name)
        or is_huge_page(name)
        or _NATIVE_PREFIX in name
        or name.startswith(_ATTACHABLE_PREFIX)
    )


@functools.cache
def is_counted(name: str) -> bool:
    """Return whether kube-scheduler tracks a resource."""
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar(name)


def is_pod_level(name: str) -> bool:
    """Return whether a resource may be set for a whole pod (``spec.resources``)."""
    return name in (CPU, MEMORY) or is_huge_page(name)


def amount(name: str, quantity: quantities.Quantity) -> int:
    """Return a quantity as kube-scheduler's integer: millicores, bytes or a count."""
    return quantity.milli() if name == CPU else quantity.value()


def amounts(resources: ResourceList) -> dict[str, int]:
    """Return a resource list as integers, without resources kube-scheduler does not track."""
    return {name: amount(name, q) for name, q in resources.items() if is_counted(name)}


def add(lists: Iterable[ResourceList]) -> dict[str, quantities.Quantity]:
    """Add resource lists name by name."""
    total: dict[str, quantities.Quantity] = {}
    for resources in lists:
        for name, quantity in resources.items():
            total[name] = total[name] + quantity if name in total else quantity
    return total


def maximum(lists: Iterable[ResourceList]) -> dict[str, quantities.Quantity]:
    """Return the largest quantity of every name that occurs."""
    largest: dict[str, quantities.Quantity] = {}
    for resources in lists:
        for name, quantity in resources.items():
            if name not in largest or quantity > largest[name]:
                largest[name] = quantity
    return largest
