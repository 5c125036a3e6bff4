"""Tables 5.1 to 5.8 of Boettcher 2023 as data (Böttcher 2023, 5.3 to 5.5), and sums over them.

Memory is in megabytes of 10^6 bytes, CPU in millicores. The maximum of 3804 cores of Cucumber-Test
in table 5.6 is read as 3.804; Instant-Server of pod 3 has an average above its maximum in print.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STEP: Final = 64.0
EVALUATIONS: Final = (976, 896, 768, 704, 640, 704, 640, 576, 640, 576, 640, 576)
"""Table 5.1: memory request of Recall-Archive-Simulation, pod 3, by evaluation."""
EVALUATED_MB: Final = 515.0
"""Its mean maximum."""
SHOCK_MAXIMA: Final = (2704.0, 2563.0, 3427.0, 3757.0, 3877.0)
"""Table 5.2: maximum of Cucumber-Test by run."""
SHOCK_REQUESTS: Final = (3008.0, 2944.0, 4214.0, 4288.0, 4160.0)
"""Table 5.2: request after each run."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A container as printed in tables 5.3 to 5.8.

    Attributes:
        pod: Number of the pod.
        name: Name of the container.
        memory_new_mb: Learned request, which is also the limit.
        memory_limit_mb: Limit before.
        memory_request_mb: Request before.
        memory_max_mb: Peak usage.
        cpu_new_m: Learned request.
        cpu_request_m: Request before.
        cpu_max_m: Peak usage.
        cpu_average_m: Average usage.
    """

    pod: int
    name: str
    memory_new_mb: float
    memory_limit_mb: float
    memory_request_mb: float
    memory_max_mb: float
    cpu_new_m: float
    cpu_request_m: float
    cpu_max_m: float
    cpu_average_m: float

    @property
    def title(self) -> str:
        """Pod and name."""
        return f"pod {self.pod}, {self.name}"


_DATABASE, _FILLER, _TEST = "Database", "Databasefiller", "Cucumber-Test"
_SERVER, _INTERFACE = "Instant-Server", "Interface-Simulation"
RECALL: Final = "Recall-Archive-Simulation"
_WEB: Final = "Webservices"

CONTAINERS: Final = (
    Printed(1, _DATABASE, 11392, 11534, 9437, 10665, 512, 1000, 963, 488),
    Printed(1, _FILLER, 2688, 4194, 2621, 2292, 64, 1000, 69, 5),
    Printed(1, _TEST, 4160, 7340, 5242, 3403, 960, 4000, 3804, 930),
    Printed(1, _SERVER, 2048, 2621, 1887, 1688, 768, 1000, 281, 195),
    Printed(1, _INTERFACE, 1216, 2621, 838, 1161, 64, 1000, 49, 33),
    Printed(1, _WEB, 2752, 4718, 2202, 2632, 64, 1000, 64, 15),
    Printed(2, _DATABASE, 10368, 11534, 9437, 10159, 791, 1000, 1561, 533),
    Printed(2, _FILLER, 2752, 4194, 2621, 2284, 682, 1000, 1874, 284),
    Printed(2, _TEST, 2432, 7340, 5242, 1961, 896, 4000, 1691, 97),
    Printed(2, _SERVER, 1920, 2621, 1887, 1726, 576, 1000, 1869, 385),
    Printed(2, _INTERFACE, 1088, 2621, 838, 980, 614, 1000, 1666, 263),
    Printed(2, RECALL, 832, 2621, 536, 521, 64, 1000, 7, 5),
    Printed(2, _WEB, 3072, 4718, 2202, 2711, 1029, 1000, 2444, 556),
    Printed(3, _DATABASE, 12032, 11534, 9437, 11003, 1024, 1000, 512, 510),
    Printed(3, _FILLER, 3072, 4194, 2621, 2369, 64, 1000, 68, 4),
    Printed(3, _TEST, 4992, 7340, 5242, 4474, 2240, 4000, 1459, 1395),
    Printed(3, _SERVER, 1984, 2621, 1887, 1771, 256, 1000, 140, 159),
    Printed(3, _INTERFACE, 2752, 2621, 838, 2208, 64, 1000, 39, 34),
    Printed(3, RECALL, 576, 2621, 536, 522, 64, 1000, 69, 5),
    Printed(3, _WEB, 3072, 4718, 2202, 2865, 64, 1000, 70, 6),
)
"""All containers of tables 5.3 to 5.8."""


def round_up(amount: float) -> float:
    """Round up to a multiple of 64, at least 64.

    >>> round_up(7.0), round_up(512.0), round_up(513.0)
    (64.0, 512.0, 576.0)
    """
    return max(-(-amount // STEP), 1.0) * STEP


def cpu_band_m(container: Printed) -> tuple[float, float]:
    """Return the CPU band of the thesis: average to maximum, at least one state of the grid."""
    low = container.cpu_average_m
    return low, max(container.cpu_max_m, round_up(low))


def memory_band_mb(container: Printed) -> tuple[float, float]:
    """Return the memory band of the thesis, with the buffer of Böttcher 2023, 3.10."""
    low = container.memory_max_mb
    return low, max(low + max(STEP, 0.1 * low), round_up(low))
