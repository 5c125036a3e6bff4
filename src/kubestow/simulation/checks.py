"""Checks of a scenario against the registries: names and parameters of policies."""

from __future__ import annotations

from typing import Any

from kubestow.model import decoding, errors
from kubestow.policies.moving import registry as movers
from kubestow.policies.scaling import hpa, registry
from kubestow.policies.sizing import registry as sizing_registry
from kubestow.simulation import loops, scenarios, world


def check(spec: scenarios.ScenarioSpec, place: str) -> None:
    """Refuse scalers, recommenders, targets, rules and parameters that do not exist.

    Raises:
        InputError: With the path of the first one.
    """
    _check_scaling(spec.policies.scaling, decoding.Field(None, place, "spec.policies.scaling"))
    _check_sizing(spec.policies.sizing, decoding.Field(None, place, "spec.policies.sizing"))
    moving = spec.policies.moving
    raw = decoding.Field(moving.parameters or {}, place, "spec.policies.moving.parameters")
    decoding.read_structure(movers.MOVERS.get(moving.plan).parameters, raw)
    for index, workload in enumerate(spec.workloads):
        path = f"spec.workloads[{index}]"
        if workload.scaling is not None:
            where = decoding.Field(workload.scaling, place, f"{path}.scaling")
            scaling = world.override_policy(scenarios.ScalingPolicy, spec.policies.scaling, where)
            _check_scaling(scaling, where)
            if workload.kind not in loops.SCALABLE and scaling.scaler != scenarios.NO_SCALER:
                kinds = " or ".join(loops.SCALABLE)
                raise _refuse(where, "scaler", scaling.scaler, f"only a {kinds} can be scaled")
        if workload.sizing is not None:
            where = decoding.Field(workload.sizing, place, f"{path}.sizing")
            sizing = world.override_policy(scenarios.SizingPolicy, spec.policies.sizing, where)
            _check_sizing(sizing, where)


def _refuse(where: decoding.Field, key: str, value: Any, expectation: str) -> errors.InputError:
    return decoding.Field(value, where.place, f"{where.path}.{key}").refuse(expectation)


def _check_scaling(scaling: scenarios.ScalingPolicy, where: decoding.Field) -> None:
    if scaling.scaler == scenarios.NO_SCALER:
        return
    if scaling.scaler not in registry.SCALERS:
        known = ", ".join((scenarios.NO_SCALER, *registry.SCALERS))
        raise _refuse(where, "scaler", scaling.scaler, f"expected one of {known}")
    for name in scaling.target:
        if name not in loops.TARGETS:
            known = ", ".join(loops.TARGETS)
            raise _refuse(where, f"target.{name}", scaling.target[name], f"expected {known}")
    raw = decoding.Field(scaling.parameters or {}, where.place, f"{where.path}.parameters")
    decoding.read_structure(registry.SCALERS.get(scaling.scaler).parameters, raw)
    hpa.read_behavior(decoding.Field(scaling.behavior, where.place, f"{where.path}.behavior"))


def _check_sizing(sizing: scenarios.SizingPolicy, where: decoding.Field) -> None:
    if sizing.recommender not in sizing_registry.RECOMMENDERS:
        known = ", ".join(sizing_registry.RECOMMENDERS)
        raise _refuse(where, "recommender", sizing.recommender, f"expected one of {known}")
    raw = decoding.Field(sizing.parameters or {}, where.place, f"{where.path}.parameters")
    decoding.read_structure(sizing_registry.RECOMMENDERS.get(sizing.recommender).parameters, raw)
