"""Studies of `kubestow study`, by name."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kubestow.model import errors
from kubestow.model.progress import Progress
from kubestow.studies.boettcher import study as boettcher
from kubestow.studies.mcnaughton import study as mcnaughton
from kubestow.studies.options import StudyOptions
from kubestow.studies.own import vector_packing
from kubestow.studies.own.adaptive_packing import study as adaptive_packing
from kubestow.studies.own.sizing_loop import study as sizing_loop
from kubestow.studies.own.sizing_risks import study as sizing_risks
from kubestow.studies.own.trace_scaling import study as trace_scaling
from kubestow.studies.schubert.forecast import study as schubert_forecast
from kubestow.studies.schubert.limits import study as schubert_limits
from kubestow.studies.schubert.packing import study as schubert_packing
from kubestow.studies.shi.balance import study as shi_balance
from kubestow.studies.shi.forecast import study as shi_forecast
from kubestow.studies.shi.limits import study as shi_limits
from kubestow.studies.shi.scaling import study as shi_scaling

Run = Callable[[StudyOptions, Progress], dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class Study:
    """A reproducible experiment.

    Attributes:
        name: Name on the command line.
        summary: One sentence on the question it answers.
        run: Runs the study, writes its files, and returns the content of results.json.
    """

    name: str
    summary: str
    run: Run


_ALL = (
    Study(
        "schubert-packing",
        "Packing heuristics of Schubert 2023: appendix A.4 and Table 5.1, cell by cell.",
        schubert_packing.run,
    ),
    Study(
        "adaptive-packing",
        "The heuristic `adaptive` and those of the thesis, on settings it was not tuned on.",
        adaptive_packing.run,
    ),
    Study(
        "vector-packing",
        "Heuristics, search and exact solver on public instances with proven optima.",
        vector_packing.run,
    ),
    Study(
        "schubert-forecast",
        "ARIMA with a margin and VPA: shortages and over-reservation, Schubert 2023 E7 to E9.",
        schubert_forecast.run,
    ),
    Study(
        "schubert-limits",
        "How full may a node get: this machine under load, and a cluster before and after packing.",
        schubert_limits.run,
    ),
    Study(
        "mcnaughton-scaling",
        "Does scaling one pod start-up ahead pay: McNaughton 2016, all claims; cost and latency.",
        mcnaughton.run,
    ),
    Study(
        "shi-forecast",
        "ARIMA, GRU and ARIMA-GRU of Shi 2023 and cheap models, on groups and public traces.",
        shi_forecast.run,
    ),
    Study(
        "shi-scaling",
        "Scaling before the load arrives: the 600 s experiment of Shi 2023, with numbers.",
        shi_scaling.run,
    ),
    Study(
        "shi-balance",
        "Placing by load: CLBP of Shi 2023, as printed and corrected; balance, background, bursts.",
        shi_balance.run,
    ),
    Study(
        "shi-limits",
        "Limits that follow usage: Shi 2023, as printed and with safeguards; savings and cost.",
        shi_limits.run,
    ),
    Study(
        "trace-scaling",
        "Overloaded requests and cost on real request traces, with a perfect forecast as bound.",
        trace_scaling.run,
    ),
    Study(
        "sizing-risks",
        "Does the stated miss probability of `conformal` hold, and what does it cost?",
        sizing_risks.run,
    ),
    Study(
        "sizing-loop",
        "Nodes, OOM kills and pending time when recommenders set requests in a running cluster.",
        sizing_loop.run,
    ),
    Study(
        "boettcher-requests",
        "Requests of repeated runs: Boettcher 2023, learning agents and closed forms.",
        boettcher.run,
    ),
)

REGISTRY: Mapping[str, Study] = MappingProxyType({study.name: study for study in _ALL})
"""All studies by name."""


def get(name: str) -> Study:
    """Return a study by name."""
    if name not in REGISTRY:
        raise errors.InputError("study", f"{name!r}: must be one of {', '.join(REGISTRY)}")
    return REGISTRY[name]


def default_folder(name: str) -> pathlib.Path:
    """Return the output folder that is used by default."""
    return pathlib.Path("out") / name
