"""Windows, gates, and what is learnt from and held out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.gru import cells, networks, training
from kubestow.policies.forecasting.gru import options as gru_options


def test_windows_end_at_each_point_oldest_first() -> None:
    channels = np.arange(5.0)[None, :, None] * np.array([1.0, 10.0])
    result = networks.cut_windows(channels, 3)
    assert result.shape == (1, 3, 3, 2)
    assert result[0, 1].tolist() == [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]


def test_gates_are_the_best_share_and_close_where_nothing_is_gained() -> None:
    # Said 1 and 1 where 0.5 and 0.5 was right: half of it. Said the contrary: nothing. Said four
    # times too little: all of it, not more. Said what does not matter: nothing.
    result = np.array([[[1.0, 1.0, 0.25, 1.0], [1.0, 1.0, 0.25, -1.0]]])
    targets = np.array([[[0.5, -1.0, 1.0, 1.0], [0.5, -1.0, 1.0, 1.0]]])
    assert networks.set_gates(result, targets, 0.005).tolist() == [[0.5, 0.0, 1.0, 0.0]]


def test_a_gain_below_the_least_closes_the_gate() -> None:
    # Share 0.1 of 1 against targets 1.1 and -0.9: squared error 2.02 -> 2.00, 1 % less.
    result, targets = np.ones((1, 2, 1)), np.array([[[1.1], [-0.9]]])
    assert networks.set_gates(result, targets, 0.005)[0, 0] == pytest.approx(0.1)
    assert networks.set_gates(result, targets, 0.02)[0, 0] == 0.0


@pytest.mark.parametrize(("points", "shape"), [(24, (6, 4)), (60, (15, 10)), (1000, (30, 12))])
def test_short_series_have_short_windows_and_horizons(points: int, shape: tuple[int, int]) -> None:
    assert networks.fit_shape(points, gru_options.GruOptions()) == shape


def test_no_target_that_is_learnt_from_reaches_into_the_held_out_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, Floats] = {}

    def train(
        start: cells.Weights,
        learnt: tuple[Floats, Floats],
        held_out: tuple[Floats, Floats],
        options: gru_options.GruOptions,
        rng: np.random.Generator,
    ) -> cells.Weights:
        seen["learnt"], seen["targets"] = learnt
        seen["held out"], seen["held targets"] = held_out
        return start

    monkeypatch.setattr(networks, "open_trainer", lambda _: SimpleNamespace(train=train))
    points, horizon, window = 40, 3, 5
    numbers = np.arange(points, dtype=np.float64)
    channels = np.repeat(numbers[None, :, None], 2, axis=0)
    # The target of a step is the number of the point it speaks of.
    targets = channels + np.arange(1, horizon + 1)
    options = gru_options.GruOptions(held_out=0.2)
    networks.train(channels, targets, window, options, "gru")
    # 8 of 40 points are held out: 32 to 39. The last origin learnt from is 28 (29, 30, 31).
    assert seen["learnt"][-1, -1, 0] == 28.0
    assert seen["targets"].max() == 31.0
    assert seen["learnt"][0, :, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    # Held-out origins look at 32 first and at 39 last.
    assert seen["held targets"][:, 0].min() == 32.0
    assert seen["held targets"].max() == 39.0
    assert np.array_equal(seen["held out"][:, -1, 0] + 1.0, seen["held targets"][:, 0])
    assert len(seen["learnt"]) == 2 * (28 - 4 + 1)


def test_batches_are_equally_large_and_hold_every_window_once_before_filling_up() -> None:
    options = gru_options.GruOptions(batch=8, windows_per_epoch=100)
    batches = training.draw_batches(20, options, np.random.default_rng(0))
    assert [len(batch) for batch in batches] == [8, 8, 8]
    assert sorted(np.concatenate(batches)[:20].tolist()) == list(range(20))


def test_a_pass_takes_no_more_windows_than_allowed() -> None:
    options = gru_options.GruOptions(batch=8, windows_per_epoch=16)
    batches = training.draw_batches(1000, options, np.random.default_rng(0))
    assert len(batches) == 2


def test_the_learning_rate_falls_to_a_tenth() -> None:
    options = gru_options.GruOptions(epochs=11, rate=0.01)
    rates = [training.rate_at(epoch, options) for epoch in range(11)]
    assert rates[0] == pytest.approx(0.01)
    assert rates[5] == pytest.approx(0.0055)
    assert rates[-1] == pytest.approx(0.001)
    assert rates == sorted(rates, reverse=True)
