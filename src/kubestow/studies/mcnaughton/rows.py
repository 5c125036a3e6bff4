"""Claims C1 to C7 of McNaughton 2016, 4.7, the sum S, and the curves, as rows with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

from kubestow.model.arrays import Floats
from kubestow.studies import scaling_runs, tradeoffs
from kubestow.studies.mcnaughton import scenarios
from kubestow.workflows import comparing

REPRODUCED, NOT, BEATEN = "reproduced", "not reproduced", "beaten"
REACTIVE, OURS = "hpa", "auto"
LEGACY, LEGACY_LINE = "hpa of 2016, 30 s", "line-fit as printed, 30 s"
# Mean difference of S per pattern as published (McNaughton 2016, 4.8, second runs).
PUBLISHED: Final = {
    "step-ladder": 0.522,
    "jagged-edge": 0.340,
    "increase-decrease": -0.239,
    "flash-crowd": -0.591,
}
FLOOR_S: Final = 0.001

RULES: Final = {
    "claims": "a claim is reproduced if it holds on all four patterns: C1 to C3 with the 95 % "
    "interval over seeds on the right side, C4 to C7 by means, shares and deviations over seeds",
    "sum": "reproduced: same sign as published, and the 95 % interval of the mean over seeds "
    "excludes 0; for ours: beaten if the mean is above the published one",
    "curve": "beaten: at equal pod-hours the 95th percentile of response times is lower than the "
    "reactive autoscaler's, geometric mean over targets, 95 % interval over seeds below 1",
}

RunsByKey = Mapping[tuple[str, str, float, int], scaling_runs.ScalingRun]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ScalingGrid:
    """All runs at one target.

    Attributes:
        records: Runs by place, variant, target and seed.
        startups_s: Start-up times.
        seeds: Seeds.
        target: Target utilisation.
        place: Returns the name of a pattern with a start-up time.
    """

    records: RunsByKey
    startups_s: Sequence[float]
    seeds: Sequence[int]
    target: float
    place: Callable[[str, float], str]

    def runs(self, pattern: str, startup_s: float, variant: str) -> list[scaling_runs.ScalingRun]:
        """Return the runs of one cell, by seed."""
        here = self.place(pattern, startup_s)
        return [self.records[here, variant, self.target, seed] for seed in self.seeds]

    def values(self, pattern: str, startup_s: float, variant: str, *path: str) -> Floats:
        """Return one measure of a cell by seed."""
        return np.array([_measure(run, path) for run in self.runs(pattern, startup_s, variant)])

    @property
    def longest_s(self) -> float:
        """The longest start-up time."""
        return self.startups_s[-1]

    def variants(self) -> list[str]:
        """Return the names of all variants, in order."""
        return list(dict.fromkeys(key[1] for key in self.records))

    def sums(self, pattern: str, variant: str, baseline: str) -> Floats:
        """Return the mean difference of S per seed."""
        return self.terms(pattern, variant, baseline)[:, 0]

    def terms(self, pattern: str, variant: str, baseline: str) -> Floats:
        """Return mean differences per seed: of S, and of its two terms."""
        pairs = zip(
            self.runs(pattern, self.longest_s, variant),
            self.runs(pattern, self.longest_s, baseline),
            strict=True,
        )
        differences = [comparing.differ_in_sum(a.minutes(), b.minutes()) for a, b in pairs]
        return np.array([[d.total.mean(), d.eru.mean(), d.response.mean()] for d in differences])

    def table(self) -> list[Row]:
        """Return one row per pattern, start-up time and variant."""
        return [
            {
                "pattern": pattern,
                "startup_s": startup_s,
                "way": variant,
                **{
                    name: asdict(
                        comparing.summarise_pairs(self.values(pattern, startup_s, variant, *path))
                    )
                    for name, path in _TABLE.items()
                },
            }
            for pattern in scenarios.PATTERNS
            for startup_s in self.startups_s
            for variant in self.variants()
        ]


_TABLE: Final = {
    "pod_hours": ("pod_hours",),
    "eru": ("eru", "cpu"),
    "mean_s": ("response", "mean"),
    "p95_s": ("response", "p95"),
    "late": ("slo_violation_ratio",),
    "actions": ("scale_actions",),
}


def _measure(run: scaling_runs.ScalingRun, path: Sequence[str]) -> float:
    value: Any = run.measures
    for step in path:
        value = value[step]
    return float(value)


def make_claims(grid: ScalingGrid) -> list[Row]:
    """Return the seven claims with their verdicts."""
    return [
        _first(grid),
        _second(grid),
        _third(grid),
        _fourth(grid),
        _fifth(grid),
        _sixth(grid),
        _seventh(grid),
    ]


def _row(statement: str, thesis: str, result: str, n: int, good: bool) -> Row:
    verdict = REPRODUCED if good else NOT
    return {
        "statement": statement, "thesis": thesis, "found": result, "n": n, "verdict": verdict,
        "rule": RULES["claims"],
    }  # fmt: skip


def _first(grid: ScalingGrid) -> Row:
    texts, good = [], True
    for pattern in scenarios.PATTERNS:
        values = grid.sums(pattern, OURS, REACTIVE)
        tested = comparing.compare_pairs(values, np.zeros(len(values)))
        good &= tested.low is not None and tested.low > 0.0
        texts.append(f"{pattern} {_signed(tested)}")
    return _row(
        "C1: prediction raises the sum S of resource use and quality",
        "raises",
        f"`{OURS}` minus `{REACTIVE}`: " + ", ".join(texts),
        len(grid.seeds),
        good,
    )


def _second(grid: ScalingGrid) -> Row:
    texts, good = [], True
    for pattern in scenarios.PATTERNS:
        ours = grid.values(pattern, grid.longest_s, OURS, "pod_hours")
        theirs = grid.values(pattern, grid.longest_s, REACTIVE, "pod_hours")
        tested = comparing.compare_pairs(ours, theirs)
        good &= tested.ratio_high is not None and tested.ratio_high <= 1.0
        texts.append(f"{pattern} x {tested.ratio or 0:.2f}")
    return _row(
        "C2: the same resources, at different times",
        "pod-hours not higher",
        f"pod-hours of `{OURS}` by those of `{REACTIVE}` at the same target: " + ", ".join(texts),
        len(grid.seeds),
        good,
    )


def shortage_s(run: scaling_runs.ScalingRun, startup_s: float) -> float:
    """Return for how long demand exceeded the capacity of ready pods, in seconds.

    Counted in whole minutes. The first start-up time is left out: no scaler can have pods by then.
    """
    times_s, demand, ready = run.column("time_s"), run.column("demand"), run.column("ready")
    most = ready * scenarios.REQUEST_CORES / scenarios.CPU_PER_REQUEST_S
    return 60.0 * float(np.count_nonzero((demand > most) & (times_s > startup_s)))


def _third(grid: ScalingGrid) -> Row:
    texts, good = [], True
    for pattern in scenarios.PATTERNS:
        both = [
            np.array([shortage_s(r, grid.longest_s) for r in grid.runs(pattern, grid.longest_s, w)])
            for w in (OURS, REACTIVE)
        ]
        tested = comparing.compare_pairs(both[0], both[1])
        good &= tested.high is not None and tested.high < 0.0
        texts.append(f"{pattern} {both[1].mean():.0f} -> {both[0].mean():.0f} s")
    return _row(
        "C3: reaction is short of pods for one start-up after a rise, prediction is not",
        "one start-up against none",
        f"time short of pods, `{REACTIVE}` -> `{OURS}`: " + ", ".join(texts),
        len(grid.seeds),
        good,
    )


def gains(grid: ScalingGrid, pattern: str) -> Floats:
    """Return log(mean response of ours / of the reactive scaler) by start-up time."""
    ratios = []
    for startup_s in grid.startups_s:
        ours = grid.values(pattern, startup_s, OURS, "response", "mean")
        theirs = grid.values(pattern, startup_s, REACTIVE, "response", "mean")
        ratios.append(float(np.log(ours.mean() / theirs.mean())))
    return np.array(ratios)


def _fourth(grid: ScalingGrid) -> Row:
    texts, good = [], True
    for pattern in scenarios.PATTERNS:
        ratios = gains(grid, pattern)
        order = stats.spearmanr(grid.startups_s, ratios).statistic if len(ratios) > 2 else np.nan
        grows = bool(ratios[-1] < ratios[0]) and not order > 0.0
        good &= grows
        ends = f"x {np.exp(ratios[0]):.2f} at {grid.startups_s[0]:g} s, "
        ends += f"x {np.exp(ratios[-1]):.2f} at {grid.startups_s[-1]:g} s"
        texts.append(f"{pattern} {ends}")
    return _row(
        "C4: the gain grows with the start-up time",
        "grows",
        f"mean response of `{OURS}` by `{REACTIVE}`: " + "; ".join(texts),
        len(grid.seeds),
        good,
    )


def _fifth(grid: ScalingGrid) -> Row:
    names = ("static over", "static average", "static under")
    good, texts = True, []
    for pattern in scenarios.PATTERNS:
        means = [grid.values(pattern, grid.longest_s, n, "response", "mean").mean() for n in names]
        use = [grid.values(pattern, grid.longest_s, n, "eru", "cpu").mean() for n in names]
        good &= bool(means[0] < means[1] < means[2] and use[0] < use[1] < use[2])
        shown = "/".join(f"{v:.2g}" for v in means)
        texts.append(f"{pattern} {shown} s at {'/'.join(f'{100 * v:.0f}' for v in use)} %")
    return _row(
        "C5: static over / average / under: quality falls, use rises",
        "ordered",
        "mean response and use: " + "; ".join(texts),
        len(grid.seeds),
        good,
    )


def within_band(run: scaling_runs.ScalingRun, target: float, band: float = 0.1) -> float:
    """Return the share of minutes whose utilisation is within a band around the target."""
    use = run.column("used_cpu") / np.maximum(run.column("ready") * scenarios.REQUEST_CORES, 1e-9)
    return float(np.mean(np.abs(use / target - 1.0) <= band))


def _sixth(grid: ScalingGrid) -> Row:
    texts, good = [], True
    for pattern in scenarios.PATTERNS:
        shares = [
            float(np.mean([within_band(r, grid.target) for r in grid.runs(pattern, s, REACTIVE)]))
            for s in (grid.startups_s[0], grid.longest_s)
        ]
        good &= shares[0] > 0.5 and shares[0] > shares[1]
        texts.append(f"{pattern} {100 * shares[0]:.0f} % and {100 * shares[1]:.0f} %")
    first_s = grid.startups_s[0]
    return _row(
        "C6: reaction with instant pods stays in the target band, and leaves it while pods start",
        "stays, leaves",
        f"minutes within 10 % of the target at {first_s:g} s and {grid.longest_s:g} s start-up: "
        + ", ".join(texts),
        len(grid.seeds),
        good,
    )


def _seventh(grid: ScalingGrid) -> Row:
    texts, good = [], True
    for pattern in scenarios.PATTERNS:
        spreads = [
            float(np.std(grid.values(pattern, grid.longest_s, variant, "response", "mean"), ddof=1))
            if len(grid.seeds) > 1
            else float("nan")
            for variant in (REACTIVE, "threshold")
        ]
        good &= spreads[0] < spreads[1]
        texts.append(f"{pattern} {spreads[0]:.2g} / {spreads[1]:.2g} s")
    return _row(
        "C7: feedback has a more predictable effect than threshold rules",
        "more predictable",
        f"standard deviation over seeds of mean response, `{REACTIVE}` / `threshold`: "
        + ", ".join(texts),
        len(grid.seeds),
        good,
    )


def _signed(tested: comparing.Paired) -> str:
    if tested.low is None or tested.high is None:
        return f"{tested.difference:+.2f}"
    return f"{tested.difference:+.2f} ({tested.low:+.2f} to {tested.high:+.2f})"


def make_sums(grid: ScalingGrid) -> list[Row]:
    """Return S and the published values, for the printed method and for ours."""
    rows = []
    for variant, baseline in ((LEGACY_LINE, LEGACY), (OURS, LEGACY), (OURS, REACTIVE)):
        for pattern in scenarios.PATTERNS:
            terms = grid.terms(pattern, variant, baseline)
            values = terms[:, 0]
            tested = comparing.compare_pairs(values, np.zeros(len(values)))
            use, time = terms[:, 1].mean(), terms[:, 2].mean()
            sure = tested.low is not None and tested.low * (tested.high or 0.0) > 0.0
            same = tested.difference * PUBLISHED[pattern] > 0.0
            verdict = REPRODUCED if sure and same else NOT
            if variant == OURS and tested.difference > PUBLISHED[pattern]:
                verdict = BEATEN
            rows.append(
                {
                    "statement": f"S on {pattern}, `{variant}` minus `{baseline}`",
                    "thesis": f"{PUBLISHED[pattern]:+.2f}",
                    "found": f"{_signed(tested)}: use {use:+.2f}, response {time:+.2f}",
                    "n": len(values),
                    "p": tested.p,
                    "p_signed_rank": tested.p_signed_rank,
                    "verdict": verdict,
                    "rule": RULES["sum"],
                }
            )
    return rows


def make_curve_rows(curves: Mapping[str, Mapping[str, tradeoffs.TradeoffCurve]]) -> list[Row]:
    """Return each curve compared with the reactive one at equal cost."""
    rows = []
    for pattern, by_variant in curves.items():
        for name, curve in by_variant.items():
            if name == REACTIVE:
                continue
            ratio, low, high = tradeoffs.overall(curve, by_variant[REACTIVE], FLOOR_S)
            result = "no common cost" if ratio is None else f"x {ratio:.2f}"
            if low is not None and high is not None:
                result += f" ({low:.2f} to {high:.2f})"
            rows.append(
                {
                    "statement": f"p95 at equal pod-hours on {pattern}, `{name}` by `{REACTIVE}`",
                    "thesis": "",
                    "found": result,
                    "n": curve.cost.shape[1],
                    "verdict": BEATEN if high is not None and high < 1.0 else NOT,
                    "rule": RULES["curve"],
                }
            )
    return rows


def describe_curves(
    curves: Mapping[str, Mapping[str, tradeoffs.TradeoffCurve]],
) -> list[Row]:
    """Return all points of all curves."""
    return [
        {"pattern": pattern, "way": name, **asdict(point)}
        for pattern, by_variant in curves.items()
        for name, curve in by_variant.items()
        for point in tradeoffs.compare(curve, by_variant[REACTIVE], FLOOR_S)
    ]


def make_timeline(
    records: RunsByKey,
    place: Callable[[str, float], str],
    seed: int,
    target: float,
    startup_s: float,
) -> list[Row]:
    """Return demand, pods and response times of one seed, for figures."""
    rows = []
    for pattern in scenarios.PATTERNS:
        for variant in (REACTIVE, OURS):
            run = records[place(pattern, startup_s), variant, target, seed]
            for k, time_s in enumerate(run.columns["time_s"]):
                rows.append(
                    {
                        "pattern": pattern,
                        "way": variant,
                        "minute": round((time_s or 0.0) / 60.0, 2),
                        **{n: run.columns[n][k] for n in ("demand", "ready", "response_s")},
                    }
                )
    return rows
