"""Recommendations as JSON and as patches, and filters for them."""

from __future__ import annotations

import difflib
import fnmatch
import itertools
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import yaml

from kubestow.model import errors, resources, selectors, usage
from kubestow.model.keys import WorkloadKey
from kubestow.model.selectors import LabelSelector, Requirement
from kubestow.model.usage import Usage
from kubestow.policies.sizing.recommendations import Recommendation, format_amounts
from kubestow.workflows.recommending import pipeline, totals
from kubestow.workflows.recommending.totals import Severity

_LISTED: Final = 5
# Kinds with containers that kubectl can merge patches into.
_VERSIONS: Final = {
    "Pod": "v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def select_usage(
    table: Usage,
    inventory: usage.Inventory,
    namespaces: tuple[str, ...],
    selector: LabelSelector,
) -> Usage:
    """Return the usage of some namespaces and of pods with some labels.

    Args:
        table: Usage.
        inventory: Inventory with the labels.
        namespaces: Names, or patterns with ``*`` and ``?``; all if empty.
        selector: Conditions on labels.

    Raises:
        InputError: If nothing is left.
    """
    if not namespaces and selector.empty:
        return table
    selected = [
        (not namespaces or any(fnmatch.fnmatchcase(key.namespace, name) for name in namespaces))
        and _has(inventory.labels.get(key.of, {}), selector)
        for key in table.keys
    ]
    kept = np.flatnonzero(selected)
    if not len(kept):
        conditions = [f"namespace {name}" for name in namespaces]
        conditions += [f"label {_describe(each)}" for each in selector.requirements]
        known = sorted({key.namespace for key in table.keys})
        raise errors.InputError(
            "recommend",
            f"no container matches {', '.join(conditions)}; {_did_you_mean(namespaces, known)}",
        )
    return table.pick(kept)


def _did_you_mean(namespaces: tuple[str, ...], known: list[str]) -> str:
    """Return the nearest known namespace, or the first ones of all."""
    for name in namespaces:
        near = difflib.get_close_matches(name, known, n=1)
        if name not in known and near:
            return f"did you mean namespace {near[0]}?"
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"there is usage of {', '.join(known[:_LISTED])}{more}"


def _describe(requirement: Requirement) -> str:
    key, values = requirement.key, requirement.values
    if requirement.operator == selectors.IN and len(values) == 1:
        return f"{key}={values[0]}"
    return f"{key} {requirement.operator} {', '.join(values)}".rstrip()


def _has(known: Mapping[str, str], selector: LabelSelector) -> bool:
    """Return whether labels match; kube-state-metrics replaces special characters by ``_``."""
    for each in selector.requirements:
        key = each.key if each.key in known else _plain(each.key)
        if not replace(each, key=key).matches(known):
            return False
    return True


def _plain(name: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in name)


def filter_by_severity(
    result: pipeline.RecommendResult, least: Severity
) -> pipeline.RecommendResult:
    """Return recommendations of this severity or higher."""
    if least is Severity.NONE:
        return result
    return _keep(result, [totals.is_urgent(one, least) for one in result.recommendations])


def only_suitable(result: pipeline.RecommendResult) -> pipeline.RecommendResult:
    """Return the recommendations for suitable containers."""
    return _keep(result, [one.suitable for one in result.recommendations])


def split_by_evidence(
    result: pipeline.RecommendResult, least: int
) -> tuple[pipeline.RecommendResult, tuple[Recommendation, ...]]:
    """Return the recommendations with enough evidence to act on, and those with less.

    Args:
        result: Recommendations.
        least: Windows of usage that are needed.
    """
    enough = [one.evidence >= least for one in result.recommendations]
    thin = tuple(one for one in result.recommendations if one.evidence < least)
    return _keep(result, enough), thin


def _keep(result: pipeline.RecommendResult, kept: list[bool]) -> pipeline.RecommendResult:
    return replace(
        result,
        recommendations=tuple(itertools.compress(result.recommendations, kept)),
        records=tuple(itertools.compress(result.records, kept)),
        places=tuple(itertools.compress(result.places, kept)),
    )


def recommendations_as_json(result: pipeline.RecommendResult) -> list[dict[str, Any]]:
    """Return recommendations as plain values, one entry per container."""
    return [_entry(one) for one in result.recommendations]


def _entry(one: Recommendation) -> dict[str, Any]:
    return {
        "workload": str(one.key.of),
        "container": one.key.container,
        "strategy": one.strategy,
        "current": {
            "requests": _written(one.current.requests),
            "limits": _written(one.current.limits),
        },
        "recommended": {
            "requests": format_amounts(one.requests),
            "limits": format_amounts(one.limits),
        },
        "estimate": format_amounts(one.estimate),
        "bounds": {
            "lower": format_amounts(one.lower),
            "upper": format_amounts(one.upper),
        },
        "samples": one.usage.samples,
        "evidence": {
            "windows": one.evidence,
            "samples": one.usage.samples,
            **({"unit": "runs"} if one.backtest.runs else {}),
        },
        "replicas": one.replicas,
        "suitable": one.suitable,
        "severity": totals.severity(one).value,
        "why": one.why,
        "usage": {
            "cpu_p95_cores": one.usage.cpu_p95_cores,
            "cpu_mean_cores": one.usage.cpu_mean_cores,
            "memory_peak_bytes": one.usage.peak_bytes,
            "memory_mean_bytes": one.usage.memory_mean_bytes,
            "oom_kills": one.usage.oom_kills,
            "throttled": one.usage.throttled,
            "autocorrelated": one.usage.autocorrelated,
            "page_cache_bytes": one.usage.cache_bytes,
        },
        "backtest": asdict(one.backtest),
    }


def _written(stated: resources.ResourceList) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in stated.items()}


def totals_as_json(totals: totals.Totals) -> dict[str, Any]:
    """Return totals as plain values."""
    return asdict(totals)


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of one workload.

    Attributes:
        key: The workload.
        document: A strategic merge patch; ``None`` for kinds that do not support one.
        changed: The recommendations it applies.
    """

    key: WorkloadKey
    document: dict[str, Any] | None
    changed: tuple[Recommendation, ...]


def make_patches(result: pipeline.RecommendResult) -> list[Patch]:
    """Return one patch per workload; unchanged containers are not part of it."""
    by_workload: dict[WorkloadKey, list[Recommendation]] = {}
    for one in result.recommendations:
        if _changes(one):
            by_workload.setdefault(one.key.of, []).append(one)
    return [
        Patch(key, _document(key, changed), tuple(changed)) for key, changed in by_workload.items()
    ]


def recommendations_as_patches(result: pipeline.RecommendResult) -> str:
    """Return patches as YAML, each with the command that applies it."""
    return "---\n".join(_write(patch) for patch in make_patches(result))


def _changes(one: Recommendation) -> bool:
    """Return whether a recommendation differs from the current resources."""
    pairs = ((one.requests, one.current.requests), (one.limits, one.current.limits))
    differs = any(
        name not in stated or int(resources.amount(name, stated[name])) != amount
        for amounts, stated in pairs
        for name, amount in amounts.items()
    )
    return differs or any(
        name in one.current.limits and name not in one.limits for name in one.requests
    )


def _document(key: WorkloadKey, changed: list[Recommendation]) -> dict[str, Any] | None:
    if key.kind not in _VERSIONS:
        return None
    template: dict[str, Any] = {"spec": {"containers": [_container(one) for one in changed]}}
    spec: dict[str, Any] = {"template": template}
    if key.kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    elif key.kind == "Pod":
        spec = template["spec"]
    return {
        "apiVersion": _VERSIONS[key.kind],
        "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": spec,
    }


def _write(patch: Patch) -> str:
    why = "".join(_comment(f"{one.key.container}: {one.why}") for one in patch.changed)
    if patch.document is None:
        key = patch.key
        return (
            _comment(f"{key}: kubectl cannot merge into {key.kind}; change it at its source") + why
        )
    return _comment(_command(patch.key)) + why + yaml.safe_dump(patch.document, sort_keys=False)


def _command(key: WorkloadKey) -> str:
    """Return the command that applies a patch; names are quoted because they are input."""
    if key.kind == "Job":
        return "the template of a Job cannot be changed: set it where the Job is made"
    words = ["kubectl", "-n", key.namespace, "patch", key.kind.lower(), key.name]
    if key.kind == "Pod":
        words += ["--subresource", "resize"]  # the only way into a running pod (Kubernetes 1.33)
    return shlex.join([*words, "--patch-file", "FILE"])


def _comment(text: str) -> str:
    """Return any text as one line of comment."""
    return f"# {' '.join(text.split())}\n"


def _container(one: Recommendation) -> dict[str, Any]:
    limits: dict[str, str | None] = dict(format_amounts(one.limits))
    for name in one.requests:
        # null removes an existing limit.
        if name not in limits and name in one.current.limits:
            limits[name] = None
    stated: dict[str, Any] = {"requests": format_amounts(one.requests)}
    if limits:
        stated["limits"] = limits
    return {"name": one.key.container, "resources": stated}
