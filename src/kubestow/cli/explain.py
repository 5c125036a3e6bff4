"""``kubestow explain``: what was decided about a pod or workload, and why."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import outputs, serving
from kubestow.model import errors

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kubestow.live import stores
    from kubestow.model.decisions import DecisionRecord

app = outputs.make_app()
_PODS = ("pod", "pods", "po")
# Short names as kubectl knows them, and the kinds that identities are made of.
_KINDS = {
    "deployment": "Deployment", "deployments": "Deployment", "deploy": "Deployment",
    "statefulset": "StatefulSet", "statefulsets": "StatefulSet", "sts": "StatefulSet",
    "daemonset": "DaemonSet", "daemonsets": "DaemonSet", "ds": "DaemonSet",
    "replicaset": "ReplicaSet", "replicasets": "ReplicaSet", "rs": "ReplicaSet",
    "job": "Job", "jobs": "Job", "cronjob": "CronJob", "cronjobs": "CronJob", "cj": "CronJob",
    "id": "id", "tekton": "Tekton", "argo": "Argo", "gitlab": "GitLab", "jenkins": "Jenkins",
}  # fmt: skip


@app.command()
def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="KIND/NAME", help="Object, e.g. pod/web-0, deployment/web or node/n1."
        ),
    ],
    store: Annotated[
        str,
        typer.Option(
            metavar="URL", envvar="KUBESTOW_STORE", help="Read decisions from this store."
        ),
    ],
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Namespace of the object.")
    ] = "default",
    kind: Annotated[
        str | None, typer.Option(help="Show only this kind: placing, sizing, scaling or moving.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many decisions.")] = 5,
    cluster: Annotated[
        bool,
        typer.Option("--cluster", help="Include the workload of a pod, as the cluster reports it."),
    ] = False,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Show the decisions about an object, newest first: candidates, scores, reasons, numbers.

    Exits with 1 if there is no decision about it.

    Example:
      kubestow explain pod/web-0 -n shop --store sqlite:///kubestow.db
      kubestow explain deployment/web -n shop --kind sizing --store $URL -o json
      kubestow explain id/nightly-tests -n ci --store $URL
    """
    import asyncio

    from kubestow.live import stores

    subjects = [_subject(subject, namespace)]
    if cluster and subjects[0].startswith("pod/"):
        subjects += asyncio.run(_owners(subjects[0], (kubeconfig, context)))
    opened = stores.open_store(store, create=False)
    try:
        decisions = [
            record for each in subjects for record in _decisions(opened, each, limit, kind)
        ]
        known = () if decisions else stores.subjects(opened)
    finally:
        opened.close()
    if output is outputs.Output.JSON:
        outputs.print_json([record.as_json() for record in decisions])
    elif decisions:
        for record in decisions:
            _show(outputs.console(), record)
    else:
        outputs.console().print(f"no decision about {' or '.join(subjects)}", markup=False)
    if not decisions:
        _suggest(subjects[0], known, kind)
    return 0 if decisions else 1


def _suggest(subject: str, known: Sequence[str], kind: str | None) -> None:
    """Say which subjects of the store are similar, or that there are none."""
    import difflib

    # Decisions on containers are found by their workload.
    parts = (one.split("/") for one in known)
    names = dict.fromkeys(
        "/".join(("workload", *one[1:-1])) if one[0] == "container" else "/".join(one)
        for one in parts
    )
    if not names:
        return
    near = difflib.get_close_matches(subject, names, n=3, cutoff=0.75)
    if subject in names:
        hint = f"there are decisions of another kind than {kind}"
    elif near:
        hint = f"did you mean {' or '.join(near)}?"
    else:
        hint = f"the store has decisions on {len(names)} other objects"
    outputs.progress_console().print(hint, markup=False, soft_wrap=True)


def _decisions(
    store: stores.Store, subject: str, limit: int, kind: str | None
) -> tuple[DecisionRecord, ...]:
    """Return decisions about a subject, and about the containers of a workload."""
    from kubestow.live import stores

    decisions = stores.newest_decisions(store, subject, limit=limit, kind=kind)
    if subject.startswith("workload/"):
        below = subject.replace("workload/", "container/", 1) + "/"
        decisions += stores.newest_decisions_below(store, below, limit=limit, kind=kind)
    newest_first = sorted(decisions, key=lambda record: -(record.time or 0.0))
    return tuple(newest_first[:limit])


def _subject(text: str, namespace: str) -> str:
    """Return the subject of records.

    >>> _subject("po/web-0", "shop"), _subject("deploy/web", "shop")
    ('pod/shop/web-0', 'workload/shop/Deployment/web')
    """
    parts = text.split("/")
    if len(parts) < 2 or not all(parts):
        raise errors.InputError("KIND/NAME", f"{text!r}: expected KIND/NAME, e.g. pod/web-0")
    kind, rest = parts[0].lower(), parts[1:]
    if kind in ("workload", "container", "hpa", "node"):
        return "/".join((kind, *rest))
    if kind not in _PODS and kind not in _KINDS:
        expected = "expected pod, node, workload, id or a kind such as deployment"
        raise errors.InputError("KIND/NAME", f"{parts[0]!r}: {expected}")
    namespace, name = (rest[0], rest[1]) if len(rest) == 2 else (namespace, "/".join(rest))
    if kind in _PODS:
        return f"pod/{namespace}/{name}"
    return f"workload/{namespace}/{_KINDS[kind]}/{name}"


async def _owners(subject: str, cluster: tuple[str | None, str | None]) -> list[str]:
    """Return the workload that a pod's annotation names, if any."""
    import msgspec

    from kubestow.live import admission, api
    from kubestow.live.api import NOT_FOUND, ApiError

    _, namespace, name = subject.split("/", 2)
    async with await api.connect(*cluster) as client:
        try:
            pod = await client.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
        except ApiError as err:
            if err.status == NOT_FOUND:
                return []
            raise errors.InputError("--cluster", str(err)) from err
    annotations = pod["metadata"].get("annotations") or {}
    for key in (admission.CHANGED, admission.WOULD_CHANGE):
        try:
            note: Any = msgspec.json.decode(annotations.get(key, "null"))
        except msgspec.DecodeError:  # anyone may write anything there
            continue
        if isinstance(note, dict) and isinstance(note.get("identity"), str):
            return [f"workload/{note['identity']}"]
    return []


def _show(console: Console, record: DecisionRecord) -> None:
    when = "" if record.time is None else f" at {_time(record.time)}"
    console.print(f"[bold]{record.kind}[/bold] of {record.subject} by {record.policy}{when}")
    console.print(f"  outcome: {record.outcome or 'none'}", markup=False)
    for title, values in (
        ("parameters", record.parameters),
        ("numbers", record.numbers),
        ("back-test", record.backtest),
    ):
        if values:
            shown = ", ".join(f"{name} {_number(value)}" for name, value in values.items())
            console.print(f"  {title}: {shown}", markup=False)
    if record.candidates:
        console.print(_candidates(record))
    for name, reason in record.rejected.items():
        console.print(f"  rejected: {name}: {reason}", markup=False)
    console.print()


def _candidates(record: DecisionRecord) -> Table:
    from rich.table import Table

    terms: Sequence[str] = list(dict.fromkeys(t for c in record.candidates for t in c.terms))
    table = Table("CANDIDATE", *(term.upper() for term in terms), "TOTAL", box=None, padding=(0, 2))
    for each in record.candidates:
        scores = [_number(each.terms.get(term, math.nan)) for term in terms]
        total = "" if each.total is None else _number(each.total)
        table.add_row(each.name, *scores, total)
    return table


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _time(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
