"""Observations of a scaler: replicas, metrics, and facts about pods, as arrays.

Two hosts build them. The simulator fills arrays in bulk, without an object per pod; the operator
fills them from its caches. Values are thousandths (Kubernetes' MilliValue), times are
seconds on the host's clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kubestow.model.arrays import Bools, Floats, Ints

Codes = npt.NDArray[np.int8]

# Codes of PodTable.phases.
PENDING, RUNNING, SUCCEEDED, FAILED, UNKNOWN = range(5)
PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
# Codes of PodTable.readies: status of the Ready condition.
NO_CONDITION, NOT_READY, READY, READINESS_UNKNOWN = -1, 0, 1, 2
# Values of PodTable.requests_milli that are not requests.
NO_REQUEST, NO_CONTAINER = -1, -2

RequestKey = tuple[str, str]  # resource, container; an empty container means the whole pod


@dataclass(frozen=True, slots=True, eq=False)
class PodTable:
    """Facts about the pods of the target, one row per pod.

    Attributes:
        phases: Phase of each pod, as a code.
        readies: Status of its Ready condition, as a code.
        deleted: Whether it is being deleted.
        started_s: When it started; NaN if not yet.
        ready_since_s: When the Ready condition last changed; NaN counts as long ago.
        requests_milli: Request of each pod by resource and container in thousandths (of a core,
            of a byte); negative codes where there is none.
        names: Names, used in messages only; may be empty.
        startups_s: Time from each pod's creation to its first readiness; NaN if it was never
            ready or the time is not known. ``None`` where the host does not measure it.
    """

    phases: Codes
    readies: Codes
    deleted: Bools
    started_s: Floats
    ready_since_s: Floats
    requests_milli: Mapping[RequestKey, Ints] = field(default_factory=dict)
    names: Sequence[str] = ()
    startups_s: Floats | None = None

    def __len__(self) -> int:
        return len(self.phases)

    def name(self, row: int) -> str:
        """Return the name of a pod; by default one made from its row."""
        return self.names[row] if self.names else f"pod-{row}"

    def count_ready(self) -> int:
        """Count running pods that are ready."""
        return int(np.count_nonzero((self.readies == READY) & (self.phases == RUNNING)))


def ready_pods(
    count: int, requests_milli: Mapping[RequestKey, int] | None = None, started_s: float = -86400.0
) -> PodTable:
    """Return a table of equal pods that have been ready since their start."""
    started = np.full(count, started_s)
    return PodTable(
        phases=np.full(count, RUNNING, dtype=np.int8),
        readies=np.full(count, READY, dtype=np.int8),
        deleted=np.zeros(count, dtype=np.bool_),
        started_s=started,
        ready_since_s=started,
        requests_milli={
            key: np.full(count, amount, dtype=np.int64)
            for key, amount in (requests_milli or {}).items()
        },
    )


@dataclass(frozen=True, slots=True)
class SingleValue:
    """An object or external metric: one value, or several that are added up.

    Attributes:
        parts_milli: The values in thousandths.
    """

    parts_milli: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PodSamples:
    """A metric per pod; rows are those of the pod table.

    Attributes:
        values_milli: Values in thousandths; meaningless where there is no sample.
        present: Whether there is a sample.
        sampled_s: When it was taken; NaN counts as long ago.
        window_s: Length of its window in seconds.
        unmatched_milli: Samples of pods that are not in the table.
        partial: Whether some pod has samples, but not of the container in question.
    """

    values_milli: Ints
    present: Bools
    sampled_s: Floats
    window_s: Floats
    unmatched_milli: tuple[int, ...] = ()
    partial: bool = False


def samples(
    values_milli: Ints, sampled_s: float, window_s: float, present: Bools | None = None
) -> PodSamples:
    """Return samples that were all taken at one time over one window."""
    count = len(values_milli)
    return PodSamples(
        values_milli=values_milli,
        present=np.ones(count, dtype=np.bool_) if present is None else present,
        sampled_s=np.full(count, sampled_s),
        window_s=np.full(count, window_s),
    )


@dataclass(frozen=True, slots=True)
class FailedRead:
    """A metric that could not be read, with the cause."""

    cause: str = "the read failed"


Reading = SingleValue | PodSamples | FailedRead


@dataclass(frozen=True, slots=True, eq=False)
class ScalingObservation:
    """The observation of a scaler at one moment.

    Attributes:
        time_s: The time of the observation.
        current_replicas: ``scale.spec.replicas`` of the target.
        status_replicas: ``scale.status.replicas`` of the target.
        metrics: Values by metric; a missing key means that the metric was not read.
        pods: Facts about the pods.
    """

    time_s: float
    current_replicas: int
    status_replicas: int
    metrics: Mapping[str, Reading]
    pods: PodTable
