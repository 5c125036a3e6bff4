"""Options of networks: what is refused, and what strict means."""

from __future__ import annotations

import pytest

from kubestow.model import errors
from kubestow.policies.forecasting.gru import options as gru_options


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": 0}, "gru window: 0: expected 1 or more"),
        ({"units": -3}, "gru units: -3"),
        ({"windows_per_epoch": 10}, "10: expected at least a batch \\(64\\)"),
        ({"held_out": 0.0}, "gru held_out: 0.0: expected more than 0, at most 0.5"),
        ({"held_out": 0.6}, "gru held_out: 0.6"),
        ({"loss": "mae"}, "gru loss: 'mae': expected one of"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    changes: dict[str, int | float | str], message: str
) -> None:
    with pytest.raises(errors.InputError, match=message):
        gru_options.strict(**changes)


def test_strict_options_predict_levels_without_biases_always() -> None:
    options = gru_options.strict(horizon=1)
    assert (options.relative, options.biases, options.gated) == (False, False, False)
    assert options.horizon == 1
    assert options.window == gru_options.GruOptions().window
