"""Everything is killed in turn while 500 pods roll out; in the end all is as it should be."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.live.admission import handler, manifests
from kubestow.live.stores import decisions, engines
from kubestow.model.keys import ContainerKey
from kubestow.policies.placing import extender_configuration
from kubestow.policies.placing.profiles import catalog
from testenv import authorities, clusters, commands, nodes, workloads
from testenv.processes import Process
from testenv.prometheus_servers import free_port
from tests.e2e import metric_servers
from tests.live.admission import make

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

REPLICAS, LATER, NODES = 500, 100, 20
FIRST, STEP, MOST = 50, 200, 1000  # replicas: before there is a load, a scaling's, and allowed
TARGET = 10  # load of one replica
LEARNED = {"cpu": "20m", "memory": "40M"}
ASKED = {"cpu": "50m", "memory": "64Mi"}
OFFER = {"cpu": "16", "memory": "32Gi", "pods": "110"}
_REMIND_S = 5.0  # longer than it takes to start what is placed
_SETTLE_S = 2.0  # around an outage in which a pod may have been placed without us
_LOOK_S = 0.5
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


@dataclass(slots=True)
class Outages:
    """When one of our servers was away, in seconds since the epoch."""

    spans: list[tuple[float, float]] = field(default_factory=list)

    def touches(self, time_s: float) -> bool:
        """Tell whether a time lies in an outage, or close to one."""
        return any(low - _SETTLE_S <= time_s <= high + _SETTLE_S for low, high in self.spans)


@dataclass(frozen=True, slots=True)
class Rollout:
    """A deployment that is scaled; every look at it is kept.

    Attributes:
        cluster: Where it is.
        namespace: Of the deployment, its autoscaler and its pods.
        seen: Generation and wanted replicas, as often as they were found to have changed.
    """

    cluster: clusters.Cluster
    namespace: str
    seen: list[tuple[int, int]] = field(default_factory=list)

    def look(self) -> int:
        """Return how many replicas are wanted now."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/web"
        result = self.cluster.request("GET", path)
        now = (int(result["metadata"]["generation"]), int(result["spec"]["replicas"]))
        if now not in self.seen[-1:]:
            self.seen.append(now)
        return now[1]

    def wait_while(self, lacking: Callable[[], str], seconds: float) -> None:
        """Wait while something is lacking, and look at the deployment meanwhile.

        Args:
            lacking: Says what is not as it should be; nothing where all is well.
            seconds: How long to wait at most.
        """
        until = time.monotonic() + seconds
        while lack := self._told(lacking):
            assert time.monotonic() < until, f"after {seconds:g} s: {lack}; scaled: {self.seen}"
            time.sleep(_LOOK_S)

    def _told(self, lacking: Callable[[], str]) -> str:
        try:
            self.look()
            return lacking()
        except (RuntimeError, httpx.HTTPError) as error:  # the API server is on its way back
            return repr(error)

    def lacks_pods(self, count: int) -> str:
        """Tell whether there are not more than so many pods."""
        result = len(workloads.pods(self.cluster, self.namespace))
        return "" if result > count else f"{result} pods instead of more than {count}"

    def lacks_activity(self, status: str, message: str = "", wanted: int | None = None) -> str:
        """Tell what the autoscaler says instead of what it should.

        Args:
            status: ``True`` where it has what it needs to scale, ``False`` where not.
            message: Part of what it says to that.
            wanted: Replicas that are there and that it wants; any number by default.
        """
        path = f"/apis/autoscaling/v2/namespaces/{self.namespace}/horizontalpodautoscalers/web"
        result = self.cluster.request("GET", path).get("status", {})
        conditions = {each["type"]: each for each in result.get("conditions", ())}
        active = conditions.get("ScalingActive", {"status": "", "message": ""})
        replicas = {result.get("currentReplicas"), result.get("desiredReplicas")}
        reported = active["status"] == status and message in active["message"]
        return (
            "" if reported and (wanted is None or replicas == {wanted}) else f"autoscaler: {result}"
        )


@pytest.fixture
def webhook(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, tmp_path: Path
) -> Iterator[tuple[Process, str, str]]:
    """Run a webhook that gives pods of this namespace what was learned."""
    merge = "application/merge-patch+json"
    labels = {"metadata": {"labels": {"kubestow.io/managed": "true"}}}
    cluster.request("PATCH", f"/api/v1/namespaces/{namespace}", labels, content=merge)
    store = f"sqlite:///{tmp_path}/admission.db"
    make.keep(store, ContainerKey(namespace, "id", "web", "main"), **LEARNED)
    authority = authorities.Authority(tmp_path / "webhook", "webhook-ca")
    pair, port = authority.server("webhook", ("127.0.0.1",)), free_port()
    name = f"kubestow-{namespace}"
    configuration = manifests.webhook_configuration(name, "kubestow-system", "web")
    for each in configuration["webhooks"]:
        url = f"https://127.0.0.1:{port}{handler.PATH}"
        each["clientConfig"] = {"url": url, "caBundle": authority.bundle()}
    base = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    files = ("--certificates=files", str(pair.certificate), str(pair.key))
    options = (f"--store={store}", *files, f"--kubeconfig={kubeconfig}")
    with commands.serve(tmp_path, "admission", *options, port=port, tls=True) as (process, url):
        cluster.request("POST", base, configuration)
        try:
            yield process, url, store
        finally:
            cluster.request("DELETE", f"{base}/{name}")


@pytest.fixture
def extender(
    cluster: clusters.Cluster, kubeconfig: Path, tmp_path: Path
) -> Iterator[tuple[Process, str, str]]:
    """Run an extender that the scheduler asks."""
    store = f"sqlite:///{tmp_path}/extender.db"
    options = ("--term=clbp", f"--kubeconfig={kubeconfig}", "--loads-every=0s", f"--store={store}")
    with commands.serve(tmp_path, "extender", *options) as (process, url):
        profile = catalog.profile_of_term("clbp", catalog.SHORTLIST)
        cluster.configure_scheduler(
            extender_configuration.write_extender_configuration(profile, url)
        )
        yield process, url, store
    cluster.configure_scheduler({})


@pytest.fixture
def metrics_api(
    cluster: clusters.Cluster, namespace: str, tmp_path: Path
) -> Iterator[metric_servers.Served]:
    """Run a metrics API that takes the load of services."""
    home, written = f"{namespace}-metrics", [("services", "load")]
    with metric_servers.serve(cluster, tmp_path, home, written) as running:
        yield running


def _kill_ours(process: Process, url: str, outages: Outages) -> None:
    began_s = time.time()
    process.kill()
    time.sleep(0.5)
    process.start()
    process.wait_until(commands.is_ready(url), 60.0)
    outages.spans.append((began_s, time.time()))


def _kill_theirs(cluster: clusters.Cluster, name: str, outages: Outages) -> None:
    began_s = time.time()
    cluster.processes[name].kill()
    time.sleep(0.3)
    if name in (clusters.API, clusters.ETCD):
        cluster.restart_api()
        outages.spans.append((began_s, time.time()))
    else:
        cluster.processes[name].start()


def _kill_metrics_api(rollout: Rollout, served: metric_servers.Served) -> None:
    """Kill the metrics API in the middle, and bring it back when the autoscaler has missed it.

    The new one knows no value before it is written again, and must not make one up.
    """
    rollout.wait_while(lambda: rollout.lacks_activity("True"), 60.0)
    served.process.kill()
    rollout.wait_while(lambda: rollout.lacks_activity("False"), 60.0)
    wanted = rollout.look()
    assert FIRST < wanted < REPLICAS, f"not in the middle: {rollout.seen}"
    served.process.start()
    served.process.wait_until(commands.is_ready(served.url), 60.0)
    nothing = "could not find the metric load"
    rollout.wait_while(lambda: rollout.lacks_activity("False", nothing), 60.0)
    assert rollout.look() == wanted, f"scaled without a metric: {rollout.seen}"
    _write(rollout, served)


def _write(rollout: Rollout, served: metric_servers.Served) -> None:
    """Write a load that makes exactly the replicas that are wanted in the end."""
    served.write(f"namespaces/{rollout.namespace}/services/web/load", REPLICAS * TARGET)


def _autoscale(rollout: Rollout) -> None:
    """Let an autoscaler follow the load of the service, without tolerance or patience.

    Told of less it would take replicas away at once, told of more it would go beyond what is
    wanted. Its pace leaves time for a look between two changes.
    """
    name, place = {"name": "web"}, f"namespaces/{rollout.namespace}"
    chosen = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    service = {"metadata": name, "spec": chosen}
    rollout.cluster.request("POST", f"/api/v1/{place}/services", service)
    metric = {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
        "metric": {"name": "load"},
        "target": {"type": "AverageValue", "averageValue": str(TARGET)},
    }
    pace = {"policies": [{"type": "Pods", "value": STEP, "periodSeconds": 15}]}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": MOST,
        "metrics": [{"type": "Object", "object": metric}],
        "behavior": {
            "scaleUp": {**pace, "tolerance": "0"},
            "scaleDown": {"stabilizationWindowSeconds": 0, "tolerance": "0"},
        },
    }
    path = f"/apis/autoscaling/v2/{place}/horizontalpodautoscalers"
    rollout.cluster.request("POST", path, {"metadata": name, "spec": spec})


def _holders(cluster: clusters.Cluster) -> dict[str, str]:
    """Return who holds the lease of every node that has one."""
    result = cluster.request("GET", _LEASES)["items"]
    return {each["metadata"]["name"]: each["spec"]["holderIdentity"] for each in result}


def _wait_until_taken_over(rollout: Rollout, names: list[str], before: set[str]) -> None:
    """Wait until a new KWOK holds the leases of all nodes.

    It takes a lease over when it has run out, 40 s after its predecessor renewed it, and looks
    every 10 s; nodes without renewal are marked unreachable after 50 s. Whether it starts pods
    before that depends on which of its controllers comes first. Where it does not, it does not do
    so afterwards either, before it is reminded of them.
    """

    def lacking() -> str:
        result = _holders(rollout.cluster)
        left = [name for name in names if result.get(name) in before | {None}]
        return f"nodes without new kubelets: {left}" if left else ""

    rollout.wait_while(lacking, 120.0)


def _wait_until_all_run(rollout: Rollout, wanted: int, seconds: float) -> None:
    remind_s = time.monotonic() + _REMIND_S

    def lacking() -> str:
        nonlocal remind_s
        result = workloads.pods(rollout.cluster, rollout.namespace)
        states = Counter((pod["status"].get("phase"), "nodeName" in pod["spec"]) for pod in result)
        if states == {("Running", True): wanted}:
            return ""
        if time.monotonic() > remind_s:
            workloads.remind_kubelets(rollout.cluster, result)
            remind_s = time.monotonic() + _REMIND_S
        return f"pods by phase, and whether they have a node: {states}"

    rollout.wait_while(lacking, seconds)


def _scheduled_s(pod: dict[str, Any]) -> float:
    (condition,) = (c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled")
    return dt.datetime.fromisoformat(condition["lastTransitionTime"]).timestamp()


def _created_s(pod: dict[str, Any]) -> float:
    return dt.datetime.fromisoformat(pod["metadata"]["creationTimestamp"]).timestamp()


def test_a_rollout_converges_while_everything_is_killed_in_turn(
    cluster: clusters.Cluster,
    namespace: str,
    webhook: tuple[Process, str, str],
    extender: tuple[Process, str, str],
    metrics_api: metric_servers.Served,
) -> None:
    names = [f"node{number}" for number in range(NODES)]
    nodes.make(cluster, [nodes.document(name, OFFER) for name in names])
    labels = {"kubestow.io/managed": "true", "kubestow.io/id": "web"}
    workloads.create(cluster, namespace, workloads.deployment("web", FIRST, ASKED, labels=labels))
    rollout, no_webhook, no_extender = Rollout(cluster, namespace), Outages(), Outages()
    rollout.wait_while(lambda: rollout.lacks_pods(20), 60.0)
    # First, as a new KWOK takes nodes over only when the leases of its predecessor run out.
    kubelets = set(_holders(cluster).values())
    _kill_theirs(cluster, clusters.KUBELETS, no_webhook)
    rollout.look()
    _autoscale(rollout)
    _write(rollout, metrics_api)
    rollout.wait_while(lambda: rollout.lacks_pods(60), 60.0)
    _kill_metrics_api(rollout, metrics_api)
    _kill_ours(extender[0], extender[1], no_extender)
    rollout.look()
    _kill_theirs(cluster, clusters.API, no_webhook)
    _kill_ours(webhook[0], webhook[1], no_webhook)
    for name in (clusters.SCHEDULER, clusters.CONTROLLERS, clusters.ETCD):
        rollout.look()
        _kill_theirs(cluster, name, no_webhook)
    _wait_until_taken_over(rollout, names, kubelets)
    _wait_until_all_run(rollout, REPLICAS, 180.0)
    # A second wave after the last restart: everybody has to be at work again.
    workloads.create(cluster, namespace, workloads.deployment("more", LATER, ASKED, labels=labels))
    _kill_ours(extender[0], extender[1], no_extender)
    _wait_until_all_run(rollout, REPLICAS + LATER, 120.0)

    rollout.wait_while(lambda: rollout.lacks_activity("True", wanted=REPLICAS), 60.0)
    _check_scaling(rollout)
    result = workloads.pods(cluster, namespace)
    _check_pods(result)
    _check_changes(result, no_webhook)
    extender[0].stop()  # writes what waits
    _check_records(result, namespace, extender[2], no_extender)


def _check_scaling(rollout: Rollout) -> None:
    """Replicas were only ever added, never more than wanted, and no change was overlooked."""
    generations, replicas = zip(*rollout.seen, strict=True)
    assert list(generations) == list(range(generations[0], generations[-1] + 1)), rollout.seen
    assert list(replicas) == sorted(replicas), f"taken away: {rollout.seen}"
    assert (replicas[0], replicas[-1]) == (FIRST, REPLICAS), rollout.seen


def _check_pods(result: list[dict[str, Any]]) -> None:
    """There are as many pods as were wanted, and each was started once."""
    apps = Counter(pod["metadata"]["labels"]["app"] for pod in result)
    assert apps == {"web": REPLICAS, "more": LATER}
    assert len({pod["metadata"]["uid"] for pod in result}) == REPLICAS + LATER
    assert Counter(pod["status"]["phase"] for pod in result) == {"Running": REPLICAS + LATER}
    assert all(c["restartCount"] == 0 for p in result for c in p["status"]["containerStatuses"])


def _check_changes(result: list[dict[str, Any]], outages: Outages) -> None:
    """No pod was changed twice, and none is unchanged that was made while the webhook was there."""
    for pod in result:
        requested = pod["spec"]["containers"][0]["resources"]["requests"]
        if requested != LEARNED:
            assert requested == ASKED
            assert outages.touches(_created_s(pod)), pod["metadata"]["name"]


def _check_records(
    result: list[dict[str, Any]], namespace: str, store: str, outages: Outages
) -> None:
    """Every pod that was placed while the extender was there has its record."""
    placed = Counter(pod["spec"]["nodeName"] for pod in result)
    assert sum(placed.values()) == REPLICAS + LATER
    missing = 0
    with engines.open_store(store) as opened:
        for pod in result:
            records = decisions.newest_decisions(
                opened, f"pod/{namespace}/{pod['metadata']['name']}"
            )
            if not records:
                missing += 1
                assert outages.touches(_scheduled_s(pod)), pod["metadata"]["name"]
    assert missing < REPLICAS + LATER
