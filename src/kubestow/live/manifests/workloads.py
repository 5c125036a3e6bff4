"""The objects of a component: service account, RBAC, Deployment, Service, PDB, NetworkPolicy.

Containers run with least privilege: no root, no writable files but ``/tmp``, no capabilities, the
runtime's default seccomp profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kubestow.live.manifests.values import InstallationValues, ResourceValues

PART_OF: Final = "app.kubernetes.io/part-of"
NAME: Final = "app.kubernetes.io/name"
PORT: Final = 8443
_USER: Final = 65532  # nonroot, as in distroless images
_RBAC: Final = "rbac.authorization.k8s.io"
# Longer than a server drains (5 s) and then waits for running requests (10 s).
_GRACE_S: Final = 30
_DNS: Final = 53

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Component:
    """One deployed program.

    Attributes:
        name: Its name, and that of its objects.
        replicas: Number of replicas.
        arguments: Command-line arguments of kubestow.
        resources: Resources of each replica.
        cluster_rules: RBAC rules for the whole cluster.
        namespace_rules: RBAC rules for its own namespace.
        store: Whether it needs the store.
        serves: Whether others connect to it, by TLS on ``PORT``.
        mounts: Volumes by mount path.
        sidecars: Further containers.
        cluster_roles: Existing ClusterRoles to bind.
        system_roles: Existing Roles in kube-system to bind.
    """

    name: str
    replicas: int
    arguments: tuple[str, ...]
    resources: ResourceValues
    cluster_rules: Sequence[Document] = ()
    namespace_rules: Sequence[Document] = ()
    store: bool = False
    serves: bool = True
    mounts: Mapping[str, Document] = field(default_factory=dict)
    sidecars: Sequence[Document] = ()
    cluster_roles: Sequence[str] = ()
    system_roles: Sequence[str] = ()


def metadata(values: InstallationValues, name: str, component: str | None = None) -> Document:
    """Return the name and labels of an object."""
    labels = {PART_OF: "kubestow", NAME: component or name}
    return {"name": name, "namespace": values.namespace, "labels": labels}


def documents(values: InstallationValues, component: Component) -> list[Document]:
    """Return all objects of a component."""
    result = [*_rights(values, component), _deployment(values, component)]
    if component.serves:
        result.append(_service(values, component))
    if component.replicas > 1:
        result.append(_budget(values, component))
    result.append(_policy(values, component))
    return result


def _rights(values: InstallationValues, component: Component) -> list[Document]:
    account = {"kind": "ServiceAccount", "name": component.name, "namespace": values.namespace}
    objects: list[Document] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(values, component.name)}
    ]
    whole = f"kubestow:{component.name}"
    if component.cluster_rules:
        objects.append(
            _role("ClusterRole", _global(values, whole, component), component.cluster_rules)
        )
    if component.namespace_rules:
        place = metadata(values, component.name)
        objects += [
            _role("Role", place, component.namespace_rules),
            _binding("Role", place, component.name, account),
        ]
    roles = [whole] if component.cluster_rules else []
    for role in (*roles, *component.cluster_roles):
        name = role if role == whole else f"{whole}:{role.replace(':', '-')}"
        objects.append(_binding("ClusterRole", _global(values, name, component), role, account))
    for role in component.system_roles:
        place = {**metadata(values, f"{whole}:{role}", component.name), "namespace": "kube-system"}
        objects.append(_binding("Role", place, role, account))
    return objects


def _global(values: InstallationValues, name: str, component: Component) -> Document:
    place = metadata(values, name, component.name)
    del place["namespace"]
    return place


def _role(kind: str, place: Document, rules: Sequence[Document]) -> Document:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": place, "rules": list(rules)}


def _binding(kind: str, place: Document, role: str, account: Document) -> Document:
    binding = "ClusterRoleBinding" if "namespace" not in place else "RoleBinding"
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": binding,
        "metadata": place,
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
        "subjects": [account],
    }


def _deployment(values: InstallationValues, component: Component) -> Document:
    labels = {NAME: component.name}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    volumes: list[Document] = [
        {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        *({"name": _volume(path), **source} for path, source in component.mounts.items()),
    ]
    spec: Document = {
        "serviceAccountName": component.name,
        "terminationGracePeriodSeconds": _GRACE_S,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "containers": [_container(values, component), *component.sidecars],
        "volumes": volumes,
    }
    if values.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in values.pull_secrets]
    template = {"metadata": {"labels": {**labels, PART_OF: "kubestow"}}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(values, component.name),
        "spec": {
            "replicas": component.replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


def _container(values: InstallationValues, component: Component) -> Document:
    given = component.resources
    container: Document = {
        "name": "kubestow",
        "image": values.image,
        "args": list(component.arguments),
        "resources": {
            "requests": {"cpu": given.cpu, "memory": given.memory},
            "limits": {"memory": given.memory},
        },
        "securityContext": locked(),
        "volumeMounts": [
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - in the container
            *(mounted(path) for path in component.mounts),
        ],
    }
    if component.serves:
        container["ports"] = [{"name": "https", "containerPort": PORT}]
        container |= _probes(lambda path: {"httpGet": _get(path)})
    else:
        container |= _probes(lambda path: {"exec": {"command": _probe_command(path)}})
    if component.store:
        source = {"secretKeyRef": {"name": values.store.secret, "key": values.store.key}}
        container["env"] = [{"name": "KUBESTOW_STORE", "valueFrom": source}]
    return container


def mounted(path: str) -> Document:
    """Return the volumeMount of one of the component's mounts."""
    return {"name": _volume(path), "mountPath": path, "readOnly": True}


def _volume(path: str) -> str:
    return path.strip("/").replace("/", "-")


def locked() -> Document:
    """Return the security context of an unprivileged container."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _get(path: str) -> Document:
    return {"path": path, "port": PORT, "scheme": "HTTPS"}


def _probe_command(path: str) -> list[str]:
    # It listens on loopback, which the kubelet cannot reach.
    code = f"import urllib.request as u; u.urlopen('http://127.0.0.1:8888{path}', timeout=2)"
    return ["python", "-c", code]


def _probes(probe: Any) -> Document:
    return {
        "startupProbe": {**probe("/healthz"), "periodSeconds": 2, "failureThreshold": 60},
        "livenessProbe": {**probe("/healthz"), "periodSeconds": 10, "timeoutSeconds": 5},
        "readinessProbe": {**probe("/readyz"), "periodSeconds": 5, "timeoutSeconds": 5},
    }


def _service(values: InstallationValues, component: Component) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(values, component.name),
        "spec": {
            "selector": {NAME: component.name},
            "ports": [{"name": "https", "port": 443, "targetPort": "https"}],
        },
    }


def _budget(values: InstallationValues, component: Component) -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(values, component.name),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {NAME: component.name}}},
    }


def _policy(values: InstallationValues, component: Component) -> Document:
    """Allow ingress to the server's port only; egress to DNS, API server and databases.

    API servers call from addresses that no selector matches, so the port is open to all; the
    servers check certificates.
    """
    ingress = [{"ports": [{"port": PORT, "protocol": "TCP"}]}] if component.serves else []
    names = {"ports": [{"port": _DNS, "protocol": protocol} for protocol in ("UDP", "TCP")]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(values, component.name),
        "spec": {
            "podSelector": {"matchLabels": {NAME: component.name}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            # The addresses of API server, store and Prometheus are not known here: allow all TCP.
            "egress": [names, {"ports": [{"port": 1, "endPort": 65535, "protocol": "TCP"}]}],
        },
    }
