"""Rules that need the policies: whether names and parameters of a scenario exist."""

from __future__ import annotations

from typing import Any

from kubestow.model import errors, fields, structures
from kubestow.policies.moving import registries as movers
from kubestow.policies.scaling import configurations, registries, versions
from kubestow.policies.sizing import registry as sizing_registry
from kubestow.simulation import scaling_loops, settings
from kubestow.simulation.scenarios import documents, loops


def check(spec: documents.Spec, place: str) -> None:
    """Refuse scalers, recommenders, targets, rules and parameters that do not exist.

    Raises:
        InputError: With the path of the first one.
    """
    _check_scaling(spec.policies.scaling, fields.Field(None, place, "spec.policies.scaling"))
    _check_sizing(spec.policies.sizing, fields.Field(None, place, "spec.policies.sizing"))
    moving = spec.policies.moving
    raw = fields.Field(moving.parameters or {}, place, "spec.policies.moving.parameters")
    structures.read(movers.REGISTRY[moving.plan].parameters, raw)
    for index, workload in enumerate(spec.workloads):
        path = f"spec.workloads[{index}]"
        if workload.scaling is not None:
            where = fields.Field(workload.scaling, place, f"{path}.scaling")
            scaling = settings.override(loops.Scaling, spec.policies.scaling, where)
            _check_scaling(scaling, where)
            if workload.kind not in scaling_loops.SCALABLE and scaling.scaler != loops.NO_SCALER:
                kinds = " or ".join(scaling_loops.SCALABLE)
                raise _refuse(where, "scaler", scaling.scaler, f"only a {kinds} can be scaled")
        if workload.sizing is not None:
            where = fields.Field(workload.sizing, place, f"{path}.sizing")
            sizing = settings.override(loops.Sizing, spec.policies.sizing, where)
            _check_sizing(sizing, where)


def _refuse(where: fields.Field, key: str, value: Any, expectation: str) -> errors.InputError:
    return fields.Field(value, where.place, f"{where.path}.{key}").refuse(expectation)


def _check_scaling(scaling: loops.Scaling, where: fields.Field) -> None:
    if scaling.scaler == loops.NO_SCALER:
        return
    if scaling.scaler not in registries.registry:
        known = ", ".join((loops.NO_SCALER, *registries.registry))
        raise _refuse(where, "scaler", scaling.scaler, f"expected one of {known}")
    for name in scaling.target:
        if name not in scaling_loops.TARGETS:
            known = ", ".join(scaling_loops.TARGETS)
            raise _refuse(where, f"target.{name}", scaling.target[name], f"expected {known}")
    raw = fields.Field(scaling.parameters or {}, where.place, f"{where.path}.parameters")
    structures.read(registries.registry[scaling.scaler].parameters, raw)
    document = {"spec": {"maxReplicas": 1, "behavior": scaling.behavior}}
    try:
        configurations.read(fields.Field(document, where.place), versions.features("1.37"))
    except errors.InputError as err:
        inner = err.place.removeprefix(f"{where.place}: spec.")
        raise errors.InputError(f"{where.place}: {where.path}.{inner}", err.problem) from err


def _check_sizing(sizing: loops.Sizing, where: fields.Field) -> None:
    if sizing.recommender not in sizing_registry.REGISTRY:
        known = ", ".join(sizing_registry.REGISTRY)
        raise _refuse(where, "recommender", sizing.recommender, f"expected one of {known}")
    raw = fields.Field(sizing.parameters or {}, where.place, f"{where.path}.parameters")
    structures.read(sizing_registry.REGISTRY[sizing.recommender].parameters, raw)
