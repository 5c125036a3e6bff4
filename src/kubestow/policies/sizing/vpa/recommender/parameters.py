"""Parameters of ``vpa``: the flags of the upstream recommender with their defaults.

Defaults are those of ``pkg/recommender/config/config.go`` and
``pkg/recommender/model/aggregations_config.go`` (VPA 1.7); flag names are in brackets.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.model import errors, releases
from kubestow.policies.sizing.vpa.recommender import amounts, instants

OLDEST, NEWEST = (1, 3), (1, 8)
DEFAULT = "1.7"


@dataclass(frozen=True, slots=True)
class VpaFeatures:
    """The behaviour of one release.

    Attributes:
        version: The release, e.g. ``1.7``.
        constant_weights: Every CPU sample weighs 0.1 (1.4); before, the sample's CPU request in
            cores but at least 0.1. Upstream's own feeder never set that request (0.9 to 1.3), so
            samples without it match those releases, samples with it match their model.
        oom_age_by_sample: An OOM kill is too old if it came more than one memory interval before
            the last memory sample (1.8); before, if it came before the current interval.
    """

    version: str
    constant_weights: bool
    oom_age_by_sample: bool


def features(version: str = DEFAULT) -> VpaFeatures:
    """Return the behaviour of a release such as ``1.7`` or ``v1.7.3``.

    Raises:
        InputError: If the text is not a version, or its rules are not known.
    """
    release = releases.parse(version, OLDEST, NEWEST)
    return VpaFeatures(
        version=releases.text(release),
        constant_weights=release >= (1, 4),
        oom_age_by_sample=release >= (1, 8),
    )


_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class VpaParameters:
    """Flags of VPA's recommender.

    Attributes:
        version: Release whose rules apply.
        margin: Share added to every estimate [recommendation-margin-fraction].
        pod_min_cpu_m: Smallest CPU of a pod [pod-recommendation-min-cpu-millicores].
        pod_min_memory_mib: Smallest memory of a pod in MiB [pod-recommendation-min-memory-mb].
        target_cpu_percentile: CPU percentile of the target [target-cpu-percentile].
        lower_cpu_percentile: Of the lower bound [recommendation-lower-bound-cpu-percentile].
        upper_cpu_percentile: Of the upper bound [recommendation-upper-bound-cpu-percentile].
        target_memory_percentile: Memory percentile of the target [target-memory-percentile].
        lower_memory_percentile: Of the lower bound [recommendation-lower-bound-memory-percentile].
        upper_memory_percentile: Of the upper bound [recommendation-upper-bound-memory-percentile].
        cpu_confidence_s: Length of history with confidence 1 [confidence-interval-cpu].
        memory_confidence_s: The same for memory [confidence-interval-memory].
        cpu_half_life_s: Age at which a CPU sample weighs half [cpu-histogram-decay-half-life].
        memory_half_life_s: The same for memory peaks [memory-histogram-decay-half-life].
        memory_interval_s: Interval that gives one memory peak [memory-aggregation-interval].
        memory_interval_count: Intervals without a sample after which the history is dropped
            [memory-aggregation-interval-count].
        oom_bump_ratio: Growth after an OOM kill [oom-bump-up-ratio].
        oom_min_bump_bytes: Smallest growth after an OOM kill [oom-min-bump-up-bytes].
        round_cpu_m: CPU is rounded up to a multiple of this [round-cpu-millicores].
        round_memory_bytes: Memory is rounded up to a multiple of this [round-memory-bytes].
        humanize_memory: Write memory with two decimals [humanize-memory].
        max_allowed_cpu_m: Largest CPU of any container; ``None`` for no bound
            [container-recommendation-max-allowed-cpu].
        max_allowed_memory_bytes: Largest memory of any container; ``None`` for no bound
            [container-recommendation-max-allowed-memory].
        integer_cpu: Obey ``integer_cpu`` of container policies
            [cpu-integer-post-processor-enabled].
        per_vpa_config: Obey the OOM and interval settings of container policies; the feature gate
            PerVPAConfig, off by default in 1.7.
    """

    version: str = DEFAULT
    margin: float = 0.15
    pod_min_cpu_m: float = 25.0
    pod_min_memory_mib: float = 250.0
    target_cpu_percentile: float = 0.9
    lower_cpu_percentile: float = 0.5
    upper_cpu_percentile: float = 0.95
    target_memory_percentile: float = 0.9
    lower_memory_percentile: float = 0.5
    upper_memory_percentile: float = 0.95
    cpu_confidence_s: float = _DAY_S
    memory_confidence_s: float = _DAY_S
    cpu_half_life_s: float = _DAY_S
    memory_half_life_s: float = _DAY_S
    memory_interval_s: float = _DAY_S
    memory_interval_count: int = 8
    oom_bump_ratio: float = 1.2
    oom_min_bump_bytes: float = 100.0 * amounts.MEBIBYTE
    round_cpu_m: int = 1
    round_memory_bytes: int = 1
    humanize_memory: bool = False
    max_allowed_cpu_m: int | None = None
    max_allowed_memory_bytes: int | None = None
    integer_cpu: bool = False
    per_vpa_config: bool = False

    def __post_init__(self) -> None:
        features(self.version)
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise errors.InputError(f"vpa.{name}", f"{getattr(self, name)}: must be > 0")
        for name in _SHARES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise errors.InputError(f"vpa.{name}", f"{getattr(self, name)}: must be 0 to 1")


_POSITIVE = (
    "cpu_confidence_s", "memory_confidence_s", "cpu_half_life_s", "memory_half_life_s",
    "memory_interval_s", "memory_interval_count",
)  # fmt: skip
_SHARES = (
    "target_cpu_percentile", "lower_cpu_percentile", "upper_cpu_percentile",
    "target_memory_percentile", "lower_memory_percentile", "upper_memory_percentile",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gathering:
    """Rules of aggregating the samples of a container.

    Attributes:
        cpu_half_life_ns: Half-life of CPU samples.
        memory_half_life_ns: Half-life of memory peaks.
        interval_ns: Length of a memory interval.
        window_ns: Age at which a history is dropped.
        oom_ratio: Growth after an OOM kill.
        oom_min_bytes: Smallest growth after an OOM kill.
        features: Rules of the release.
    """

    cpu_half_life_ns: int
    memory_half_life_ns: int
    interval_ns: int
    window_ns: int
    oom_ratio: float
    oom_min_bytes: float
    features: VpaFeatures


def gathering(parameters: VpaParameters) -> Gathering:
    """Return the rules of aggregating samples."""
    interval_ns = instants.from_seconds(parameters.memory_interval_s)
    return Gathering(
        cpu_half_life_ns=instants.from_seconds(parameters.cpu_half_life_s),
        memory_half_life_ns=instants.from_seconds(parameters.memory_half_life_s),
        interval_ns=interval_ns,
        window_ns=interval_ns * parameters.memory_interval_count,
        oom_ratio=parameters.oom_bump_ratio,
        oom_min_bytes=parameters.oom_min_bump_bytes,
        features=features(parameters.version),
    )


def floors(parameters: VpaParameters, containers: int) -> tuple[int, int]:
    """Return the floors in millicores and bytes of each of a pod's containers.

    >>> floors(VpaParameters(), 2)
    (12, 131072000)
    """
    share = 1.0 / float(containers)
    cpu_m = amounts.scale(amounts.from_cores(parameters.pod_min_cpu_m * 0.001), share)
    memory = amounts.from_float(parameters.pod_min_memory_mib * 1024 * 1024)
    return cpu_m, amounts.scale(memory, share)
