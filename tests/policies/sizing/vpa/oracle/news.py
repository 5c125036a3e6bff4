"""Inputs of the oracle in each round: samples, OOM kills, which pods exist."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageSample:
    """Usage of one container at one instant.

    Attributes:
        time_s: Start of the measurement, seconds since the Unix epoch.
        pod: Name of the pod.
        container: Name of the container.
        cpu_cores: Mean CPU usage; ``None`` if it was not measured.
        memory_bytes: Working set; ``None`` if it was not measured.
        cpu_request_cores: The container's CPU request at that time; 0 if it has none.
        template: Text that pods with equal labels share, e.g. the hash of their template.
    """

    time_s: float
    pod: str
    container: str
    cpu_cores: float | None = None
    memory_bytes: float | None = None
    cpu_request_cores: float = 0.0
    template: str = ""


@dataclass(frozen=True, slots=True)
class OomKill:
    """A container that was OOM-killed.

    Attributes:
        time_s: When, seconds since the Unix epoch.
        pod: Name of the pod.
        container: Name of the container.
        request_bytes: Its memory request at that time; 0 if it had none. After an eviction
            for lack of memory, the usage that the event reports.
        template: As in ``UsageSample``.
    """

    time_s: float
    pod: str
    container: str
    request_bytes: int = 0
    template: str = ""


@dataclass(frozen=True, slots=True)
class HistoryPod:
    """A pod that exists, whether or not it was measured.

    Attributes:
        name: Its name.
        containers: Names of its containers, without init containers.
        template: As in ``UsageSample``.
        finished: Whether it has succeeded or failed.
    """

    name: str
    containers: tuple[str, ...]
    template: str = ""
    finished: bool = False


@dataclass(frozen=True, slots=True)
class UsageNews:
    """What happened since the last time.

    Attributes:
        time_s: Now, seconds since the Unix epoch.
        samples: New samples, oldest first.
        ooms: OOM kills, oldest first.
        pods: All pods that exist now; ``None`` leaves the ones known before.
        workload_exists: Whether the controller of the pods still exists.
    """

    time_s: float
    samples: tuple[UsageSample, ...] = ()
    ooms: tuple[OomKill, ...] = ()
    pods: tuple[HistoryPod, ...] | None = None
    workload_exists: bool = True
