"""What can be chosen about an installation; the same names in files and in code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from kubestow.model import decoding
from kubestow.model.decoding import OneOf, ValueBounds
from kubestow.policies.placing import profiles, terms

MANAGED, CERT_MANAGER = "managed", "cert-manager"


@dataclass(frozen=True, slots=True)
class ResourceValues:
    """What a container gets.

    Attributes:
        cpu: Request.
        memory: Request and limit.
    """

    cpu: str = "100m"
    memory: str = "256Mi"


@dataclass(frozen=True, slots=True)
class Admission:
    """The webhook that sizes new pods.

    Attributes:
        enabled: Whether it is installed.
        replicas: How many of it.
        dry_run: Whether it only says what it would change.
        resources: What each gets.
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
        replicas: How many of it. Values that are written are kept by the replica that got them, so
            that with several of them rules are the way.
        prometheus: Address of a Prometheus that rules ask; none if it is empty.
        rules: Name of a ConfigMap with ``metrics.yaml``; none if it is empty.
        resources: What each gets.
    """

    enabled: bool = True
    replicas: Annotated[int, ValueBounds(least=1)] = 1
    prometheus: str = ""
    rules: str = ""
    resources: ResourceValues = ResourceValues()


@dataclass(frozen=True, slots=True)
class SchedulerValues:
    """A second scheduler for pods that ask for it by ``schedulerName``.

    Attributes:
        enabled: Whether it is installed.
        replicas: How many of it; one works, the others wait.
        name: What pods ask for.
        term: What the extender beside it decides by.
        decision: How ``clbp`` and ``load-aware`` take part in the choice of a node; packing terms
            always decide alone.
        image: Image of kube-scheduler, from where the nodes pull it; its release should be that of
            the cluster.
        taint_high_load: Whether nodes under high load are tainted.
        resources: What the extender gets.
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
    """Where learned values and decisions are.

    Attributes:
        secret: Secret with the address of the store.
        key: Its key.
    """

    secret: str = "kubestow-store"  # noqa: S105 - its name
    key: str = "url"


@dataclass(frozen=True, slots=True)
class InstallationValues:
    """An installation.

    Attributes:
        namespace: Where everything goes; made if it is not there.
        image: Image of kubestow.
        pull_secrets: Secrets to pull images by.
        certificates: ``managed``: made and rotated by kubestow; ``cert-manager``: by that.
        issuer: Issuer of cert-manager in the namespace; one that signs itself if it is empty.
        store: Where learned values and decisions are.
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
        """Refuse an installation of nothing."""
        if not (self.admission.enabled or self.metrics_api.enabled or self.scheduler.enabled):
            raise place.refuse("nothing is enabled: expected admission, metricsApi or scheduler")
