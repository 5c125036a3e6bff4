"""The reader of pods, at two speeds: any manifest, and the JSON of an API server.

``PodReader.read`` takes a manifest and fills in what an API server would: requests default to
limits, ports of the host network to host ports, pod-level requests to the sums of the containers
and to the limits, label keys are merged into selectors, and every pod tolerates a short outage of
its node (``pkg/apis/core/v1/defaults.go``, ``pkg/registry/core/pod/strategy.go``, 1.37).

``PodReader.read_json`` takes the text of one pod. A watch delivers every pod several times, and
replicas differ in little that matters here, so it decodes a specification once and recognises it by
its text from then on. It falls back to the slow path for a text that the fast decoder refuses, and
for the error message.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from kubestow.model import affinities, decoding, nodes, pods, quantities, requests, resources
from kubestow.sources.manifests import pod_json, storage

# The DefaultTolerationSeconds admission plugin, on by default, adds these to every pod.
_OUTAGES = (nodes.NOT_READY, nodes.UNREACHABLE)


# Specifications that a reader remembers before it forgets all of them.
_MOST_SPECS = 20_000


@dataclass(frozen=True, slots=True)
class PodReading:
    """A pod with the identity that the API server gave it.

    Attributes:
        uid: ``metadata.uid``; empty before the pod is stored.
        version: ``metadata.resourceVersion``.
        pod: The pod.
    """

    uid: str
    version: str
    pod: pods.Pod


class PodReader:
    """Reads pods and lets those with equal specifications share one ``PodSpec``.

    Args:
        priorities: Value of each PriorityClass; the global default under the empty name.
        peaceful: PriorityClasses whose pods do not preempt others; likewise.
        most_specs: Distinct specifications to remember before all are forgotten.
    """

    def __init__(
        self,
        priorities: Mapping[str, int] | None = None,
        most_specs: int = _MOST_SPECS,
        peaceful: frozenset[str] = frozenset(),
    ) -> None:
        self._priorities = priorities or {}
        self._peaceful = peaceful
        self._most_specs = most_specs
        self._specs: dict[str, pods.PodSpec] = {}
        self._specs_by_text: dict[bytes, pods.PodSpec] = {}

    def read(self, document: decoding.Field) -> pods.Pod:
        """Read a pod, or a pod template, from a manifest.

        Raises:
            InputError: If it is malformed, or requests more than a limit allows.
        """
        labels = document["metadata"]["labels"].labels()
        key = _manifest_key(document["spec"], labels)
        spec = self._specs_by_text.get(key) if key else None
        pod = self._read(document, spec)
        if spec is None:
            for group in ("containers", "initContainers"):
                for container in document["spec"][group].items():
                    _check_limits(container["resources"])
            if key:
                self._remember(key, pod.spec)
        return pod

    def read_json(self, text: bytes) -> PodReading:
        """Read a pod from JSON as an API server writes it, fast.

        Requests above limits are accepted: a stored pod has none, and a webhook may mend them.

        Raises:
            InputError: If it is not a pod.
        """
        try:
            decoded = pod_json.decode_pod(text)
        except pod_json.UNREADABLE:
            return self._read_slowly(text)
        metadata, labels = decoded.metadata, decoded.metadata.labels or {}
        key = pod_json.spec_text(decoded.spec, labels)
        spec = self._specs_by_text.get(key)
        if spec is None:
            reading = self._read_slowly(text)
            self._remember(key, reading.pod.spec)
            return reading
        created = metadata.creation_timestamp
        pod = pods.Pod(
            name=metadata.name,
            namespace=metadata.namespace or "default",
            labels=labels,
            annotations=metadata.annotations or {},
            owner=pod_json.controller_of(metadata),
            created=None if created is None else created.timestamp(),
            node_name=decoded.spec.node_name,
            terminating=metadata.deletion_timestamp is not None,
            spec=spec,
            status=(
                read_status(pod_json.decode_document(text)["status"])
                if pod_json.has_resources(decoded.status)
                else pod_json.plain_status(decoded.status)
            ),
            volumes=storage.read_pod_volumes(pod_json.volumes_field(decoded.spec)),
            uid=metadata.uid,
        )
        return PodReading(metadata.uid, metadata.resource_version, pod)

    def _read_slowly(self, text: bytes) -> PodReading:
        document = pod_json.decode_document(text)
        metadata = document["metadata"]
        return PodReading(
            metadata["uid"].text(""), metadata["resourceVersion"].text(""), self._read(document)
        )

    def _remember(self, key: bytes, spec: pods.PodSpec) -> None:
        if len(self._specs_by_text) >= self._most_specs:
            # Otherwise the specifications of deleted pods would stay for ever.
            self._specs, self._specs_by_text = {}, {}
        self._specs_by_text[key] = spec

    def _read(self, document: decoding.Field, spec: pods.PodSpec | None = None) -> pods.Pod:
        metadata = document["metadata"]
        labels = metadata["labels"].labels()
        status = document["status"]
        spec_field = document["spec"]
        return pods.Pod(
            name=metadata["name"].text(""),
            namespace=metadata["namespace"].text("") or "default",
            labels=labels,
            annotations=metadata["annotations"].labels(),
            owner=read_owner(metadata),
            created=_seconds(metadata["creationTimestamp"]),
            node_name=spec_field["nodeName"].text(""),
            terminating=not metadata["deletionTimestamp"].missing,
            spec=spec or self._shared(self._spec(spec_field, labels)),
            status=read_status(status),
            volumes=storage.read_pod_volumes(spec_field["volumes"]),
            uid=metadata["uid"].text(""),
        )

    def _shared(self, spec: pods.PodSpec) -> pods.PodSpec:
        return self._specs.setdefault(repr((spec, spec.preempts, spec.beyond)), spec)

    def _spec(self, field: decoding.Field, labels: Mapping[str, str]) -> pods.PodSpec:
        host_network = field["hostNetwork"].truth()
        containers = tuple(_container(c, host_network) for c in field["containers"].items())
        if not containers:
            raise field["containers"].refuse("a pod needs at least one container")
        affinity = field["affinity"]
        near, apart = affinity["podAffinity"], affinity["podAntiAffinity"]
        spec = pods.PodSpec(
            containers=containers,
            init_containers=tuple(
                _container(c, host_network) for c in field["initContainers"].items()
            ),
            overhead=field["overhead"].quantities(),
            node_selector=field["nodeSelector"].labels(),
            required_nodes=affinities.required_nodes(affinity["nodeAffinity"]),
            preferred_nodes=affinities.preferred_nodes(affinity["nodeAffinity"]),
            required_near=affinities.required_pods(near, labels),
            preferred_near=affinities.preferred_pods(near, labels),
            required_apart=affinities.required_pods(apart, labels),
            preferred_apart=affinities.preferred_pods(apart, labels),
            tolerations=_tolerations(field["tolerations"]),
            spread=tuple(
                affinities.spread_constraint(c, labels)
                for c in field["topologySpreadConstraints"].items()
            ),
            image_volumes=tuple(
                volume["image"]["reference"].text("")
                for volume in field["volumes"].items()
                if not volume["image"].missing
            ),
            priority=self._priority(field),
            scheduler_name=field["schedulerName"].text("") or pods.DEFAULT_SCHEDULER,
            gates=tuple(gate["name"].text() for gate in field["schedulingGates"].items()),
            preempts=self._preempts(field),
            beyond=tuple(name for name in pods.BEYOND if field[name].value),
        )
        return _with_pod_level(spec, field["resources"])

    def _priority(self, field: decoding.Field) -> int:
        if not field["priority"].missing:
            return field["priority"].integer()
        name = field["priorityClassName"].text("")
        if not name:
            return self._priorities.get("", 0)
        if name not in self._priorities:
            raise field["priorityClassName"].refuse("no such PriorityClass in the input")
        return self._priorities[name]

    def _preempts(self, field: decoding.Field) -> bool:
        policy = field["preemptionPolicy"]
        if policy.missing:
            return field["priorityClassName"].text("") not in self._peaceful
        return policy.choice(("PreemptLowerPriority", "Never")) != "Never"


def _manifest_key(spec: decoding.Field, labels: Mapping[str, str]) -> bytes:
    """Return a text that determines the ``PodSpec``; empty if there is none.

    Replicas have equal specifications, and reading one takes much longer than writing it.
    """
    try:
        own = {key: value for key, value in spec.mapping().items() if key != "nodeName"}
        return b"manifest" + msgspec.json.encode([own, labels], order="deterministic")
    except (TypeError, ValueError):  # keys or values that JSON does not have
        return b""


def read_owner(metadata: decoding.Field) -> pods.OwnerReference | None:
    """Return the controlling owner of an object."""
    for owner in metadata["ownerReferences"].items():
        if owner["controller"].truth():
            return pods.OwnerReference(
                owner["apiVersion"].text(), owner["kind"].text(), owner["name"].text()
            )
    return None


def _container(field: decoding.Field, host_network: bool) -> pods.Container:
    limits = field["resources"]["limits"].quantities()
    requested = field["resources"]["requests"].quantities()
    return pods.Container(
        name=field["name"].text(),
        image=field["image"].text(""),
        requests={**limits, **requested},  # a limit alone is a request too
        limits=limits,
        sidecar=field["restartPolicy"].text("") == "Always",
        host_ports=tuple(_host_ports(field["ports"], host_network)),
    )


def _check_limits(field: decoding.Field) -> None:
    limits = field["limits"].quantities()
    for name, quantity in field["requests"].quantities().items():
        if name in limits and quantity > limits[name]:
            raise field["requests"][name].refuse(
                f"must be less than or equal to its limit {limits[name]}"
            )


def _host_ports(field: decoding.Field, host_network: bool) -> list[pods.HostPort]:
    ports = []
    for port in field.items():
        number = port["hostPort"].integer(0, least=0, most=65535)
        if host_network and number == 0:
            number = port["containerPort"].integer(0, least=0, most=65535)
        if number:
            ports.append(
                pods.HostPort(
                    number,
                    port["protocol"].text("TCP"),
                    port["hostIP"].text("") or pods.WILDCARD_IP,
                )
            )
    return ports


def _tolerations(field: decoding.Field) -> tuple[nodes.Toleration, ...]:
    tolerations = [
        nodes.Toleration(
            key=item["key"].text(""),
            operator=item["operator"].choice(("Equal", "Exists", "Lt", "Gt"), "Equal"),
            value=item["value"].text(""),
            effect=item["effect"].text(""),
        )
        for item in field.items()
    ]
    for key in _OUTAGES:
        if not any(t.key in ("", key) and t.effect in ("", nodes.NO_EXECUTE) for t in tolerations):
            tolerations.append(nodes.Toleration(key, "Exists", "", nodes.NO_EXECUTE))
    return tuple(tolerations)


def _with_pod_level(spec: pods.PodSpec, field: decoding.Field) -> pods.PodSpec:
    """Fill in pod-level requests and limits as ``DefaultPodLevelResources`` does."""
    requested = field["requests"].quantities()
    limits = field["limits"].quantities()
    if not requested and not limits:
        return spec
    from_limits = requests.aggregate(spec, lambda container: container.limits)
    for name, quantity in from_limits.items():
        if resources.is_huge_page(name) and name not in requested:
            limits.setdefault(name, quantity)
    from_requests = requests.aggregate(spec, lambda container: container.requests)
    for name, quantity in from_requests.items():
        if name in (resources.CPU, resources.MEMORY):
            requested.setdefault(name, quantity)
    for name, quantity in limits.items():
        if resources.is_pod_level(name):
            requested.setdefault(name, quantity)
    return replace(spec, pod_requests=requested, pod_limits=limits)


def read_status(field: decoding.Field) -> pods.PodStatus:
    """Read the status that the kubelet reports."""
    containers = [
        pods.ContainerStatus(
            name=status["name"].text(),
            allocated=_resource_list(status["allocatedResources"]),
            actuated=_resource_list(status["resources"]["requests"]),
        )
        for group in ("containerStatuses", "initContainerStatuses")
        for status in field[group].items()
    ]
    pending = [c for c in field["conditions"].items() if c["type"].text("") == "PodResizePending"]
    return pods.PodStatus(
        phase=field["phase"].text("Pending"),
        containers=tuple(
            c for c in containers if c.allocated is not None or c.actuated is not None
        ),
        allocated=_resource_list(field["allocatedResources"]),
        actuated=_resource_list(field["resources"]["requests"]),
        resize_infeasible=bool(pending) and pending[0]["reason"].text("") == "Infeasible",
        started=_seconds(field["startTime"]),
        nominated=field["nominatedNodeName"].text(""),
    )


def _resource_list(field: decoding.Field) -> dict[str, quantities.Quantity] | None:
    return None if field.missing else field.quantities()


def _seconds(field: decoding.Field) -> float | None:
    """Return a timestamp (RFC 3339) as seconds since the epoch."""
    value = field.value
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError as err:
            raise field.refuse("expected a time such as 2026-01-31T12:00:00Z") from err
    if not isinstance(value, dt.datetime):
        raise field.refuse("expected a time such as 2026-01-31T12:00:00Z")
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.UTC)
    return value.timestamp()
