"""Guards around any recommender: what a cluster, a namespace and a container allow."""

from kubestow.policies.sizing.guards.guards import (
    GuardContext,
    GuardedPod,
    GuardParameters,
    LimitRule,
)
from kubestow.policies.sizing.guards.heaps import JavaHeap, find_java_heap
from kubestow.policies.sizing.guards.rules import guard

__all__ = [
    "GuardContext",
    "GuardParameters",
    "GuardedPod",
    "JavaHeap",
    "LimitRule",
    "find_java_heap",
    "guard",
]
