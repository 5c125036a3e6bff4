"""Response time of a lone request under a CPU limit.

Formula (1.19) of Schubert 2023 holds for work that begins with a quota period. Requests arrive at
any time within a period, and their sizes differ; this is the mean over both.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import stats

PERIOD_S = 0.1
_PHASES = (np.arange(32) + 0.5) / 32
_QUANTILES = (np.arange(256) + 0.5) / 256


@functools.lru_cache(maxsize=4096)
def mean_response_alone(work_s: float, cores: float, variability: float) -> float:
    """Return the mean response time of a lone request.

    Args:
        work_s: Its mean CPU time.
        cores: The limit in cores; a limit of one core or more does not slow it down.
        variability: Squared coefficient of variation of the processor time (gamma distributed).
    """
    if cores >= 1.0 or math.isinf(cores):
        return work_s
    quota_s = cores * PERIOD_S
    if variability > 0.0:
        shape = 1.0 / variability
        sizes_s = stats.gamma.ppf(_QUANTILES, shape, scale=work_s / shape)
        sizes_s *= work_s / sizes_s.mean()  # the middle of the last slice misses the far tail
    else:
        sizes_s = np.array([work_s])
    begin_s = _PHASES[:, None] * PERIOD_S
    first_s = np.minimum(quota_s, PERIOD_S - begin_s)  # work done before the period ends
    rest_s = np.maximum(sizes_s[None, :] - first_s, 0.0)
    pauses = np.maximum(np.ceil(rest_s / quota_s - 1e-12) - 1.0, 0.0)
    later_s = PERIOD_S - begin_s + rest_s + pauses * (PERIOD_S - quota_s)
    return float(np.where(rest_s > 0.0, later_s, sizes_s[None, :]).mean())
