"""What a recommender is told: usage of containers over time, OOM kills, which pods live.

Two shapes of one thing: a ``UsageHistory`` holds whole series, for recommenders that look back
over a window; ``UsageNews`` holds what came since the last time, for those that keep a memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kubestow.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class UsageSample:
    """Usage of one container at one instant.

    Attributes:
        time_s: Start of the measurement, seconds since the Unix epoch.
        pod: Name of the pod.
        container: Name of the container.
        cpu_cores: Mean CPU usage; ``None`` if it was not measured.
        memory_bytes: Working set; ``None`` if it was not measured.
        cpu_request_cores: The container's CPU request at that time; nought if it has none.
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
    """A container that was killed for want of memory.

    Attributes:
        time_s: When, seconds since the Unix epoch.
        pod: Name of the pod.
        container: Name of the container.
        request_bytes: Its memory request at that time; nought if it had none. After an eviction
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


@dataclass(frozen=True, slots=True, eq=False)
class ContainerSeries:
    """The series of one container of one pod.

    Attributes:
        pod: Name of the pod.
        container: Name of the container.
        times_s: Instants, ascending.
        cpu_cores: CPU usage at each; NaN where it was not measured.
        memory_bytes: Working set at each; NaN where it was not measured.
        cpu_request_cores: The CPU request that held.
        ooms: OOM kills, oldest first.
        template: As in ``UsageSample``.
    """

    pod: str
    container: str
    times_s: Floats
    cpu_cores: Floats
    memory_bytes: Floats
    cpu_request_cores: float = 0.0
    ooms: tuple[OomKill, ...] = ()
    template: str = ""

    def samples(self) -> Iterator[UsageSample]:
        """Iterate over the series sample by sample."""
        for time_s, cpu, memory in zip(
            self.times_s, self.cpu_cores, self.memory_bytes, strict=True
        ):
            yield UsageSample(
                float(time_s),
                self.pod,
                self.container,
                None if np.isnan(cpu) else float(cpu),
                None if np.isnan(memory) else float(memory),
                self.cpu_request_cores,
                self.template,
            )


@dataclass(frozen=True, slots=True, eq=False)
class UsageHistory:
    """All series of one workload."""

    series: tuple[ContainerSeries, ...]

    def news(self, until_s: float) -> Iterator[UsageNews]:
        """Replay the history in order of time, one piece of news per instant.

        Args:
            until_s: Later samples and kills are left out.
        """
        samples: dict[float, list[UsageSample]] = {}
        kills: dict[float, list[OomKill]] = {}
        for series in self.series:
            for sample in series.samples():
                samples.setdefault(sample.time_s, []).append(sample)
            for kill in series.ooms:
                kills.setdefault(kill.time_s, []).append(kill)
        for time_s in sorted(samples.keys() | kills.keys()):
            if time_s > until_s:
                return
            yield UsageNews(time_s, tuple(samples.get(time_s, ())), tuple(kills.get(time_s, ())))
