"""Custom kinds that create pods, and where their manifests say which.

An operator turns such an object into pods. A rule says where the pod template and the number of
replicas are; objects of unknown kinds are recognised by a pod template in one of the usual places,
with the replicas that their CustomResourceDefinition names for scaling. Users add rules in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kubestow.model import decoding, errors, workloads
from kubestow.sources.manifests import pods as pod_source

_POD_FIELDS = (
    "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "priorityClassName",
    "schedulerName", "hostNetwork",
)  # fmt: skip
# Where kinds without a rule keep a pod template.
_USUAL_TEMPLATES = ("spec.template", "spec.podTemplate", "template")


@dataclass(frozen=True, slots=True)
class KindRule:
    """Where a custom kind describes its pods; paths are keys joined by dots.

    Attributes:
        group: API group.
        kind: The kind.
        template: Path of a pod template.
        pod: Path of an object with fields of a pod specification, instead of a template.
        resources: Path of the resources of its container; goes with ``pod``.
        replicas: Paths of numbers that are multiplied; a missing one counts as 1.
        each: Path of a list or mapping whose entries have pods of their own; the other paths start
            at an entry.
    """

    group: str
    kind: str
    template: str = ""
    pod: str = ""
    resources: str = ""
    replicas: tuple[str, ...] = ("spec.replicas",)
    each: str = ""


def _monitoring(kind: str, *shards: str) -> KindRule:
    replicas = ("spec.replicas", *shards)
    return KindRule(
        "monitoring.coreos.com", kind, pod="spec", resources="spec.resources", replicas=replicas
    )


def _training(kind: str, specs: str) -> KindRule:
    return KindRule(
        "kubeflow.org", kind, template="template", replicas=("replicas",), each=f"spec.{specs}"
    )


def _streaming(kind: str) -> KindRule:
    return KindRule("kafka.strimzi.io", kind, pod="spec.template.pod", resources="spec.resources")


# Paths as in the API references of the projects: Argo Rollouts, OpenKruise, Prometheus Operator,
# Strimzi, Elastic Cloud on Kubernetes, Knative, JobSet, LeaderWorkerSet, Kubeflow Trainer, KubeRay.
RULES: tuple[KindRule, ...] = (
    KindRule("argoproj.io", "Rollout", template="spec.template"),
    KindRule("apps.kruise.io", "CloneSet", template="spec.template"),
    KindRule("apps.kruise.io", "StatefulSet", template="spec.template"),
    _monitoring("Prometheus", "spec.shards"),
    _monitoring("PrometheusAgent", "spec.shards"),
    _monitoring("Alertmanager"),
    _monitoring("ThanosRuler"),
    KindRule(
        "kafka.strimzi.io", "Kafka", pod="template.pod", resources="resources",
        replicas=("replicas",), each="spec.[kafka,zookeeper]",
    ),
    _streaming("KafkaNodePool"),
    _streaming("KafkaConnect"),
    KindRule(
        "elasticsearch.k8s.elastic.co", "Elasticsearch", template="podTemplate",
        replicas=("count",), each="spec.nodeSets",
    ),
    KindRule(
        "kibana.k8s.elastic.co", "Kibana", template="spec.podTemplate", replicas=("spec.count",)
    ),
    KindRule("serving.knative.dev", "Service", template="spec.template", replicas=()),
    KindRule(
        "jobset.x-k8s.io", "JobSet", template="template.spec.template",
        replicas=("replicas", "template.spec.parallelism"), each="spec.replicatedJobs",
    ),
    KindRule(
        "leaderworkerset.x-k8s.io", "LeaderWorkerSet",
        template="spec.leaderWorkerTemplate.workerTemplate",
        replicas=("spec.replicas", "spec.leaderWorkerTemplate.size"),
    ),
    _training("PyTorchJob", "pytorchReplicaSpecs"),
    _training("TFJob", "tfReplicaSpecs"),
    _training("MPIJob", "mpiReplicaSpecs"),
    KindRule("ray.io", "RayCluster", template="spec.headGroupSpec.template", replicas=()),
    KindRule(
        "ray.io", "RayCluster", template="template", replicas=("replicas",),
        each="spec.workerGroupSpecs",
    ),
)  # fmt: skip
"""Rules for kinds of well-known projects."""


def read_rules(document: decoding.Field) -> tuple[KindRule, ...]:
    """Read rules of a user: a list of mappings with the names of ``KindRule``.

    Raises:
        InputError: If a rule is malformed.
    """
    rules = []
    known = {field.name for field in fields(KindRule)}
    for entry in document.items():
        for key in entry.mapping():
            if key not in known:
                raise entry[key].refuse(f"unknown field; expected one of {', '.join(known)}")
        values = {name: entry[name].text("") for name in known - {"replicas", "group", "kind"}}
        if bool(values["template"]) == bool(values["pod"]):
            raise entry.refuse("expected either template or pod")
        replicas = ("spec.replicas",) if entry["replicas"].missing else entry["replicas"].texts()
        rules.append(
            KindRule(entry["group"].text(), entry["kind"].text(), replicas=replicas, **values)
        )
    return tuple(rules)


def scale_paths(entry: decoding.Field) -> dict[tuple[str, str], str]:
    """Return where a CustomResourceDefinition has the replicas of its kind, by group and kind."""
    spec = entry["spec"]
    group, kind = spec["group"].text(""), spec["names"]["kind"].text("")
    for version in spec["versions"].items():
        scale = version["subresources"]["scale"]
        if not scale.missing:
            return {(group, kind): scale["specReplicasPath"].text("").removeprefix(".")}
    return {}


@dataclass(frozen=True, slots=True)
class CustomKinds:
    """Rules, and where definitions in the input keep replicas."""

    rules: Sequence[KindRule]
    scaled: Mapping[tuple[str, str], str]

    def read(
        self, group: str, kind: str, entry: decoding.Field, reader: pod_source.PodReader
    ) -> list[workloads.Workload]:
        """Return the workloads of an object; none if it is not known to create pods."""
        rules = self.rules_for(group, kind, entry)
        return [made for rule in rules for made in _workloads(rule, entry, reader)]

    def rules_for(self, group: str, kind: str, entry: decoding.Field) -> list[KindRule]:
        """Return the rules for an object; none if it is not known to create pods."""
        rules = [rule for rule in self.rules if (rule.group, rule.kind) == (group, kind)]
        return rules or self._guess(group, kind, entry)

    def _guess(self, group: str, kind: str, entry: decoding.Field) -> list[KindRule]:
        for path in _USUAL_TEMPLATES:
            containers = _at(entry, f"{path}.spec.containers")
            if containers is not None and isinstance(containers.value, list) and containers.value:
                replicas = self.scaled.get((group, kind), "spec.replicas")
                return [KindRule(group, kind, template=path, replicas=(replicas,))]
        return []


def _workloads(
    rule: KindRule, entry: decoding.Field, reader: pod_source.PodReader
) -> Iterator[workloads.Workload]:
    metadata = entry["metadata"]
    for suffix, part in _parts(rule, entry):
        template = _template(rule, part)
        if template is None:
            continue
        yield workloads.Workload(
            api_version=entry["apiVersion"].text(),
            kind=rule.kind,
            name=metadata["name"].text() + suffix,
            namespace=metadata["namespace"].text("") or "default",
            replicas=_replicas(rule, part),
            selector=None,
            template=reader.read(template),
            owner=pod_source.read_owner(metadata),
        )


def _parts(rule: KindRule, entry: decoding.Field) -> Iterator[tuple[str, decoding.Field]]:
    """Yield the parts of an object that have pods of their own, with a suffix for their names."""
    if not rule.each:
        yield "", entry
        return
    path, _, chosen = rule.each.partition("[")
    part = _at(entry, path.rstrip("."))
    if part is None or part.missing:
        return
    if chosen:
        names = [name.strip() for name in chosen.rstrip("]").split(",")]
        yield from ((f"-{name}", part[name]) for name in names if not part[name].missing)
    elif isinstance(part.value, list):
        for number, item in enumerate(part.items()):
            yield f"-{item['name'].text(str(number)) if item.mapping() else number}", item
    else:
        yield from ((f"-{name.lower()}", member) for name, member in part.members())


def _replicas(rule: KindRule, part: decoding.Field) -> int:
    product = 1
    for path in rule.replicas:
        field = _at(part, path)
        product *= 1 if field is None else field.integer(1, least=0)
    return product


def _template(rule: KindRule, part: decoding.Field) -> decoding.Field | None:
    """Return the pod template of a part; ``None`` if it has none."""
    if rule.template:
        template = _at(part, rule.template)
        has_none = template is None or template["spec"]["containers"].missing
        return None if has_none else template
    pod, asked = _at(part, rule.pod), _at(part, rule.resources)
    given: dict[str, Any] = {} if pod is None else pod.mapping()
    container = {"name": rule.kind.lower(), "resources": {} if asked is None else asked.mapping()}
    spec = {name: given[name] for name in _POD_FIELDS if given.get(name) is not None}
    made = {"spec": {**spec, "containers": [container]}}
    return decoding.Field(made, part.place, part.path)


def _at(field: decoding.Field, path: str) -> decoding.Field | None:
    """Return the member at a path; ``None`` where something else than a mapping is in the way."""
    try:
        for key in path.split("."):
            field = field[key]
    except errors.InputError:
        return None
    return field
