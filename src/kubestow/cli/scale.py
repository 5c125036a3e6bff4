"""``kubestow scale``: what a scaler would have decided."""

from __future__ import annotations

import sys
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import names, options, outputs

if TYPE_CHECKING:
    from kubestow.policies.scaling import decisions, hpa, observations, registry

app = outputs.make_app()


@app.command()
def scale(
    autoscaler: Annotated[
        str,
        typer.Argument(
            metavar="HPA.yaml", help="HorizontalPodAutoscaler manifest, or - for standard input."
        ),
    ],
    seen: Annotated[
        str,
        typer.Argument(
            metavar="OBSERVATIONS.jsonl",
            help="Observations, one JSON object per line, or - for standard input.",
        ),
    ],
    scaler: Annotated[
        str,
        typer.Option(help=f"Replay with this scaler: {names.listed(names.SCALERS, plugins=True)}."),
    ] = "hpa",
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Set a parameter of the scaler. Repeatable."
        ),
    ] = None,
    version: Annotated[
        str, typer.Option(help="Behave like this Kubernetes release.")
    ] = names.VERSION,
    name: Annotated[
        str | None, typer.Option(help="Choose the autoscaler of this name if the file has several.")
    ] = None,
    records: Annotated[
        bool, typer.Option(help="Add the decision record to each JSON entry.")
    ] = False,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Replay recorded observations and show what a scaler would have decided.

    Each line of OBSERVATIONS.jsonl is one sync, for example:

      {"t": 2.042, "currentReplicas": 3, "statusReplicas": 3, "metrics": {"rps": 59.61}}

    A metric is a number (Object, External), samples by pod with null for a missing sample (Pods;
    Resource as "cpu", ContainerResource as "app/cpu"), or "error" for a failed scrape. A line may
    describe its pods, with the keys ready, started, phase, readySince, deleted, sampled, window,
    requests and containers:

      "pods": {"pod-1": {"ready": true, "started": -30.0}}

    Times are seconds on the clock of "t". Decisions are not fed back: replicas stay as recorded.

    Example:
      kubestow scale examples/scale/hpa.yaml examples/scale/observations.jsonl
      kubestow scale examples/scale/hpa.yaml examples/scale/observations.jsonl --set tolerance=0.2
    """
    from kubestow.policies.scaling import hpa, observation_lines, registry
    from kubestow.sources import manifests

    features = hpa.hpa_features(version)
    entry = registry.SCALERS.get(scaler)
    spec = hpa.read_autoscaler(manifests.read_autoscalers(autoscaler, name), features)
    lines = [observation_lines.read(line, features) for line in manifests.read_observations(seen)]
    _note_unread(spec, lines)
    decided = _replay(_make(entry, spec, version, options.read_parameters(changes or ())), lines)
    if output is outputs.Output.JSON:
        outputs.print_json([_entry(decision, records) for decision in decided])
    else:
        _print(decided)
    return 0


def _make(
    entry: registry.ScalerEntry, spec: hpa.AutoscalerSpec, version: str, changes: dict[str, Any]
) -> registry.AnyScaler:
    from kubestow.model import decoding

    known = {field.name for field in dataclass_fields(entry.parameters)}
    given = {**({"version": version} if "version" in known else {}), **changes}
    raw = decoding.Field(given, f"scaler {entry.name}", "parameters")
    return entry.make(spec, decoding.read_structure(entry.parameters, raw))


def _replay(
    scaler: registry.AnyScaler, lines: list[observations.ScalingObservation]
) -> list[decisions.ScalingDecision]:
    memory, decided = scaler.start(), []
    for line in lines:
        decision, memory = scaler.decide(line, memory)
        decided.append(decision)
    return decided


def _note_unread(spec: hpa.AutoscalerSpec, lines: list[observations.ScalingObservation]) -> None:
    """Note on standard error which metric no line has: its name may be misspelt."""
    had = {key for line in lines for key in line.metrics}
    for metric in spec.metrics:
        if metric.key not in had:
            others = ", ".join(sorted(had)) or "none at all"
            sys.stderr.write(
                f"note: no observation has the metric {metric.key!r}; seen: {others}\n"
            )


def _entry(decision: decisions.ScalingDecision, records: bool) -> dict[str, Any]:
    entry = decision.as_json()
    if records:
        entry["record"] = decision.record().as_json()
    return entry


def _print(decided: list[decisions.ScalingDecision]) -> None:
    from rich import markup
    from rich.table import Column, Table

    why = Column("WHY", overflow="fold")  # a selector is one long word
    table = Table("T", "CURRENT", "PROPOSED", "DESIRED", why)
    for decision in decided:
        proposed = "-" if decision.proposed is None else str(decision.proposed)
        style = "bold" if decision.rescale else None
        table.add_row(
            f"{decision.time_s:g}",
            str(decision.current),
            proposed,
            str(decision.desired),
            markup.escape(decision.reason),
            style=style,
        )
    console = outputs.console()
    console.print(table)
    changes = sum(decision.rescale for decision in decided)
    console.print(f"{len(decided)} syncs, {changes} of them change the replicas.")
