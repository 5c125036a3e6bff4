"""The quality-of-service class of a pod (``pkg/apis/core/v1/helper/qos``, 1.37)."""

from __future__ import annotations

import enum

from kubestow.model import pods, quantities, resources

_COUNTED = (resources.CPU, resources.MEMORY)


class QosClass(enum.StrEnum):
    """How hard a pod's resources are guaranteed; the order in which pods are sacrificed."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def qos_class(spec: pods.PodSpec) -> QosClass:
    """Return the class of a pod.

    Guaranteed needs limits for CPU and memory on every container, equal to the requests;
    BestEffort has neither requests nor limits; all else is Burstable. Zero counts as not set.
    Pod-level values, where given, decide alone.
    """
    if spec.pod_requests or spec.pod_limits:
        stated = [(spec.pod_requests or {}, spec.pod_limits or {})]
    else:
        stated = [(c.requests, c.limits) for c in (*spec.containers, *spec.init_containers)]
    requests = resources.add(_nonzero(r) for r, _ in stated)
    limits = resources.add(_nonzero(limit) for _, limit in stated)
    if not requests and not limits:
        return QosClass.BEST_EFFORT
    limited_everywhere = all(set(_COUNTED) <= set(_nonzero(limit)) for _, limit in stated)
    if limited_everywhere and requests == limits:
        return QosClass.GUARANTEED
    return QosClass.BURSTABLE


def _nonzero(found: resources.ResourceList) -> dict[str, quantities.Quantity]:
    return {name: found[name] for name in _COUNTED if name in found and found[name].nano > 0}
