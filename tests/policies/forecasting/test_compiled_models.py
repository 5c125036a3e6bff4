"""Compiled kernels of the light models against the same code in plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import interval_scales, intervals
from tests.policies.forecasting import light_models

ROOT = Path(__file__).parents[3]
SCRIPT = "from tests.policies.forecasting import test_compiled_models as t; print(t.as_text())"
LEVELS = (0.1, 0.5, 0.9)


def look_ahead() -> dict[str, arrays.Floats]:
    """Return what models expect along a short stretch, and quantiles around one of them."""
    rows = light_models.make_rows(95)[:, :90]
    result = {}
    for name in light_models.NAMES:
        fitted = light_models.make(name).fit(rows[:, :80])
        result[name] = fitted.roll(rows[:, 80:], 3)
        result[f"{name}, means"] = fitted.means(3)
    for kind in interval_scales.ScaleKind:
        model = intervals.Intervals(light_models.make("holt"), 2, few=True, ring=9, scaling=kind)
        interval = model.fit(rows[:, :80])
        result[f"rolled by {kind}"] = interval.roll(rows[:, 80:], 2, LEVELS).quantiles
        result[f"predicted by {kind}"] = interval.predict(2, LEVELS).quantiles
    return result


def as_text() -> str:
    return json.dumps({name: values.tolist() for name, values in look_ahead().items()})


def test_compiled_and_plain_python_agree() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    for name, values in look_ahead().items():
        # Sums are taken in another order where several numbers are added at a time.
        np.testing.assert_allclose(plain[name], values, rtol=1e-7, err_msg=name)
