"""Statements of the forecast study with their verdicts (Schubert 2023, E7 to E9, section 7).

Statements about methods of the thesis use all series; those about ``short-margin`` use the half
that was not used to choose its weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats
from kubestow.studies.schubert.forecast import curves, methods
from kubestow.workflows import comparing

Row = dict[str, Any]

ALL: Final = "all"
NO_CLAIM: Final = "no claim"
TOO_FEW: Final = "too few series"
# Resampling fewer series says little about other series.
LEAST_SERIES: Final = 20
# VPA's factor of 1.15 is n = 4 for memory (5.15) and n = 1 for CPU (5.17).
VPA_DEFAULT: Final = {"memory": 4.0, "cpu": 1.0}
CLAIMED_SAVING: Final = 0.5
MOST_R_SQUARED: Final = 0.5
CLAIMED_REJECTED: Final = 1499 / 1664
REJECTED_WITHIN: Final = 0.1
LOSS_PRICES: Final = (1.0, 5.0, 20.0)
THESIS_METHODS: Final = (methods.PRINTED, methods.EXACT, methods.VPA, methods.BARE_VPA)

RULES: Final = {
    "saving": "over-reservation at as many or fewer shortages as vpa with its factor of 1.15, any "
    "setting allowed; reproduced if the 95 % interval of the saving lies above 0 and reaches 50 %; "
    "the thesis has no figure for CPU",
    "worst": "reproduced if both other methods need less at every setting of the thesis for as few "
    "shortages",
    "no winner": "reproduced unless one method needs surely less both for as few shortages and for "
    "as small an amount (median over the settings of the other)",
    "sigma": "reproduced if the interval of the median ratio over the settings contains 1 or lies "
    "below",
    "r squared": "reproduced if the third quartile is below 0.5",
    "normal": "reproduced if the share is within 10 points of 1499/1664",
    "dependent": "reproduced if more than half of the series have more than 5 % of lags outside",
    "dominates": "beaten if the 95 % interval of the ratio lies below 1 at every setting of the "
    "thesis; series that were not used for choosing weights, twenty at least",
    "transfer": "at each setting of the thesis ours is set, on the half for choosing, to the least "
    "over-reservation at as few shortages; beaten if on the other half it then reserves less with "
    "no more shortages, at every setting; twenty series at least",
    "loss": "settings chosen on one half, loss on the other; beaten if the interval of ours by the "
    "best method of the thesis lies below 1",
}


@dataclass(frozen=True, slots=True, eq=False)
class SeriesGroup:
    """A set, or all sets of a resource together.

    Attributes:
        name: The set.
        resource: The resource.
        by_method: The curves.
        reported: Which series were not used for choosing anything.
        draws: How often each series is drawn, by draw.
        reported_draws: The same for the reported series only.
    """

    name: str
    resource: str
    by_method: curves.Curves
    reported: NDArray[np.bool_]
    draws: Floats
    reported_draws: Floats

    @property
    def label(self) -> str:
        """Name of the group in statements."""
        return f"{self.resource}, {self.name}"

    def half(self, part: int) -> curves.Curves:
        """Return the curves of one half: 0 for tuning, 1 for reporting."""
        kept = self.reported == bool(part)
        return {name: curve.where(kept) for name, curve in self.by_method.items()}


def make_rows(groups: Sequence[SeriesGroup], checks: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return all statements."""
    rows: list[Row] = []
    for group in groups:
        rows += [saving_row(group, name) for name in (methods.PRINTED, methods.EXACT)]
    rows += [worst_row(group) for group in groups if methods.BARE_VPA in group.by_method]
    rows += [winner_row(group) for group in groups if group.resource == "cpu"]
    rows += [sigma_row(group) for group in groups]
    for check in checks:
        rows += check_rows(check)
    for group in groups:
        others = [name for name in THESIS_METHODS if name in group.by_method]
        for ours in (methods.OURS, methods.EVEN, methods.CAPPED):
            rows += [dominance_row(group, name, ours) for name in others]
            if group.resource == "cpu":
                rows += [dominance_row(group, name, ours, "lack") for name in others]
        rows += [transfer_row(group, name) for name in others]
    for group in groups:
        rows += [loss_row(group, price) for price in LOSS_PRICES]
    return rows


def _row(kind: str, statement: str, thesis: str, result: str, n: int, verdict: str) -> Row:
    return {
        "statement": statement, "thesis": thesis, "found": result, "n": n, "verdict": verdict,
        "rule": kind,
    }  # fmt: skip


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %" if np.isfinite(share) else "never reached"


def _of(curve: curves.ShortageCurve, setting: float) -> tuple[float, float]:
    place = curve.settings.index(setting)
    return float(curve.short[:, place].sum()), float(curve.over[:, place].sum())


def saving_row(group: SeriesGroup, name: str) -> Row:
    """Return the saving over the VPA default at as many or fewer shortages."""
    setting = VPA_DEFAULT[group.resource]
    vpa, mine = group.by_method[methods.VPA], group.by_method[name]
    kinds: tuple[curves.Unused, ...] = ("over", "net")
    clipped, netted = (
        _saving(curves.compare(mine, vpa, [setting], group.draws, unused=kind)) for kind in kinds
    )
    safest = methods.thesis_settings(group.resource)[-1]
    short, over = _of(mine, safest)
    vpa_short, vpa_over = _of(vpa, setting)
    text = (
        f"saves {_interval(clipped)}, netted {_interval(netted)}; at n = {safest:g} {short:.1f} "
        f"shortages against {vpa_short:.1f}, saving {_percent(1.0 - over / vpa_over)}"
    )
    claimed = group.resource == "memory"
    good = clipped.low > 0.0 and clipped.high >= CLAIMED_SAVING
    verdict = ("reproduced" if good else "not reproduced") if claimed else NO_CLAIM
    return _row(
        "saving", f"{name} against vpa x 1.15: {group.label}", "about 50 %" if claimed else "-",
        text, len(group.reported), verdict,
    ) | {"saving": _three(clipped), "netted": _three(netted)}  # fmt: skip


def _saving(ratios: Floats) -> curves.Ratio:
    ratio = curves.summarise(ratios[:, 0])
    return curves.Ratio(1.0 - ratio.value, 1.0 - ratio.high, 1.0 - ratio.low)


def _interval(ratio: curves.Ratio) -> str:
    return f"{_percent(ratio.value)} ({_percent(ratio.low)} to {_percent(ratio.high)})"


def _three(ratio: curves.Ratio) -> list[float | None]:
    return [_finite(value) for value in (ratio.value, ratio.low, ratio.high)]


def _finite(value: float) -> float | None:
    return comparing.rounded(value) if np.isfinite(value) else None


def worst_row(group: SeriesGroup) -> Row:
    """Return whether VPA without its window is the worst of three."""
    settings = methods.thesis_settings(group.resource)
    texts, good = [], True
    for name in (methods.PRINTED, methods.VPA):
        ratios = curves.compare(
            group.by_method[name], group.by_method[methods.BARE_VPA], settings, group.draws[:1]
        )[0]
        texts.append(f"{name} needs {_span(ratios)} times as much, less at {_below(ratios)}")
        good = good and bool((ratios < 1.0).all())
    return _row(
        "worst", f"vpa without window is the worst: {group.label}", "worst of three",
        "; ".join(texts), len(group.reported), "reproduced" if good else "not reproduced",
    )  # fmt: skip


def _span(ratios: Floats) -> str:
    known = ratios[np.isfinite(ratios)]
    return f"{known.min():.2f} to {known.max():.2f}" if len(known) else "never"


def _below(ratios: Floats) -> str:
    return f"{int((ratios < 1.0).sum())} of {len(ratios)} settings"


def winner_row(group: SeriesGroup) -> Row:
    """Return ARIMA relative to VPA for CPU, at equal counts and at equal amounts of shortage."""
    ratio = {
        axis: curves.summarise(
            np.median(
                curves.compare(
                    group.by_method[methods.PRINTED], group.by_method[methods.VPA], methods.CPU_N,
                    group.draws, axis,
                ),
                axis=1,
            )
        )
        for axis in ("short", "lack")
    }  # fmt: skip
    clear = all(one.high < 1.0 for one in ratio.values()) or all(
        one.low > 1.0 for one in ratio.values()
    )
    texts = [
        f"at equal {what} {ratio[axis].value:.2f} ({ratio[axis].low:.2f} to {ratio[axis].high:.2f})"
        for axis, what in (("short", "counts"), ("lack", "amounts"))
    ]
    return _row(
        "no winner", f"arima-margin by vpa, no clear winner: {group.label}",
        "fewer shortages, larger amounts", "; ".join(texts), len(group.reported),
        _verdict("reproduced", len(group.reported), good=not clear),
    )  # fmt: skip


def sigma_row(group: SeriesGroup) -> Row:
    """Return level-sigma, which ignores time, relative to ARIMA: interpretation a of E8."""
    median = curves.summarise(
        np.median(
            curves.compare(
                group.by_method[methods.SIGMA], group.by_method[methods.PRINTED],
                methods.thesis_settings(group.resource), group.draws,
            ),
            axis=1,
        )
    )  # fmt: skip
    return _row(
        "sigma", f"level-sigma would do as well as arima-margin: {group.label}",
        "supposed, not tested", f"{median.value:.2f} ({median.low:.2f} to {median.high:.2f})",
        len(group.reported), "reproduced" if median.low <= 1.0 else "not reproduced",
    )  # fmt: skip


def check_rows(check: Mapping[str, Any]) -> list[Row]:
    """Return dependence, fit and normality of one set."""
    label, n = f"{check['resource']}, {check['set']}", check["series"]

    def verdict(*, good: bool) -> str:
        return "reproduced" if good else "not reproduced"

    quartile, rejected = check["r_squared"]["p75"], check["not_normal"]
    near = abs(rejected - CLAIMED_REJECTED) <= REJECTED_WITHIN
    return [
        _row(
            "dependent", f"samples depend on each other: {label}", "shown for one container",
            f"{_percent(check['lags_outside'])} of lags outside, {_percent(check['dependent'])} of "
            "series with more than 5 %", n, verdict(good=check["dependent"] > 0.5),
        ),
        _row(
            "r squared", f"third quartile of R squared: {label}", "below 0.5", f"{quartile:.2f}",
            n, verdict(good=quartile < MOST_R_SQUARED),
        ),
        _row(
            "normal", f"residuals are not normal: {label}", "90 % of series",
            f"{_percent(rejected)}", n, verdict(good=near),
        ),
    ]  # fmt: skip


def dominance_row(
    group: SeriesGroup, other: str, ours: str = methods.OURS, axis: curves.Axis = "short"
) -> Row:
    """Return ours compared with a method of the thesis, at each of its settings."""
    reported = group.half(1)
    draws = group.reported_draws
    settings = methods.thesis_settings(group.resource)
    intervals = [
        curves.summarise(ratios)
        for ratios in curves.compare(reported[ours], reported[other], settings, draws, axis).T
    ]
    values = np.array([one.value for one in intervals])
    sure = sum(one.high < 1.0 for one in intervals)
    met = "few shortages" if axis == "short" else "small a missing amount"
    n = int(group.reported.sum())
    return _row(
        "dominates", f"{ours} against {other} for as {met}: {group.label}", "-",
        f"needs {_span(values)} times as much, less at {_below(values)}, surely at {sure}", n,
        _verdict("beaten", n, good=sure == len(intervals)),
    ) | {"ratios": [_three(one) for one in intervals]}  # fmt: skip


def transfer_row(group: SeriesGroup, other: str, ours: str = methods.CAPPED) -> Row:
    """Return ours with settings that match the shortages of another method on the tuning half."""
    tuned, reported = group.half(0), group.half(1)
    draws = group.reported_draws
    over, short = [], []
    for setting in methods.thesis_settings(group.resource):
        theirs = reported[other].settings.index(setting)
        place = curves.cheapest_within(tuned[ours], float(tuned[other].short[:, theirs].sum()))
        needed = [
            draws @ reported[name].over[:, at] for name, at in ((ours, place), (other, theirs))
        ]
        missed = [
            draws @ reported[name].short[:, at] for name, at in ((ours, place), (other, theirs))
        ]
        over.append(curves.summarise(needed[0] / needed[1]))
        short.append(float(missed[0][0] / missed[1][0]) if missed[1][0] else np.inf)
    values, misses = np.array([one.value for one in over]), np.array(short)
    both = int(((values < 1.0) & (misses <= 1.0)).sum())
    n = int(group.reported.sum())
    return _row(
        "transfer", f"{ours}, set on other series, against {other}: {group.label}", "-",
        f"needs {_span(values)} times as much with {_span(misses)} times as many shortages, better "
        f"in both at {both} of {len(values)} settings", n,
        _verdict("beaten", n, good=both == len(values)),
    ) | {
        "ratios": [_three(one) for one in over],
        "shortages": [_finite(one) for one in short],
    }  # fmt: skip


def _verdict(word: str, series: int, *, good: bool) -> str:
    if series < LEAST_SERIES:
        return TOO_FEW
    return word if good else "not reproduced"


def loss_row(group: SeriesGroup, price: float) -> Row:
    """Return the loss of every method at the setting that was best on the tuning half."""
    tuned, reported = group.half(0), group.half(1)
    draws = group.reported_draws
    losses, settings, training = {}, {}, {}
    for name, curve in tuned.items():
        place = curves.cheapest(curve, price)
        by_series = reported[name].loss[:, place] + price * reported[name].short[:, place]
        losses[name] = draws @ by_series / draws.sum(axis=1)
        settings[name] = curve.settings[place]
        training[name] = float((curve.loss + price * curve.short).mean(axis=0)[place])
    mine = (methods.OURS, methods.EVEN, methods.CAPPED)
    ours = min((name for name in mine if name in losses), key=training.__getitem__)
    best = min((name for name in THESIS_METHODS if name in losses), key=training.__getitem__)
    ratio = curves.summarise(losses[ours] / losses[best])
    text = ", ".join(
        f"{name} {loss[0]:.3f} ({settings[name]:.3g})" for name, loss in losses.items()
    )
    return _row(
        "loss", f"least loss, a shortage costs {price:g} times a container: {group.label}", "-",
        f"{ours} by {best}: {ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f}); {text}",
        int(group.reported.sum()),
        _verdict("beaten", int(group.reported.sum()), good=ratio.high < 1.0),
    ) | {
        "price": price,
        "losses": {name: comparing.rounded(float(loss[0])) for name, loss in losses.items()},
        "settings": {name: comparing.rounded(value) for name, value in settings.items()},
        "ratio": _three(ratio),
    }  # fmt: skip
