"""Without the extra only training a network is refused, with a sentence that helps."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from kubestow.model import errors
from kubestow.policies.forecasting.gru import hybrid, models, networks


def test_models_are_imported_without_the_extra() -> None:
    code = (
        "import sys\n"
        "import kubestow.policies.forecasting.gru.hybrid\n"
        "import kubestow.policies.forecasting.gru.models\n"
        "assert not {'jax', 'equinox', 'optax', 'statsmodels'} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("model", [models.Gru(), hybrid.ArimaGru()], ids=lambda m: m.name)
def test_without_the_extra_training_is_refused(
    model: models.Gru | hybrid.ArimaGru, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def refuse(name: str, package: str | None = None) -> ModuleType:
        if name != networks._TRAINER:  # the compiler imports modules, too
            return real(name, package)
        raise ModuleNotFoundError(f"No module named {name!r}", name="jax.numpy")

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(errors.InputError) as caught:
        model.fit(np.random.default_rng(0).normal(size=(1, 60)))
    assert caught.value.place == f"model {model.name}"
    assert caught.value.problem == "needs the extra 'neural' (pip install 'kubestow[neural]')"


def test_another_missing_module_is_not_mistaken_for_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}", name="kubestow.gone")

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        networks.open_trainer("gru")
