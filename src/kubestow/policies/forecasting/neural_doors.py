"""The one door to the extra ``neural``: opened only when a network is trained.

Everything else, forecasts of trained networks included, works without the extra.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

import numpy as np

from kubestow.model import errors
from kubestow.policies.forecasting import gru_cells, gru_options
from kubestow.policies.forecasting.protocols import Floats

_TRAINER = "kubestow.policies.forecasting.gru_training"
_EXTRA = ("jax", "jaxlib", "equinox", "optax")


class Trainer(Protocol):
    """What the module behind the door offers."""

    def train(
        self,
        start: gru_cells.Weights,
        learnt: tuple[Floats, Floats],
        held_out: tuple[Floats, Floats],
        options: gru_options.Options,
        rng: np.random.Generator,
    ) -> gru_cells.Weights:
        """Return the weights of the epoch that did best on the held-out windows."""
        ...


def open_trainer(model: str) -> Trainer:
    """Return the training module.

    Args:
        model: Name of the model that asks, for the message.

    Raises:
        InputError: If the extra is not installed.
    """
    try:
        return cast("Trainer", importlib.import_module(_TRAINER))
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] in _EXTRA:
            raise errors.InputError(
                f"model {model}", "needs the extra 'neural' (pip install 'kubestow[neural]')"
            ) from error
        raise
