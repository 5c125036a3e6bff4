"""A name for a workload that survives the generated names of its pods."""

from __future__ import annotations

import re

from kubestow.model import pods

_TEMPLATE_HASH = "pod-template-hash"
_CRON_SUFFIX = re.compile(r"-\d{8,10}$")  # a CronJob appends the scheduled minute to its jobs


def identity(pod: pods.Pod) -> str:
    """Return the stable identity of a pod as ``namespace/kind/name``.

    The label ``kubestow.io/id`` decides if it is there; else the controller, with ReplicaSets
    traced to their Deployment and jobs to their CronJob; a pod without one stands for itself.
    """
    given = pod.labels.get(pods.ID_LABEL)
    if given:
        return f"{pod.namespace}/id/{given}"
    if pod.owner is None:
        return f"{pod.namespace}/Pod/{pod.name}"
    kind, name = pod.owner.kind, pod.owner.name
    digest = pod.labels.get(_TEMPLATE_HASH)
    if kind == "ReplicaSet" and digest and name.endswith(f"-{digest}"):
        kind, name = "Deployment", name.removesuffix(f"-{digest}")
    elif kind == "Job" and _CRON_SUFFIX.search(name):
        kind, name = "CronJob", _CRON_SUFFIX.sub("", name)
    return f"{pod.namespace}/{kind}/{name}"
