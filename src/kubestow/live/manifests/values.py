"""The values of an installation; the names are the same in files and in code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from kubestow.model import decoding
from kubestow.model.decoding import OneOf, ValueBounds
from kubestow.policies.placing import profiles, terms

MANAGED, CERT_MANAGER = "managed", "cert-manager"


@dataclass(frozen=True, slots=True)
class ResourceValues:
    """Resources of a container.

    Attributes:
        cpu: CPU request.
        memory: Memory request and limit.
    """

    cpu: str = "100m"
    memory: str = "256Mi"


@dataclass(frozen=True, slots=True)
class Admission:
    """The webhook that sizes new pods.

    Attributes:
        enabled: Whether it is installed.
        replicas: Number of replicas.
        dry_run: Whether it only reports what it would change.
        resources: Resources of each replica.
    """

    enabled: bool = True
    replicas: Annotated[int, ValueBounds(least=1)] = 2
    dry_run: bool = False
    resources: ResourceValues = ResourceValues()


@dataclass(frozen=True, slots=True)
class MetricsApi:
    """Custom and external metrics.

    Attributes:
        enabled: Whether it is installed.
        replicas: Number of replicas. A written value is only stored in the replica that received
            it, so use rules with several replicas.
        prometheus: URL of the Prometheus server that rules query; empty for none.
        rules: Name of a ConfigMap with ``metrics.yaml``; empty for none.
        resources: Resources of each replica.
    """

    enabled: bool = True
    replicas: Annotated[int, ValueBounds(least=1)] = 1
    prometheus: str = ""
    rules: str = ""
    resources: ResourceValues = ResourceValues()


@dataclass(frozen=True, slots=True)
class SchedulerValues:
    """A second scheduler for pods that select it by ``schedulerName``.

    Attributes:
        enabled: Whether it is installed.
        replicas: Number of replicas; one is active, the others are standby.
        name: Scheduler name that pods select.
        term: Placing term of its extender.
        decision: How ``clbp`` and ``load-aware`` take part in the choice of a node; packing terms
            always decide alone.
        image: Image of kube-scheduler, in a registry that nodes can reach; of the same release as
            the cluster.
        taint_high_load: Whether nodes under high load are tainted.
        resources: Resources of the extender.
    """

    enabled: bool = True
    replicas: Annotated[int, ValueBounds(least=1)] = 2
    name: str = "kubestow"
    term: Annotated[str, OneOf(terms.TERMS.names)] = "load-aware"
    decision: Annotated[str, OneOf(profiles.DECISIONS)] = profiles.SHORTLIST
    image: str = "kube-scheduler:v1.37.1"
    taint_high_load: bool = False
    resources: ResourceValues = ResourceValues()


@dataclass(frozen=True, slots=True)
class StoreValues:
    """The store of learned values and decisions.

    Attributes:
        secret: Secret with the URL of the store.
        key: Key in the Secret.
    """

    secret: str = "kubestow-store"  # noqa: S105 - its name
    key: str = "url"


@dataclass(frozen=True, slots=True)
class InstallationValues:
    """An installation.

    Attributes:
        namespace: Namespace of all objects; created if it does not exist.
        image: Image of kubestow.
        pull_secrets: Secrets for pulling images.
        certificates: ``managed`` (kubestow issues and rotates them) or ``cert-manager``.
        issuer: cert-manager Issuer in the namespace; empty for a self-signed one.
        store: The store of learned values and decisions.
        admission: The webhook that sizes new pods.
        metrics_api: Custom and external metrics.
        scheduler: A second scheduler.
    """

    namespace: str = "kubestow-system"
    image: str = "kubestow:0.1.0"
    pull_secrets: tuple[str, ...] = ()
    certificates: Annotated[str, OneOf((MANAGED, CERT_MANAGER))] = MANAGED
    issuer: str = ""
    store: StoreValues = StoreValues()
    admission: Admission = field(default_factory=Admission)
    metrics_api: MetricsApi = field(default_factory=MetricsApi)
    scheduler: SchedulerValues = field(default_factory=SchedulerValues)

    def check(self, place: decoding.Field) -> None:
        """Refuse an installation without components."""
        if not (self.admission.enabled or self.metrics_api.enabled or self.scheduler.enabled):
            raise place.refuse("nothing is enabled: expected admission, metricsApi or scheduler")
