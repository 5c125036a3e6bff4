"""ARIMA, GRU and ARIMA-GRU on six groups: tables 5.5 to 5.7 of Shi 2023 (5.1).

Models are fitted to 70 % of every group; the rest is forecast one step ahead (and further) with
fixed parameters. The three models of the thesis are compared with cheap baselines. Groups are the
replicates of paired tests. Two more parts use public traces: the mean MASE at 1, 5 and 15 minutes
by family, and the published protocol of two observability sets.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from kubestow.model.progress import Progress
from kubestow.policies.forecasting import accuracy, backtests, protocols, registry
from kubestow.studies import public_data, verdicts
from kubestow.studies.options import StudyOptions
from kubestow.studies.shi.forecast import groups as forecast_groups
from kubestow.studies.shi.forecast import page, protocol
from kubestow.workflows import comparing, files

FORMAT: Final = 1
"""Raise it when models compute something else, so that stored scores are not reused."""

MODELS: Final = (
    "persistence", "seasonal-naive", "holt-winters", "arima", "gru", "arima-gru", "auto",
)  # fmt: skip
SHARE: Final = 0.7
METRICS: Final = ("mae", "mape", "rmse", "smape", "mase")
COMBINED: Final = "arima-gru"
# Tables 5.5 and 5.6: relative change of the combined model, group 1 (Shi 2023, 5.1).
PUBLISHED: Final = {
    ("cpu", "arima"): {"mae": -0.423, "mape": -0.593, "rmse": -0.481},
    ("cpu", "gru"): {"mae": -0.342, "mape": -0.451, "rmse": -0.265},
    ("memory", "arima"): {"mae": -0.581, "mape": -0.640, "rmse": -0.530},
    ("memory", "gru"): {"mae": -0.513, "mape": -0.509, "rmse": -0.292},
}
TRAINING_S: Final = {"arima": 132.0, "gru": 309.0, "arima-gru": 368.0}  # table 5.7
MOST_TRAINING_S: Final = 60.0
FAMILIES: Final = (
    "req_twitter", "req_nasa", "req_ms_cloud_monitoring", "crane_dsp", "dc_aggregates",
)  # fmt: skip
# Published MASE (GIFT-Eval leaderboard) and required MASE: data anchors of the theses.
WINDOWS: Final[dict[str, tuple[str, int, int, float, dict[str, float]]]] = {
    "application": (
        "bizitobs/Application.csv.gz",
        60,
        360,
        1.2,
        {"persistence": 3.764, "seasonal-naive": 2.242},
    ),
    "l2c": (
        "bizitobs/L2C.csv.gz",
        48,
        288,
        0.28,
        {"persistence": 0.283, "seasonal-naive": 0.986},
    ),
}
RULES: Final = {
    "combined": "reproduced: lower than the other model on the mean over groups, signed-rank p "
    "below 0.05, and by at least half the published relative gain; otherwise not reproduced",
    "training": f"beaten: at most {MOST_TRAINING_S:g} s per group and shorter than the thesis",
    "family": "beaten: mean MASE of `auto` lowest, or within 2 % of the lowest of the others",
    "window": "beaten: MASE at most the figure asked for",
}


def run(options: StudyOptions, watch: Progress) -> dict[str, Any]:
    """Run the study; write results.json and report.html."""
    data = public_data.folder()
    rows, count = (2000, 2) if options.quick else (forecast_groups.ROWS, forecast_groups.GROUPS)
    groups = forecast_groups.synthetic_groups(options.seed, count, rows)
    groups += forecast_groups.real_groups(data, count, rows)
    families = FAMILIES[:1] if options.quick else FAMILIES
    traces = list(protocol.read_traces(data, families))
    sets = [name for name, (path, *_) in WINDOWS.items() if (data / path).is_file()]
    total = len(groups) + len(traces) + len(sets)
    cache = _ScoreCache(options.out / "scores", (options.seed, rows), total, watch)
    scored = [
        {"kind": g.kind, "group": g.name}
        | cache.get(f"{g.kind} {g.name}", functools.partial(score_group, g))
        for g in groups
    ]
    by_trace = [
        cache.get(f"{t.family} {t.name}", functools.partial(score_trace, t)) for t in traces
    ]
    windows = [cache.get(f"bizitobs {s}", functools.partial(score_set, data, s)) for s in sets]
    report = make_report(scored, by_trace, windows, has_data=bool(traces or windows))
    files.write_json(options.out / "results.json", report)
    files.write_text(options.out / "report.html", page.make_page(report))
    return report


class _ScoreCache:
    """Scores stored on disk, so that an interrupted study resumes where it stopped.

    Args:
        folder: Where scores are stored.
        settings: What scores depend on besides their name.
        total: Total number of scores.
        watch: Called after every score.
    """

    def __init__(
        self, folder: Path, settings: tuple[int, ...], total: int, watch: Progress
    ) -> None:
        self._folder = folder
        self._settings = "-".join(str(number) for number in (FORMAT, *settings))
        self._total = total
        self._watch = watch
        self._done = 0

    def get(self, name: str, score: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a score, computed if it is not stored yet."""
        path = self._folder / f"{name.replace(' ', '-')}-{self._settings}.json"
        try:
            scores: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        except (FileNotFoundError, msgspec.DecodeError):
            scores = score()
            files.write_json(path, scores)
        self._done += 1
        self._watch(self._done, self._total, name)
        return scores


def score_group(group: forecast_groups.UsageGroup) -> dict[str, Any]:
    """Return all metrics of all models on one group, one step ahead, by series."""
    values = group.grid.values
    begin = int(SHARE * values.shape[1])
    scales = accuracy.scale(values[:, :begin])
    scores: dict[str, Any] = {"series": list(group.grid.names), "models": {}}
    for name in MODELS:
        model = registry.FORECASTERS.get(name).make(
            registry.ForecastTask(group.grid.step_s, 1, (1,))
        )
        test = backtests.run(model, values, begin, (1,), clock=time.perf_counter)
        measured = accuracy.measure(test.actual[:, :, 0], test.predicted[:, :, 0], scales)
        scores["models"][name] = {
            "fit_s": test.fit_s,
            "predict_s": test.predict_s,
            **{metric: getattr(measured, metric).tolist() for metric in METRICS},
        }
    return scores


def score_trace(trace: protocol.ForecastTrace) -> dict[str, Any]:
    """Return the mean MASE of all models on one trace, over series and horizons."""
    scores = {}
    for name in MODELS:
        result = protocol.score(trace, registry.FORECASTERS.get(name).make, clock=time.perf_counter)
        scores[name] = {"mase": result.mean(), "fit_s": result.fit_s}
    return {"family": trace.family, "trace": trace.name, "models": scores}


def score_set(data: Path, name: str) -> dict[str, Any]:
    """Run the published protocol on one of the two observability sets."""
    _, steps, season, limit, published = WINDOWS[name]
    read = _READERS[name]
    grid = read(data / "bizitobs")
    scores = {}
    for model in ("persistence", "seasonal-naive", "auto"):
        given = season if model == "seasonal-naive" else None
        make = functools.partial(_make_seasonal, model, given)
        scores[model] = protocol.score_windows(grid, make, steps, season).mean()
    return {"set": name, "limit": limit, "published": published, "mase": scores}


_READERS: Final = {
    "application": protocol.read_application,
    "l2c": protocol.read_orders,
}


def _make_seasonal(
    name: str, season: int | None, task: registry.ForecastTask
) -> protocols.PointForecaster:
    """Return a model for a task with a known season."""
    return registry.FORECASTERS.get(name).make(replace(task, season=season))


def make_report(
    scored: Sequence[Mapping[str, Any]],
    by_trace: Sequence[Mapping[str, Any]],
    windows: Sequence[Mapping[str, Any]],
    *,
    has_data: bool,
) -> dict[str, Any]:
    """Return the content of results.json."""
    rows = [*combined_rows(scored), training_row(scored)]
    rows += family_rows(by_trace) + window_rows(windows)
    if not has_data:
        rows.append(
            {
                "statement": "real traces", "thesis": "", "found": "no data folder: see "
                "`KUBESTOW_DATA`", "n": 0, "verdict": "not measured", "rule": "",
            }
        )  # fmt: skip
    return {
        "study": "shi-forecast",
        "rules": RULES,
        "statements": verdicts.state(rows),
        "rows": rows,
        "groups": list(scored),
        "families": list(by_trace),
        "windows": list(windows),
    }


def values_of(
    scored: Sequence[Mapping[str, Any]], kind: str, series: int, model: str, metric: str
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return one metric of one model by group."""
    return np.array(
        [
            group["models"][model][metric][series]
            for group in scored
            if group["kind"] == kind and len(group["series"]) > series
        ]
    )


def combined_rows(scored: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the combined model relative to the others, by kind, series and metric."""
    rows = []
    cases = ((forecast_groups.SYNTHETIC, 0, "cpu"), (forecast_groups.SYNTHETIC, 1, "memory"))
    for kind, series, what in (*cases, (forecast_groups.REAL, 0, "load")):
        for other in ("arima", "gru", "persistence"):
            for metric in ("mae", "mape", "rmse"):
                ours = values_of(scored, kind, series, COMBINED, metric)
                theirs = values_of(scored, kind, series, other, metric)
                if len(ours):
                    thesis = PUBLISHED.get((what, other), {}).get(metric)
                    rows.append(_combined_row(ours, theirs, (kind, what, other, metric), thesis))
    return rows


def _combined_row(
    ours: Any, theirs: Any, key: tuple[str, str, str, str], thesis: float | None
) -> dict[str, Any]:
    kind, what, other, metric = key
    tested = comparing.compare_pairs(ours, theirs)
    gain = float(np.mean(ours) / np.mean(theirs) - 1.0) if np.mean(theirs) else 0.0
    sure = tested.p_signed_rank is not None and tested.p_signed_rank < 0.05
    good = gain < 0.0 and sure and (thesis is None or gain <= thesis / 2.0)
    lower = int(np.sum(ours < theirs))
    result = f"{100 * gain:+.1f} %, lower in {lower} of {len(ours)} groups"
    if tested.p_signed_rank is not None:
        result += f", p {tested.p_signed_rank:.2g}"
    return {
        "statement": f"{COMBINED} by {other}, {metric.upper()} of {what} ({kind})",
        "thesis": "-" if thesis is None else f"{100 * thesis:+.1f} %",
        "found": result,
        "n": len(ours),
        "gain": gain,
        "verdict": "reproduced" if good else "not reproduced",
        "rule": RULES["combined"],
    }


def training_row(scored: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the training time per group."""
    texts, longest = [], 0.0
    for model in TRAINING_S:
        times_s = [group["models"][model]["fit_s"] for group in scored]
        texts.append(f"{model} {np.mean(times_s):.1f} s (at most {max(times_s):.1f})")
        longest = max(longest, *times_s) if model == COMBINED else longest
    good = longest <= MOST_TRAINING_S
    return {
        "statement": "training time per group",
        "thesis": ", ".join(f"{name} {s:g} s" for name, s in TRAINING_S.items()),
        "found": ", ".join(texts),
        "n": len(scored),
        "verdict": "beaten" if good else "not reproduced",
        "rule": RULES["training"],
    }


def family_rows(by_trace: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``auto`` compared with the other models, by family."""
    rows = []
    for family in dict.fromkeys(row["family"] for row in by_trace):
        mine = [row for row in by_trace if row["family"] == family]
        means = {
            name: float(np.mean([row["models"][name]["mase"] for row in mine])) for name in MODELS
        }
        best = min((name for name in MODELS if name != "auto"), key=means.__getitem__)
        good = means["auto"] <= 1.02 * means[best]
        shown = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
        rows.append(
            {
                "statement": f"mean MASE at 1, 5, 15 minutes on {family}",
                "thesis": "-",
                "found": f"{shown}; best other: {best}",
                "n": len(mine),
                "mase": means,
                "verdict": "beaten" if good else "not reproduced",
                "rule": RULES["family"],
            }
        )
    return rows


def window_rows(windows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return our results of the published protocol and the published figures."""
    rows = []
    for row in windows:
        published = ", ".join(f"{name} {value}" for name, value in row["published"].items())
        measured = ", ".join(f"{name} {value:.3f}" for name, value in row["mase"].items())
        good = row["mase"]["auto"] <= row["limit"]
        rows.append(
            {
                "statement": f"MASE on bizitobs {row['set']}, published protocol",
                "thesis": f"published: {published}; asked for: {row['limit']}",
                "found": measured,
                "n": 1,
                "verdict": "beaten" if good else "not reproduced",
                "rule": RULES["window"],
            }
        )
    return rows
