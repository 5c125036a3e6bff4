"""Loads a scenario: applies overrides, reads traces and profiles."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubestow.model import decoding, errors
from kubestow.policies.placing import profiles
from kubestow.simulation import checks, run, scenarios
from kubestow.sources import manifests as files
from kubestow.sources import traces
from kubestow.workflows import parameter_values

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A scenario that is ready to run.

    Attributes:
        scenario: The scenario.
        inputs: The files it refers to.
        value: The document, with overrides applied.
    """

    scenario: scenarios.Scenario
    inputs: run.Inputs
    value: Mapping[str, Any]


def load(source: str | Mapping[str, Any], changes: Iterable[str] = ()) -> Loaded:
    """Read a scenario from a file or a decoded document.

    Args:
        source: Path of the file, ``-``, or the document.
        changes: Overrides ``path=value``; paths begin below ``spec``, e.g.
            ``policies.scaling.target.cpu=0.7`` or ``workloads[0].replicas=3``.

    Raises:
        InputError: With the path of the first mistake.
    """
    place, folder, document = _read_document(source)
    value = copy.deepcopy(document)
    for change in changes:
        path, text = split_change(change)
        set_value(value, path, parameter_values.parse_value(text, path), f"changes {change}")
    return read(value, place, folder)


def _read_document(source: str | Mapping[str, Any]) -> tuple[str, Path, Any]:
    """Return the name for error messages, the folder and the document."""
    if not isinstance(source, str):
        return "scenario", Path(), dict(source)
    documents = files.read_documents(source)
    if len(documents) != 1:
        raise errors.InputError(source, f"expected one scenario, found {len(documents)} documents")
    folder = Path() if source == "-" else Path(source).parent
    return documents[0].place.removesuffix("#1"), folder, documents[0].value


def read(value: Any, place: str, folder: Path) -> Loaded:
    """Read a decoded scenario and the files it refers to, relative to a folder."""
    scenario = scenarios.read_scenario(value, place)
    _check_failures(scenario.spec, place)
    inputs = run.Inputs(
        profile=_profile(scenario.spec, place, folder), traces=_traces(scenario.spec, folder)
    )
    checks.check(scenario.spec, place)
    return Loaded(scenario, inputs, value)


def _check_failures(spec: scenarios.ScenarioSpec, place: str) -> None:
    for index, failure in enumerate(spec.failures):
        names = [name for pool in spec.cluster.nodes for name in pool.names()]
        if failure.node not in names:
            raise errors.InputError(
                f"{place}: spec.failures[{index}].node",
                f"{failure.node!r}: expected the name of a node, {names[0]} to {names[-1]}",
            )


def split_change(change: str) -> tuple[str, str]:
    """Split ``path=value``."""
    path, sign, text = change.partition("=")
    if not sign or not path:
        raise errors.InputError("changes", f"{change!r}: expected path=value")
    return path, text


def set_value(value: Any, path: str, new: Any, place: str) -> None:
    """Set one value of a decoded scenario; missing mappings on the path are added."""
    steps = [name or int(index) for name, index in _STEP.findall(path)]
    if not steps:
        raise errors.InputError(place, "expected a path such as policies.scaling.max")
    if steps[0] not in ("spec", "metadata", "apiVersion", "kind"):
        steps.insert(0, "spec")
    here = value
    for position, step in enumerate(steps[:-1]):
        here = _descend(here, step, steps[position + 1], place)
    last = steps[-1]
    if isinstance(last, int):
        if not isinstance(here, list) or last >= len(here):
            raise errors.InputError(place, f"there is no entry [{last}]")
        here[last] = new
    elif isinstance(here, dict):
        here[last] = new
    else:
        raise errors.InputError(place, f"{last!r} is not inside a mapping")


def _descend(here: Any, step: str | int, following: str | int, place: str) -> Any:
    if isinstance(step, int):
        if not isinstance(here, list) or step >= len(here):
            raise errors.InputError(place, f"there is no entry [{step}]")
        return here[step]
    if not isinstance(here, dict):
        raise errors.InputError(place, f"{step!r} is not inside a mapping")
    if here.get(step) is None:
        if isinstance(following, int):
            raise errors.InputError(place, f"there is no list {step!r}")
        here[step] = {}
    return here[step]


def _profile(spec: scenarios.ScenarioSpec, place: str, folder: Path) -> profiles.Profile:
    placing = spec.policies.placing
    if placing.config is None:
        return profiles.make_profile(placing.profile)
    documents = files.read_documents(str(folder / placing.config))
    where = f"{place}: spec.policies.placing.config"
    if len(documents) != 1:
        raise errors.InputError(where, f"expected one document, found {len(documents)}")
    read_profiles = profiles.read_configuration(
        decoding.Field(documents[0].value, documents[0].place)
    )
    for profile in read_profiles:
        if profile.name == profiles.Profile().name:
            return profile
    return next(iter(read_profiles))


def _traces(spec: scenarios.ScenarioSpec, folder: Path) -> dict[str, scenarios.SignalTrace]:
    signals = {}
    for signal in _signals(spec):
        if signal.pattern == scenarios.TRACE and signal.trace is not None:
            read_series = traces.read_series(folder / signal.trace, signal.column)
            if (read_series.values < 0.0).any():
                where = f"{folder / signal.trace}: {read_series.name}"
                raise errors.InputError(where, f"{read_series.values.min():g}: must be >= 0")
            end_s = float(read_series.times_s[-1]) + max(read_series.step_s, spec.step)
            signals[scenarios.trace_key(signal)] = scenarios.SignalTrace(
                read_series.times_s, read_series.values, end_s
            )
    return signals


def _signals(spec: scenarios.ScenarioSpec) -> Iterable[scenarios.Signal]:
    for workload in spec.workloads:
        if workload.demand is not None:
            yield workload.demand
        pods = workload.pod
        for usage in (pods.usage, *(container.usage for container in pods.containers)):
            yield from _uses(usage)


def _uses(usage: scenarios.ScenarioUsage | None) -> Iterable[scenarios.Signal]:
    if usage is not None:
        signals = (usage.cpu, usage.memory, usage.network, usage.disk_io)
        yield from (signal for signal in signals if signal is not None)
