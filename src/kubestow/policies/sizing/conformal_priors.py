"""Scores of public traces: what ``conformal`` goes by where there is no fleet.

Quantiles of the scores of every rule (``conformal_scores.RULES``, in that order), each family of
traces with the same weight, measured on those halves of bitbrains_rnd (days), google2011_vms,
planetlab_cpu and alibaba_genai2026 (hours) that ``studies.sizing_data`` keeps for tuning; what is
reported on took no part in it. They count as a few windows (``prior_weight``) beside the
scores of a fleet.
"""

from __future__ import annotations

from typing import Final

import numpy as np

STEP: Final = 0.088
"""Usual step from one window to the next, on the logarithmic scale."""

LEVELS: Final = np.array([0.25, 0.5, 0.7, 0.8, 0.9, 0.94, 0.96, 0.98, 0.99, 0.995, 0.998, 0.999])
"""Which quantiles are kept; more of them where misses are rare."""

# Every quantile stands for the levels that are nearest to it.
_EDGES: Final = np.concatenate([[0.0], (LEVELS[1:] + LEVELS[:-1]) / 2.0, [1.0]])
WEIGHTS: Final = np.diff(_EDGES)
"""Share of all scores that each quantile stands for."""

# fmt: off
SCORES: Final = np.array(
    [
        [-0.11, 0.00, 0.07, 0.18, 0.46, 0.75, 1.07, 1.86, 2.85, 3.83, 5.99, 8.66],
        [-0.14, 0.00, 0.09, 0.21, 0.48, 0.75, 1.05, 1.78, 2.60, 3.37, 4.95, 6.18],
        [-0.16, 0.00, 0.11, 0.25, 0.55, 0.86, 1.16, 1.82, 2.61, 3.33, 4.64, 6.27],
        [-0.28, -0.04, 0.01, 0.07, 0.27, 0.47, 0.70, 1.30, 2.13, 2.94, 4.47, 5.67],
        [-0.48, -0.12, 0.00, 0.02, 0.16, 0.35, 0.54, 1.01, 1.82, 2.63, 4.32, 4.81],
        [-0.19, 0.00, 0.13, 0.30, 0.65, 0.99, 1.30, 1.96, 2.67, 3.45, 4.47, 5.69],
        [-0.30, -0.04, 0.03, 0.12, 0.34, 0.56, 0.77, 1.27, 2.00, 2.79, 3.80, 5.54],
        [-0.50, -0.11, 0.00, 0.06, 0.26, 0.45, 0.64, 1.08, 1.72, 2.42, 3.52, 4.52],
        [-0.76, -0.24, -0.04, 0.00, 0.05, 0.16, 0.28, 0.60, 1.17, 2.06, 3.26, 4.50],
        [-0.85, -0.27, -0.05, 0.00, 0.04, 0.14, 0.26, 0.56, 1.09, 1.95, 3.24, 4.50],
        [-0.03, 0.00, 0.02, 0.06, 0.21, 0.36, 0.52, 0.90, 1.40, 1.92, 3.10, 4.49],
        [-0.04, 0.00, 0.02, 0.07, 0.22, 0.36, 0.51, 0.87, 1.30, 1.68, 2.30, 3.19],
        [-0.05, 0.00, 0.03, 0.09, 0.25, 0.43, 0.58, 0.90, 1.30, 1.66, 2.23, 3.17],
        [-0.10, -0.01, 0.00, 0.02, 0.10, 0.21, 0.33, 0.61, 0.99, 1.37, 2.03, 2.62],
        [-0.20, -0.03, 0.00, 0.00, 0.05, 0.14, 0.24, 0.47, 0.80, 1.17, 1.74, 2.49],
        [-0.06, 0.00, 0.03, 0.10, 0.28, 0.46, 0.65, 0.98, 1.35, 1.71, 2.24, 2.83],
        [-0.11, -0.01, 0.00, 0.03, 0.14, 0.25, 0.36, 0.60, 0.93, 1.28, 1.77, 2.31],
        [-0.20, -0.02, 0.00, 0.01, 0.10, 0.19, 0.29, 0.51, 0.76, 1.10, 1.49, 1.93],
        [-0.33, -0.06, -0.01, 0.00, 0.01, 0.05, 0.10, 0.24, 0.46, 0.79, 1.25, 1.69],
        [-0.37, -0.07, -0.01, 0.00, 0.01, 0.04, 0.09, 0.22, 0.42, 0.73, 1.25, 1.69],
    ]
)
# fmt: on
"""By rule and quantile."""
