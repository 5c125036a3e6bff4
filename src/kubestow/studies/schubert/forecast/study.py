"""Forecasts of requests as in Schubert 2023 (E7 to E9), on public usage series.

The thesis compared ARIMA forecasts and a margin with the Vertical Pod Autoscaler's rules on 1664
memory and 1719 CPU series of a cluster: how many containers would have been short within the next
five points, and how much would have been over-reserved. Its data are not published; more than a
thousand public series of each kind replace them (``windows``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kubestow.model.progress import Progress
from kubestow.policies.sizing import margins
from kubestow.studies import public_data, usage_batches, verdicts
from kubestow.studies.options import StudyOptions
from kubestow.studies.schubert.forecast import checks as forecast_checks
from kubestow.studies.schubert.forecast import curves as forecast_curves
from kubestow.studies.schubert.forecast import methods, page
from kubestow.studies.schubert.forecast import rows as forecast_rows
from kubestow.studies.schubert.forecast import windows as forecast_windows
from kubestow.workflows import comparing, files

DRAWS: Final = 1000
QUICK_DRAWS: Final = 100
MOST_MS: Final = 10.0  # Schubert 2023, E8: about 10 ms per series on an Apple M1 Max


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredMethod:
    """Results of one set and resource.

    Attributes:
        family: The set.
        resource: The resource.
        curves: The curves of all methods.
        reported: Which series were not used for choosing anything.
        checks: Checks of the model assumptions.
        fit_ms: CPU time to fit and forecast one window, in milliseconds.
    """

    family: str
    resource: str
    curves: forecast_curves.Curves
    reported: NDArray[np.bool_]
    checks: dict[str, Any]
    fit_ms: float


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json, timings.json and report.html."""
    families = sorted({family for family, _ in forecast_windows.MOST_WINDOWS})
    folder = public_data.find(families)
    total = len(forecast_windows.MOST_WINDOWS)
    measured = []
    for windows in forecast_windows.read(folder, quick=options.quick):
        measured.append(measure(windows))
        watch(len(measured), total, f"{windows.family} {windows.resource}")
    draws = options.sample(DRAWS, QUICK_DRAWS)
    report = make_report(measured, options.seed, draws)
    times = {f"{one.family} {one.resource}": round(one.fit_ms, 3) for one in measured}
    files.write_json(options.out / "results.json", report)
    files.write_json(options.out / "timings.json", {"fit_ms_per_window": times})
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


def measure(windows: forecast_windows.Windows) -> MeasuredMethod:
    """Run all methods on all windows of a set."""
    parameters = margins.ArimaMarginParameters()
    # Load compiled code before the timing starts.
    margins.fit(windows.past[:1], parameters)
    begin_s = time.process_time()
    fits = margins.fit(windows.past, parameters)
    fit_ms = 1000.0 * (time.process_time() - begin_s) / len(windows.real)
    curves = {
        answers.method: forecast_curves.measure(windows, answers)
        for answers in methods.answer(windows, fits)
    }
    reported = np.array(
        [usage_batches.half(windows.names[place]) == 1 for place in np.unique(windows.series)],
        dtype=np.bool_,
    )
    checks = forecast_checks.check(windows, fits)
    return MeasuredMethod(windows.family, windows.resource, curves, reported, checks, fit_ms)


def make_groups(
    measured: Sequence[MeasuredMethod], seed: int, draws: int
) -> list[forecast_rows.SeriesGroup]:
    """Return every set and, per resource, all sets together, with their draws of series."""
    rng = np.random.default_rng(seed)
    groups = []
    for resource in ("memory", "cpu"):
        mine = [one for one in measured if one.resource == resource]
        parts = [(one.family, one.curves, one.reported) for one in mine]
        if len(mine) > 1:
            joined = forecast_curves.join([one.curves for one in mine])
            reported = np.concatenate([one.reported for one in mine])
            parts.append((forecast_rows.ALL, joined, reported))
        for name, curves, kept in parts:
            drawn, drawn_reported = (
                forecast_curves.resample(count, draws, rng)
                for count in (len(kept), int(kept.sum()))
            )
            groups.append(
                forecast_rows.SeriesGroup(name, resource, curves, kept, drawn, drawn_reported)
            )
    return groups


def make_report(measured: Sequence[MeasuredMethod], seed: int, draws: int) -> dict[str, Any]:
    """Return the content of results.json."""
    groups = make_groups(measured, seed, draws)
    checks = [one.checks for one in measured]
    rows = [*forecast_rows.make_rows(groups, checks), time_row(measured)]
    return {
        "study": "schubert-forecast",
        "seed": seed,
        "draws": draws,
        "rules": forecast_rows.RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "checks": checks,
        "curves": [line for group in groups for line in make_lines(group)],
    }


def time_row(measured: Sequence[MeasuredMethod]) -> dict[str, Any]:
    """Return whether models are fitted as fast as in the thesis; times are in timings.json."""
    good = all(one.fit_ms < MOST_MS for one in measured)
    return {
        "statement": "time per series to search 64 orders",
        "thesis": "about 10 ms",
        "found": f"{'below' if good else 'not always below'} {MOST_MS:g} ms on one core",
        "n": sum(one.checks["windows"] for one in measured),
        "verdict": "beaten" if good else "not reproduced",
        "rule": "beaten if below 10 ms on every set",
    }


def make_lines(group: forecast_rows.SeriesGroup) -> list[dict[str, Any]]:
    """Return the curves of a group: sums over all series and over the reported ones."""
    thesis = methods.thesis_settings(group.resource)
    lines = []
    for name, curve in group.by_method.items():
        if name == methods.CAPPED:
            continue  # settings of two knobs are not a line
        marked = thesis if name in forecast_rows.THESIS_METHODS else ()
        # Every second setting is enough to draw a line.
        kept = [k for k, n in enumerate(curve.settings) if k % 2 == 0 or n in marked]
        line: dict[str, Any] = {
            "set": group.name,
            "resource": group.resource,
            "method": name,
            "settings": [comparing.rounded(curve.settings[k]) for k in kept],
            "of_thesis": [curve.settings[k] in marked for k in kept],
        }
        for key, source in (("", curve), ("reported_", curve.where(group.reported))):
            for field in ("short", "over", "net", "lack"):
                sums = getattr(source, field).sum(axis=0)
                line[f"{key}{field}"] = [float(f"{sums[k]:.6g}") for k in kept]
        lines.append(line)
    return lines
