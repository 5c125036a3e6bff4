"""Runs of scaling experiments: one scenario, one scaler, one target, one seed, stored on disk.

Tasks run in several processes. Each finished run is a small file, so an interrupted study resumes
where it stopped. Results do not depend on the number of processes.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

import kubestow
from kubestow.model.arrays import Floats
from kubestow.model.progress import Progress
from kubestow.simulation import outcomes, run
from kubestow.workflows import comparing, scenario_files

FORMAT: Final = 4
"""Raise it when the simulator or a scaler computes something else: stored runs are not reused."""


@dataclass(frozen=True, slots=True)
class ScalingVariant:
    """One scaler with its settings, as compared by a study.

    Attributes:
        name: Its name in rows and figures.
        scaler: The scaler.
        parameters: Its parameters.
        changes: Further changes of the scenario, by path below ``spec``.
    """

    name: str
    scaler: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScalingTask:
    """One run.

    Attributes:
        scenario: The scenario document.
        place: Name of the scenario, for errors and file names.
        variant: The scaler.
        target: Target CPU utilisation.
        seed: Seed of the run.
    """

    scenario: Mapping[str, Any]
    place: str
    variant: ScalingVariant
    target: float
    seed: int

    @property
    def label(self) -> str:
        """Name of the run in progress reports and file names."""
        return f"{self.place}-{self.variant.name}-{self.target:g}-s{self.seed}"


class ScalingRun(msgspec.Struct, frozen=True):
    """The stored record of a run.

    Attributes:
        key: Fingerprint of everything it depends on.
        measures: Measures of the outcome.
        columns: Columns of the timeline of the first workload.
    """

    key: str
    measures: dict[str, Any]
    columns: dict[str, list[float | None]]

    def column(self, name: str) -> Floats:
        """Return a column; missing values are NaN."""
        return np.array([np.nan if v is None else v for v in self.columns[name]], dtype=np.float64)

    def minutes(self) -> comparing.Minutes:
        """Return utilisation and response times per minute."""
        with np.errstate(invalid="ignore", divide="ignore"):
            eru = self.column("used_cpu") / self.column("requested_cpu")
        return comparing.Minutes(self.column("time_s"), eru, self.column("response_s"))


COLUMNS: Final = (
    "time_s", "replicas", "ready", "existing", "used_cpu", "requested_cpu", "demand", "late",
    "dropped", "response_s",
)  # fmt: skip


def document(task: ScalingTask) -> dict[str, Any]:
    """Return the scenario of a run."""
    value: dict[str, Any] = copy.deepcopy(dict(task.scenario))
    scaling = value["spec"]["policies"].setdefault("scaling", {})
    scaling["scaler"] = task.variant.scaler
    scaling["target"] = {"cpu": task.target}
    if task.variant.parameters:
        scaling["parameters"] = dict(task.variant.parameters)
    for path, new in task.variant.changes.items():
        scenario_files.set_value(value, f"spec.{path}", new, task.place)
    return value


def compute(task: ScalingTask) -> bytes:
    """Run a task and return its record as JSON."""
    value = document(task)
    loaded = scenario_files.read(value, task.place, Path())
    outcome = run.run(loaded.scenario, loaded.inputs, task.seed)
    key = digest(value, task.seed)
    return comparing.encode(ScalingRun(key, dict(outcome.measures), _columns(outcome)))


def digest(value: Mapping[str, Any], seed: int) -> str:
    """Return a fingerprint of everything a run depends on."""
    everything = (FORMAT, kubestow.__version__, seed, value)
    return hashlib.sha256(msgspec.json.encode(everything, order="sorted")).hexdigest()


def _columns(outcome: outcomes.RunOutcome) -> dict[str, list[float | None]]:
    columns: dict[str, list[float | None]] = {}
    for name in COLUMNS:
        values = np.stack(outcome.workload_columns[name])[:, 0].astype(np.float64)
        columns[name] = [None if np.isnan(v) else round(float(v), 6) for v in values]
    return columns


def run_all(
    tasks: Sequence[ScalingTask], folder: Path | None, jobs: int, progress: Progress
) -> list[ScalingRun]:
    """Return all runs in the order of the tasks; those in the folder are reused."""
    parts = [make_part(task) for task in tasks]
    return comparing.run_parts(parts, folder, ScalingRun, compute, progress, jobs=jobs)


def make_part(task: ScalingTask) -> comparing.Part[ScalingTask]:
    """Return a run as a resumable part of a study."""
    key = digest(document(task), task.seed)
    return comparing.Part(task, key, f"{task.label}-{key[:10]}.json", task.label)
