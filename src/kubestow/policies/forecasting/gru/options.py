"""Architecture and training options of the networks of ``models`` and ``hybrid``.

Shi 2023 gives no layers, units, window, optimiser, rate, epochs, batch, loss, scaling or horizon.
The defaults are the usual ones for single series, with their sources.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kubestow.model import errors

LOSSES = ("mse", "huber")


@dataclass(frozen=True, slots=True)
class GruOptions:
    """Architecture and training of a network.

    Attributes:
        window: Number of last points in its input; fewer if the series are short. Five minutes of
            samples every 10 s, half an hour of samples every minute.
        units: Hidden units of the cell; 32 easily learn the synthetic maps of the tests.
        horizon: Number of steps it predicts at once; fewer if the series are short.
        biases: Whether the cell has biases. The thesis prints none.
        relative: Whether it predicts the change since the last point and also gets the last changes
            as input. A network of levels first has to learn that the last value is a good forecast.
        gated: Whether its output is used only where it reduces the error on the held-out windows,
            separately for each series and step.
        gain: Share by which it must reduce the squared error there.
        rate: Initial learning rate of Adam (Kingma and Ba 2015); decays to a tenth along a cosine.
        batch: Windows per step.
        epochs: Maximum number of passes over the windows.
        patience: Passes without improvement before training stops.
        windows_per_epoch: Maximum number of windows per pass, drawn again for each pass: many
            series cost no more than one long one.
        held_out: Share of the history, at its end, used for early stopping.
        loss: ``mse`` or ``huber``.
        seed: Seed of initial weights and batches.
    """

    window: int = 30
    units: int = 32
    horizon: int = 12
    biases: bool = True
    relative: bool = True
    gated: bool = True
    gain: float = 0.005
    rate: float = 1e-3
    batch: int = 64
    epochs: int = 40
    patience: int = 6
    windows_per_epoch: int = 8192
    held_out: float = 0.15
    loss: str = "mse"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("window", "units", "horizon", "batch", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise errors.InputError(f"gru {name}", f"{getattr(self, name)}: expected 1 or more")
        if self.windows_per_epoch < self.batch:
            raise errors.InputError(
                "gru windows_per_epoch",
                f"{self.windows_per_epoch}: expected at least a batch ({self.batch})",
            )
        if not 0.0 < self.held_out <= 0.5:
            raise errors.InputError(
                "gru held_out", f"{self.held_out}: expected more than 0, at most 0.5"
            )
        if self.loss not in LOSSES:
            raise errors.InputError("gru loss", f"{self.loss!r}: expected one of {LOSSES}")


def strict(**changes: Any) -> GruOptions:
    """Return the options nearest to the thesis: levels, no biases, always used.

    Args:
        changes: Other differences from the defaults.
    """
    return replace(GruOptions(biases=False, relative=False, gated=False), **changes)
