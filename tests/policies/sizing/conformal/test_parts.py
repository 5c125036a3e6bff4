"""Parts of ``conformal``: what is known before a window, scores and quantiles, runs, floors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from kubestow.model.usage import arrange
from kubestow.policies.sizing.conformal import features as conformal_features
from kubestow.policies.sizing.conformal import priors, recommender
from kubestow.policies.sizing.conformal import runs as conformal_runs
from kubestow.policies.sizing.conformal import scores as conformal_scores

NAN = np.nan
RULES = conformal_features.FeatureRules(history=8, half_life=1.0, shift_factor=1.5, shift_steps=4.0)


def describe(logs: np.ndarray, rules: conformal_features.FeatureRules = RULES) -> np.ndarray:
    """Return the features of windows whose parts are not known."""
    return conformal_features.window_features(logs, np.full_like(logs, NAN), rules)


def test_only_what_lies_before_a_window_is_known_about_it() -> None:
    logs = np.array([[1.0, 3.0, 2.0]])
    result = describe(logs)
    assert result.shape == (1, 4, conformal_features.KINDS)
    assert np.isnan(result[0, 0]).all()
    last, largest = conformal_features.LAST, conformal_features.MAX2
    assert result[0, 1:, last].tolist() == [1.0, 3.0, 2.0]
    assert result[0, 1:, largest].tolist() == [1.0, 3.0, 3.0]
    assert result[0, 1:, conformal_features.COUNT].tolist() == [1.0, 2.0, 3.0]
    # Weights 1, 1/2, 1/4 from the newest: (2 + 1.5 + 0.25) / 1.75.
    assert result[0, 3, conformal_features.RECENT] == pytest.approx(3.75 / 1.75)
    # Steps 2 and -1: the root of (4 + 1) / 2.
    assert result[0, 3, conformal_features.STEP] == pytest.approx(np.sqrt(2.5))


def test_windows_without_a_measurement_are_passed_over() -> None:
    whole = describe(np.array([[1.0, 3.0, 2.0]]))
    holes = describe(np.array([[NAN, 1.0, NAN, 3.0, 2.0, NAN]]))
    np.testing.assert_array_equal(holes[0, -1], whole[0, -1])


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=25),
    later=st.lists(st.floats(-3.0, 3.0), max_size=5),
)
def test_later_windows_change_nothing_that_was_known(
    values: list[float], later: list[float]
) -> None:
    short = describe(np.array([values]))
    long = describe(np.array([values + later]))
    np.testing.assert_array_equal(short[0], long[0, : len(values) + 1])


@pytest.mark.parametrize(
    ("logs", "left"),
    [
        pytest.param([0.0, 0.1, 0.0, 0.1, 2.0, 2.0, 2.1], 3, id="rise"),
        pytest.param([2.0, 2.1, 2.0, 0.0, 0.1, 0.0], 3, id="fall"),
        pytest.param([0.0, 0.1, 0.0, 0.1, 2.0, 2.0], 6, id="two-windows-are-not-enough"),
        pytest.param([0.0, 0.1, 0.0, 0.3, 0.35, 0.3], 6, id="factor-too-small"),
        pytest.param([0.0, 1.0, 0.0, 1.4, 1.6, 1.5], 6, id="steps-were-as-large-before"),
        pytest.param([0.0, 0.1, 0.0, 2.0, 0.05, 2.0, 2.0], 7, id="came-back-in-between"),
    ],
)
def test_a_shift_is_a_lasting_move_beyond_all_that_was(logs: list[float], left: int) -> None:
    result = describe(np.array([logs]))
    assert result[0, -1, conformal_features.COUNT] == left
    assert result[0, -1, conformal_features.SHIFTED] == float(left < len(logs))


def test_quantiles_without_a_prior_are_ranks() -> None:
    scores = np.arange(1.0, 101.0)
    prior = np.full(len(priors.LEVELS), 1e3)
    assert conformal_scores.weighted_quantile(scores, prior, 0.0, 0.95) == 95.0
    assert conformal_scores.weighted_quantile(scores, prior, 0.0, 0.99) == 99.0


def test_a_prior_of_as_many_scores_has_half_a_say() -> None:
    # Half of the weight lies at 1000, so the median is the largest of the 100 others.
    scores = np.arange(1.0, 101.0)
    prior = np.full(len(priors.LEVELS), 1e3)
    assert conformal_scores.weighted_quantile(scores, prior, 100.0, 0.5) == 100.0
    assert conformal_scores.weighted_quantile(scores, prior, 100.0, 0.51) == 1e3


def test_without_scores_the_prior_answers() -> None:
    result = conformal_scores.weighted_quantile(np.empty(0), priors.SCORES[0, 0], 60.0, 0.9)
    place = priors.LEVELS.tolist().index(0.9)
    assert result == priors.SCORES[0, 0, place]


def test_the_built_in_scores_fit_the_rules() -> None:
    classes, rules = len(conformal_scores.CLASSES), len(conformal_scores.RULES)
    assert priors.SCORES.shape == (classes, rules, len(priors.LEVELS))
    assert (np.diff(priors.SCORES, axis=2) >= 0.0).all()
    assert priors.WEIGHTS.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("count", "aimed"),
    [
        pytest.param(10_000, 0.05 - 0.00218, id="many: one standard error"),
        pytest.param(10, 0.025, id="few: half"),
    ],
)
def test_few_scores_aim_lower(count: int, aimed: float) -> None:
    # sqrt(0.05 x 0.95 / 10000) = 0.00218
    assert conformal_scores.tighten(0.05, count) == pytest.approx(aimed, abs=1e-5)


@pytest.mark.parametrize(
    ("count", "aimed"), [(0, 0.05 / 1.5), (30, 0.05 * (0.5 + 0.5 / 1.5)), (60, 0.05), (500, 0.05)]
)
def test_scores_of_other_fleets_aim_lower_than_own_ones(count: int, aimed: float) -> None:
    # 30 own scores beside a table worth 60 are half of the way.
    assert conformal_scores.distrust(0.05, count, 60.0) == pytest.approx(aimed)


def test_the_parts_of_a_window_say_how_much_it_varies() -> None:
    # Differences 1, -1, 2: the root of (1 + 1 + 4) / 3; one part says nothing.
    steps = conformal_features.part_steps(np.array([[[0.0, 1.0, 0.0, 2.0], [3.0, NAN, NAN, NAN]]]))
    assert steps[0, 0] == pytest.approx(np.sqrt(2.0))
    assert np.isnan(steps[0, 1])


def test_a_single_window_is_scaled_by_its_parts_and_many_by_their_own_steps() -> None:
    logs = np.array([[0.0, 0.5, 0.0]])
    features = conformal_features.window_features(logs, np.full((1, 3), 0.2), RULES)
    steps = conformal_scores.shrink_steps(features)[0]
    # One window: its parts. Three: (2 x 0.04 + 2 x 0.25) / 4.
    assert steps[1] == pytest.approx(0.2)
    assert steps[3] == pytest.approx(np.sqrt(0.58 / 4.0))


def test_an_idle_container_may_become_a_usual_one() -> None:
    logs = np.array([[-4.0], [2.0], [2.0]])
    past = conformal_scores.Past(logs, describe(logs), -9.0, 60.0, 200, 1.6)
    ceilings = conformal_scores.find_ceilings(past, past.features[:, -1])
    assert ceilings.tolist() == [3.6, 3.6, 3.6]


def test_containers_are_classed_by_what_is_known() -> None:
    counts = np.array([NAN, 0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 8.0, 50.0])
    assert conformal_scores.find_classes(counts).tolist() == [-1, -1, 0, 1, 1, 2, 2, 3, 3]


def test_the_rule_is_the_one_that_would_have_reserved_least() -> None:
    rng = np.random.default_rng(1)
    # A random walk is best known by its last window; bursts around a level by their mean or more.
    walk = np.cumsum(0.1 * rng.standard_normal((200, 30)), axis=1)
    noise = 0.5 * rng.standard_normal((200, 30))
    chosen = []
    for logs in (walk, noise):
        features = describe(logs, conformal_features.FeatureRules(28, 4.0, 1.5, 4.0))
        past = conformal_scores.Past(logs, features, -np.inf, 60.0, 200, 5.0)
        result = conformal_scores.answer(past, (0.1,))
        chosen.append(conformal_scores.RULES[int(result.rules[0])])
    assert {chosen[0].first, chosen[0].second} <= {
        conformal_features.LAST, conformal_features.RECENT, conformal_features.MAX4,
    }  # fmt: skip
    assert (chosen[1].first, chosen[1].second) == (
        conformal_features.RECENT,
        conformal_features.MEAN,
    )


def test_windows_below_the_least_amount_are_never_missed() -> None:
    logs = np.tile(np.array([0.0, 1.0]), (100, 10))
    features = describe(logs)
    past = conformal_scores.Past(logs, features, 1.0, 0.0, 50, 5.0)
    result = conformal_scores.answer(past, (0.1,))
    assert result.amounts[:, 0].tolist() == [1.0] * 100


def test_runs_are_collected_by_container() -> None:
    logs = np.array([1.0, 3.0, NAN, 5.0])
    result = conformal_runs.collect(logs, np.array([0, 0, 1, 2]), 3)
    assert result.counts.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(result.means, [2.0, NAN, 5.0])
    assert result.variances.tolist() == [2.0, 0.0, 0.0]


def draw_runs(spreads: np.ndarray, runs: int, seed: int) -> conformal_runs.RunPeaks:
    rng = np.random.default_rng(seed)
    logs = spreads[:, None] * rng.standard_normal((len(spreads), runs))
    owners = np.repeat(np.arange(len(spreads)), runs)
    return conformal_runs.collect(logs.ravel(), owners, len(spreads))


def test_a_fleet_that_agrees_is_trusted_and_one_that_differs_is_not() -> None:
    alike = conformal_runs.find_spread(draw_runs(np.full(200, 0.03), 5, 1))
    apart = conformal_runs.find_spread(draw_runs(np.geomspace(0.005, 0.5, 200), 5, 2))
    assert alike.deviation == pytest.approx(0.03, rel=0.1)
    assert alike.freedom > 50.0
    assert apart.freedom < 3.0


def test_few_containers_say_nothing_about_the_fleet() -> None:
    result = conformal_runs.find_spread(draw_runs(np.full(4, 0.3), 5, 3))
    assert result == conformal_runs.PeakSpread(0.02, 1.0)


def test_the_bound_of_runs_is_missed_as_often_as_asked() -> None:
    # Spreads that differ from container to container, three runs each, the fourth is judged.
    rng = np.random.default_rng(4)
    spreads = 0.05 * np.sqrt(4.0 / rng.chisquare(4, 20_000))
    sample = draw_runs(spreads, 3, 5)
    margin = conformal_runs.reach(sample, conformal_runs.find_spread(sample), 0.05)
    missed = spreads * rng.standard_normal(20_000) > sample.means + margin
    # Three standard errors: 0.46 percentage points.
    assert missed.mean() == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("place", [0.3, 1.0, 7.5, 200.0])
def test_the_trigamma_function_is_inverted(place: float) -> None:
    value = float(special.polygamma(1, place))
    assert conformal_runs.invert_trigamma(value) == pytest.approx(place, rel=1e-6)


def test_start_up_peaks_are_of_pods_that_were_seen_to_start() -> None:
    memory = np.array(
        [
            [9.0, 9.0, 1.0, 1.0],  # there from the first point: may have started long ago
            [NAN, 5.0, 2.0, 7.0],  # started: 5 and 2 count, 7 comes later
            [NAN, NAN, NAN, 3.0],  # started at the last point
            [NAN, NAN, NAN, NAN],
        ]
    )
    usage = arrange(
        ["a", "b", "c"], np.array([0, 0, 1, 2]), 60.0, 240.0, np.full_like(memory, NAN), memory
    )
    assert recommender.find_startup_peaks(usage, 2, 4).tolist() == [5.0, 3.0, 0.0]
    # Only starts at one of the last two points.
    assert recommender.find_startup_peaks(usage, 2, 2).tolist() == [0.0, 3.0, 0.0]
