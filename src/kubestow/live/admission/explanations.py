"""Explains changes: in the pod's annotation, in the log, and in the decision record."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from kubestow.live.admission.mutation import ContainerChange, Mutation
from kubestow.live.admission.policy import AdmissionPolicy
from kubestow.live.stores import StoredRecommendation
from kubestow.model import decisions, identities, quantities, resources

_KIND = "sizing"
_POLICY = "admission"


class _Entry(msgspec.Struct):
    changes: dict[str, dict[str, str | None]] = {}


class _Note(msgspec.Struct):
    identity: str = ""
    containers: dict[str, _Entry] = {}


def annotate(
    mutation: Mutation,
    learned: Mapping[str, StoredRecommendation],
    identity: identities.Identity,
    policy: AdmissionPolicy,
    earlier: str = "",
) -> str:
    """Return the text of the annotation: old and new amounts, reasons and policy.

    Args:
        mutation: The changes.
        learned: Recommendations by container.
        identity: Workload of the pod.
        policy: The admission policy.
        earlier: The existing annotation. An API server calls again if others changed the pod after
            the first call; then the old amounts of the first call are kept.
    """
    before = _read(earlier, identity)
    containers: dict[str, Any] = {}
    for change in mutation.changes:
        value = learned[change.container]
        earlier_changes = before.get(change.container, {})
        entry = containers.setdefault(
            change.container,
            {
                "strategy": value.strategy,
                "learned": _time(value.time_s),
                "changes": dict(earlier_changes),
            },
        )
        if change.container in mutation.notes:
            entry["reasons"] = mutation.notes[change.container]
        path = f"{change.section}.{change.resource}"
        old = earlier_changes[path].get("old") if path in earlier_changes else _text(change.old)
        entry["changes"][path] = {"old": old, "new": _text(change.new)}
    qos_before, qos_after = mutation.quality
    content: dict[str, Any] = {
        "identity": identity.key,
        "policy": policy.describe(),
        "containers": containers,
    }
    if qos_before is not qos_after:
        content["qosClass"] = {"old": qos_before, "new": qos_after}
    return msgspec.json.encode(content).decode()


def _read(earlier: str, identity: identities.Identity) -> dict[str, dict[str, Any]]:
    """Return the changes of an earlier annotation for the same workload, by container."""
    try:
        annotation = msgspec.json.decode(earlier, type=_Note) if earlier else _Note()
    except msgspec.DecodeError:  # anyone may write it
        return {}
    same = annotation.identity == identity.key
    return {name: entry.changes for name, entry in annotation.containers.items()} if same else {}


def describe(mutation: Mutation) -> str:
    """Return all changes in one line."""
    return ", ".join(
        f"{change.container} {change.section}.{change.resource} "
        f"{_text(change.old) or 'unset'} -> {_text(change.new) or 'unset'}"
        for change in mutation.changes
    )


def outline(
    mutation: Mutation,
    learned: Mapping[str, StoredRecommendation],
    identity: identities.Identity,
    policy: AdmissionPolicy,
    *,
    dry: bool,
) -> decisions.DecisionRecord:
    """Return the part of the decision record that all similar pods share.

    Args:
        mutation: The changes.
        learned: Recommendations by container.
        identity: Workload of the pods; the key of decisions, since pod names are generated.
        policy: The admission policy.
        dry: Whether the changes were only reported.
    """
    before, after = mutation.quality
    strategies = sorted({learned[change.container].strategy for change in mutation.changes})
    return decisions.DecisionRecord(
        kind=_KIND,
        subject=f"workload/{identity.key}",
        policy=_POLICY,
        outcome=("would change: " if dry else "") + describe(mutation),
        parameters={
            **_parameters(policy),
            "identifiedBy": identity.how.value,
            "image": identity.image,
            "strategies": strategies,
            "qosClass": [before.value, after.value],
            "notes": {name: list(notes) for name, notes in mutation.notes.items()},
        },
        candidates=tuple(_candidate(change, learned) for change in mutation.changes),
    )


def record(
    outlined: decisions.DecisionRecord,
    learned: Mapping[str, StoredRecommendation],
    pod: str,
    uid: str,
    time_s: float,
) -> decisions.DecisionRecord:
    """Return the decision on one pod.

    Args:
        outlined: The shared part of the record.
        learned: Recommendations by container.
        pod: The pod's name, or the prefix of its generated name.
        uid: UID of the request.
        time_s: Time of the decision, seconds since the epoch.
    """
    named = {**outlined.parameters, "pod": pod, "request": uid}
    ages_s = {f"{name}/age_s": time_s - value.time_s for name, value in learned.items()}
    return replace(outlined, parameters=named, time=time_s, numbers=ages_s)


@functools.lru_cache(maxsize=8)
def _parameters(policy: AdmissionPolicy) -> dict[str, Any]:
    return {"limits": policy.describe(), **policy.as_json()}


def _candidate(
    change: ContainerChange, learned: Mapping[str, StoredRecommendation]
) -> decisions.Candidate:
    """Return old, new and learned amounts in millicores or bytes."""
    parts = {
        "old": change.old,
        "new": change.new,
        "learned": learned[change.container].requests.get(change.resource),
    }
    terms = {
        name: float(resources.amount(change.resource, amount))
        for name, amount in parts.items()
        if amount is not None
    }
    return decisions.Candidate(f"{change.container}/{change.section}.{change.resource}", terms)


def _text(amount: quantities.Quantity | None) -> str | None:
    return None if amount is None else str(amount)


def _time(time_s: float) -> str:
    return dt.datetime.fromtimestamp(time_s, dt.UTC).isoformat(timespec="seconds")
