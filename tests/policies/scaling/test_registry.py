"""Scalers by name."""

from __future__ import annotations

import dataclasses
import json

import pytest

from kubestow.model import errors
from kubestow.policies.scaling import decisions, registry
from tests.policies.scaling import make

NAMES = sorted(registry.SCALERS)


@pytest.mark.parametrize("name", NAMES)
def test_every_scaler_keeps_the_protocol(name: str) -> None:
    entry = registry.SCALERS.get(name)
    scaler = entry.make(make.spec(make.CPU), entry.parameters())
    memory = scaler.start()
    assert isinstance(memory, decisions.ScalerMemory)
    decision, after = scaler.decide(make.busy(0.0, [90.0, 95.0]), memory)
    assert (scaler.name, decision.record().kind) == (name, "scaling")
    kept = json.dumps(after.as_json(), allow_nan=False)
    assert scaler.restore(json.loads(kept)).as_json() == after.as_json()
    assert {"t", "proposed", "desired", "reason"} <= decision.as_json().keys()


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_frozen_and_documented(name: str) -> None:
    kind = registry.SCALERS.get(name).parameters
    made = kind()
    for field in dataclasses.fields(kind):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)
        given = (field.default, field.default_factory)
        assert given != (dataclasses.MISSING, dataclasses.MISSING), field.name
        assert f"        {field.name}: " in (kind.__doc__ or ""), field.name


def test_unknown_names_are_refused() -> None:
    with pytest.raises(errors.InputError, match="'hqa': must be one of"):
        registry.SCALERS.get("hqa")
