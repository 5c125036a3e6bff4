"""How networks are shaped and trained, for ``grus`` and ``arima_grus`` alike.

Shi 2023 gives no layers, units, window, optimiser, rate, epochs, batch, loss, scaling or horizon.
The defaults are the usual ones for single series; each says where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kubestow.model import errors

LOSSES = ("mse", "huber")


@dataclass(frozen=True, slots=True)
class GruOptions:
    """How a network is shaped and trained.

    Attributes:
        window: Points it looks back; fewer if the series are short. Five minutes of samples every
            10 s, half an hour of samples every minute.
        units: Units of the cell; 32 learn the synthetic maps of the tests with room to spare.
        horizon: Steps it predicts at once; fewer if the series are short.
        biases: Whether the cell has biases. The thesis prints none.
        relative: Whether it predicts the change since the last point and sees the last changes,
            too. A network of levels has to learn first that the last value is a good forecast.
        gated: Whether it has to help on the held-out windows, series by series and step by step,
            and is left out where it does not.
        gain: Share by which it must reduce the squared error there to count as helping.
        rate: First learning rate of Adam (Kingma and Ba 2015); falls to a tenth along a cosine.
        batch: Windows per step.
        epochs: The most passes over the windows.
        patience: Passes without improvement before training stops.
        windows_per_epoch: The most windows of a pass, drawn anew each time: many series cost no
            more than one long one.
        held_out: Share of the past, at its end, by which training stops.
        loss: ``mse`` or ``huber``.
        seed: Of first weights and batches.
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
        changes: What else differs from the defaults.
    """
    return replace(GruOptions(biases=False, relative=False, gated=False), **changes)
