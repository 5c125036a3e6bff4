"""A whole installation as a list of objects, in the order of their creation."""

from __future__ import annotations

from typing import Any, Final

import yaml

from kubestow.live import admission, metrics_api
from kubestow.live.certificates import secret_rules
from kubestow.live.manifests import workloads
from kubestow.live.manifests.values import CERT_MANAGER, MANAGED, InstallationValues
from kubestow.live.manifests.workloads import PORT, Component, Document
from kubestow.policies.placing import extender_configuration, profiles

ADMISSION: Final = "kubestow-admission"
METRICS_API: Final = "kubestow-metrics-api"
SCHEDULER: Final = "kubestow-scheduler"
WEBHOOK: Final = "kubestow"
_EXTENDER: Final = "http://127.0.0.1:8888"
_CERTIFICATES: Final = "/certificates"
_CONFIGURATION: Final = "/configuration"
_HEALTH_PORT: Final = 10259  # kube-scheduler's own


def render_installation(values: InstallationValues) -> list[Document]:
    """Return all objects of an installation."""
    documents = [_namespace(values)]
    if values.certificates == CERT_MANAGER:
        documents += _issuers(values)
    if values.admission.enabled:
        documents += _admission(values)
    if values.metrics_api.enabled:
        documents += _metrics_api(values)
    if values.scheduler.enabled:
        documents += _scheduler(values)
    return documents


def _namespace(values: InstallationValues) -> Document:
    standard = {
        f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
    }
    labels = {workloads.PART_OF: "kubestow", **standard}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": values.namespace, "labels": labels},
    }


def _issuers(values: InstallationValues) -> list[Document]:
    if values.issuer:
        return []
    return [
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": workloads.metadata(values, "kubestow"),
            "spec": {"selfSigned": {}},
        }
    ]


def _certificate(values: InstallationValues, name: str) -> Document:
    names = [f"{name}.{values.namespace}.svc", f"{name}.{values.namespace}.svc.cluster.local"]
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": workloads.metadata(values, name),
        "spec": {
            "secretName": _secret(name),
            "dnsNames": names,
            "issuerRef": {"kind": "Issuer", "name": values.issuer or "kubestow"},
            "privateKey": {"algorithm": "ECDSA", "rotationPolicy": "Always"},
        },
    }


def _secret(name: str) -> str:
    return f"{name}-certificates"


def _injected(values: InstallationValues, document: Document, name: str) -> Document:
    """Let cert-manager inject the CA bundle, if it issues the certificates."""
    if values.certificates == CERT_MANAGER:
        annotations = {"cert-manager.io/inject-ca-from": f"{values.namespace}/{name}"}
        document["metadata"]["annotations"] = annotations
    return document


def _serving(values: InstallationValues, name: str) -> tuple[tuple[str, ...], dict[str, Document]]:
    """Return command-line arguments for certificates, and their volumes by mount path."""
    listen = ("--listen", f"0.0.0.0:{PORT}")
    if values.certificates == MANAGED:
        shared = ("--namespace", values.namespace, "--service", name, "--secret", _secret(name))
        return (*listen, "--certificates", "managed", *shared), {}
    mounted = {_CERTIFICATES: {"secret": {"secretName": _secret(name), "defaultMode": 0o440}}}
    return (*listen, "--certificates", "mounted", _CERTIFICATES), mounted


def _admission(values: InstallationValues) -> list[Document]:
    arguments, mounts = _serving(values, ADMISSION)
    managed = values.certificates == MANAGED
    own = secret_rules(_secret(ADMISSION)) if managed else []
    component = Component(
        name=ADMISSION,
        replicas=values.admission.replicas,
        arguments=(
            "admission",
            *arguments,
            *(("--webhook", WEBHOOK) if managed else ()),
            *(("--dry-run",) if values.admission.dry_run else ()),
        ),
        resources=values.admission.resources,
        cluster_rules=admission.cluster_rules(WEBHOOK)[: None if managed else 1],
        namespace_rules=own,
        store=True,
        mounts=mounts,
    )
    hook = admission.webhook_configuration(WEBHOOK, values.namespace, ADMISSION)
    certificates = [] if managed else [_certificate(values, ADMISSION)]
    return [
        *certificates,
        *workloads.documents(values, component),
        _injected(values, hook, ADMISSION),
    ]


def _metrics_api(values: InstallationValues) -> list[Document]:
    arguments, mounts = _serving(values, METRICS_API)
    managed, chosen = values.certificates == MANAGED, values.metrics_api
    if chosen.rules:
        mounts = {**mounts, "/rules": {"configMap": {"name": chosen.rules}}}
        arguments = (*arguments, "--rules", "/rules/metrics.yaml")
    if chosen.prometheus:
        arguments = (*arguments, "--prometheus", chosen.prometheus)
    component = Component(
        name=METRICS_API,
        replicas=chosen.replicas,
        arguments=("metrics-api", *arguments),
        resources=chosen.resources,
        cluster_rules=metrics_api.cluster_rules(names=metrics_api.GROUPS if managed else ()),
        namespace_rules=secret_rules(_secret(METRICS_API)) if managed else [],
        system_roles=(metrics_api.READER,),
        mounts=mounts,
    )
    services = metrics_api.api_services(values.namespace, METRICS_API)
    certificates = [] if managed else [_certificate(values, METRICS_API)]
    return [
        *certificates,
        *workloads.documents(values, component),
        *(_injected(values, service, METRICS_API) for service in services),
    ]


def _scheduler(values: InstallationValues) -> list[Document]:
    chosen = values.scheduler
    text = yaml.safe_dump(_configuration(values), sort_keys=False)
    taints = ("--taint-high-load",) if chosen.taint_high_load else ()
    component = Component(
        name=SCHEDULER,
        replicas=chosen.replicas,
        arguments=("extender", "--term", chosen.term, "--decision", chosen.decision, *taints),
        resources=chosen.resources,
        cluster_rules=_extender_rules(values),
        namespace_rules=_lease_rules(),
        store=True,
        serves=False,
        mounts={_CONFIGURATION: {"configMap": {"name": SCHEDULER}}},
        sidecars=(_kube_scheduler(values),),
        # Roles of the stock scheduler, and authentication of clients of its metrics.
        cluster_roles=(
            "system:kube-scheduler",
            "system:volume-scheduler",
            "system:auth-delegator",
        ),
        system_roles=(metrics_api.READER,),
    )
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": workloads.metadata(values, SCHEDULER),
            "data": {"scheduler.yaml": text},
        },
        *workloads.documents(values, component),
    ]


def _configuration(values: InstallationValues) -> dict[str, Any]:
    chosen = values.scheduler
    profile = profiles.profile_of_term(chosen.term, chosen.decision, chosen.name)
    election = {
        "leaderElect": True,
        "resourceName": SCHEDULER,
        "resourceNamespace": values.namespace,
    }
    return {
        **extender_configuration.write_extender_configuration(profile, _EXTENDER),
        "leaderElection": election,
    }


def _extender_rules(values: InstallationValues) -> list[Document]:
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
        {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["get", "list"]},
    ]
    if values.scheduler.taint_high_load:
        rules.append({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]})
    return rules


def _lease_rules() -> list[Document]:
    group = "coordination.k8s.io"
    return [
        {"apiGroups": [group], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": [group],
            "resources": ["leases"],
            "resourceNames": [SCHEDULER],
            "verbs": ["get", "update"],
        },
    ]


def _kube_scheduler(values: InstallationValues) -> Document:
    health = {"path": "/healthz", "port": _HEALTH_PORT, "scheme": "HTTPS"}
    return {
        "name": "kube-scheduler",
        "image": values.scheduler.image,
        "command": ["kube-scheduler", f"--config={_CONFIGURATION}/scheduler.yaml"],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": workloads.locked(),
        "startupProbe": {"httpGet": health, "periodSeconds": 2, "failureThreshold": 60},
        "livenessProbe": {"httpGet": health, "periodSeconds": 10, "timeoutSeconds": 5},
        "volumeMounts": [workloads.mounted(_CONFIGURATION)],
    }
