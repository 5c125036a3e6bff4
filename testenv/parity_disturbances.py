"""External changes of autoscaled pods between syncs of the HPA controller.

All changes happen midway between two syncs, so that it is certain what each sync saw.
"""

from __future__ import annotations

import random
import time

from testenv import clusters
from testenv.parity_sequences import Sequence

_EARLIEST_S, _LATEST_S = 0.45, 0.8  # after a sync
_SCALED, _DISTURBED = 0.03, 0.12  # shares of the syncs
_STRATEGIC, _MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"


class Disturber:
    """Changes the readiness of pods and the replicas of deployments at random.

    Args:
        cluster: The cluster.
        namespace: Namespace of all objects.
        seed: Seed of random numbers.
        scaled: Receives the times at which deployments were scaled, by name.
    """

    def __init__(
        self, cluster: clusters.Cluster, namespace: str, seed: int, scaled: dict[str, list[float]]
    ) -> None:
        self._cluster, self._namespace, self._scaled = cluster, namespace, scaled
        self._random = random.Random(seed)
        self._syncs: dict[str, int] = {}

    def visit(self, sequence: Sequence) -> None:
        """Disturb a sequence at random, at most once after each of its syncs."""
        count = len(sequence.syncs)
        if not count or self._syncs.get(sequence.name) == count:
            return
        age_s = time.time() - sequence.syncs[-1].time_s
        if age_s < _EARLIEST_S:
            return
        self._syncs[sequence.name] = count
        share = self._random.random()
        if age_s > _LATEST_S or share > _DISTURBED:
            return
        if share < _SCALED:
            self._scale(sequence)
        else:
            self._change_readiness(sequence)

    def _scale(self, sequence: Sequence) -> None:
        # Within bounds: outside of them the controller acts without reading metrics.
        spec = sequence.hpa["spec"]
        replicas = self._random.randint(max(1, spec["minReplicas"]), spec["maxReplicas"])
        group = f"/apis/apps/v1/namespaces/{self._namespace}/deployments/{sequence.name}"
        self._scaled.setdefault(sequence.name, []).append(time.time())
        body = {"spec": {"replicas": replicas}}
        self._cluster.request("PATCH", f"{group}/scale", body, content=_MERGE)

    def _change_readiness(self, sequence: Sequence) -> None:
        pods = sequence.known_pods(time.time())
        if not pods:
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        status = self._random.choice(("False", "False", "True"))
        condition = {"type": "Ready", "status": status, "lastTransitionTime": now}
        path = f"/api/v1/namespaces/{self._namespace}/pods/{self._random.choice(pods)}/status"
        body = {"status": {"conditions": [condition]}}
        self._cluster.request("PATCH", path, body, content=_STRATEGIC, missing=True)
